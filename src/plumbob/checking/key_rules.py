"""What a plan's keys protect: too short ones can be factored, unproven ones taken on trust."""

from collections.abc import Iterator

from plumbob.checking.forecast import DEGRADES, LEAKS
from plumbob.plan import Plan
from plumbob.record import Finding

ATTACK = "keys"
FACTORING = "Factoring: 256 bits in minutes, 829 bits done in public; 2048 bits have not been"
UNPROVEN = "docs/protocol.md, section 3: no proof is possible for Okamoto-Uchiyama keys"


def key_findings(plan: Plan) -> Iterator[Finding]:
    """One for a plan whose keys are weak: by the first feature party, which reads labels through them."""
    if plan.protocol == "clear":
        return
    by, against = plan.feature_parties[0].name, plan.label_party.name
    if plan.test_only_keys:
        why = (
            f"Keys of {plan.key_bits} bits, for tests only: whoever factors one decrypts every message under it, "
            "now or from a recording, and reads all labels and scores."
        )
        fix = "--key-bits 2048 --no-test-only-keys"
        yield Finding(ATTACK, by, against, "labels", LEAKS, why, FACTORING, fix)
    elif plan.scheme == "okamoto-uchiyama":
        why = "These keys carry no proof: a peer that makes a malformed one may learn what it should not."
        yield Finding(ATTACK, by, against, "labels", DEGRADES, why, UNPROVEN, "--scheme paillier --no-trust-peer-keys")
