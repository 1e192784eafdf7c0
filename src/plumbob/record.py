"""The record of a run: one JSON object that says what was planned, what really happened and what came out of it.

It holds no features, no labels, no keys and, but for the model's weights, nothing that a party would keep to itself.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from plumbob.counting import counted, seconds
from plumbob.errors import DataError, PlanError
from plumbob.plan import PROTOCOLS, Plan

FORMAT = 3
ALONE = threading.Lock()  # Two threads that teach msgspec one class at once end the process.
FINISHED = "finished"
ONLY_IN_MEMORY = {"transcripts", "parsed_plan"}
VERDICTS = ("leaks", "degrades", "blocked")
TARGETS = ("labels", "scores", "features", "weights", "ids")


@dataclass(frozen=True)
class Finding:
    """What one attack by one party gives, before a run (`verdict` from the plan alone) or after it (with the rates).

    `rate` and its neighbours are None where they do not apply. docs/check.md says how each is measured.
    """

    attack: str
    by: str
    against: str
    target: str
    """What the attack is after: labels, scores or features."""
    verdict: str
    """The verdict: leaks, degrades or blocked."""
    why: str
    reference: str
    fix: str
    rate: float | None = None
    baseline: float | None = None
    auc: float | None = None
    baseline_auc: float | None = None
    balanced_accuracy: float | None = None
    interval: tuple[float, float] | None = None
    coverage: float | None = None
    determined: float | None = None
    n: int | None = None
    advantage: float | None = None
    conditions: tuple[dict[str, Any], ...] = ()
    stage: str = "training"
    """When it applies: training, or prediction, for what scores give away that are asked for later."""
    assumes: str = "honest"
    """honest: everyone keeps to the protocol; cheating: the attacker uses data of its choice, or other software."""
    changes: dict[str, Any] = field(default_factory=dict)
    """The plan's keys that stop it, by flat names, with their new values; `fix` says the same as flags to type."""
    can: str = ""
    """What the party can read, as the words after "can"."""
    attacks: tuple[str, ...] = ()
    """The attacks that read it; `attack` is the one that reads most."""


@dataclass(frozen=True)
class InputColumn:
    """One column of a party's own table, as it was read."""

    name: str
    kind: str
    lowest: str
    """The lowest value, a date as a date; empty for texts, for yes and no, and where there is none."""
    highest: str


@dataclass(frozen=True, repr=False)
class PartyRecord:
    """One party's side of a run. `coefficients` are in the units of its own table, `None` if they were never opened."""

    name: str
    role: str
    columns: list[str]
    coefficients: list[float] | None
    offset: float
    messages_sent: int
    bytes_sent: int
    noise_draws: int
    streams: dict[str, str]
    """The hash over all bytes sent to each peer; it must equal the peer's hash over what it received."""
    received_streams: dict[str, str]
    """The hash over all bytes that came from each peer."""
    inputs: list[InputColumn] = field(default_factory=list)
    """The columns of its table as they were read; a party's own are in its folder, not in the record that it sends."""

    def __repr__(self) -> str:
        """The party without coefficients: a notebook shows whatever its cell ends with."""
        return f"PartyRecord({self.name}, {self.role}, {len(self.columns)} columns)"


