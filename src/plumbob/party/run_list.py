"""The runs in a folder, of one party or of a simulation: date, plan, progress and verdict."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from plumbob.errors import DataError, PlanError, PrivacyError
from plumbob.party.home import RUNS
from plumbob.party.plan_runs import is_unstarted
from plumbob.party.status import read_status
from plumbob.plan import Plan
from plumbob.privacy.rows import RowSpending, total_rho
from plumbob.protocol.row_noise import run_failure, spending_of_a_run
from plumbob.record import Finding, RunRecord
from plumbob.run_folder import EARLIER, JOURNAL, RECORD, STATUS, RunFolder

DEPTH = 4  # Folders below the named one that are looked into.
SESSIONS = ("align-", "predict-")  # Conversations that are no runs.
INSIDE = {"parties", "signatures", EARLIER}
UNSTARTED = "never started"


@dataclass(frozen=True)
class ListedRun:
    """One run, as a list shows it."""

    folder: Path
    date: str
    """When the run was last written to, by this machine's clock."""
    title: str
    protocol: str
    status: str
    verdict: str
    """What leaks: by the attacks if it was attacked, otherwise by the plan."""
    party: str = ""
    """Whose side this is; empty where all parties were on one machine, or nothing is recorded yet."""
    number: str = ""
    """What all sides of a run share: its plan, its name and the seed that they drew together."""
    other_sides: tuple[tuple[str, Path], ...] = ()
    """The same run as other parties recorded it, with their names."""
    parties: str = ""
    """The parties with columns or a key."""
    rows: int = 0
    """How many rows there are to train on."""
    auc: float | None = None
    """The AUC of the joint model, where it was judged."""
    row_rho: float = 0.0
    """The zCDP that it spent of each whole row; 0 where it promised nothing about rows."""
    row_failure: float = 0.0
    """The chance that its arithmetic failed or showed something, where it promised something about rows."""

    @property
    def is_unstarted(self) -> bool:
        return self.status == UNSTARTED

    def remove(self) -> None:
        """Delete the run with all that it left."""
        folder = RunFolder(self.folder)
        if folder.path.parent.name == RUNS:
            shutil.rmtree(folder.path)
            return
        # Somebody may keep other files where a simulation wrote.
        shutil.rmtree(folder.unfinished, ignore_errors=True)
        folder.remove_run()


def runs_in(places: Iterable[Path]) -> list[ListedRun]:
    """Every run at or below these folders, the newest last."""
    folders = {folder.resolve(): folder for place in places for folder in run_folders(place)}
    found = sorted((listed(folder) for folder in folders.values()), key=lambda run: (run.date, str(run.folder)))
    return list(_each_once(found))


def _each_once(found: Sequence[ListedRun]) -> Iterator[ListedRun]:
    """One entry per run: other parties' records of it belong to the first one."""
    sides: dict[str, list[ListedRun]] = {}
    for run in found:
        sides.setdefault(run.number or str(run.folder), []).append(run)
    for first, *others in sides.values():
        yield replace(first, other_sides=tuple((run.party, run.folder) for run in others))


def run_folders(place: Path) -> Iterator[Path]:
    """The folders of runs at or below this one; hidden folders are left out."""
    for name, folders, files in os.walk(place):
        folder = Path(name)
        depth = len(folder.relative_to(place).parts)
        if is_run(folder, files):
            yield folder
        # A run's own folders hold no other run.
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in INSIDE and depth < DEPTH)


def is_run(folder: Path, files: Iterable[str]) -> bool:
    """Whether these files of a folder are a run's."""
    found = set(files)
    if RECORD in found:
        return True
    return folder.parent.name == RUNS and not folder.name.startswith(SESSIONS) and bool({JOURNAL, STATUS} & found)


def listed(folder: Path) -> ListedRun:
    """One run for the list; a record that cannot be read hides no other run."""
    run = RunFolder(folder)
    try:
        record = run.record() if run.record_file.exists() else None
    except DataError:
        return ListedRun(folder, _date(run.record_file), "", "", f"its {RECORD} cannot be read", "")
    if record is None:
        plan = _plan_of(run)
        title, protocol = ("", "") if plan is None else (plan.title, plan.protocol)
        return ListedRun(folder, _date(folder), title, protocol, _status_of(folder), "")
    status, plan = UNSTARTED if is_unstarted(folder) else record.status, record.parsed_plan
    spent = RowSpending() if status == UNSTARTED else spent_of(plan, record.rows)
    found = ListedRun(
        folder,
        _date(run.record_file),
        plan.title,
        record.protocol,
        status,
        verdict_of(record),
        parties=", ".join(party.name for party in plan.parties),
        rows=record.rows,
        auc=_joint_auc(record),
        row_rho=spent.rho,
        row_failure=spent.failure,
    )
    if folder.resolve().parent.name != RUNS or not record.seed:
        return found
    party = "+".join(one.name for one in record.parties)
    return replace(found, party=party, number=f"{record.plan_hash} {folder.name} {record.seed}")


def _joint_auc(record: RunRecord) -> float | None:
    return next((models["joint"].get("auc") for models in record.quality.values() if "joint" in models), None)


def spent_of(plan: Plan, rows: int) -> RowSpending:
    """The spending of each row by a run of this plan, finished or not; `clear` promises nothing."""
    if plan.noise != "rows" or not plan.kind.is_encrypted:
        return RowSpending()
    try:
        return spending_of_a_run(plan, rows)
    except PrivacyError:
        # A run of an earlier version, which promised more than it kept: it spent no more than this.
        return RowSpending(total_rho(plan.epsilon, plan.delta), run_failure(plan, rows))


def verdict_of(record: RunRecord) -> str:
    """The verdict on a run in a few words."""
    if record.findings:
        return f"{_leak_count(record.findings)} (attacked)"
    return f"{_leak_count(record.predicted)} (by the plan)" if record.predicted else ""


def _leak_count(findings: list[Finding]) -> str:
    leaking = [finding.assumes for finding in findings if finding.verdict == "leaks"]
    if honest := leaking.count("honest"):
        return f"{honest} of {len(findings)} {'leaks' if honest == 1 else 'leak'}"
    return "leaks only if someone cheats" if leaking else "nothing leaks"


def _status_of(folder: Path) -> str:
    """The status of a party's run that has no record yet."""
    if is_unstarted(folder):
        return UNSTARTED
    status = read_status(folder)
    return "interrupted" if status is None else status.sentence()


def _plan_of(run: RunFolder) -> Plan | None:
    try:
        return Plan.load(run.plan_file) if run.plan_file.exists() else None
    except PlanError:
        return None


def _date(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone().strftime("%Y-%m-%d %H:%M")
