"""The key lengths that may be used. Anything shorter than 2048 bits exists only for tests, and says so."""

from dataclasses import dataclass

from plumbob.errors import KeyRefusedError
from plumbob.plan import Plan

SHORTEST = 2048
TEST_ONLY_NAME = "test-only"
SLACK_BITS = 100  # A masked sum wraps around n with probability 2**-100 at most.


@dataclass(frozen=True)
class Profile:
    """A key length under the name that plans and records use."""

    name: str
    key_bits: int

    @property
    def reply_bits(self) -> int:
        """The widest sum, sign included, that a mask under such a key hides and that comes back right."""
        return self.key_bits - 1 - SLACK_BITS

    @property
    def whole_reply(self) -> int:
        """A power of two that cuts nothing off a plaintext: a reply is handed back whole (the paper's form)."""
        return 1 << self.key_bits

    def __post_init__(self) -> None:
        if self.key_bits < SHORTEST and self.name != TEST_ONLY_NAME:
            raise KeyRefusedError(
                f"key_bits = {self.key_bits}: expected at least {SHORTEST}; only {TEST_ONLY_NAME!r} keys are shorter"
            )


STANDARD = Profile("standard", 2048)
LONG_TERM = Profile("long-term", 3072)
TEST_ONLY = Profile(TEST_ONLY_NAME, 768)


def profile_of(plan: Plan) -> Profile:
    """The profile for the plan's key length; a plan allows the two lengths above, and others to tests only."""
    if plan.test_only_keys:
        return insecure_for_tests(plan.key_bits)
    return next(profile for profile in (STANDARD, LONG_TERM) if profile.key_bits == plan.key_bits)


def insecure_for_tests(key_bits: int) -> Profile:
    """A profile of any length that fills whole limbs; the record of a run with it says `test-only`."""
    if key_bits < 256 or key_bits % 64:
        raise KeyRefusedError(f"key_bits = {key_bits}: a test key needs a multiple of 64, at least 256")
    return Profile(TEST_ONLY_NAME, key_bits)
