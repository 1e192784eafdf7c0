"""Keys that protect nothing: one finding for the whole plan."""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.verdict_words import LEAKS
from plumbob.plan import Plan
from plumbob.record import Finding

KEYS = "keys"
"""In the place of an attack's name: no party needs to do anything for it."""
STORY = (
    "Everything that travels is only as secret as the key that encrypted it. A short key can be factored by "
    "anyone who recorded the messages."
)
REFERENCE = "crypto/profiles.py, crypto/proof.py"


def key_findings(figures: Figures) -> Iterator[Finding]:
    """For keys too short to protect anything."""
    plan = figures.plan
    if plan.kind.has_key_bits and plan.test_only_keys:
        why = (
            f"Keys of {plan.key_bits} bits are for tests only: anyone who sees the messages can factor such keys with "
            "enough patience, and then read every label, score and column that was encrypted."
        )
        yield _finding(plan, LEAKS, why, "--no-test-only-keys --key-bits 2048")


def _finding(plan: Plan, verdict: str, why: str, fix: str) -> Finding:
    by = plan.feature_parties[0].name
    return Finding(KEYS, by, plan.label_party.name, "labels", verdict, why, REFERENCE, fix)
