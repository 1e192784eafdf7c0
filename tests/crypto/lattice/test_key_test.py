"""The test of a key: honest keys pass, every other is refused, and no step can be repeated or skipped."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plumbob.crypto.lattice import MOST_TESTS, KeyProof, KeyTest, key_test, sets
from plumbob.crypto.lattice.kernel import Engine
from plumbob.errors import CiphertextRefusedError, KeyRefusedError
from tests.crypto.lattice import residues
from tests.crypto.lattice.support import ENGINE, TINY, TINY_WIDE, admitted, make_key

ROOT = Path(__file__).parents[3]
SIGMA, SECRET = bytes(range(32)), bytes(range(32, 64))


def test_an_honest_key_is_the_one_that_was_sent() -> None:
    """What passes is the very key, with the digest of its bytes."""
    key = make_key(ENGINE, TINY)
    passed = admitted(key)
    packed = np.frombuffer(key.public, dtype=np.uint8).reshape(2, -1)
    assert (passed.residues == residues.unpack(TINY, packed)).all()


@pytest.mark.parametrize("parameters", [sets.GRADIENTS, sets.GRADIENTS_OPENED, sets.SCORES_WIDEST])
def test_honest_keys_of_an_offered_set_pass_nearly_always(parameters: sets.ParameterSet) -> None:
    """At every degree, at most a tenth of the tests of honest keys must be repeated."""
    engine, again = Engine(threads=1), 0
    key = make_key(engine, parameters)
    public = key.public
    for attempt in range(30):
        test = KeyTest(engine, parameters, key.context, public, attempt.to_bytes(32, "little"))
        proof = KeyProof(key, public, SECRET)
        again += proof.reveal(test.reveal(proof.commit(test.challenge()))) is None
    assert again <= 3


DEGREES = sorted(sets.MOST_MODULUS_BITS)


def failure_chance(degree: int) -> float:
    """The chance that noise carries over in a coefficient of an honest test."""
    spread = math.sqrt(2 * degree * sets.ERROR_COINS / 2 * 2 / 3 + sets.ERROR_COINS / 2)
    carried = spread * math.sqrt(2 / math.pi) / 2 ** key_test.dropped_bits(sets.ParameterSet(0, degree, 1))
    return 1 - math.pow(1 - carried, degree)


def heavy_secret_bits(degree: int) -> float:
    """Bits of the chance that more than three quarters of a secret are not zero: a binomial tail, exactly."""
    count, heavy = 3 * degree // 4 + 1, 0
    term = math.comb(degree, count) << count
    for following in range(count + 1, degree + 2):
        heavy, term = heavy + term, term * 2 * (degree + 1 - following) // following
    spare = heavy.bit_length() - 64
    return degree * math.log2(3) - spare - math.log2(heavy >> spare)


def test_the_printed_probabilities_are_right() -> None:
    """The page's figures are calculated again."""
    page = " ".join((ROOT / "docs" / "lattice.md").read_text().split())
    chances = [failure_chance(degree) for degree in DEGREES]
    assert all(0.01 < chance < 0.035 for chance in chances)
    dropped = [key_test.dropped_bits(sets.ParameterSet(0, degree, 1)) for degree in DEGREES]
    assert f"above the {dropped[0]} lowest ({dropped[2]} at N = 16384, {dropped[3]} at 32768)" in page
    first, second, third, last = (f"{100 * chance:.1f}" for chance in chances)
    assert f"({first} of 100 honest tests at N = 4096, {second} at 8192, {third} at 16384, {last} at 32768)" in page
    in_a_row = min(math.floor(-MOST_TESTS * math.log2(chance)) for chance in chances)
    assert f"An honest key fails all {MOST_TESTS} with probability below 2^-{in_a_row}" in page
    small, large = (math.floor(heavy_secret_bits(degree)) for degree in (4096, 8192))
    assert f"at most 3N/4 nonzero coefficients but for 2^-{small} at N = 4096 and 2^-{large} at 8192" in page
    tail = math.floor(6 * 252**2 / (3 * 8192 / 4) / math.log(2) - 1)
    assert f"2 exp(-6 (252)^2 / (3N/4)): 2^-{tail} at N = 8192" in page


