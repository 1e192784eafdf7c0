"""crypto/profiles.py: which key lengths exist."""

import pytest

from plumbob.crypto import profiles
from plumbob.crypto.profiles import Profile
from plumbob.errors import KeyRefusedError


@pytest.mark.parametrize("profile", [profiles.STANDARD, profiles.LONG_TERM])
def test_offered_lengths_are_found(profile: Profile) -> None:
    """A plan names a profile by its key length."""
    assert profiles.for_key_bits(profile.key_bits) is profile


@pytest.mark.parametrize("key_bits", [0, 512, 768, 1024, 2047, 2049, 4096])
def test_a_plan_gets_no_other_length(key_bits: int) -> None:
    """A length that is not offered is refused, the tests' own included."""
    with pytest.raises(KeyRefusedError, match="expected 2048 or 3072"):
        profiles.for_key_bits(key_bits)


@pytest.mark.parametrize("name", ["standard", "long-term", "mine"])
def test_no_other_profile_is_short(name: str) -> None:
    """Less than 2048 bits goes by the name test-only or not at all."""
    with pytest.raises(KeyRefusedError, match="test-only"):
        Profile(name, 1024)


def test_short_keys_say_so() -> None:
    """A short key's profile carries the name that the record shows."""
    assert profiles.insecure_for_tests(512).name == profiles.TEST_ONLY.name == "test-only"


@pytest.mark.parametrize("key_bits", [0, 64, 192, 300, 1000])
def test_test_keys_fill_whole_limbs(key_bits: int) -> None:
    """A test key that no engine could lay out is refused."""
    with pytest.raises(KeyRefusedError, match="multiple of 64"):
        profiles.insecure_for_tests(key_bits)
