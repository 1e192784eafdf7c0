"""The findings of `check` for a job of another system, by its nearest plan, and what no plan can say.

Four things are beyond any plan of ours: an arbiter that is one of the parties, scores that the label party gets in the
clear, nothing encrypted at all, and batches that are hidden among decoys. Advice is in the other system's own words:
its settings, not our flags.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from plumbob.checking.check import figures_of, judge_figures
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.rules.gradients import FROM_SUMS, OWN_WEIGHTS
from plumbob.checking.rules.keys import KEYS as KEYS_ATTACK
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, ORDER
from plumbob.jobs.components import FL_VERTICAL
from plumbob.jobs.reading import Job, short_text
from plumbob.plan import PROFILE_BITS, PROTOCOLS, Plan
from plumbob.record import Finding

ARBITER_REFERENCE = "FATE: the arbiter holds the key, and residuals and scores travel row by row under it"
CHOSEN_LABELS = "chosen-labels"
SCORES_REFERENCE = "SecretFlow: FlLogisticRegressionVertical adds up the scores for the label party"
DECOYS_REFERENCE = "beyond the paper: a batch hidden among decoys, taken as one batch of all rows that a step names"
UNPROTECTED_REFERENCE = "the other system's own documentation"


def judge(job: Job, plan: Plan, positives: float | None = None) -> Findings:
    """All findings, the worst first."""
    # Which rows it scores later, a job that only trains does not say.
    figures = figures_of(plan, None, job.fits, None if job.scores_rows else 0, positives)
    findings: list[Finding] = judge_figures(figures)
    if job.decoys and plan.batches == "reshuffled":
        findings = list(_with_decoys(job.decoys, plan, figures, findings))
    if job.may_be_fixed and plan.batches == "reshuffled":
        findings = _worse(findings, judge_figures(replace(figures, plan=plan.replace(batches="fixed"))))
    own = [*_unprotected(job, plan), *_arbiter(job, plan), *_scores(job, plan)]
    others = [found for finding in findings for found in _about_keys(plan, finding)]
    # Our flags mean nothing to the other system.
    advised = (
        replace(one, fix=advice(job, plan.protocol, one.attack, one.stage), changes={})
        if one.fix or one.verdict == LEAKS
        else one
        for one in (*own, *others)
    )
    return worst_first(advised, figures)


def advice(job: Job, protocol: str, attack: str, stage: str = "training") -> str:
    """How to stop an attack in the other system; where no setting helps, as against what scores tell: move the job."""
    general = ["gradients", ""] if PROTOCOLS[protocol].shows_gradients else [""]
    # Hiding gradients stops neither what is read from scores or weights at the end, nor whoever breaks a short key.
    is_stopped_by_hiding = stage == "training" and attack not in (CHOSEN_LABELS, OWN_WEIGHTS, KEYS_ATTACK)
    names = [attack, *(general if is_stopped_by_hiding else [])]
    moving = f"plumbob plan new --from-{job.system.lower()} FILE"
    otherwise = f"{job.system} has no setting against it; move the job: {moving}"
    return next((job.advice[name] for name in names if name in job.advice), otherwise)


def _worse(findings: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """The worse finding of each attack, from two lists about the same plan."""
    fresh = [other for other in others if not any(_same(other, finding) for finding in findings)]
    worse = (
        min((finding, *(other for other in others if _same(other, finding))), key=lambda one: ORDER.index(one.verdict))
        for finding in findings
    )
    return [*worse, *fresh]


def _about_keys(plan: Plan, finding: Finding) -> Iterator[Finding]:
    """Judge a job's keys by their length: a plan has only two lengths, and others for tests."""
    if finding.attack != KEYS_ATTACK or not plan.test_only_keys:
        yield finding
    elif plan.key_bits < PROFILE_BITS[0]:
        why = (
            f"Keys of {plan.key_bits} bits: whoever factors one decrypts every message under it, now or from a "
            "recording, and reads all labels and scores."
        )
        yield replace(finding, why=why)


