"""Comparing defences on the same data: what each costs in quality, and what the red team still reaches.

Runs of `exchange` and `arbiter` are calculated in `clear` unless told otherwise: the views are the same up to rounding,
which a test holds. So are the weights of `shares`, whose views are what is left when the sums are taken away. What such
runs cannot show is the active attacks, which need messages to tamper with; seconds and bytes are then estimates.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from plumbob.callbacks import Tell
from plumbob.checking.filing import predictions
from plumbob.checking.words import LEAKS, NOT_APPLICABLE, ORDER
from plumbob.data import Table
from plumbob.errors import PlanError
from plumbob.lab.audit.again import in_clear
from plumbob.lab.audit.redteam import audit, passive_names
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.quality import assessed
from plumbob.plan import Plan
from plumbob.protocol.transcript import Transcript
from plumbob.record import Finding

Estimator = Callable[[Plan, int], tuple[float, int]]
"""Estimates the seconds and bytes that a plan will take on this many rows."""

BUDGETS = (0.5, 2.0, 8.0)
LARGER = 8
"""How many times the rows of a batch the larger batch has."""
LABELS, VALUES = "labels", "features and scores"
AS_PLANNED = "the plan as it is"
OFF: Mapping[str, Any] = {"noise": "none", "noise_std": 0.0, "label_flip_epsilon": 0.0, "open": "own"}


@dataclass(frozen=True)
class Defence:
    """A name, and the keys of the plan that make it."""

    name: str
    keys: Mapping[str, Any] = field(default_factory=dict)

    def flags(self, plan: Plan) -> str:
        """The flags for this defence, over this plan."""
        changed = {key: value for key, value in self.keys.items() if getattr(plan, key) != value}
        return " ".join(f"--{key.replace('_', '-')} {_as_flag(value)}" for key, value in changed.items())


@dataclass(frozen=True)
class DefenceOutcome:
    """The outcome of one defence; where these data do not allow it, `refused` says why and the rest is empty."""

    defence: str
    flags: str
    protocol: str = ""
    is_plan: bool = False
    """Whether these are the very settings of the plan that was given."""
    auc: float | None = None
    accuracy: float | None = None
    advantages: dict[str, float | None] = field(default_factory=dict)
    """The largest advantage of each attack; None where it had nothing to work on, or was refused."""
    verdicts: dict[str, str] = field(default_factory=dict)
    """The worst verdicts about labels, and about features and scores."""
    seconds: float | None = None
    bytes: int | None = None
    measured: bool = False
    """Whether seconds and bytes were measured in this run; otherwise they are estimates, or left out."""
    findings: list[Finding] = field(default_factory=list)
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, repr=False)
class DefenceComparison:
    """The data, and how runs are made with them."""

    tables: Mapping[str, Table]
    test: Mapping[str, Table] = field(default_factory=dict)
    encrypted: bool = False
    only: Sequence[str] | None = None
    engine: str = "auto"
    jobs: int | None = None
    estimate: Estimator | None = None
    tell: Tell = lambda line: None

    @property
    def rows(self) -> int:
        return len(next(iter(self.tables.values())))

    def run(self, plan: Plan) -> Run:
        """A run trained and judged: encrypted, or in `clear` with the views of the plan's own protocol."""
        computed = plan if self.encrypted else in_clear(plan)
        trained = train(computed, self.tables, engine=self.engine, jobs=self.jobs)
        finished = assessed(trained, self.tables, self.test)
        return finished if self.encrypted else as_seen_under(plan, finished)

    def attacks(self) -> list[str] | None:
        """The attacks that were asked for; without encryption only the passive ones of them."""
        if self.encrypted:
            return None if self.only is None else list(self.only)
        return [name for name in passive_names() if self.only is None or name in self.only]


def compare(plan: Plan, comparison: DefenceComparison) -> list[DefenceOutcome]:
    """One outcome per defence, the plan as it is among them."""
    return [_try(plan, defence, comparison) for defence in defences_for(plan, comparison.rows)]


def defences_for(plan: Plan, rows: int) -> list[Defence]:
    """The list for this plan; the plan itself comes first unless it is one of them."""
    listed = list(_all_defences(plan, rows - plan.held_out(rows)))
    if any(_is(plan, defence) for defence in listed):
        return listed
    return [Defence(AS_PLANNED), *listed]


