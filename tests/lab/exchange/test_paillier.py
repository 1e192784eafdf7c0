"""lab/exchange/paillier.py: against plain integers, and against phe, which others wrote.

phe is an oracle for tests only (GPL), hence it is imported here and nowhere else.
"""

from itertools import pairwise
from typing import Any

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.errors import CryptoError
from plumbob.lab.exchange import engines, paillier, profiles, uniform
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.limbs import from_ints, to_ints
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, admit
from plumbob.lab.exchange.profiles import Profile
from tests.crypto.support import LIGHT, seeded
from tests.lab.exchange.support import decrypt_signed, integers, plain_product

phe = pytest.importorskip("phe.paillier", reason="phe, the oracle of the known-answer tests, is not installed")

VECTORS = {768: 250, 2048: 20}


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


def test_we_decrypt_what_phe_encrypts(oracle_key: PrivateKey) -> None:
    """Ciphertexts of phe decrypt to what phe encrypted."""
    public, _ = phe_pair(oracle_key)
    plaintexts = known_plaintexts(oracle_key)
    randomness = seeded("phe's randomness")
    theirs = [public.raw_encrypt(value, uniform.unit(randomness, oracle_key.public.n)) for value in plaintexts]
    data = b"".join(value.to_bytes(oracle_key.public.ciphertext_bytes, "little") for value in theirs)
    assert oracle_key.decrypt(admit(oracle_key.public, data, len(theirs))) == plaintexts


def test_phe_decrypts_what_we_encrypt(oracle_key: PrivateKey) -> None:
    """Our ciphertexts, by the owner, decrypt under phe to what we encrypted."""
    _, private = phe_pair(oracle_key)
    plaintexts = known_plaintexts(oracle_key)
    assert [private.raw_decrypt(value) for value in to_ints(oracle_key.encrypt(plaintexts).limbs)] == plaintexts


def test_phe_decrypts_what_a_peer_encrypts(key: PrivateKey) -> None:
    """Our ciphertexts under somebody else's key decrypt under phe."""
    _, private = phe_pair(key)
    plaintexts = known_plaintexts(key)
    ours = to_ints(key.public.encrypt(plaintexts).limbs)
    assert [private.raw_decrypt(value) for value in ours] == plaintexts


def test_arithmetic_is_phes_bit_for_bit(oracle_key: PrivateKey) -> None:
    """Sums, differences and multiples of ciphertexts are the very residues that phe calculates."""
    public, _ = phe_pair(oracle_key)
    vector = oracle_key.encrypt([*range(-10, 10)])
    theirs = [phe.EncryptedNumber(public, value) for value in to_ints(vector.limbs)]
    other = vector[::-1]

    def same(ours: EncryptedVector, expected: list[Any]) -> bool:
        return to_ints(ours.limbs) == [value.ciphertext(be_secure=False) for value in expected]

    assert same(vector + other, [a + b for a, b in zip(theirs, theirs[::-1], strict=True)])
    assert same(vector - other, [a - b for a, b in zip(theirs, theirs[::-1], strict=True)])
    for factor in (1, -1, 2, 1000003, -(2**61)):
        assert same(vector * factor, [value * factor for value in theirs])


def test_products_are_phes_bit_for_bit(oracle_key: PrivateKey) -> None:
    """A vector times a signed matrix is the very residue that phe gets from its sums of multiples."""
    public, _ = phe_pair(oracle_key)
    values = [-7, 0, 3, 1 << 40, -(1 << 40), 1]
    X = integers([[3, -4, 0], [-1, 0, 7], [2, 2, -2], [255, -256, 1], [-255, 255, 128], [9, 8, 7]], bits=9)
    vector = oracle_key.encrypt(values)
    theirs = [phe.EncryptedNumber(public, value) for value in to_ints(vector.limbs)]
    columns = []
    for entries in X.values.T.tolist():
        first, *others = (value * entry for value, entry in zip(theirs, entries, strict=True))
        columns.append(sum(others, first))
    assert to_ints((vector @ X).limbs) == [value.ciphertext(be_secure=False) for value in columns]
    assert decrypt_signed(oracle_key, vector @ X) == plain_product(values, X)


