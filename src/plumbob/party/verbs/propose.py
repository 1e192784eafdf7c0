"""`party propose`: one plan from everybody's tables, written to the same file at every party."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from plumbob.callbacks import Tell
from plumbob.data import ColumnChoices, Table, read_table
from plumbob.data.encoder import choices_of
from plumbob.data.summary import summarise
from plumbob.errors import PlanError
from plumbob.party.home import Home
from plumbob.party.journals import open_journal
from plumbob.party.proposal import Proposal, tell_refusals_at
from plumbob.party.proposal import propose as propose_to_peers
from plumbob.plan import DraftedEncoding, Plan


def propose(folder: Path, keys: Mapping[str, Any], reading: ColumnChoices, out: Path, tell: Tell) -> dict[str, object]:
    """The plan, its file, and what this party's own table gives under it."""
    home = Home.open(folder)
    with tell_refusals_at(home, tell):
        home = _with_choices(home, reading)
        own, proposal = _prepare(home, keys, out)
    plan, drafted = _agree_on_plan(home, proposal, tell)
    remark = "" if drafted is None else drafted.sentence
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(plan.to_toml(remark), encoding="utf-8")
    summary = summarise(own, choices_of(plan))
    widths = ", ".join(f"{party.name} {party.features}" for party in plan.learners)
    lines = [
        *summary.lines(),
        *([remark] if remark else []),
        f"the plan: {plan.protocol}, {widths} columns; {out}, hash {plan.hash()}",
        f"next, on all sides: plumbob party align {out}; then plumbob party sign {out}; then plumbob party train {out}",
    ]
    return {"plan": asdict(plan), "hash": plan.hash(), "out": str(out), "table": summary.to_dict(), "lines": lines}


def _prepare(home: Home, keys: Mapping[str, Any], out: Path) -> tuple[Table, Proposal]:
    """This party's table, and what it proposes with it."""
    if out.exists():
        raise PlanError(f"{out}: there is a file already; remove it, or choose another name with --out")
    own, has_label = _own_table(home), bool(home.settings.label_column)
    if keys and not has_label:
        raise PlanError("the party that has the label chooses the plan's keys; leave the flags out here")

    return own, Proposal(own, has_label, keys)


def _with_choices(home: Home, reading: ColumnChoices) -> Home:
    """What is said about the columns is kept for the commands that follow."""
    if reading == ColumnChoices():
        return home
    return home.with_settings(replace(home.settings, reading=_merge_choices(reading, home.settings.reading)))


def _merge_choices(now: ColumnChoices, before: ColumnChoices) -> ColumnChoices:
    """Where nothing is said now, what was said before holds."""
    return ColumnChoices(
        now.columns or before.columns,
        now.drop or before.drop,
        {**before.types, **now.types},
        now.gaps or before.gaps,
        now.stepped or before.stepped,
        now.monotone or before.monotone,
        {**before.ranges, **now.ranges},
        now.positive or before.positive,
    )


def _own_table(home: Home) -> Table:
    settings = home.settings
    return read_table(home.data_file, settings.id_column, settings.label_column or None, choices=settings.reading)


def _agree_on_plan(home: Home, proposal: Proposal, tell: Tell) -> tuple[Plan, DraftedEncoding | None]:
    """A session leaves nothing behind: proposed again, everything is said again."""
    place = Path(tempfile.mkdtemp(prefix="propose-", dir=home.folder))
    try:
        with open_journal(place) as journal:
            return propose_to_peers(home, proposal, journal, tell)
    finally:
        shutil.rmtree(place, ignore_errors=True)