def _all_defences(plan: Plan, training_rows: int) -> Iterator[Defence]:
    undefended = dict(OFF) | {"protocol": "exchange" if plan.arbiter is None else "arbiter"}
    clipped = undefended | {"row_norm": plan.row_norm or 1.0}
    yield Defence("none", undefended)
    if plan.batches != "full":
        larger = min(LARGER * plan.batch_size, training_rows)
        yield Defence(f"batches of {larger}", undefended | {"batch_size": larger})
        yield Defence("fixed batches", undefended | {"batches": "fixed"})
    yield Defence("large start", undefended | {"start": "normal"})
    if plan.row_norm == 0:
        # What noise needs anyway, by itself, so that neither its cost nor its effect is put down to noise.
        yield Defence(f"rows clipped to {clipped['row_norm']:g}", clipped)
    for noise in ("heuristic", "sound"):
        for epsilon in BUDGETS:
            keys = clipped | {"noise": noise, "epsilon": epsilon}
            yield Defence(f"{noise} noise, epsilon {epsilon:g}", keys)
    for epsilon in BUDGETS:
        yield Defence(f"flipped labels, epsilon {epsilon:g}", undefended | {"label_flip_epsilon": epsilon})
    yield Defence("shares", undefended | {"protocol": "shares"})
    yield Defence("shares, never opened", undefended | {"protocol": "shares", "open": "never"})


def _is(plan: Plan, defence: Defence) -> bool:
    try:
        return plan.replace(**defence.keys) == plan
    except PlanError:
        return False


def _try(plan: Plan, defence: Defence, comparison: DefenceComparison) -> DefenceOutcome:
    comparison.tell(f"{defence.name}: training")
    try:
        defended = plan.replace(**defence.keys)
        run = comparison.run(defended)
    except PlanError as error:
        return DefenceOutcome(defence.name, defence.flags(plan), refused=str(error))
    comparison.tell(f"{defence.name}: attacking")
    outcome = outcome_of(run, audit(run, comparison.attacks()), defence.name, comparison.encrypted)
    outcome = replace(outcome, verdicts=_with_predicted_leaks(outcome, run))
    if comparison.estimate is not None and not comparison.encrypted:
        seconds, sent = comparison.estimate(defended, comparison.rows)
        outcome = replace(outcome, seconds=seconds, bytes=sent)
    return replace(outcome, flags=defence.flags(plan), is_plan=defended == plan)


def outcome_of(run: Run, findings: list[Finding], name: str, measured: bool) -> DefenceOutcome:
    """The outcome of one attacked run, for comparison."""
    (models,) = run.record.quality.values()
    return DefenceOutcome(
        defence=name,
        flags="",
        protocol=run.record.protocol,
        auc=models["joint"]["auc"],
        accuracy=models["joint"]["accuracy"],
        advantages=_advantages(findings),
        verdicts={
            LABELS: _worst(finding for finding in findings if finding.target == "labels"),
            VALUES: _worst(finding for finding in findings if finding.target != "labels"),
        },
        seconds=run.record.seconds if measured else None,
        bytes=sum(party.bytes_sent for party in run.record.parties) if measured else None,
        measured=measured,
        findings=findings,
    )


def _with_predicted_leaks(outcome: DefenceOutcome, run: Run) -> dict[str, str]:
    """The verdicts with predicted leaks: an attack that was not run counts with what `check` says of it."""
    tried = {finding.attack for finding in outcome.findings}
    predicted = predictions(run.record.parsed_plan, run.record.rows)
    untried = [one for one in predicted if one.attack not in tried and one.stage == "training"]
    leaking = [one for one in untried if one.verdict == LEAKS]
    found = {
        LABELS: any(one.target == "labels" for one in leaking),
        VALUES: any(one.target != "labels" for one in leaking),
    }
    return {kind: LEAKS if found[kind] else verdict for kind, verdict in outcome.verdicts.items()}


def _worst(findings: Iterable[Finding]) -> str:
    return min((finding.verdict for finding in findings), key=ORDER.index, default=NOT_APPLICABLE)


def _advantages(findings: Sequence[Finding]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for finding in findings:
        known = found.get(finding.attack)
        larger = [value for value in (known, finding.advantage) if value is not None]
        found[finding.attack] = max(larger, default=None)
    return found


def as_seen_under(plan: Plan, run: Run) -> Run:
    """A run of `clear` with the views that the plan's own protocol would have given."""
    transcripts = {name: _as_seen(plan, transcript) for name, transcript in run.transcripts.items()}
    record = replace(
        run.record,
        plan=plan.to_toml(),
        parsed_plan=plan,
        plan_hash=plan.hash(),
        protocol=plan.protocol,
        transcripts=transcripts,
    )
    return Run(record, transcripts, run.model)


def _as_seen(plan: Plan, transcript: Transcript) -> Transcript:
    seen = replace(transcript, plan=plan.to_toml())
    if plan.kind.shows_gradients:
        return seen
    weights = transcript.weights if plan.opens_weights else np.zeros(0)
    return replace(seen, sums=np.zeros((len(transcript.sums), 0)), weights=weights)


def _as_flag(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