@dataclass(frozen=True, repr=False)
class RunRecord:
    """Everything about a run that may be shown; `plumbob.run_folder.RunFolder(path).record()` reads a stored one."""

    plumbob: str
    plan: str
    """The plan as the text of its file."""
    plan_hash: str
    protocol: str
    engine: str
    key_profile: str
    randomness: str
    """Where randomness came from: kernel, or a test source, with which nothing in the run was secret."""
    seed: str
    rows: int
    test_rows: int
    steps: int
    seconds: float
    status: str
    """The run's state: finished, running, or how it ended before that: interrupted or failed, at some step."""
    parties: list[PartyRecord]
    quality: dict[str, dict[str, dict[str, float | None]]] = field(default_factory=dict)
    """The metrics, by rows judged and by model (joint, local-only, pooled); None where undefined."""
    calibration: dict[str, list[list[float]]] = field(default_factory=dict)
    """Mean probability, share of positives and rows, in groups, for each model on the same rows."""
    epochs: list[dict[str, float | None]] = field(default_factory=list)
    """The label party's quality after each epoch, where weights are known by then."""
    accepted_leaks: bool = False
    account: dict[str, Any] = field(default_factory=dict)
    """The session, what everybody committed to in it, and everybody's last signature; in a simulation nobody signs."""
    accepted_cheating: bool = False
    accepted_evidence: bool = False
    predicted_class: str = ""
    """The class of the label that the model predicts, at whoever has the label."""
    findings: list[Finding] = field(default_factory=list)
    """The findings of the red team, if it was asked."""
    predicted: list[Finding] = field(default_factory=list)
    """The findings of `check` for the same plan."""
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Remarks about the data and the quality that readers of the figures should know."""
    format: int = FORMAT
    transcripts: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What each party saw, for the auditor; it stays in memory, or in the parties' own files, not in the JSON."""
    parsed_plan: Plan = field(kw_only=True, compare=False, repr=False)
    """The parsed plan, validated once; the JSON holds only its text."""

    def __repr__(self) -> str:
        """One line on what ran."""
        parties = ", ".join(f"{party.name} {len(party.columns)}" for party in self.parties)
        steps = counted(self.steps, *self.parsed_plan.step_nouns)
        what = f"{self.protocol}, {self.status}, {self.rows:,} training rows, {steps}, {seconds(self.seconds)}"
        found = f", {len(self.findings)} findings" if self.findings else ""
        return f"RunRecord({what}; columns: {parties}; plan {self.plan_hash[:12]}{found})"

    @property
    def is_finished(self) -> bool:
        return self.status == FINISHED

    @property
    def is_calculated(self) -> bool:
        """Whether the views of an encrypted protocol were calculated without its cryptography."""
        return PROTOCOLS[self.protocol].is_encrypted and self.engine == "none"

    @property
    def is_encrypted(self) -> bool:
        return PROTOCOLS[self.protocol].is_encrypted and not self.is_calculated

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """The record as it stands in run.json."""
        return asdict(replace(self, transcripts={}), dict_factory=_for_json)

    @classmethod
    def from_dict(cls, stored: Any, source: object) -> "RunRecord":
        """Read a record strictly: one of another format, with other fields or of other types, is refused."""
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            raise DataError(f"{source}: expected a run record of format {FORMAT}; was it written by another version?")
        try:
            with ALONE:
                known = msgspec.structs.asdict(msgspec.convert(stored, _stored_form()))
            record = cls(**known, parsed_plan=_parse_plan(stored["plan"], source))
            is_same = json.loads(record.to_json()) == stored
        except (ValueError, msgspec.ValidationError) as error:
            raise DataError(f"{source}: a part of the run record is not as in format {FORMAT}") from error
        # A field that is unknown within a part would be read past.
        if not is_same:
            raise DataError(f"{source}: a part of the run record has other fields than format {FORMAT}")
        if stored["protocol"] not in PROTOCOLS:
            raise DataError(f"{source}: the run record names a protocol that this version does not know")
        if not all(
            finding.target in TARGETS and finding.verdict in VERDICTS
            for finding in (*record.findings, *record.predicted)
        ):
            raise DataError(f"{source}: a finding in the run record has a verdict or a target that nobody knows")
        return record


@cache
def _stored_form() -> type[msgspec.Struct]:
    """The struct that run.json holds: a record may be somebody else's, so every type is checked."""
    kinds = {name: kind for name, kind in get_type_hints(RunRecord).items() if name not in ONLY_IN_MEMORY}
    kinds["account"] = dict[str, str | dict[str, str]]
    return msgspec.defstruct("StoredRecord", list(kinds.items()), forbid_unknown_fields=True)


def _parse_plan(plan: Any, source: object) -> Plan:
    try:
        return Plan.from_toml(plan)
    except (PlanError, TypeError, AttributeError) as error:
        raise DataError(f"{source}: the plan in the run record cannot be read: {error}") from error


def _for_json(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if name not in ONLY_IN_MEMORY}


if not TYPE_CHECKING:  # A name that does not exist stays an error to a type checker.

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # An import asks for such names of every module.
            raise AttributeError(name)
        from plumbob.retired import no_attribute  # Late: hardly any other name is missing.

        raise no_attribute("plumbob.record", name)
