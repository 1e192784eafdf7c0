"""lab/exchange/paillier.py: against plain integers and against phe, which others wrote; what is sent and what let in.

phe is an oracle for tests only (GPL), hence it is imported here and nowhere else.
"""

import re
from collections import Counter
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from plumbob.crypto import Encoded
from plumbob.errors import CiphertextRefusedError, CryptoError
from plumbob.lab.exchange import engines, paillier, profiles, uniform
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.limbs import from_bytes, from_ints, is_less, to_bytes, to_ints, to_mpz
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, Sendable, admit
from plumbob.lab.exchange.profiles import Profile
from tests.crypto.support import LIGHT, seeded
from tests.lab.exchange.malformed import CIPHERTEXTS
from tests.lab.exchange.support import counted_key, decrypt_signed, integers, plain_product

phe = pytest.importorskip("phe.paillier", reason="phe, the oracle of the known-answer tests, is not installed")

VECTORS = {768: 250, 2048: 20}


# Against phe, bit for bit.


def phe_pair(key: PrivateKey) -> tuple[Any, Any]:
    """The public and private key of phe from the same primes."""
    public = phe.PaillierPublicKey(key.public.n)
    return public, phe.PaillierPrivateKey(public, int(key._p), int(key._q))


@pytest.fixture(params=[768, 2048])
def oracle_key(request: pytest.FixtureRequest, key: PrivateKey, standard_key: PrivateKey) -> PrivateKey:
    """A short key for many vectors, and one of the default length for some."""
    return key if request.param == 768 else standard_key


