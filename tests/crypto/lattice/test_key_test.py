"""The test of a key: honest keys pass, every other is refused, and no step can be repeated or skipped."""

from collections.abc import Callable

import numpy as np
import pytest

from plumbob.crypto.lattice import KeyProof, KeyTest, LatticeEngine, choose, sets, wire
from plumbob.errors import CiphertextRefusedError, KeyRefusedError
from tests.crypto.lattice.support import TINY, TINY_WIDE, admitted, make_key

SIGMA, NONCE = bytes(range(32)), bytes(range(32, 64))


def test_an_honest_key_is_the_one_that_was_sent(lattice_engine: LatticeEngine) -> None:
    """What passes is the very key, with the digest of its bytes."""
    key = make_key(lattice_engine, TINY)
    passed = admitted(key)
    packed = np.frombuffer(key.public_bytes(), dtype=np.uint8).reshape(2, -1)
    assert (passed.residues == wire.unpack(TINY, packed)).all()


def test_honest_keys_of_an_offered_set_pass_nearly_always() -> None:
    """At full degree, at most a tenth of the tests of honest keys must be repeated."""
    engine, again = choose(threads=1), 0
    key = make_key(engine, sets.GRADIENTS)
    public = key.public_bytes()
    for attempt in range(60):
        test = KeyTest(engine, sets.GRADIENTS, key.context, public, attempt.to_bytes(32, "little"))
        proof = KeyProof(key, public, NONCE)
        again += proof.reveal(test.reveal(proof.commit(test.challenge()))) is None
    assert again <= 6


def malformed_keys() -> dict[str, Callable[[np.ndarray, tuple[int, ...]], np.ndarray]]:
    """Public keys that are not -a s + e, made from an honest one."""
    generator = np.random.default_rng(1)

    def constant(value: int) -> Callable[[np.ndarray, tuple[int, ...]], np.ndarray]:
        return lambda honest, primes: np.array([[value % p] * honest.shape[1] for p in primes], dtype=np.uint64)

    return {
        "zero": constant(0),
        "one": constant(1),
        "2**104": constant(1 << 104),
        "q / 2": constant(int(np.prod(np.array(TINY_WIDE.primes, dtype=object))) // 2),
        "uniform": lambda honest, primes: generator.integers(0, min(primes), honest.shape, dtype=np.uint64),
        "shifted": lambda honest, primes: (honest + np.uint64(1 << 40)) % np.array(primes, dtype=np.uint64)[:, None],
    }


@pytest.mark.parametrize("name", malformed_keys())
def test_a_malformed_key_is_refused(lattice_engine: LatticeEngine, name: str) -> None:
    """Whatever it commits to, the owner of a malformed key cannot have rho's bits."""
    key = make_key(lattice_engine, TINY_WIDE)
    honest = wire.unpack(TINY_WIDE, np.frombuffer(key.public_bytes(), dtype=np.uint8).reshape(3, -1))
    public = wire.pack(malformed_keys()[name](honest, TINY_WIDE.primes)).tobytes()
    test = KeyTest(lattice_engine, TINY_WIDE, key.context, public, SIGMA)
    proof = KeyProof(key, public, NONCE)
    assert proof.reveal(test.reveal(proof.commit(test.challenge()))) is None
    with pytest.raises(KeyRefusedError, match="failed its test"):
        test.finish(NONCE)


def test_a_challenge_of_the_evaluators_choice_is_not_decrypted(lattice_engine: LatticeEngine) -> None:
    """An X0 or X1 that sigma does not give ends the run before anything is revealed."""
    key = make_key(lattice_engine, TINY)
    public = key.public_bytes()
    test, proof = KeyTest(lattice_engine, TINY, key.context, public, SIGMA), KeyProof(key, public, NONCE)
    challenge = bytearray(test.challenge())
    challenge[0] ^= 1
    proof.commit(bytes(challenge))
    with pytest.raises(KeyRefusedError, match="would have read this key"):
        proof.reveal(SIGMA)


def test_no_step_comes_twice_or_too_early(lattice_engine: LatticeEngine) -> None:
    """A second challenge or commitment, a nonce before the commitment, and another nonce are refused."""
    key = make_key(lattice_engine, TINY)
    public = key.public_bytes()
    test, proof = KeyTest(lattice_engine, TINY, key.context, public, SIGMA), KeyProof(key, public, NONCE)
    with pytest.raises(KeyRefusedError, match="failed its test"):
        test.finish(NONCE)
    with pytest.raises(KeyRefusedError, match="was not drawn"):
        proof.reveal(SIGMA)
    sigma = test.reveal(proof.commit(test.challenge()))
    with pytest.raises(KeyRefusedError, match="a second challenge"):
        proof.commit(test.challenge())
    with pytest.raises(KeyRefusedError, match="a second commitment"):
        test.reveal(bytes(32))
    assert proof.reveal(sigma) == NONCE
    with pytest.raises(KeyRefusedError, match="failed its test"):
        test.finish(bytes(32))
    assert test.finish(NONCE).context == key.context


def test_malformed_messages_are_refused(lattice_engine: LatticeEngine) -> None:
    """Keys, challenges, commitments, sigmas and nonces of another length, and residues out of range."""
    key = make_key(lattice_engine, TINY)
    public = key.public_bytes()
    for wrong in (public[:-1], public + b"0", public[:-13] + b"\xff" * 13):
        with pytest.raises(CiphertextRefusedError, match="expected"):
            KeyTest(lattice_engine, TINY, key.context, wrong, SIGMA)
    test = KeyTest(lattice_engine, TINY, key.context, public, SIGMA)
    challenge = test.challenge()
    for wrong in (challenge[:-1], challenge[:-13] + b"\xff" * 13):
        with pytest.raises(CiphertextRefusedError, match="expected"):
            KeyProof(key, public, NONCE).commit(wrong)
    for take in (test.reveal, test.finish, KeyProof(key, public, NONCE).reveal):
        with pytest.raises(CiphertextRefusedError, match="of 31 bytes, expected 32"):
            take(bytes(31))
