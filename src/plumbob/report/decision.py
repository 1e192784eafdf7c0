"""What the person who says yes or no has to know, in plain words: from a run's record, or from a plan before any run.

Each sentence is one that this plan makes true; docs/privacy-officers.md explains them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.filing import figures_of_run
from plumbob.checking.headlines import Headlines, headlines
from plumbob.checking.names import sentence, spoken_names
from plumbob.checking.row_notes import label_promise, row_notes
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.privacy.rows import coin_flip_bound, odds_factor
from plumbob.protocol.row_promise import kept_cost
from plumbob.record import Finding, RunRecord
from plumbob.report.markup import shortened
from plumbob.report.run import attacks_not_run, headlines_of, warnings

MOST_NAMES = 3
LONGEST_NAME = 24
LONGEST_SENTENCE = 150
LONGEST_TITLE = 80


@dataclass(frozen=True)
class Decision:
    """One page's worth of sentences."""

    title: str
    about: str
    headlines: Headlines
    basis: str
    """What they rest on."""
    protected: list[str]
    opened: list[str]
    not_protected: list[str]
    assumed: list[str]
    not_tested: list[str]
    plan_hash: str
    version: str


def decision_on_run(record: RunRecord) -> Decision:
    """After a run: what was found, or what the plan lets expect where nobody attacked it."""
    findings = record.findings or record.predicted
    run = _Sources(figures_of_run(record), findings, record)
    return _decision(run, headlines_of(record), record.plan_hash, record.plumbob)


def decision_on_plan(plan: Plan, findings: Sequence[Finding], version: str) -> Decision:
    """The decision sheet of a plan that nobody has run yet."""
    figures = Figures.of(plan)
    return _decision(_Sources(figures, findings, None), headlines(findings, figures), plan.hash(), version)


@dataclass(frozen=True)
class _Sources:
    """What the sentences are made from; without a record nothing has run yet."""

    figures: Figures
    findings: Sequence[Finding]
    record: RunRecord | None

    @property
    def plan(self) -> Plan:
        return self.figures.plan

    @property
    def rows(self) -> int:
        """Trained on; 0 where nobody knows."""
        return 0 if self.figures.is_assumed else self.figures.rows

    @property
    def is_attacked(self) -> bool:
        return self.record is not None and bool(self.record.findings)

    @property
    def left_out(self) -> list[str]:
        return [] if self.record is None else attacks_not_run(self.record)

    @property
    def others(self) -> str:
        """Whoever holds columns only, as far as names fit."""
        return _enumerate_names([self._spoken[party.name] for party in self.plan.feature_parties])

    @property
    def label(self) -> str:
        return _short(self._spoken[self.plan.label_party.name])

    @property
    def _spoken(self) -> dict[str, str]:
        return spoken_names([party.name for party in self.plan.parties])


def _decision(run: _Sources, told: Headlines, plan_hash: str, version: str) -> Decision:
    return Decision(
        title=shortened(run.plan.title or f"A model trained with {run.plan.protocol}", LONGEST_TITLE),
        about=_about(run),
        headlines=told,
        basis=_basis(run),
        protected=[*_protection_lines(run), *_strength(run)],
        opened=list(said(SaidWhere.OPENED, run.figures)),
        not_protected=list(said(SaidWhere.LIMITS, run.figures)),
        assumed=list(_assumption_lines(run)),
        not_tested=list(_not_tested(run)),
        plan_hash=plan_hash,
        version=version,
    )


def _about(run: _Sources) -> str:
    plan = run.plan
    theirs = sum(party.features for party in plan.feature_parties)
    columns = counted(plan.label_party.features, "column") if plan.label_party.features else "no columns"
    rows = f"{run.rows:,} rows" if run.rows else "rows"
    hold = "holds" if len(plan.feature_parties) == 1 else "hold"
    return sentence(
        f"{run.label} holds the label and {columns}; {run.others} {hold} {counted(theirs, 'column')}. Together "
        f"they train one logistic regression on {rows} that all of them have. The protocol is {plan.protocol}."
    )


def _basis(run: _Sources) -> str:
    if not run.findings:
        return "Nothing was checked: this page cannot help to decide."
    if not run.is_attacked:
        return "Calculated from the plan alone; nobody has attacked a run of it."
    partial = " The test was partial, so it decides nothing." if run.left_out else ""
    attacks = len({finding.attack for finding in run.findings})
    return f"Found by {attacks} attacks on this run, scored against the truth.{partial}"


