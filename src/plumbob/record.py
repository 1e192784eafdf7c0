"""The record of a run: one JSON object that says what was planned, what really happened and what came out of it.

It holds no features, no labels, no keys and, but for the model's weights, nothing that a party would keep to itself.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import Any, get_type_hints

import msgspec

from plumbob.counting import counted, seconds
from plumbob.errors import DataError, PlanError
from plumbob.plan import PROTOCOLS, Plan

FORMAT = 2
FINISHED = "finished"
ONLY_IN_MEMORY = {"transcripts", "parsed_plan"}


@dataclass(frozen=True)
class Finding:
    """What one attack by one party gives, before a run (`verdict` from the plan alone) or after it (with the rates).

    `rate` and its neighbours are None where they do not apply. docs/auditing.md says how each is measured.
    """

    attack: str
    by: str
    against: str
    target: str
    """What the attack is after: labels, scores or features."""
    verdict: str
    """The verdict: leaks, degrades, blocked or not applicable."""
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

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Finding":
        """Read a finding from JSON, which has lists for tuples."""
        interval = stored.get("interval")
        tuples = {"interval": interval and tuple(interval), "conditions": tuple(stored.get("conditions", ()))}
        return cls(**{**stored, **tuples})


@dataclass(frozen=True)
class Promise:
    """One theorem of the paper: what it says of a plan or a run, and what was measured, None before a run."""

    theorem: str
    says: str
    promised: float
    measured: float | None = None
    is_kept: bool | None = None


@dataclass(frozen=True)
class LedgerCurve:
    """One party's equations about one kind of unknown, cumulated over steps; a few hundred steps at most are kept."""

    party: str
    unknown: str
    """What the equations are about: labels, scores or features."""
    about: str
    unknowns: int
    steps: list[int]
    equations: list[int]
    independent: list[int]
    is_exact: bool
    """Whether `independent` is a real rank; otherwise it is an upper bound."""
    is_planned: bool
    """Whether this comes from the plan's numbers; otherwise from what the party really saw."""


@dataclass(frozen=True)
class AttackCurve:
    """What one attack reaches with what was seen up to the end of each epoch."""

    attack: str
    by: str
    against: str
    target: str
    epochs: list[int]
    rates: list[float]
    low: list[float]
    high: list[float]
    baseline: float
    """The best baseline's rate at the end of the run."""
    guessing: float | None
    """The share of the more frequent class, for labels."""


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
    """The class of the label that a score speaks for, at whoever has the label."""
    by_place: bool = False
    """Whether the parties' files were paired by the place of their rows, without an id."""
    findings: list[Finding] = field(default_factory=list)
    """The findings of the red team, if it was asked."""
    predicted: list[Finding] = field(default_factory=list)
    """The findings of `check` for the same plan."""
    ledger: list[LedgerCurve] = field(default_factory=list)
    """Equations against unknowns: as seen where the run was audited, otherwise as planned."""
    curves: list[AttackCurve] = field(default_factory=list)
    """Attacks by epoch, where the run was audited."""
    theorems: dict[str, list[Promise]] = field(default_factory=dict)
    """The paper's theorems about its noise, for the `plan` and for the `run`, where they apply."""
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
        """Read a record strictly: one of another format, or with other fields, is refused."""
        names = {item.name for item in fields(cls)} - ONLY_IN_MEMORY
        if not isinstance(stored, dict) or stored.get("format") != FORMAT or set(stored) != names:
            raise DataError(f"{source}: expected a run record of format {FORMAT}; was it written by another version?")
        try:
            typed = {name: _restore_field(name, stored[name]) for name in (*_LISTS, "theorems")}
            for name, kind in _types().items():
                msgspec.convert(stored[name], kind)
        except (TypeError, AttributeError, msgspec.ValidationError) as error:
            raise DataError(f"{source}: a part of the run record has other fields than format {FORMAT}") from error
        if stored["protocol"] not in PROTOCOLS:
            raise DataError(f"{source}: the run record names a protocol that this version does not know")
        return cls(**{**stored, **typed}, parsed_plan=_parse_plan(stored["plan"], source))


_LISTS: dict[str, Callable[[Any], Any]] = {
    "parties": lambda one: PartyRecord(**one),
    "findings": Finding.from_dict,
    "predicted": Finding.from_dict,
    "ledger": lambda one: LedgerCurve(**one),
    "curves": lambda one: AttackCurve(**one),
}


@cache
def _types() -> dict[str, Any]:
    """The type of each field that JSON holds: a record may be somebody else's."""
    kinds = {name: kind for name, kind in get_type_hints(RunRecord).items() if name not in ONLY_IN_MEMORY}
    return {**kinds, "account": dict[str, str | dict[str, str]]}


def _restore_field(name: str, stored: Any) -> Any:
    """The value of a field, from JSON's dictionaries."""
    if name == "theorems":
        return {about: [Promise(**one) for one in promises] for about, promises in stored.items()}
    return [_LISTS[name](one) for one in stored]


def _parse_plan(plan: Any, source: object) -> Plan:
    try:
        return Plan.from_toml(plan)
    except (PlanError, TypeError, AttributeError) as error:
        raise DataError(f"{source}: the plan in the run record cannot be read: {error}") from error


def _for_json(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if name not in ONLY_IN_MEMORY}
