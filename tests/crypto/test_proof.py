"""crypto/proof.py: who can prove what, and where a proof is worth nothing. Malformed keys are in test_admission."""

from dataclasses import replace

import gmpy2
import pytest
from scipy import stats

from plumbob.crypto import ProofContext, paillier, profiles, proof, prove
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.paillier import PrivateKey
from plumbob.errors import KeyRefusedError
from tests.crypto.support import seeded

CONTEXT = ProofContext(session=b"session 1", prover="bank", verifier="shop")
BITS = profiles.TEST_ONLY.key_bits
SIZE = BITS // 8


@pytest.fixture(scope="module")
def prover() -> PrivateKey:
    """Proofs do not use an engine; one key serves."""
    return paillier.generate(profiles.TEST_ONLY, PythonEngine(), seeded("prover"))


def check(key: PrivateKey, data: bytes, context: ProofContext = CONTEXT) -> None:
    """Check a proof, as the verifier does."""
    proof.verify(key.public.n, BITS, data, context)


def test_an_honest_proof_holds(prover: PrivateKey) -> None:
    """The owner of a well-formed key proves it, with 11 roots of n's width."""
    data = prove(prover, CONTEXT)
    assert len(data) == 11 * SIZE
    check(prover, data)


@pytest.mark.parametrize(
    "context",
    [
        replace(CONTEXT, session=b"session 2"),
        replace(CONTEXT, prover="shop", verifier="bank"),
        replace(CONTEXT, prover="broker"),
        replace(CONTEXT, verifier="broker"),
        replace(CONTEXT, prover="banks", verifier="hop"),
        replace(CONTEXT, session=b"session 1bank", prover=""),
        replace(CONTEXT, session=b""),
    ],
    ids=["session", "mirrored", "prover", "verifier", "shifted name", "shifted session", "no session"],
)
def test_a_replayed_proof_is_refused(prover: PrivateKey, context: ProofContext) -> None:
    """A proof for another session, prover or verifier is refused, also if their names only join to the same bytes."""
    with pytest.raises(KeyRefusedError, match="does not fit its challenge"):
        check(prover, prove(prover, context))


def test_another_keys_proof_is_refused(prover: PrivateKey) -> None:
    """The challenges depend on n: a valid proof of one key says nothing about another."""
    other = paillier.generate(profiles.TEST_ONLY, PythonEngine(), seeded("other prover"))
    with pytest.raises(KeyRefusedError, match=r"is not a unit|does not fit"):
        check(prover, prove(other, CONTEXT))


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 10), (4, 5)])
def test_reordered_roots_are_refused(prover: PrivateKey, first: int, second: int) -> None:
    """Each root belongs to its own challenge."""
    roots = split(prove(prover, CONTEXT))
    roots[first], roots[second] = roots[second], roots[first]
    with pytest.raises(KeyRefusedError, match=f"root {first} does not fit"):
        check(prover, b"".join(roots))


def test_a_repeated_root_is_refused(prover: PrivateKey) -> None:
    """One root, eleven times, is no proof."""
    roots = split(prove(prover, CONTEXT))
    with pytest.raises(KeyRefusedError, match="root 1 does not fit"):
        check(prover, roots[0] * 11)


@pytest.mark.parametrize("index", range(proof.ROOTS))
def test_every_root_is_checked(prover: PrivateKey, index: int) -> None:
    """A single forged root, wherever it stands, spoils the proof."""
    roots = split(prove(prover, CONTEXT))
    roots[index] = seeded("forged").unit(prover.public.n).to_bytes(SIZE, "little")
    with pytest.raises(KeyRefusedError, match=f"root {index} does not fit"):
        check(prover, b"".join(roots))


@pytest.mark.parametrize("length", [0, 1, 10 * SIZE, 11 * SIZE - 1, 11 * SIZE + 1, 12 * SIZE])
def test_a_proof_of_another_length_is_refused(prover: PrivateKey, length: int) -> None:
    """Fewer roots are weaker and more are not read: both are refused, before any calculation."""
    with pytest.raises(KeyRefusedError, match=f"expected {11 * SIZE} bytes, got {length}"):
        check(prover, (prove(prover, CONTEXT) * 2)[:length])


def bad_roots(key: PrivateKey, root: int) -> dict[str, int]:
    """Numbers in the place of a root, some of them congruent to it."""
    n, p = key.public.n, int(key._p)
    return {"0": 0, "n": n, "p": p, "n - p": n - p, "largest": (1 << BITS) - 1, "root + n": root + n, "-root": n - root}


@pytest.mark.parametrize("name", ["0", "n", "p", "n - p", "largest", "root + n", "-root"])
def test_a_root_is_a_unit_below_n(prover: PrivateKey, name: str) -> None:
    """Roots that are no units, or not reduced, are refused; so is the negative of the right one."""
    roots = split(prove(prover, CONTEXT))
    bad = bad_roots(prover, int.from_bytes(roots[3], "little"))[name]
    if bad >= 1 << BITS:
        pytest.skip("this sum does not fit the width, so nobody can send it")
    roots[3] = bad.to_bytes(SIZE, "little")
    with pytest.raises(KeyRefusedError, match="root 3 " + ("does not fit" if name == "-root" else "is not a unit")):
        check(prover, b"".join(roots))


def test_a_root_that_is_not_reduced_is_refused() -> None:
    """The root plus n, where it fits the width, is refused although its n-th power is right."""
    for number in range(20):
        key = paillier.generate(profiles.TEST_ONLY, PythonEngine(), seeded(f"reduced {number}"))
        roots = split(prove(key, CONTEXT))
        raised = int.from_bytes(roots[0], "little") + key.public.n
        if raised < 1 << BITS:
            break
    with pytest.raises(KeyRefusedError, match="root 0 is not a unit"):
        check(key, b"".join([raised.to_bytes(SIZE, "little"), *roots[1:]]))


def test_challenges_are_uniform(prover: PrivateKey) -> None:
    """Challenges spread evenly over [0, n), none is 0, and the index, the context and n all change them."""
    n = prover.public.n
    drawn = [proof._challenge(n, BITS, CONTEXT, index) for index in range(800)]
    assert len(set(drawn)) == 800
    assert all(0 < value < n and gmpy2.gcd(value, n) == 1 for value in drawn)
    tenths = [sum(10 * value // n == tenth for value in drawn) for tenth in range(10)]
    assert stats.chisquare(tenths).pvalue > 1e-6


def split(data: bytes) -> list[bytes]:
    """The roots one by one."""
    return [data[start : start + SIZE] for start in range(0, len(data), SIZE)]
