"""`arbiter-key`: what the arbiter reads, alone and together with one of the parties that it serves.

Every residual travels under its key. Alone it gets sums, masked unless the plan says otherwise. Together with one party
it decrypts that party's messages, and reads residuals row by row.
"""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import reading
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import percent
from plumbob.record import Finding

ARBITER = "arbiter-key"
RULE = AttackRule(
    name=ARBITER,
    by="features",
    target="labels",
    reference="Hardy et al. 2017: the arbiter holds the key",
    story=(
        "Every residual travels under the arbiter's key. A party that joins the arbiter keeps what it receives, and "
        "the key opens it: each person's residual, and its sign is the label."
    ),
)


def further(figures: Figures) -> Iterator[Finding]:
    """Findings of the arbiter alone, on weights, and together with one party, on labels or scores."""
    arbiter = figures.plan.arbiter
    if arbiter is None:
        return
    for party in figures.plan.learners:
        if figures.columns(party.name):
            yield _alone(figures, arbiter.name, party.name)
    for party in figures.plan.feature_parties:
        yield _with_feature_party(figures, arbiter.name, party.name)
    yield from _with_label_party(figures, arbiter.name)


def _alone(figures: Figures, arbiter: str, against: str) -> Finding:
    plan = figures.plan
    if not plan.unmasked_gradients_for_the_arbiter:
        why = "All sums that the arbiter decrypts carry uniform masks."
        return finding(RULE, arbiter, against, BLOCKED, why, target="weights")
    is_start_known = plan.start == "zero"
    end = "so it knows the weights" if is_start_known else "so it knows how the weights moved, but not where they began"
    sums = f"{figures.columns(against)} sums of {figures.spoken(against)}"
    why = f"The arbiter reads {sums} in each of {figures.steps} steps, {end}."
    changes = {"unmasked_gradients_for_the_arbiter": False}
    return finding(RULE, arbiter, against, LEAKS if is_start_known else DEGRADES, why, changes, "weights")


def _with_feature_party(figures: Figures, arbiter: str, party: str) -> Finding:
    plan, noise = figures.plan, figures.noise_toward(party)
    expected = reading(figures, party, 1.0, figures.visits if noise else 1)
    blurred = f" under noise of {noise:.3g}" if noise else ""
    why = (
        f"{figures.spoken(arbiter)} and {figures.spoken(party)} together decrypt every joint residual{blurred}, row by "
        f"row, at any batch size: about {percent(expected.accuracy)} of labels right."
    )
    verdict = expected.verdict(plan.tolerance_labels)
    return finding(RULE, f"{arbiter}+{party}", plan.label_party.name, verdict, why)


def _with_label_party(figures: Figures, arbiter: str) -> Iterator[Finding]:
    label_party = figures.plan.label_party.name
    noise = figures.noise_toward(label_party)
    pair = f"{figures.spoken(arbiter)} and {figures.spoken(label_party)}"
    for peer in figures.peers(label_party):
        why = f"{pair} together decrypt the scores that {figures.spoken(peer.name)} sends, row by row."
        if noise:
            why += f" Noise of {noise:.3g} is on each."
        verdict = DEGRADES if noise else LEAKS
        yield finding(RULE, f"{arbiter}+{label_party}", peer.name, verdict, why, target="scores")
