"""Readings that keys allow: short ones protect nothing, and an arbiter that joins a party reads what it serves.

Every residual of `arbiter` travels under the arbiter's key. Alone it gets sums, masked unless the plan says otherwise.
Together with one party it decrypts that party's messages, and reads residuals row by row.
"""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.gradients import RowByRow
from plumbob.checking.rules.remedies import without_gradients
from plumbob.checking.rules.rule import Judged, Rule
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import percent

KEYS = "keys"
ARBITER = "arbiter-key"
HOLDS_THE_KEY = {ARBITER: "Hardy et al. 2017: the arbiter holds the key"}


def short_keys(figures: Figures, party: str) -> Judged | None:
    """Judge the length of Paillier's keys; the finding is about the whole plan, and made once."""
    plan = figures.plan
    is_first = figures.coalition is None and party == plan.feature_parties[0].name
    if not plan.kind.has_key_bits or not plan.test_only_keys or not is_first:
        return None
    return Judged(
        LEAKS,
        "break the short keys, and then read every label and every score",
        f"Keys of {plan.key_bits} bits are for tests only: anyone who sees the messages can factor such keys with "
        "enough patience, and then read every label, score and column that was encrypted.",
        {"test_only_keys": False, "key_bits": 2048},
    )


def arbiter_alone(figures: Figures, by: str) -> Judged | None:
    """Judge the sums that the arbiter decrypts for everybody."""
    del by
    plan = figures.plan
    if figures.coalition is not None:
        return None
    can = "read {whose} weights"
    if not plan.unmasked_gradients_for_the_arbiter:
        return Judged(BLOCKED, can, "All sums that the arbiter decrypts carry uniform masks.")
    is_start_known = plan.start == "zero"
    end = "so it knows the weights" if is_start_known else "so it knows how the weights moved, but not where they began"
    sums = ", ".join(f"{figures.columns(one.name)} of {figures.spoken(one.name)}" for one in plan.learners)
    why = f"The arbiter reads the sums for all columns ({sums}) in each of {figures.steps} steps, {end}."
    return Judged(LEAKS if is_start_known else DEGRADES, can, why, {"unmasked_gradients_for_the_arbiter": False})


def arbiter_with_feature_party(figures: Figures, by: str) -> Judged | None:
    """Judge the residuals that the arbiter and a feature party decrypt together."""
    if figures.coalition is not None:
        return None
    arbiter, party = by.split("+")
    noise = figures.noise_toward(party)
    read = RowByRow(figures, party, visits=figures.visits if noise else 1)
    blurred = f" under noise of {noise:.3g}" if noise else ""
    return Judged(
        read.verdict,
        f"work out the labels of {figures.people}, better than by guessing",
        f"{figures.spoken(arbiter)} and {figures.spoken(party)} together decrypt every joint residual{blurred}, row by "
        f"row, at any batch size: about {percent(read.right)} of labels right.",
        without_gradients(figures.plan),
    )


def arbiter_with_label_party(figures: Figures, by: str) -> Judged | None:
    """Judge the scores that the arbiter and the label party decrypt together."""
    arbiter, party = by.split("+")
    if figures.coalition is not None or not figures.peers(party):
        return None
    noise = figures.noise_toward(party)
    why = (
        f"{figures.spoken(arbiter)} and {figures.spoken(party)} together decrypt the scores that each feature party "
        f"sends, row by row.{f' Noise of {noise:.3g} is on each.' if noise else ''}"
    )
    can = f"read {{whose}} part of the score of {figures.people}"
    return Judged(DEGRADES if noise else LEAKS, can, why, without_gradients(figures.plan))


RULES = (
    Rule({KEYS: "lab/exchange/profiles.py, lab/exchange/proof.py"}, "features", "labels", short_keys),
    Rule(HOLDS_THE_KEY, "arbiter", "weights", arbiter_alone),
    Rule(HOLDS_THE_KEY, "arbiter with features", "labels", arbiter_with_feature_party),
    Rule(HOLDS_THE_KEY, "arbiter with label", "scores", arbiter_with_label_party),
)