@LIGHT
@given(data=st.data())
def test_signed_numbers_come_back(key: PrivateKey, data: st.DataObject) -> None:
    """Any abs(m) below a quarter of the key's range decrypts to itself, whoever encrypted it."""
    limit = (1 << (key.public.profile.key_bits - 2)) - 1
    values = [*data.draw(st.lists(st.integers(-limit, limit), max_size=5)), limit, -limit, 0, -1]
    assert decrypt_signed(key, key.encrypt(values)) == values
    assert decrypt_signed(key, key.public.encrypt(values)) == values


def test_decrypt_gives_residues(key: PrivateKey) -> None:
    """What is handed on lies in [0, n), so that truncation acts on a number whose range is public."""
    n = key.public.n
    assert key.decrypt(key.encrypt([-1, 0, 1, n, n + 5])) == [n - 1, 0, 1, 0, 5]


@pytest.mark.parametrize("profile", [profiles.TEST_ONLY, profiles.STANDARD, profiles.LONG_TERM])
def test_keys_have_their_length(profile: Profile) -> None:
    """n has exactly the profile's bits, two different primes, and n-th powers permute its units."""
    key = paillier.generate(profile, engines.choose(threads=1), seeded("length"))
    assert key.public.n.bit_length() == profile.key_bits
    assert key._p != key._q
    assert key._p * key._q == key.public.n
    assert gmpy2.gcd(key.public.n, (key._p - 1) * (key._q - 1)) == 1
    assert len(key.public.to_bytes()) * 8 == profile.key_bits
    assert key.public.ciphertext_bytes * 8 == 2 * profile.key_bits
    assert decrypt_signed(key, key.encrypt([-3, 4])) == [-3, 4]


def test_two_keys_differ(engine: PaillierEngine) -> None:
    """Each key has primes of its own."""
    first, second = (paillier.generate(profiles.TEST_ONLY, engine) for _ in range(2))
    assert gmpy2.gcd(first.public.n, second.public.n) == 1


def test_nth_roots_are_roots(key: PrivateKey) -> None:
    """The owner's root, raised to n, is the number again."""
    n, randomness = key.public.n, seeded("roots")
    for value in (1, n - 1, *(uniform.unit(randomness, n) for _ in range(20))):
        assert gmpy2.powmod(key.nth_root(value), n, n) == value


def test_another_keys_ciphertexts_are_refused(key: PrivateKey, engine: PaillierEngine) -> None:
    """A secret key is never applied to ciphertexts of another modulus."""
    other = paillier.generate(profiles.TEST_ONLY, engine, seeded("other"))
    with pytest.raises(CryptoError, match="belong to another one"):
        key.decrypt(other.encrypt([1]))


def test_masks_are_uniform_modulo_n(key: PrivateKey) -> None:
    """A mask covers all of [0, n), however narrow the sum that it hides."""
    n = key.public.n
    masks = key.public.random_mask(400, bits=20)
    assert all(0 <= mask < n for mask in masks)
    quarters = [sum(quarter * n <= 4 * mask < (quarter + 1) * n for mask in masks) for quarter in range(4)]
    assert min(quarters) > 60
    assert len(set(masks)) == 400


def test_sums_too_wide_to_mask_are_refused(key: PrivateKey) -> None:
    """A sum that could wrap around n under its mask is refused before it is masked."""
    public = key.public
    assert public.reply_bits == public.profile.key_bits - 101
    with pytest.raises(CryptoError, match="at most 667 bits"):
        public.random_mask(1, public.reply_bits + 1)


def test_decrypting_zero_would_factor_n(key: PrivateKey) -> None:
    """Past the admission, ciphertext 0 opens to (p + q)**-1 modulo n: this is why no such vector can be received."""
    public = key.public
    unchecked = EncryptedVector(public, from_ints([0], public.ring.width))
    prime_sum = gmpy2.invert(key.decrypt(unchecked)[0], public.n)
    root = gmpy2.isqrt(prime_sum**2 - 4 * public.n)
    assert {(prime_sum + root) // 2, (prime_sum - root) // 2} == {key._p, key._q}


def test_neighbours_share_no_factor(key: PrivateKey) -> None:
    """Ciphertexts of neighbouring messages are unrelated: their quotients are all different."""
    modulus = key.public.ring.modulus
    drawn = to_ints(key.encrypt(list(range(50))).limbs)
    quotients = {int(b * gmpy2.invert(a, modulus) % modulus) for a, b in pairwise(drawn)}
    assert len(quotients) == 49