def known_plaintexts(key: PrivateKey) -> list[int]:
    """Edges of the plaintext space, then random ones of every magnitude."""
    n, randomness = key.public.n, seeded("known answers")
    edges = [0, 1, 2, n - 1, n - 2, n // 2, n // 2 + 1, int(key._p), int(key._q)]
    count = VECTORS[key.public.profile.key_bits]
    return [*edges, *(randomness.below(n) >> randomness.below(n.bit_length()) for _ in range(count))]


def test_phe_and_we_open_each_others_ciphertexts(oracle_key: PrivateKey) -> None:
    """What phe encrypts we decrypt; what the owner or a peer encrypts, phe decrypts."""
    public, private = phe_pair(oracle_key)
    plaintexts, randomness = known_plaintexts(oracle_key), seeded("phe's randomness")
    theirs = [public.raw_encrypt(value, uniform.unit(randomness, oracle_key.public.n)) for value in plaintexts]
    data = b"".join(value.to_bytes(oracle_key.public.ciphertext_bytes, "little") for value in theirs)
    assert oracle_key.decrypt(admit(oracle_key.public, data, len(theirs))) == plaintexts
    for encrypt in (oracle_key.encrypt, oracle_key.public.encrypt):
        assert [private.raw_decrypt(value) for value in to_ints(encrypt(plaintexts).limbs)] == plaintexts


def test_arithmetic_is_phes_bit_for_bit(oracle_key: PrivateKey) -> None:
    """Sums, differences, multiples and signed products with a matrix are the very residues that phe calculates."""
    public, _ = phe_pair(oracle_key)
    values = [-7, 0, 3, 1 << 40, -(1 << 40), 1]
    vector = oracle_key.encrypt(values)
    theirs = [phe.EncryptedNumber(public, value) for value in to_ints(vector.limbs)]
    other = vector[::-1]

    def is_same(ours: EncryptedVector, expected: list[Any]) -> bool:
        return to_ints(ours.limbs) == [value.ciphertext(be_secure=False) for value in expected]

    assert is_same(vector + other, [a + b for a, b in zip(theirs, theirs[::-1], strict=True)])
    assert is_same(vector - other, [a - b for a, b in zip(theirs, theirs[::-1], strict=True)])
    for factor in (1, -1, 2, 1000003, -(2**61)):
        assert is_same(vector * factor, [value * factor for value in theirs])
    X = integers([[3, -4, 0], [-1, 0, 7], [2, 2, -2], [255, -256, 1], [-255, 255, 128], [9, 8, 7]], bits=9)
    columns = []
    for entries in X.values.T.tolist():
        first, *others = (value * entry for value, entry in zip(theirs, entries, strict=True))
        columns.append(sum(others, first))
    assert is_same(vector @ X, columns)
    assert decrypt_signed(oracle_key, vector @ X) == plain_product(values, X)


# Against plain integers: one property for each operation.

numbers = st.integers(-(1 << 60), 1 << 60)


@LIGHT
@given(data=st.data())
def test_signed_numbers_come_back(key: PrivateKey, data: st.DataObject) -> None:
    """Any abs(m) below a quarter of the key's range decrypts to itself, whoever encrypted it, to a number in [0, n)."""
    limit, n = (1 << (key.public.profile.key_bits - 2)) - 1, key.public.n
    values = [*data.draw(st.lists(st.integers(-limit, limit), max_size=5)), limit, -limit, 0, -1]
    assert decrypt_signed(key, key.encrypt(values)) == values
    assert decrypt_signed(key, key.public.encrypt(values)) == values
    assert key.decrypt(key.encrypt([-1, n, n + 5])) == [n - 1, 0, 5]


@LIGHT
@given(drawn=st.lists(st.tuples(numbers, numbers), max_size=6), factor=numbers)
def test_sums_differences_and_multiples(key: PrivateKey, drawn: list[tuple[int, int]], factor: int) -> None:
    """+, - and * of ciphertexts, and with plain numbers, are those of the plaintexts; nothing is a vector too."""
    left, right = [a for a, _ in drawn], [b for _, b in drawn]
    enc_left, enc_right = key.encrypt(left), key.public.encrypt(right)
    for other in (enc_right, right):
        assert decrypt_signed(key, enc_left + other) == [a + b for a, b in drawn]
        assert decrypt_signed(key, enc_left - other) == [a - b for a, b in drawn]
    assert decrypt_signed(key, -enc_left) == [-a for a in left]
    for chosen in (factor, 0, 1, -1):
        assert decrypt_signed(key, enc_left * chosen) == [a * chosen for a in left]


@st.composite
def products(draw: st.DrawFn) -> tuple[list[int], list[list[int]], int]:
    """A vector, a matrix with entries of a drawn width, many of them extreme or 0, and that width."""
    rows, columns, bits = draw(st.integers(1, 33)), draw(st.integers(1, 5)), draw(st.integers(2, 40))
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


@pytest.mark.parametrize("operation", ["enc + other", "enc - other", "enc @ short", "enc @ flat", "enc + foreign"])
def test_shapes_and_keys_must_agree(key: PrivateKey, operation: str, engine: PaillierEngine) -> None:
    """Lengths that differ, and ciphertexts of two keys, are refused rather than broadcast or decrypted."""
    foreign = paillier.generate(profiles.TEST_ONLY, engine, seeded("foreign")).encrypt([1, 2, 3])
    names = {
        "enc": key.encrypt([1, 2, 3]),
        "other": [1],
        "short": integers([[1], [2]], 4),
        "flat": integers([[1, 2, 3]], 4),
        "foreign": foreign,
    }
    with pytest.raises(CryptoError, match="expected"):
        eval(operation, names)  # noqa: S307  # The expressions are the parameters above.
    with pytest.raises(CryptoError, match="belong to another one"):
        key.decrypt(foreign)


# Keys.


@pytest.mark.parametrize("profile", [profiles.TEST_ONLY, profiles.STANDARD, profiles.LONG_TERM])
def test_keys_have_their_length(profile: Profile) -> None:
    """n has exactly the profile's bits, two different primes, and n-th powers permute its units."""
    key = paillier.generate(profile, engines.choose(threads=1), seeded("length"))
    n, randomness = key.public.n, seeded("roots")
    assert n.bit_length() == profile.key_bits == len(key.public.to_bytes()) * 8
    assert key.public.ciphertext_bytes * 8 == 2 * profile.key_bits
    assert key._p != key._q
    assert key._p * key._q == n
    assert gmpy2.gcd(n, (key._p - 1) * (key._q - 1)) == 1
    assert decrypt_signed(key, key.encrypt([-3, 4])) == [-3, 4]
    for value in (1, n - 1, *(uniform.unit(randomness, n) for _ in range(5))):
        assert gmpy2.powmod(key.nth_root(value), n, n) == value


def test_two_keys_differ_and_are_long_by_default(monkeypatch: pytest.MonkeyPatch, engine: PaillierEngine) -> None:
    """Each key has primes of its own; a key that was not asked to be anything else has 2048 bits."""
    first, second = (paillier.generate(profiles.TEST_ONLY, engine) for _ in range(2))
    assert gmpy2.gcd(first.public.n, second.public.n) == 1
    monkeypatch.setattr(engines, "choose", PythonEngine)
    assert paillier.generate().public.profile is profiles.STANDARD


def test_masks_cover_the_modulus_and_hide_no_wider_sum(key: PrivateKey) -> None:
    """A mask covers all of [0, n), however narrow the sum; a sum that could wrap around n under it is refused."""
    public = key.public
    masks = public.random_mask(400, bits=20)
    assert len(set(masks)) == 400
    assert (
        min(sum(quarter * public.n <= 4 * one < (quarter + 1) * public.n for one in masks) for quarter in range(4)) > 60
    )
    assert public.profile.reply_bits == public.profile.key_bits - 101
    with pytest.raises(CryptoError, match="at most 667 bits"):
        public.random_mask(1, public.profile.reply_bits + 1)


def test_keys_and_vectors_print_nothing(key: PrivateKey) -> None:
    """Keys, vectors, encoded data and tables show their kind and size, and no number that they hold."""
    X = integers([[123456], [-123456]], 20)
    vector = key.encrypt([987654, -987654])
    for value in (key, key.public, vector, vector @ X, X, key.public._table, key._own_bases, *key._rings):
        text = f"{value!r} {value!s}"
        assert "123456" not in text
        assert "987654" not in text
        # The longest number left is a key length, or an address, which Python prints in base 16.
        assert all(len(run) <= 4 for run in re.findall(r"\d+", re.sub(r"0x[0-9a-f]+", "", text)))


# What may be sent.


def test_only_fresh_vectors_have_bytes(key: PrivateKey) -> None:
    """Whatever is calculated from ciphertexts cannot be serialised before it is randomised again."""
    fresh, ones = key.encrypt([1, 2]), [1, 1]
    calculated = [fresh + fresh, fresh - fresh, fresh + ones, -fresh, fresh * 3, fresh @ integers([[1], [2]], 4)]
    for vector in (*calculated, fresh[:1], admit(key.public, fresh.to_bytes(), 2)):
        assert type(vector) is EncryptedVector
        assert not hasattr(vector, "to_bytes")
        assert isinstance(vector.randomised(), Sendable)
    again = fresh.randomised()
    assert decrypt_signed(key, again) == [1, 2]
    assert not set(to_ints(fresh.limbs)) & set(to_ints(again.limbs))


def test_bytes_have_fixed_width(key: PrivateKey) -> None:
    """A ciphertext takes the bytes of its modulus, little-endian, whatever its value; encoded columns are taken too."""
    vector = key.encrypt(Encoded(np.array([0, 1, -1]), integers([[1]], 9).encoding))
    size, data = key.public.ciphertext_bytes, vector.to_bytes()
    assert [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(3)] == to_ints(vector.limbs)
    assert len(data) == 3 * size
    assert decrypt_signed(key, admit(key.public, data, 3)) == [0, 1, -1]


@LIGHT
@given(st.integers(1, 5), st.data())
def test_integers_are_rows_of_limbs(width: int, data: st.DataObject) -> None:
    """Integers of every size, GMP's as well, are the same after the way to limbs, to bytes and back, and in order."""
    largest = (1 << (64 * width)) - 1
    values = [0, 1, largest, *data.draw(st.lists(st.integers(0, largest), max_size=6))]
    limbs = from_ints(values, width)
    assert limbs.shape == (len(values), width)
    assert to_bytes(limbs) == b"".join(value.to_bytes(8 * width, "little") for value in values)
    np.testing.assert_array_equal(from_ints(map(mpz, values), width), limbs)
    np.testing.assert_array_equal(from_bytes(to_bytes(limbs), width), limbs)
    assert to_ints(limbs) == to_mpz(limbs) == values
    assert to_ints(np.repeat(limbs, 2, axis=0)[::2]) == values
    assert is_less(limbs, limbs[-1]).tolist() == [value < values[-1] for value in values]
    assert to_ints(from_ints([], width)) == []
    for unfit in (-1, largest + 1, mpz(-1), mpz(largest + 1)):
        with pytest.raises((OverflowError, TypeError)):
            from_ints([unfit], width)


# What is let in.


def refuse_before_the_key(key: PrivateKey, data: bytes, sent: tuple[bytes, ...] = ()) -> None:
    """What the owner does with bytes from outside; nothing may be calculated before the refusal."""
    counting_key, counting = counted_key(key)
    with pytest.raises(CiphertextRefusedError):
        counting_key.decrypt(admit(counting_key.public, data, 3, sent))
    assert counting.calls == Counter()


@pytest.mark.parametrize("name", CIPHERTEXTS)
def test_malformed_ciphertexts_never_reach_the_key(key: PrivateKey, name: str) -> None:
    """Bytes that are no ciphertexts are refused before the engine, let alone the secret key, was asked for anything."""
    refuse_before_the_key(key, CIPHERTEXTS[name](key, key.encrypt([1, 2, 3]).to_bytes()))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_our_own_ciphertexts_do_not_come_back(key: PrivateKey, place: int) -> None:
    """A ciphertext that we sent, in any place of an answer, is refused before anything is calculated."""
    size = key.public.ciphertext_bytes
    ours, theirs = key.encrypt([4]).to_bytes(), key.public.encrypt([1, 2, 3]).to_bytes()
    answer = theirs[: place * size] + ours + theirs[(place + 1) * size :]
    refuse_before_the_key(key, answer, (key.encrypt([9]).to_bytes(), ours))


@pytest.mark.parametrize("place", [0, 17, 39])
def test_a_bad_one_among_many_never_reaches_the_key(key: PrivateKey, place: int) -> None:
    """Of many ciphertexts the engine makes one product, modulo the public key; one bad factor shows in it."""
    factor = key._rings[0].root  # The secret that such a ciphertext would give away.
    bad = factor.to_bytes(key.public.ciphertext_bytes, "little")
    data, start = key.public.encrypt([1] * 40).to_bytes(), place * len(bad)
    counting_key, counting = counted_key(key)
    assert counting_key.decrypt(admit(counting_key.public, data, 40)) == [1] * 40
    assert counting.calls["logarithms"] > 0
    counting.calls.clear()
    with pytest.raises(CiphertextRefusedError, match="shares a factor"):
        counting_key.decrypt(admit(counting_key.public, data[:start] + bad + data[start + len(bad) :], 40))
    assert set(counting.calls) == {"pack"}
    assert counting.packed_in == {key.public.ring.root}
