"""`keys`: keys that protect nothing, one finding for the whole plan. No party needs to do anything for it."""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import LEAKS
from plumbob.record import Finding

KEYS = "keys"
RULE = AttackRule(
    name=KEYS,
    by="features",
    target="labels",
    reference="lab/exchange/profiles.py, lab/exchange/proof.py",
    story=(
        "Everything that travels is only as secret as the key that encrypted it. A short key can be factored by "
        "anyone who recorded the messages."
    ),
)


def further(figures: Figures) -> Iterator[Finding]:
    """A finding for keys too short to protect anything."""
    plan = figures.plan
    if plan.kind.has_key_bits and plan.test_only_keys:
        why = (
            f"Keys of {plan.key_bits} bits are for tests only: anyone who sees the messages can factor such keys with "
            "enough patience, and then read every label, score and column that was encrypted."
        )
        by, changes = plan.feature_parties[0].name, {"test_only_keys": False, "key_bits": 2048}
        yield finding(RULE, by, plan.label_party.name, LEAKS, why, changes)
