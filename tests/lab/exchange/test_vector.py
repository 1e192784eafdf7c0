"""Vectors of ciphertexts: arithmetic as on plain integers, what may be sent, and what is let in."""

from collections import Counter

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.errors import CiphertextRefusedError, CryptoError
from plumbob.lab.exchange import paillier, profiles
from plumbob.lab.exchange.engines.interface import PaillierEngine, Ring
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.limbs import to_ints
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey, Sendable, admit
from tests.crypto.support import LIGHT, seeded
from tests.lab.exchange.malformed import CIPHERTEXTS, PAILLIER_CIPHERTEXTS
from tests.lab.exchange.support import CountingEngine, decrypt_signed, integers, plain_product

MALFORMED = CIPHERTEXTS | PAILLIER_CIPHERTEXTS
numbers = st.integers(-(1 << 60), 1 << 60)
pairs = st.lists(st.tuples(numbers, numbers), max_size=6)


@LIGHT
@given(drawn=pairs)
def test_sums_and_differences(key: PrivateKey, drawn: list[tuple[int, int]]) -> None:
    """+ and - of ciphertexts, and of ciphertexts and plain numbers, are those of the plaintexts."""
    left, right = [a for a, _ in drawn], [b for _, b in drawn]
    enc_left, enc_right = key.encrypt(left), key.public.encrypt(right)
    assert decrypt_signed(key, enc_left + enc_right) == [a + b for a, b in drawn]
    assert decrypt_signed(key, enc_left - enc_right) == [a - b for a, b in drawn]
    assert decrypt_signed(key, enc_left + right) == [a + b for a, b in drawn]
    assert decrypt_signed(key, enc_left - right) == [a - b for a, b in drawn]
    assert decrypt_signed(key, -enc_left) == [-a for a in left]


@LIGHT
@given(values=st.lists(numbers, min_size=1, max_size=4), factor=numbers)
def test_multiples(key: PrivateKey, values: list[int], factor: int) -> None:
    """Every plaintext is multiplied, by 0 and negative factors too."""
    for chosen in (factor, 0, 1, -1):
        assert decrypt_signed(key, key.encrypt(values) * chosen) == [value * chosen for value in values]


