"""lab/exchange/proof.py: the keys that we use, twenty kinds that we do not, and where a proof is worth nothing."""

from dataclasses import replace

import gmpy2
import pytest
from scipy import stats

from plumbob.errors import KeyRefusedError
from plumbob.lab.exchange import paillier, profiles, proof, uniform
from plumbob.lab.exchange.paillier import PublicKey
from plumbob.lab.exchange.profiles import Profile
from plumbob.lab.exchange.proof import ProofContext, admit_paillier, prove
from tests.crypto.support import seeded
from tests.lab.exchange.malformed import BITS, ENGINE, KEYS, PROFILE, SIZE, Forger, Offer, honest_key
from tests.lab.exchange.support import CountingEngine, decrypt_signed

CONTEXT = ProofContext(session=b"session 1", prover="bank", verifier="shop")
FORGER = Forger(CONTEXT)


def accept(offer: Offer, profile: Profile = PROFILE, engine: CountingEngine | None = None) -> PublicKey:
    """Admit a key, as the verifier does."""
    return admit_paillier(offer.key, offer.proof, CONTEXT, profile, engine or ENGINE, known=offer.known)


@pytest.mark.parametrize("name", KEYS)
def test_malformed_keys_are_refused(name: str) -> None:
    """Each malformed key, and each forged, replayed or reordered proof, is refused for its own reason.

    No engine was asked for anything, and no number of the key's size is shown.
    """
    make, reason = KEYS[name]
    engine = CountingEngine(ENGINE)
    with pytest.raises(KeyRefusedError, match=reason) as caught:
        accept(make(FORGER), engine=engine)
    assert not engine.calls
    assert len(str(caught.value)) < 120


def test_malformed_keys_are_many() -> None:
    """The table above has the twenty classes that the specification asks for, and more."""
    assert len(KEYS) >= 20


@pytest.mark.parametrize("number", range(12))
def test_honest_keys_pass(number: int) -> None:
    """Whatever `generate` makes is admitted with its proof and without anything to know it by."""
    key = honest_key(number)
    offer = Offer(key.public.to_bytes(), prove(key, CONTEXT), known=frozenset({honest_key(number + 1).public.n}))
    assert accept(offer).n == key.public.n


def test_honest_keys_of_full_length_pass() -> None:
    """The same at the default length, where a shorter key was not agreed on."""
    key = honest_key(0, profiles.STANDARD)
    offer = Offer(key.public.to_bytes(), prove(key, CONTEXT))
    assert accept(offer, profiles.STANDARD).n == key.public.n
    with pytest.raises(KeyRefusedError, match="expected 96 bytes, got 256"):
        accept(offer)


def test_an_admitted_key_encrypts_for_its_owner() -> None:
    """The owner reads what was encrypted under the key that we admitted."""
    assert decrypt_signed(honest_key(), accept(FORGER.honest()).encrypt([1, -2])) == [1, -2]


@pytest.mark.parametrize(
    "context",
    [
        replace(CONTEXT, prover="banks", verifier="hop"),
        replace(CONTEXT, session=b"session 1bank", prover=""),
        replace(CONTEXT, session=b""),
    ],
    ids=["shifted name", "shifted session", "no session"],
)
def test_contexts_that_join_to_the_same_bytes_differ(context: ProofContext) -> None:
    """A proof is refused in another context, also if their names only join to the same bytes."""
    with pytest.raises(KeyRefusedError, match="does not fit its challenge"):
        accept(FORGER.proved_in(context))


def test_every_root_is_checked() -> None:
    """A single forged root, wherever it stands, spoils the proof; so does one root eleven times."""
    honest = FORGER.honest()
    forged = uniform.unit(seeded("forged"), honest_key().public.n).to_bytes(SIZE, "little")
    for index in range(proof.ROOTS):
        spoilt = honest.proof[: index * SIZE] + forged + honest.proof[(index + 1) * SIZE :]
        with pytest.raises(KeyRefusedError, match=f"root {index} does not fit"):
            accept(replace(honest, proof=spoilt))
    with pytest.raises(KeyRefusedError, match="root 1 does not fit"):
        accept(replace(honest, proof=honest.proof[:SIZE] * proof.ROOTS))


def test_a_root_that_is_not_reduced_is_refused() -> None:
    """The root plus n, where it fits the width, is refused although its n-th power is right."""
    for number in range(20):
        key = paillier.generate(PROFILE, ENGINE, seeded(f"reduced {number}"))
        roots = prove(key, CONTEXT)
        raised = int.from_bytes(roots[:SIZE], "little") + key.public.n
        if raised < 1 << BITS:
            break
    with pytest.raises(KeyRefusedError, match="root 0 is not a unit"):
        accept(Offer(key.public.to_bytes(), raised.to_bytes(SIZE, "little") + roots[SIZE:]))


def test_challenges_are_uniform() -> None:
    """Challenges spread evenly over [0, n), none is 0, and the index changes them."""
    n = honest_key().public.n
    drawn = [FORGER.challenge(n, index) for index in range(800)]
    assert len(set(drawn)) == 800
    assert all(0 < value < n and gmpy2.gcd(value, n) == 1 for value in drawn)
    tenths = [sum(10 * value // n == tenth for value in drawn) for tenth in range(10)]
    assert stats.chisquare(tenths).pvalue > 1e-6


# Which key lengths exist.


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