def test_another_challenge_has_another_nonce() -> None:
    """An owner that a rolled-back journal sets back to its old draw never commits twice under one nonce."""
    key = make_key(ENGINE, TINY)
    public = key.public
    nonces = []
    for sigma in (SIGMA, bytes(32), SIGMA):
        test, proof = KeyTest(ENGINE, TINY, key.context, public, sigma), KeyProof(key, public, SECRET)
        nonces.append(proof.reveal(test.reveal(proof.commit(test.challenge()))))
    assert None not in nonces
    assert nonces[0] == nonces[2] != nonces[1]


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
def test_a_malformed_key_is_refused(name: str) -> None:
    """Whatever it commits to, the owner of a malformed key cannot have rho's bits."""
    key = make_key(ENGINE, TINY_WIDE)
    honest = residues.unpack(TINY_WIDE, np.frombuffer(key.public, dtype=np.uint8).reshape(3, -1))
    public = residues.pack(malformed_keys()[name](honest, TINY_WIDE.primes)).tobytes()
    test = KeyTest(ENGINE, TINY_WIDE, key.context, public, SIGMA)
    proof = KeyProof(key, public, SECRET)
    assert proof.reveal(test.reveal(proof.commit(test.challenge()))) is None
    with pytest.raises(KeyRefusedError, match="failed its test"):
        test.finish(SECRET)


def test_a_challenge_of_the_evaluators_choice_is_not_decrypted() -> None:
    """An X0 or X1 that sigma does not give ends the run before anything is revealed."""
    key = make_key(ENGINE, TINY)
    public = key.public
    test, proof = KeyTest(ENGINE, TINY, key.context, public, SIGMA), KeyProof(key, public, SECRET)
    challenge = bytearray(test.challenge())
    challenge[0] ^= 1
    proof.commit(bytes(challenge))
    with pytest.raises(KeyRefusedError, match="would have read this key"):
        proof.reveal(SIGMA)


def test_no_step_comes_twice_or_too_early() -> None:
    """A second challenge or commitment, a nonce before the commitment, and another nonce are refused."""
    key = make_key(ENGINE, TINY)
    public = key.public
    test, proof = KeyTest(ENGINE, TINY, key.context, public, SIGMA), KeyProof(key, public, SECRET)
    with pytest.raises(KeyRefusedError, match="failed its test"):
        test.finish(SECRET)
    with pytest.raises(KeyRefusedError, match="was not drawn"):
        proof.reveal(SIGMA)
    sigma = test.reveal(proof.commit(test.challenge()))
    with pytest.raises(KeyRefusedError, match="a second challenge"):
        proof.commit(test.challenge())
    with pytest.raises(KeyRefusedError, match="a second commitment"):
        test.reveal(bytes(32))
    nonce = proof.reveal(sigma)
    assert nonce is not None
    with pytest.raises(KeyRefusedError, match="failed its test"):
        test.finish(bytes(32))
    assert test.finish(nonce).context == key.context


def test_malformed_messages_are_refused() -> None:
    """Keys, challenges, commitments, sigmas and nonces of another length, and residues out of range."""
    key = make_key(ENGINE, TINY)
    public = key.public
    for wrong in (public[:-1], public + b"0", public[:-13] + b"\xff" * 13):
        with pytest.raises(CiphertextRefusedError, match="expected"):
            KeyTest(ENGINE, TINY, key.context, wrong, SIGMA)
    test = KeyTest(ENGINE, TINY, key.context, public, SIGMA)
    challenge = test.challenge()
    for wrong in (challenge[:-1], challenge[:-13] + b"\xff" * 13):
        with pytest.raises(CiphertextRefusedError, match="expected"):
            KeyProof(key, public, SECRET).commit(wrong)
    for take in (test.reveal, test.finish, KeyProof(key, public, SECRET).reveal):
        with pytest.raises(CiphertextRefusedError, match="of 31 bytes, expected 32"):
            take(bytes(31))