# What is protected, from whom, how strongly.


def _protection_lines(run: _Sources) -> Iterator[str]:
    plan = run.plan
    if not plan.kind.is_encrypted or (run.record is not None and run.record.is_calculated):
        yield "Nothing, in this run: no number was encrypted. It shows what a model is worth, and what attacks reach."
        return
    if not plan.kind.shows_gradients:
        is_pair = len(plan.learners) == 2
        whom, they_see = (
            ("the other", "it sees")
            if is_pair
            else ("all the others together if they keep to the protocol", "they see")
        )
        yield (
            f"Every organisation's columns, and {run.label}'s labels, from {whom}: during training {they_see} only "
            "encrypted numbers, and shares that look random."
        )
        return
    yield "Columns and labels, from anyone outside: every number travels encrypted."
    yield (
        "Between the organisations encryption settles little: each gets the gradient of its own columns in every step. "
        "The verdicts say what can be worked out from these."
    )


def _strength(run: _Sources) -> Iterator[str]:
    if run.record is not None:
        yield from warnings(run.record)
    if run.plan.kind.is_encrypted:
        yield _encryption(run.plan)
    yield from _promise(run.figures)


def _encryption(plan: Plan) -> str:
    if plan.kind.has_lattices:
        return "Breaking the encryption is rated at 2^128 operations: more than all computers together can do."
    if plan.test_only_keys:
        return "The keys are for tests only: they are too short to protect anything."
    return f"Breaking the encryption means factoring a number of {plan.key_bits} bits, which nobody can do today."


def _promise(figures: Figures) -> Iterator[str]:
    """What noise promises in numbers, first of all the sentence that a lawyer understands."""
    plan = figures.plan
    if plan.noise == "rows" and (cost := kept_cost(plan, figures.rows)) is not None:
        yield next(row_notes(plan, figures.rows))
        coin = 100 * coin_flip_bound(cost.epsilon(plan.delta), plan.delta)
        yield (
            f"For example: whoever would otherwise toss a coin about a person is right at most {coin:.1f} times in 100."
        )
        if not plan.kind.is_encrypted:
            yield "Here the noise comes from a seed: this is an experiment, and the promise protects nobody."
    elif plan.noise == "sound":
        yield from label_promise(plan)
    elif plan.noise == "none":
        yield "No noise is added: there is no promise in numbers about what a finished model says about one person."
    else:
        yield "Noise is added, but nobody has proved what it promises."


# What is taken for granted.


def _assumption_lines(run: _Sources) -> Iterator[str]:
    plan = run.plan
    yield "For the first headline: every organisation keeps to the protocol, however closely it studies what it gets."
    yield "Each organisation's own machines, keys and staff can be trusted by that organisation."
    if plan.arbiter is not None:
        yield f"{_short(plan.arbiter.name)}, which holds the key, sides with nobody."
    if plan.noise == "rows":
        yield (
            "For the promise in numbers, each organisation shortens its rows as agreed and sends true messages: the "
            "promise does not bind one that cheats."
        )
    yield f"These rows are used once: {_twice(plan, run.rows)}."


def _twice(plan: Plan, rows: int) -> str:
    cost = kept_cost(plan, rows)
    if cost is None:
        return "what several runs tell adds up"
    epsilon = (cost.spending + cost.spending).epsilon(plan.delta)
    if math.isinf(epsilon):
        return "after a second run like this one, no promise is left"
    factor = odds_factor(epsilon)
    return f"after a second run like this one, the factor is {factor:.3g}"


def _not_tested(run: _Sources) -> Iterator[str]:
    if run.record is not None and not run.record.is_finished:
        yield f"The run did not finish: {shortened(run.record.status, LONGEST_SENTENCE)}."
    if run.left_out:
        yield f"Attacks that were not run: {shortened(', '.join(run.left_out), LONGEST_SENTENCE)}."
    elif not run.is_attacked:
        yield "No attack was run. `plumbob audit` attacks a run on data like yours."
    else:
        yield "Other data: these attacks may reach more, or less, on other rows."
    yield "Attacks that nobody has thought of."
    yield "No outside experts have reviewed Plumbob."


def _enumerate_names(names: Sequence[str]) -> str:
    shown = [_short(name) for name in names[:MOST_NAMES]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _short(name: str) -> str:
    return shortened(name, LONGEST_NAME)
