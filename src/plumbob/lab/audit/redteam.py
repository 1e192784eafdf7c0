"""The red attacks: every passive attack on every party's view of a run, every active one in a run of its own.

An active attack needs a run to take part in. It gets one on the same rows, rebuilt from the transcripts, with the same
plan and as many epochs as its work budget allows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from plumbob.callbacks import Tell
from plumbob.checking.advice import ON_OPENED_WEIGHTS
from plumbob.checking.arbiter_rules import ATTACK as ARBITER
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.masked_share_rules import masked_share_findings
from plumbob.checking.prediction_rules import ALTERED
from plumbob.checking.verdict_words import BLOCKED, NOT_APPLICABLE, ORDER
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.lab.attacks import ACTIVE, PASSIVE, ActiveAttack, Attack, CarriedOut, NotApplicable
from plumbob.lab.attacks.active.chosen_rows import ChoosingParty
from plumbob.lab.audit.again import plan_again, run_again, tables_again
from plumbob.lab.audit.arbiter import arbiter_audit
from plumbob.lab.audit.budget import engine_for, epochs_within, shortened, tell_now_and_then
from plumbob.lab.audit.coalitions import CoalitionAttacks, findings_together
from plumbob.lab.audit.prediction import altered_shares_audit, prediction_audit
from plumbob.lab.audit.score import scored, without_claim
from plumbob.lab.audit.truth import RunSource, Truth
from plumbob.lab.simulate import train
from plumbob.plan import Plan, suggestion
from plumbob.protocol.party import AfterStep, TrainingParty
from plumbob.record import Finding

AnyAttack = TypeVar("AnyAttack", Attack, ActiveAttack)


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
    findings: list[Finding] = []
    for name, view in truth.views.items():
        for passive in chosen(PASSIVE, view.role, only):
            _tell(progress, f"{passive.name} by {name}")
            findings += scored(passive, name, passive(view), truth)
        for active in chosen(ACTIVE, view.role, only):
            title = f"{active.name} by {name}, in a run of its own"
            _tell(progress, title)
            findings += act_out(active, name, truth, tell_now_and_then(title, lambda line: _tell(progress, line)))
    attacks = CoalitionAttacks(
        passive=lambda role: chosen(PASSIVE, role, only),
        active=lambda role: chosen(ACTIVE, role, only),
        act=act_out,
        run_again=run_again,
        tell=lambda line: _tell(progress, line),
    )
    findings += findings_together(truth, attacks)
    if truth.plan.kind.has_arbiter and (only is None or ARBITER in only):
        again = plan_again(truth.plan), tables_again(truth)
        findings += arbiter_audit(truth, *again, lambda line: _tell(progress, line))
    figures = Figures.of(truth.plan.replace(test_share=0.0, rows=0), truth.rows, predicted=predicted)
    if only is None:
        # By rule: nobody acts it out, and no audit may say less about it than `check` does.
        findings += masked_share_findings(figures)
    if scored_rows := figures.scored if only is None else predicted:
        _tell(progress, f"{ALTERED} by {truth.plan.label_party.name}, in a run of its own")
        acted = altered_shares_audit(truth, scored_rows, plan_again(truth.plan), tables_again(truth))
        reached = [one.against for one in acted]
        # Of several peers it is acted out against one; what `check` says holds for the others.
        others = (
            one
            for one in prediction_audit(truth, scored_rows, run_again)
            if one.attack != ALTERED or one.against not in reached
        )
        findings += [*acted, *others]
    judged = (_on_opened_weights(truth.plan, finding) for finding in findings)
    return worst_first(one_each(judged), figures)


def not_run(only: Sequence[str] | None, plan: Plan) -> list[str]:
    """The names of the attacks that `only` leaves out: what they would have found, nobody knows."""
    known = [*names(), ARBITER] if plan.kind.has_arbiter else names()
    return [] if only is None else [name for name in known if name not in only]


def refuse_unknown(only: Sequence[str] | None) -> None:
    """A name that no attack has."""
    known = [*names(), ARBITER]
    if unknown := [name for name in only or () if name not in known]:
        close = suggestion(unknown[0], known)
        raise DataError(f"there is no attack {', '.join(unknown)}; choose from {', '.join(known)}{close}")


def names() -> list[str]:
    """Of all attacks, each once."""
    return list(dict.fromkeys([attack.name for attack in PASSIVE] + [attack.name for attack in ACTIVE]))


def passive_names() -> list[str]:
    """Of those that need no run of their own."""
    return list(dict.fromkeys(attack.name for attack in PASSIVE))


def chosen(attacks: Sequence[AnyAttack], role: str, only: Sequence[str] | None) -> list[AnyAttack]:
    """Those that a party of this role can make, of these names."""
    return [attack for attack in attacks if attack.by == role and (only is None or attack.name in only)]


def act_out(attack: ActiveAttack, by: str, truth: Truth, progress: AfterStep | None = None) -> list[Finding]:
    """Cast the attacker for its part, train again as far as its budget goes, and score what it then believes."""
    party_class = attack.arm(truth.plan, by)
    if isinstance(party_class, NotApplicable | CarriedOut):
        return scored(attack, by, party_class, truth)
    party_class = after_those_in_doubt(party_class, truth, by)
    plan = plan_again(truth.plan)
    if epochs_within(truth.plan, truth.rows) < truth.plan.passes(truth.rows):
        plan = plan.replace(epochs=epochs_within(truth.plan, truth.rows))
    try:
        run = train(plan, tables_again(truth), cast={by: party_class}, engine=engine_for(plan), progress=progress)
    except RemoteProtocolError as error:
        return without_claim(attack, by, BLOCKED, NotApplicable(f"The honest peer ended the run: {error}"), truth)
    again = Truth.of(run)
    claim = attack.claim(run.parties[by], again.views[by])
    # What its own part of the model predicts is taken from the honest run: it may have spoilt its part in this one.
    findings = scored(attack, by, claim, Truth(truth.plan, {**again.views, by: truth.views[by]}))
    return [replace(one, why=one.why + shortened(truth.plan, truth.rows)) for one in findings]


def after_those_in_doubt(party_class: type[TrainingParty], truth: Truth, by: str) -> type[TrainingParty]:
    """Whoever can choose whom to read chooses those whom its own part of an earlier, honest run leaves in doubt.

    They are those nearest to the threshold that gives as many positives as there are; a base rate is no secret.
    """
    view = truth.views[by]
    if not issubclass(party_class, ChoosingParty) or not len(view.weights) or not view.X.shape[1]:
        return party_class
    scores = view.X @ view.weights
    threshold = np.sort(scores)[-max(1, int(truth.is_positive.sum()))]
    order = np.argsort(np.abs(scores - threshold), kind="stable")
    return type(party_class.__name__, (party_class,), {"preferred": tuple(order.tolist())})


def _tell(progress: Tell | None, line: str) -> None:
    if progress is not None:
        progress(line)


def one_each(findings: Iterable[Finding]) -> list[Finding]:
    """Where an attack has several ways, the one that got furthest speaks for it."""
    best: dict[tuple[str, str, str, str], Finding] = {}
    for finding in findings:
        key = (finding.attack, finding.by, finding.against, finding.target)
        if key not in best or _reach(finding) > _reach(best[key]):
            best[key] = finding
    return list(best.values())


def _reach(finding: Finding) -> tuple[int, float]:
    return -ORDER.index(finding.verdict), finding.advantage or 0.0


def _on_opened_weights(plan: Plan, finding: Finding) -> Finding:
    """In `shares` no sums are seen, only the weights opened at the end: say so; the verdict is what was reached."""
    if plan.kind.shows_gradients or finding.attack not in ON_OPENED_WEIGHTS:
        return finding
    if plan.is_closed:
        return replace(finding, verdict=BLOCKED, why="No sums were seen, and the weights were never opened.", fix="")
    if finding.verdict == NOT_APPLICABLE:
        return finding
    columns = sum(plan.party(name).features for name in finding.by.split("+"))
    equations = f"The weights opened at the end are {columns} equations per run about labels."
    return replace(finding, why=f"{equations} {finding.why}")