@st.composite
def products(draw: st.DrawFn) -> tuple[list[int], list[list[int]], int]:
    """A vector, a matrix with entries of a drawn width, many of them extreme or 0, and that width."""
    rows, columns, bits = draw(st.integers(1, 14)), draw(st.integers(1, 5)), draw(st.integers(2, 40))
    half = 1 << (bits - 1)
    entries = st.one_of(st.sampled_from([half - 1, -half, 1 - half, 0, 1, -1]), st.integers(-half, half - 1))
    matrix = draw(st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    return draw(st.lists(numbers, min_size=rows, max_size=rows)), matrix, bits


@LIGHT
@given(case=products())
def test_matrix_products(key: PrivateKey, case: tuple[list[int], list[list[int]], int]) -> None:
    """A ciphertext vector times an integer matrix is the plain product, for signs and limits of every width."""
    values, entries, bits = case
    X = integers(entries, bits)
    assert decrypt_signed(key, key.encrypt(values) @ X) == plain_product(values, X)


@pytest.mark.parametrize("rows", [1, 9, 33])
@pytest.mark.parametrize("columns", [1, 40])
def test_products_of_every_shape(key: PrivateKey, rows: int, columns: int) -> None:
    """Row groups that are not full, and single rows and columns, are right as well."""
    rng = np.random.default_rng(rows * 100 + columns)
    X = integers(rng.integers(-256, 256, (rows, columns)).tolist(), bits=9)
    values = rng.integers(-(1 << 20), 1 << 20, rows).tolist()
    assert decrypt_signed(key, key.encrypt(values) @ X) == plain_product(values, X)


@pytest.mark.parametrize("operation", ["enc + other", "enc - other", "enc @ short", "enc @ flat", "enc + foreign"])
def test_shapes_and_keys_must_agree(key: PrivateKey, operation: str, engine: PaillierEngine) -> None:
    """Lengths that differ, and ciphertexts of two keys, are refused rather than broadcast."""
    names = {
        "enc": key.encrypt([1, 2, 3]),
        "other": [1],
        "short": integers([[1], [2]], 4),
        "flat": integers([[1, 2, 3]], 4),
        "foreign": paillier.generate(profiles.TEST_ONLY, engine, seeded("foreign")).encrypt([1, 2, 3]),
    }
    with pytest.raises(CryptoError, match="expected"):
        eval(operation, names)  # noqa: S307  # The expressions are the parameters above.


def test_only_fresh_vectors_have_bytes(key: PrivateKey) -> None:
    """Whatever is calculated from ciphertexts cannot be serialised before it is randomised again."""
    fresh, ones = key.encrypt([1, 2]), [1, 1]
    assert isinstance(fresh, Sendable)
    calculated = [fresh + fresh, fresh - fresh, fresh + ones, -fresh, fresh * 3, fresh @ integers([[1], [2]], 4)]
    calculated += [fresh[:1], admit(key.public, fresh.to_bytes(), 2)]
    for vector in calculated:
        assert type(vector) is EncryptedVector
        assert not hasattr(vector, "to_bytes")
        assert isinstance(vector.randomised(), Sendable)


def test_bytes_have_fixed_width(key: PrivateKey) -> None:
    """A ciphertext takes the bytes of its modulus, little-endian, whatever its value."""
    vector = key.encrypt([0, 1, -1])
    size = key.public.ciphertext_bytes
    data = vector.to_bytes()
    assert [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(3)] == to_ints(vector.limbs)
    assert len(data) == 3 * size
    assert decrypt_signed(key, admit(key.public, data, 3)) == [0, 1, -1]


def test_nothing_is_a_vector_too(key: PrivateKey) -> None:
    """A vector of no ciphertexts goes through everything and stays empty."""
    nothing: list[int] = []
    empty = admit(key.public, key.encrypt(nothing).to_bytes(), 0)
    assert key.decrypt((empty + nothing).randomised()) == nothing


def test_randomising_keeps_the_plaintexts(key: PrivateKey) -> None:
    """Fresh randomness changes every ciphertext and no plaintext."""
    vector = key.encrypt([5, -6, 0])
    fresh = vector.randomised()
    assert decrypt_signed(key, fresh) == [5, -6, 0]
    assert not set(to_ints(vector.limbs)) & set(to_ints(fresh.limbs))


def counted(private: PrivateKey) -> tuple[PrivateKey, CountingEngine]:
    """The same key on an engine that counts."""
    counting = CountingEngine(private.public.engine)
    public = private.public
    again = PublicKey(public.n, public.profile, counting, public.randomness)
    return PrivateKey(int(private._p), int(private._q), again), counting


def refused_without_secret(key: PrivateKey, data: bytes, sent: list[bytes] | None = None) -> None:
    """What the owner does with bytes from outside; nothing may be calculated before the refusal."""
    counting_key, counting = counted(key)
    with pytest.raises(CiphertextRefusedError):
        counting_key.decrypt(admit(counting_key.public, data, 3, sent or ()))
    assert counting.calls == Counter()


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_ciphertexts_never_reach_the_key(key: PrivateKey, name: str) -> None:
    """Bytes that are no ciphertexts are refused before the engine, let alone the secret key, was asked for anything."""
    refused_without_secret(key, MALFORMED[name](key, key.encrypt([1, 2, 3]).to_bytes()))


@pytest.mark.parametrize("place", [0, 17, 39])
def test_a_bad_one_among_many_never_reaches_the_key(key: PrivateKey, place: int) -> None:
    """Of many ciphertexts the engine makes one product, modulo the public key; one bad factor shows in it."""
    factor = key._rings[0].root  # The secret that such a ciphertext would give away.
    bad = factor.to_bytes(key.public.ciphertext_bytes, "little")
    data = key.public.encrypt([1] * 40).to_bytes()
    start = place * len(bad)
    counting_key, counting = counted(key)
    assert len(admit(counting_key.public, data, 40)) == 40
    with pytest.raises(CiphertextRefusedError, match="shares a factor"):
        counting_key.decrypt(admit(counting_key.public, data[:start] + bad + data[start + len(bad) :], 40))
    assert set(counting.calls) == {"pack"}
    assert counting.packed_in == {key.public.ring.root}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_our_own_ciphertexts_do_not_come_back(key: PrivateKey, place: int) -> None:
    """A ciphertext that we sent, in any place of an answer, is refused before anything is calculated."""
    size = key.public.ciphertext_bytes
    ours, theirs = key.encrypt([4]).to_bytes(), key.public.encrypt([1, 2, 3]).to_bytes()
    data = theirs[: place * size] + ours + theirs[(place + 1) * size :]
    refused_without_secret(key, data, sent=[key.encrypt([9]).to_bytes(), ours])


def test_honest_ciphertexts_do_reach_the_key(key: PrivateKey) -> None:
    """The count that is 0 for malformed ciphertexts is not 0 for honest ones."""
    counting_key, counting = counted(key)
    assert decrypt_signed(counting_key, admit(counting_key.public, key.encrypt([1, 2, 3]).to_bytes(), 3)) == [1, 2, 3]
    assert counting.calls["logarithms"] > 0


class CountedModulus:
    """A modulus that counts the reductions modulo itself; gmpy2 leaves `% modulus` to it."""

    def __init__(self, value: mpz) -> None:
        self.value = value
        self.reductions = 0

    def __rmod__(self, dividend: mpz) -> mpz:
        self.reductions += 1
        return dividend % self.value


def matrices(rows: int = 24, columns: int = 6) -> dict[str, IntegerMatrix]:
    """The same shape with very different contents."""
    rng = np.random.default_rng(5)
    dense = rng.integers(-256, 256, (rows, columns))
    sparse = np.where(rng.random(dense.shape) < 0.05, dense, 0)
    return {
        "zero": np.zeros_like(dense),
        "sparse": sparse,
        "dense": dense,
        "largest": np.full_like(dense, 255),
        "smallest": np.full_like(dense, -256),
    }


def test_python_products_depend_on_shapes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count of modular multiplications for `@` is the same for an empty, a sparse and a dense matrix."""
    key = paillier.generate(profiles.TEST_ONLY, PythonEngine(), seeded("counts"))
    vector = key.encrypt([0] * 12 + [1 << 30] * 12)
    invert = gmpy2.invert
    monkeypatch.setattr(gmpy2, "invert", lambda value, modulus: invert(value, getattr(modulus, "value", modulus)))
    counts = {}
    for name, matrix in matrices().items():
        modulus = CountedModulus(key.public.ring.modulus)
        ring = Ring(key.public.n, 2)
        vars(ring).update(modulus=modulus, width=key.public.ring.width)
        sums = PythonEngine().combine(ring, vector.limbs, matrix, 9)
        counts[name, "product"] = modulus.reductions
        PythonEngine().pack(ring, sums, 3, 50)
        counts[name, "pack"] = modulus.reductions - counts[name, "product"]
    assert len({count for (_, what), count in counts.items() if what == "product"}) == 1
    assert len({count for (_, what), count in counts.items() if what == "pack"}) == 1
    assert min(counts.values()) > 0
