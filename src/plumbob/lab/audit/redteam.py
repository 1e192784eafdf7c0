"""The red attacks: every attack by every party that can make it, each on a stage of its own, and its score."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from plumbob.caller import Tell
from plumbob.checking import rules
from plumbob.checking.check import all_findings, finished
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.rules import rule_behind
from plumbob.checking.words import DEGRADES, LEAKS, ORDER
from plumbob.counting import percent
from plumbob.data import Batch
from plumbob.errors import DataError
from plumbob.lab.attacks import ATTACKS, Attack, NotApplicable
from plumbob.lab.audit.again import RunsAgain, epochs_within, shortened
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import RunSource, Truth
from plumbob.plan import Plan, suggestion
from plumbob.protocol.party import AfterStep
from plumbob.record import Finding

SECONDS_BETWEEN_LINES = 5.0
NOT_LESS = "This run reached less than the plan allows, and so the plan's verdict stays:"


def audit(
    record: RunSource, only: Sequence[str] | None = None, progress: Tell | None = None, predicted: int | None = None
) -> Findings:
    """Attack a recorded run: a `RunRecord` with its transcripts, a `Run`, a fitted model, or a run's folder.

    `only` names the attacks to run; without it, all, those on scores included: of as many rows as the plan lets be
    scored, or of as many as are `predicted`. One finding for each attack, attacker and target.
    """
    # One name is a sequence of letters, too, and those are no attacks.
    only = [only] if isinstance(only, str) else only
    refuse_unknown(only)
    truth = Truth.of(record)
    share = float(truth.is_positive.mean())
    figures = Figures.of(truth.plan.replace(test_share=0.0, rows=0), truth.rows, predicted=predicted, positives=share)
    measured = list(_measured(truth, figures.scored, only, lambda line: _tell(progress, line)))
    cut = cut_short(truth.plan, truth.rows, measured)
    judged = as_measured(figures, _named(all_findings(figures), only), measured, cut)
    return worst_first((finished(truth.plan, one) for one in judged), figures)


def _named(findings: Iterable[Finding], only: Sequence[str] | None) -> list[Finding]:
    """The findings that one of these attacks shows, under its name."""
    if only is None:
        return list(findings)
    shown = ((one, [name for name in one.attacks if name in only]) for one in findings)
    return [replace(one, attack=names[0], attacks=tuple(names)) for one, names in shown if names]


def as_measured(
    figures: Figures, expected: Sequence[Finding], measured: Sequence[Finding], cut: Sequence[str] = ()
) -> list[Finding]:
    """One finding for each attack that made a claim; where none did, what `check` says of the reading.

    The attacks in `cut` had too little time: that they reached less is no all-clear.
    """
    before = [_reading(one, expected) for one in measured]
    found = [
        _better_known(figures, one, reading, one.attack in cut) for one, reading in zip(measured, before, strict=True)
    ]
    return [*found, *(one for one in expected if not any(one is reading for reading in before))]


def _reading(measured: Finding, expected: Sequence[Finding]) -> Finding | None:
    """The finding of `check` that an attack shows, if there is one; of several that which has its name."""
    fitting = [
        one
        for one in expected
        if (one.by, one.target) == (measured.by, measured.target)
        and measured.attack in one.attacks
        and {*measured.against.split("+")} <= {*one.against.split("+")}
    ]
    return min(fitting, key=lambda one: one.attack != measured.attack, default=None)


def _better_known(figures: Figures, measured: Finding, reading: Finding | None, is_cut: bool) -> Finding:
    """What was measured, with what the plan says of the reading: its words, its remedy, and evidence that names it."""
    rule = rule_behind(measured)
    verdict, added = rule.after_a_replay(figures, measured.by, measured.verdict)
    known = replace(measured, verdict=verdict, why=f"{measured.why} {added}".strip(), attacks=(measured.attack,))
    if reading is None:
        return known
    known = replace(known, can=reading.can, changes=reading.changes if verdict in (LEAKS, DEGRADES) else {})
    if (rule.is_floor or is_cut) and ORDER.index(verdict) > ORDER.index(reading.verdict):
        why = f"{known.why} {NOT_LESS} {reading.why}"
        return replace(known, verdict=reading.verdict, why=why, changes=reading.changes)
    return known


def _measured(truth: Truth, scored_rows: int, only: Sequence[str] | None, tell: Tell) -> Iterator[Finding]:
    """The findings of every attack that is acted out."""
    stages = {name: RunsAgain(truth, name, scored_rows) for name in truth.views}
    acts = [(attack, stage) for stage in stages.values() for attack in chosen(stage.view.role, only)]
    for place, (attack, stage) in enumerate(acts, 1):
        said = f"attack {place} of {len(acts)}: {attack.name} by {stage.by}"
        tell(said)
        yield from carried_out(attack, stage, tell_now_and_then(partial(_tell_more, tell, said)))


def carried_out(attack: Attack, stage: RunsAgain, progress: AfterStep | None = None) -> Iterator[Finding]:
    """The findings of one attack by one party: those of every claim that it makes."""
    stage.begin(progress)
    for claim in attack.claims(stage):
        is_cut = attack.is_budgeted and not isinstance(claim, NotApplicable)
        words = shortened(stage.truth) if is_cut else ""
        for finding in scored(attack, stage.by, claim, stage.truth_about(claim)):
            yield replace(finding, why=finding.why + words)


def not_run(only: Sequence[str] | None, plan: Plan) -> list[str]:
    """The names of the attacks that `only` leaves out: what they would have found, nobody knows.

    An attack without code, whose finding is what `check` says of it, is left out where the plan has that finding.
    """
    if only is None:
        return []
    acted_out = {attack.name for attack in ATTACKS}
    judged = {name for one in all_findings(Figures.of(plan)) for name in one.attacks}
    return [name for name in names() if name not in only and name in acted_out | judged]


def refuse_unknown(only: Sequence[str] | None) -> None:
    """Refuse a name that no attack has."""
    known = names()
    if unknown := [name for name in only or () if name not in known]:
        close = suggestion(unknown[0], known)
        raise DataError(f"there is no attack {', '.join(unknown)}; choose from {', '.join(known)}{close}")


def names() -> list[str]:
    """The names of all attacks, each once."""
    return list(dict.fromkeys([*(attack.name for attack in ATTACKS), *rules.names()]))


def passive_names() -> list[str]:
    """The names of the attacks that need no run of their own."""
    return list(dict.fromkeys(attack.name for attack in ATTACKS if attack.is_passive))


def chosen(role: str, only: Sequence[str] | None = None) -> list[Attack]:
    """The attacks that a party of this role can make, of these names; those that need no run of their own first."""
    found = [attack for attack in ATTACKS if attack.by == role and (only is None or attack.name in only)]
    return sorted(found, key=lambda attack: not attack.is_passive)


def _tell_more(tell: Tell, said: str, words: str) -> None:
    tell(f"{said}, {words}")


def _tell(progress: Tell | None, line: str) -> None:
    if progress is not None:
        progress(line)


# Attacks that were left out, or had too little time.


def cut_short(plan: Plan, rows: int, findings: Sequence[Finding]) -> list[str]:
    """The attacks that ran for fewer epochs than the plan has, and so may reach more than they did."""
    if epochs_within(plan, rows) == plan.passes(rows):
        return []
    budgeted = {attack.name for attack in ATTACKS if attack.is_budgeted}
    return list(dict.fromkeys(one.attack for one in findings if one.attack in budgeted and one.coverage is not None))


def cut_short_sentence(attacks: Sequence[str]) -> str:
    """A sentence that an audit whose attacks had too little time decides nothing."""
    return f"This audit is partial: its budget cut these attacks short: {', '.join(attacks)}."


def tell_now_and_then(tell: Tell) -> AfterStep:
    """Tells, every few seconds, how far an active attack's own run is."""
    said = time.monotonic()

    def follow(batch: Batch, steps: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= SECONDS_BETWEEN_LINES:
            said = now
            tell(percent(batch.step / steps))

    return follow
