"""crypto/admission.py: the keys that we use, and at least twenty kinds that we do not."""

import pytest

from plumbob.crypto import (
    ProofContext,
    admit_paillier,
    profiles,
    prove,
)
from plumbob.crypto.paillier import PublicKey
from plumbob.crypto.profiles import Profile
from plumbob.errors import KeyRefusedError
from tests.crypto.malformed import ENGINE, KEYS, PROFILE, Forger, Offer, honest_key
from tests.crypto.support import CountingEngine, decrypt_signed

CONTEXT = ProofContext(session=b"session 1", prover="bank", verifier="shop")
FORGER = Forger(CONTEXT)


def accept(offer: Offer, profile: Profile = PROFILE) -> PublicKey:
    """Admit a key, as the verifier does."""
    return admit_paillier(offer.key, offer.proof, CONTEXT, profile, ENGINE, known=offer.known)


@pytest.mark.parametrize("name", KEYS)
def test_malformed_keys_are_refused(name: str) -> None:
    """Each kind of malformed key, and of forged, replayed or reordered proof, is refused for its own reason."""
    make, reason = KEYS[name]
    with pytest.raises(KeyRefusedError, match=reason):
        accept(make(FORGER))


def test_malformed_keys_are_many() -> None:
    """The table above has the twenty classes that the specification asks for, and more."""
    assert len(KEYS) >= 20


@pytest.mark.parametrize("number", range(96))
def test_honest_keys_pass(number: int) -> None:
    """Whatever `generate` makes is admitted with its proof and without anything to know it by."""
    key = honest_key(number)
    other = honest_key(number + 1000).public.n
    offer = Offer(key.public.to_bytes(), prove(key, CONTEXT), known=frozenset({other}))
    assert accept(offer).n == key.public.n


@pytest.mark.parametrize("number", range(4))
def test_honest_keys_of_full_length_pass(number: int) -> None:
    """The same at the default length, which makes one hundred."""
    key = honest_key(number, profiles.STANDARD)
    offer = Offer(key.public.to_bytes(), prove(key, CONTEXT))
    assert accept(offer, profiles.STANDARD).n == key.public.n
    with pytest.raises(KeyRefusedError, match="expected 96 bytes, got 256"):
        accept(offer)


def test_an_admitted_key_encrypts_for_its_owner() -> None:
    """The owner reads what was encrypted under the key that we admitted."""
    owner = honest_key()
    assert decrypt_signed(owner, accept(FORGER.honest()).encrypt([1, -2])) == [1, -2]


def test_refusals_cost_nothing() -> None:
    """A refused key was never used: no engine was asked for anything."""
    engine = CountingEngine(ENGINE)
    for make, _ in KEYS.values():
        offer = make(FORGER)
        with pytest.raises(KeyRefusedError):
            admit_paillier(offer.key, offer.proof, CONTEXT, PROFILE, engine, known=offer.known)
    assert not engine.calls


def test_refusals_show_no_modulus() -> None:
    """The message of a refusal holds widths and reasons, and never a number of the key's size."""
    for make, _ in KEYS.values():
        with pytest.raises(KeyRefusedError) as caught:
            accept(make(FORGER))
        assert len(str(caught.value)) < 120
