"""The red attacks: every passive attack on every party's view of a run, every active one in a run of its own.

An active attack needs a run to take part in. It gets one on the same rows, rebuilt from the transcripts, with the same
plan and as many epochs as its work budget allows.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from plumbob.callbacks import Tell
from plumbob.checking.advice import ON_OPENED_WEIGHTS
from plumbob.checking.check import all_findings, finished
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.rules import is_floor
from plumbob.checking.rules.arbiter_key import ARBITER
from plumbob.checking.rules.keys import KEYS
from plumbob.checking.rules.masked_shares import RULE as MASKED_SHARES
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, NOT_APPLICABLE, ORDER
from plumbob.counting import percent
from plumbob.data import Batch
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.lab.attacks import (
    ACTIVE,
    PASSIVE,
    STAGED,
    ActiveAttack,
    Attack,
    NotApplicable,
    StagedAttack,
    WeightsClaim,
)
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.attacks.label_chosen_rows import Choosing
from plumbob.lab.attacks.label_stacked import MOST_ENTRIES
from plumbob.lab.audit.again import RunsAgain, plan_again, tables_again
from plumbob.lab.audit.score import scored, without_claim
from plumbob.lab.audit.truth import RunSource, Truth
from plumbob.lab.exchange.engines.interface import Engine
from plumbob.lab.simulate import train
from plumbob.lab.simulate.unhidden import UnhiddenEngine
from plumbob.plan import Plan, suggestion
from plumbob.protocol.party import AfterStep, party_class
from plumbob.record import Finding

AnyAttack = TypeVar("AnyAttack", Attack, ActiveAttack, StagedAttack)

# Rows x columns x epochs that an active attack trains on again: about two minutes on two cores.
CELLS = 50_000_000
# Real Paillier and Okamoto-Uchiyama ciphertexts take about eight times as long as unhidden ones and as lattices.
ENCRYPTED_COST = 8
SECONDS_BETWEEN_LINES = 5.0
NOT_LESS = "This run reached less than the plan allows, because the attacker chooses whom it brings:"
BY_RULE_ALONE = (ARBITER, KEYS, MASKED_SHARES.name)
"""Findings that nobody acts out, and neither are those of parties that join: an audit has what `check` says of them."""


def audit(
    record: RunSource, only: Sequence[str] | None = None, progress: Tell | None = None, predicted: int | None = None
) -> Findings:
    """Attack a recorded run: a `RunRecord` with its transcripts, a `Run`, a fitted model, or a run's folder.

    `only` names the attacks to run; without it, all, those on scores included: of as many rows as the plan lets be
    scored, or of as many as are `predicted`. One finding for each attack, attacker, victim and target.
    """
    # One name is a sequence of letters, too, and those are no attacks.
    only = [only] if isinstance(only, str) else only
    refuse_unknown(only)
    truth = Truth.of(record)
    share = float(truth.is_positive.mean())
    figures = Figures.of(truth.plan.replace(test_share=0.0, rows=0), truth.rows, predicted=predicted, positives=share)
    measured = one_each(_measured(truth, figures.scored, only, lambda line: _tell(progress, line)))
    expected = [one for one in all_findings(figures) if only is None or one.attack in only]
    judged = (_on_opened_weights(truth.plan, one) for one in as_measured(expected, measured))
    return worst_first((finished(truth.plan, one) for one in judged), figures)


def as_measured(expected: Sequence[Finding], measured: Sequence[Finding]) -> list[Finding]:
    """The findings of `check`, each with what was measured; those not acted out, or without a claim, stay as they are.

    Where `check` expected something and the attack had nothing to work on in this run, the run decides.
    """
    found = {key_of(one): one for one in measured}
    listed = [_better_known(one, found.pop(key_of(one), one)) for one in expected]
    return [*listed, *found.values()]


def _better_known(expected: Finding, measured: Finding) -> Finding:
    is_claimed = measured.advantage is not None or measured.conditions or measured.verdict == LEAKS
    is_surprise = measured.verdict == NOT_APPLICABLE and expected.verdict in (LEAKS, DEGRADES)
    if not is_floor(expected.attack):
        return measured if is_claimed or is_surprise else expected
    if ORDER.index(measured.verdict) <= ORDER.index(expected.verdict):
        return measured if is_claimed else expected
    return replace(measured, verdict=expected.verdict, why=f"{measured.why} {NOT_LESS} {expected.why}")


def _measured(truth: Truth, scored_rows: int, only: Sequence[str] | None, tell: Tell) -> Iterator[Finding]:
    """The findings of every attack that is acted out."""
    attacks = list(_attacks(truth, scored_rows, only))
    for place, (title, act) in enumerate(attacks, 1):
        said = f"attack {place} of {len(attacks)}: {title}"
        tell(said)
        yield from act(partial(_tell_more, tell, said))


def _attacks(
    truth: Truth, scored_rows: int, only: Sequence[str] | None
) -> Iterator[tuple[str, Callable[[Tell], Iterable[Finding]]]]:
    """The attacks as (name, how to act it out), in order."""
    for name, view in truth.views.items():
        for passive in chosen(PASSIVE, view.role, only):
            yield f"{passive.name} by {name}", partial(_watch, passive, name, truth)
        for active in chosen(ACTIVE, view.role, only):
            yield f"{active.name} by {name}", partial(_take_part, active, name, truth)
        stage = RunsAgain(truth, name, scored_rows)
        for staged in chosen(STAGED, view.role, only):
            if only is not None or not staged.is_only_if_named:
                yield f"{staged.name} by {name}", partial(_stage, staged, stage)


def _watch(attack: Attack, by: str, truth: Truth, tell: Tell) -> list[Finding]:
    del tell
    return scored(attack, by, attack(truth.views[by]), truth)


def _take_part(attack: ActiveAttack, by: str, truth: Truth, tell: Tell) -> list[Finding]:
    return act_out(attack, by, truth, tell_now_and_then(tell))


def _stage(attack: StagedAttack, stage: RunsAgain, tell: Tell) -> Iterator[Finding]:
    del tell
    claimed = attack.act(stage)
    for claim in claimed if isinstance(claimed, Sequence) else [claimed]:
        truth = stage.opened if isinstance(claim, WeightsClaim) else stage.truth
        yield from scored(attack, stage.by, claim, truth)


def not_run(only: Sequence[str] | None, plan: Plan) -> list[str]:
    """The names of the attacks that `only` leaves out: what they would have found, nobody knows."""
    if only is None:
        return []
    judged = {one.attack for one in all_findings(Figures.of(plan))}
    apart = set(BY_RULE_ALONE) - judged
    return [name for name in names() if name not in only and name not in apart]


def refuse_unknown(only: Sequence[str] | None) -> None:
    """Refuse a name that no attack has."""
    known = names()
    if unknown := [name for name in only or () if name not in known]:
        close = suggestion(unknown[0], known)
        raise DataError(f"there is no attack {', '.join(unknown)}; choose from {', '.join(known)}{close}")


def names() -> list[str]:
    """The names of all attacks, each once."""
    acted_out: list[Attack | ActiveAttack | StagedAttack] = [*PASSIVE, *ACTIVE, *STAGED]
    return list(dict.fromkeys([*(attack.name for attack in acted_out), *BY_RULE_ALONE]))


def passive_names() -> list[str]:
    """The names of the attacks that need no run of their own."""
    return list(dict.fromkeys(attack.name for attack in PASSIVE))


def chosen(attacks: Sequence[AnyAttack], role: str, only: Sequence[str] | None) -> list[AnyAttack]:
    """The attacks that a party of this role can make, of these names."""
    return [attack for attack in attacks if attack.by == role and (only is None or attack.name in only)]


def act_out(attack: ActiveAttack, by: str, truth: Truth, progress: AfterStep | None = None) -> list[Finding]:
    """Put the hook on its party, train again as far as its budget goes, and score what it then believes."""
    hook = attack.arm(truth.plan, by)
    if hook is None:
        return []
    if isinstance(hook, NotApplicable):
        return scored(attack, by, hook, truth)
    plan = plan_again(truth)
    prefer_those_in_doubt(hook, truth, by)
    attacker = hooked(party_class(plan.kind), hook)
    if epochs_within(truth.plan, truth.rows) < truth.plan.passes(truth.rows):
        plan = plan.replace(epochs=epochs_within(truth.plan, truth.rows))
    try:
        run = train(plan, tables_again(truth), instead={by: attacker}, paillier=paillier_for(plan), progress=progress)
    except RemoteProtocolError as error:
        return without_claim(attack, by, BLOCKED, NotApplicable(f"The honest peer ended the run: {error}"), truth)
    again = Truth.of(run)
    claim = hook.claim(run.parties[by], again.views[by])
    # What its own part of the model predicts is taken from the honest run: it may have spoilt its part in this one.
    findings = scored(attack, by, claim, Truth(truth.plan, {**again.views, by: truth.views[by]}))
    return [replace(one, why=one.why + shortened(truth.plan, truth.rows)) for one in findings]


def prefer_those_in_doubt(hook: Hook, truth: Truth, by: str) -> None:
    """Let an attacker that can choose whom to read prefer people whom its part of an honest run leaves in doubt.

    They are those nearest to the threshold that gives as many positives as there are; a base rate is no secret.
    """
    view = truth.views[by]
    if isinstance(hook, Choosing) and len(view.weights) and view.X.shape[1]:
        scores = view.X @ view.weights
        threshold = np.sort(scores)[-max(1, int(truth.is_positive.sum()))]
        hook.preferred = tuple(np.argsort(np.abs(scores - threshold), kind="stable").tolist())


def _tell_more(tell: Tell, said: str, words: str) -> None:
    tell(f"{said}, {words}")


def _tell(progress: Tell | None, line: str) -> None:
    if progress is not None:
        progress(line)


def one_each(findings: Iterable[Finding]) -> list[Finding]:
    """One finding per attack: where it has several ways, the one that got furthest."""
    best: dict[tuple[str, str, str, str], Finding] = {}
    for finding in findings:
        key = key_of(finding)
        if key not in best or _reach(finding) > _reach(best[key]):
            best[key] = finding
    return list(best.values())


def key_of(finding: Finding) -> tuple[str, str, str, str]:
    """The key of a finding: there is one finding for each."""
    return finding.attack, finding.by, finding.against, finding.target


def _reach(finding: Finding) -> tuple[int, float]:
    return -ORDER.index(finding.verdict), finding.advantage or 0.0


def _on_opened_weights(plan: Plan, finding: Finding) -> Finding:
    """The finding in `shares`, where no sums are seen, only weights opened at the end, if any are."""
    if plan.kind.shows_gradients or finding.attack not in ON_OPENED_WEIGHTS:
        return finding
    if plan.is_closed:
        return replace(
            finding, verdict=BLOCKED, why="No sums were seen, and the weights were never opened.", fix="", changes={}
        )
    if finding.verdict == NOT_APPLICABLE:
        return finding
    columns = sum(plan.party(name).features for name in finding.by.split("+"))
    equations = f"The weights opened at the end are {columns} equations per run about labels."
    return replace(finding, why=f"{equations} {finding.why}")


# The budget of one attack's work, and the sentences about it in the output and in the report.


def paillier_for(plan: Plan) -> Engine | None:
    """The engine of an active attack's own run: one that hides nothing, where only time depends on it."""
    return UnhiddenEngine() if plan.kind.lends_keys else None