def _unprotected(job: Job, plan: Plan) -> Iterator[Finding]:
    if not job.unprotected:
        return
    label = plan.label_party.name
    why = f"{job.unprotected} Whatever a party is sent, it can read, row by row."
    for party in plan.feature_parties:
        yield _leak("no-encryption", party.name, label, "labels", why, UNPROTECTED_REFERENCE)
        yield _leak("no-encryption", label, party.name, "scores", why, UNPROTECTED_REFERENCE)


def _arbiter(job: Job, plan: Plan) -> Iterator[Finding]:
    """An arbiter that is one of the parties, or may be."""
    if not job.has_arbiter or not plan.kind.has_arbiter:
        return
    label, features = plan.label_party.name, [party.name for party in plan.feature_parties]
    if not (job.parties.is_stated and job.parties.arbiter):
        why = (
            "The file does not say who the arbiter is. If it is a host, as in FATE's own examples, that host holds the "
            "key and can read the encrypted residual of every row, and so every label. Provide the file that names the "
            "roles."
        )
        yield _leak("arbiter-key", features[0], label, "labels", why, ARBITER_REFERENCE)
        return
    for identity in sorted(set(job.parties.arbiter) & set(job.parties.label)):
        why = (
            f"Party {short_text(identity)} is both guest and arbiter: it holds the key, and each host sends it an "
            "encrypted score for every row of every batch, so it can read them all."
        )
        for name in features:
            yield _leak("arbiter-key", label, name, "scores", why, ARBITER_REFERENCE)
    for identity, name in zip(job.parties.features, features, strict=False):
        if identity in job.parties.arbiter:
            why = (
                f"Party {short_text(identity)} is both host and arbiter: it holds the key, and the guest sends it an "
                "encrypted residual for every row of every batch, so it can read every label."
            )
            yield _leak("arbiter-key", name, label, "labels", why, ARBITER_REFERENCE)


def _scores(job: Job, plan: Plan) -> Iterator[Finding]:
    """Scores that the label party gets in the clear."""
    if job.component != FL_VERTICAL.name:
        return
    names = [party.name for party in plan.feature_parties]
    label = plan.label_party.name
    why = f"{label} gets the sum of the other parties' parts of the score for every row of every batch."
    if len(names) == 1:
        why = (
            f"{label} gets the joint score of every row of every batch in the clear and knows its own part, so it "
            f"reads {names[0]}'s part of every score, at any batch size."
        )
    yield _leak("scores-in-the-clear", label, "+".join(names), "scores", why, SCORES_REFERENCE)


def _leak(attack: str, by: str, against: str, target: str, why: str, reference: str) -> Finding:
    read = "read the label of every row" if target == "labels" else "read the others' part of the score of every row"
    about = (attack, by, against, target, LEAKS, why, reference)
    return Finding(*about, fix="in the other system's words", can=read, attacks=(attack,))


def _with_decoys(decoys: float, plan: Plan, figures: Figures, findings: Sequence[Finding]) -> Iterator[Finding]:
    """What a host makes of a batch that it does not know; the guest knows it, so its findings stay."""
    # To the host a step is about all rows that are named, and decoys have residual 0.
    named = round((1.0 + decoys) * figures.batch)
    wide = judge_figures(
        replace(figures, plan=plan.replace(batch_size=max(1, min(named, figures.rows))), predicted=None)
    )
    for finding in findings:
        hidden = next((one for one in wide if _same(one, finding)), None)
        knows_the_batch = finding.by == plan.label_party.name
        # Which rows a batch has is what sums need, and what decoys hide.
        if knows_the_batch or finding.attack not in FROM_SUMS or hidden is None:
            yield finding
        else:
            # Nothing hides the labels but the guess which rows count: nobody can say that it is nothing.
            verdict = DEGRADES if hidden.verdict == BLOCKED else hidden.verdict
            why = f"Each step hides {figures.batch} rows among decoys, and the host sees one batch of all. {hidden.why}"
            yield replace(hidden, verdict=verdict, why=why, reference=DECOYS_REFERENCE)


def _same(one: Finding, other: Finding) -> bool:
    return _reading(one) == _reading(other)


def _reading(one: Finding) -> tuple[str, ...]:
    """Who reads what of whom; numbers in what is read follow from the plan, which may differ in its batches."""
    return one.by, one.against, one.target, one.assumes, re.sub(r"[\d,]+", "", one.can)
