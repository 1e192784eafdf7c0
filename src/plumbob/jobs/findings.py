"""The findings of `check` for a job of another system, by its nearest plan, and what no plan can say.

Four things are beyond any plan of ours: an arbiter that is one of the parties, scores that the label party gets in the
clear, nothing encrypted at all, and batches that are hidden among decoys. Each has a rule of its own here, from the
job's description alone. Advice is in the other system's own words: its settings, not our flags.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from plumbob.checking.check import check, figures_of
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.rules.keys import KEYS as KEYS_ATTACK
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, ORDER
from plumbob.jobs.reading import Job, shown
from plumbob.plan import PROFILE_BITS, PROTOCOLS, Plan
from plumbob.record import Finding

KEYS = {
    "hetero_lr": "set encrypt_param.key_length to 2048 or more",
    "hetero_sshe_lr": "set encrypt_param.key_length to 2048 or more",
    "coordinated_lr": "set he_param.key_length to 2048 or more",
    "sshe_lr": "SSHELR takes no key length; CoordinatedLR has he_param.key_length",
}
ENCRYPTION = {
    "hetero_lr": "set encrypt_param.method to Paillier",
    "hetero_sshe_lr": "set encrypt_param.method to Paillier",
    "coordinated_lr": "set he_param.kind to paillier",
}
# What FATE offers instead of an arbiter, by component.
WITHOUT_ARBITER = {
    "hetero_lr": "HeteroSSHELR with reveal_every_iter off (1.7 and later)",
    "coordinated_lr": "SSHELR with early_stop diff",
}
HEU_BITS = "give the HEU a key_size (bit_size) of 2048 or more"
SPU = (
    "set the SPU's runtime_config.protocol to CHEETAH (two nodes), ABY3 (three nodes), or SEMI2K with beaver_type "
    "TrustedThirdParty"
)
OPENED = "keep report_weights off, and reveal no weights"
SHARED = "use ss_sgd_train (SSRegression) or HESSLogisticRegression, which open no scores and no gradients"


def advice(job: Job, protocol: str, attack: str) -> str:
    """How to stop an attack in the other system; the last resort is to move the job."""
    offered = _fate(job, protocol, attack) if job.system == "FATE" else _secretflow(job, attack)
    moving = f"plumbob plan new --from-{job.system.lower()} FILE"
    return offered or f"{job.system} has no setting against it; move the job: {moving}"


def _fate(job: Job, protocol: str, attack: str) -> str:
    if attack == "no-encryption":
        return ENCRYPTION.get(job.component, "")
    if attack == "keys":
        return KEYS.get(job.component, "")
    if job.component in WITHOUT_ARBITER:
        own = "let an organisation be arbiter that is neither guest nor host, or " if attack == "arbiter-key" else ""
        return f"{own}use {WITHOUT_ARBITER[job.component]}, which has no arbiter and shows no gradients"
    if PROTOCOLS[protocol].shows_gradients:
        return (
            "set reveal_every_iter to false" if job.component == "hetero_sshe_lr" else "set early_stop to diff or abs"
        )
    if job.component == "hetero_sshe_lr":
        return "set reveal_strategy to encrypted_reveal_in_host, so that the host never holds its weights in the clear"
    return ""


def _secretflow(job: Job, attack: str) -> str:
    if attack == "no-encryption":
        return SPU if "SPU" in job.unprotected else "choose a schema of the HEU that encrypts, such as paillier"
    if attack == "keys":
        return HEU_BITS
    return SHARED if job.scores_in_the_clear else OPENED


ARBITER_REFERENCE = "FATE: the arbiter holds the key, and residuals and scores travel row by row under it"
SCORES_REFERENCE = "SecretFlow: FlLogisticRegressionVertical adds up the scores for the label party"
DECOYS_REFERENCE = "beyond the paper: a batch hidden among decoys, taken as one batch of all rows that a step names"
UNPROTECTED_REFERENCE = "the other system's own documentation"
# Which rows a batch has is all that these need, and what decoys hide.
NEED_THE_BATCH = ("label-rare", "label-stacked", "label-sign", "label-only", "label-average", "label-counts")


def judge(job: Job, plan: Plan, runs: int = 1, positives: float | None = None) -> Findings:
    """All findings, the worst first."""
    fits = runs * job.fits
    figures = figures_of(plan, None, fits, predicted=0, positives=positives)
    # Which rows it scores later, a job of training does not say.
    findings: list[Finding] = check(plan, runs=fits, predicted=0, positives=positives)
    if job.decoys and plan.batches == "reshuffled":
        findings = list(_with_decoys(job.decoys, plan, figures, findings))
    if job.may_be_fixed and plan.batches == "reshuffled":
        findings = _worse(findings, check(plan.replace(batches="fixed"), runs=fits, predicted=0, positives=positives))
    own = [*_unprotected_findings(job, plan), *_arbiter_findings(job, plan), *_score_findings(job, plan)]
    others = [judged for finding in findings for judged in _about_keys(plan, finding)]
    # Our flags mean nothing to the other system.
    advised = (
        replace(one, fix=advice(job, plan.protocol, one.attack), changes={}) if one.fix else one
        for one in (*own, *others)
    )
    return worst_first(advised, figures)


def _worse(findings: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """The worse finding of each attack, from two lists about the same attacks."""
    chosen = []
    for finding in findings:
        pair = [finding, *(other for other in others if _same(other, finding))]
        chosen.append(min(pair, key=lambda one: ORDER.index(one.verdict)))
    return chosen


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


# Nothing encrypted.


def _unprotected_findings(job: Job, plan: Plan) -> Iterator[Finding]:
    if not job.unprotected:
        return
    label = plan.label_party.name
    why = f"{job.unprotected} Whatever a party is sent, it can read, row by row."
    for party in plan.feature_parties:
        yield _finding("no-encryption", party.name, label, "labels", why, UNPROTECTED_REFERENCE)
        yield _finding("no-encryption", label, party.name, "scores", why, UNPROTECTED_REFERENCE)


# An arbiter that is one of the parties.


def _arbiter_findings(job: Job, plan: Plan) -> Iterator[Finding]:
    if not job.has_arbiter or not plan.kind.has_arbiter:
        return
    if not (job.parties.is_stated and job.parties.arbiter):
        yield from _unnamed_arbiter(job, plan)
        return
    arbiters = set(job.parties.arbiter)
    for identity in sorted(arbiters & set(job.parties.label)):
        yield from _guest_holds_the_key(job, plan, identity)
    for position, identity in enumerate(job.parties.features):
        if identity in arbiters and position < len(plan.feature_parties):
            yield _host_holds_the_key(job, plan, plan.feature_parties[position].name, identity)


def _guest_holds_the_key(job: Job, plan: Plan, identity: str) -> Iterator[Finding]:
    why = (
        f"Party {shown(identity)} is both guest and arbiter: it holds the key, and each host sends it an encrypted "
        "score for every row of every batch, so it can read them all."
    )
    for party in plan.feature_parties:
        yield _finding("arbiter-key", plan.label_party.name, party.name, "scores", why)


def _host_holds_the_key(job: Job, plan: Plan, name: str, identity: str) -> Finding:
    why = (
        f"Party {shown(identity)} is both host and arbiter: it holds the key, and the guest sends it an encrypted "
        "residual for every row of every batch, so it can read every label."
    )
    return _finding("arbiter-key", name, plan.label_party.name, "labels", why)


def _unnamed_arbiter(job: Job, plan: Plan) -> Iterator[Finding]:
    why = (
        "The file does not say who the arbiter is. If it is a host, as in FATE's own examples, that host holds the key "
        "and can read the encrypted residual of every row, and so every label. Provide the file that names the roles."
    )
    yield _finding("arbiter-key", plan.feature_parties[0].name, plan.label_party.name, "labels", why)


# Scores in the clear.


def _score_findings(job: Job, plan: Plan) -> Iterator[Finding]:
    if not job.scores_in_the_clear:
        return
    names = [party.name for party in plan.feature_parties]
    label = plan.label_party.name
    if len(names) == 1:
        why = (
            f"{label} gets the joint score of every row of every batch in the clear and knows its own part, so it "
            f"reads {names[0]}'s part of every score, at any batch size."
        )
    else:
        why = f"{label} gets the sum of the other parties' parts of the score for every row of every batch."
    yield _finding("scores-in-the-clear", label, "+".join(names), "scores", why, SCORES_REFERENCE)


def _finding(attack: str, by: str, against: str, target: str, why: str, reference: str = ARBITER_REFERENCE) -> Finding:
    return Finding(attack, by, against, target, LEAKS, why, reference, fix="in the other system's words")


# Decoys.


def _with_decoys(decoys: float, plan: Plan, figures: Figures, findings: Sequence[Finding]) -> Iterator[Finding]:
    """What a host makes of a batch that it does not know; the guest knows it, so its findings stay."""
    # To the host a step is about all rows that are named, and decoys have residual 0.
    named = round((1.0 + decoys) * figures.batch)
    wide = check(
        plan.replace(batch_size=max(1, min(named, figures.rows))), runs=figures.runs, positives=figures.positives
    )
    for finding in findings:
        hidden = next((one for one in wide if _same(one, finding)), None)
        if finding.by == plan.label_party.name or finding.attack not in NEED_THE_BATCH or hidden is None:
            yield finding
        else:
            # Nothing hides the labels but the guess which rows count: nobody can say that it is nothing.
            verdict = DEGRADES if hidden.verdict == BLOCKED else hidden.verdict
            why = f"Each step hides {figures.batch} rows among decoys, and the host sees one batch of all. {hidden.why}"
            yield replace(hidden, verdict=verdict, why=why, reference=DECOYS_REFERENCE)


def _same(one: Finding, other: Finding) -> bool:
    return (one.attack, one.by, one.against, one.target) == (other.attack, other.by, other.against, other.target)