def epochs_within(plan: Plan, rows: int) -> int:
    """How many of the plan's epochs an active attack may run, at least one."""
    is_cheap = plan.kind.has_lattices or plan.kind.lends_keys
    cells = rows * plan.columns * (1 if is_cheap else ENCRYPTED_COST)
    return max(1, min(plan.passes(rows), CELLS // max(1, cells)))


def budget_note(plan: Plan, rows: int) -> str:
    """A note for the record: what the attacks were allowed, and whether it was enough."""
    epochs, passes = epochs_within(plan, rows), plan.passes(rows)
    enough = f"all {passes}" if epochs == passes else f"the first {epochs} of {passes}"
    return (
        f"Work budget of each attack: an active one trains again for at most {CELLS:,} cells (rows x columns x epochs; "
        f"encrypted ones count {ENCRYPTED_COST} times), here {enough} epochs; label-stacked solves at most "
        f"{MOST_ENTRIES:,} entries."
    )


def shortened(plan: Plan, rows: int) -> str:
    """The sentence that a finding of an active attack adds where the budget was not enough; empty otherwise."""
    epochs = epochs_within(plan, rows)
    if epochs == plan.passes(rows):
        return ""
    return f" Its budget allowed {epochs} of {plan.passes(rows)} epochs; with more it may reach more."


def cut_short(plan: Plan, rows: int, findings: Sequence[Finding]) -> list[str]:
    """The active attacks that ran for fewer epochs than the plan has, and so may reach more than they did."""
    if epochs_within(plan, rows) == plan.passes(rows):
        return []
    active = {attack.name for attack in ACTIVE}
    return list(dict.fromkeys(one.attack for one in findings if one.attack in active and one.rate is not None))


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
