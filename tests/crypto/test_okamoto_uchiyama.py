"""crypto/okamoto_uchiyama.py: plain-integer reference, and what this scheme must refuse because p is secret."""

from collections import Counter

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.crypto import EncryptedVector, ProofContext, admit, admit_paillier, okamoto_uchiyama, profiles
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.limbs import from_ints, to_ints
from plumbob.crypto.okamoto_uchiyama import GAP_BITS, MASK_BITS, OkamotoUchiyamaPrivateKey
from plumbob.crypto.profiles import Profile
from plumbob.errors import CiphertextRefusedError, CryptoError, EncodingError, KeyRefusedError
from tests.crypto.support import LIGHT, decrypt_signed, integers, plain_product, seeded


@LIGHT
@given(data=st.data())
def test_signed_numbers_come_back(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey, data: st.DataObject) -> None:
    """Any abs(m) < 2**capacity_bits decrypts to itself, centred, whoever encrypted it."""
    key = okamoto_uchiyama_key
    limit = (1 << key.public.capacity_bits) - 1
    values = [*data.draw(st.lists(st.integers(-limit, limit), max_size=4)), limit, -limit, 0, -1]
    assert key.decrypt(key.encrypt(values)) == values
    assert decrypt_signed(key, key.public.encrypt(values)) == values


def test_standard_length_works(engine: Engine) -> None:
    """A key of the default length encrypts, multiplies and decrypts."""
    key = okamoto_uchiyama.generate(profiles.STANDARD, engine, seeded("standard ou"))
    X = integers([[3, -4], [-256, 255]], bits=9)
    assert key.decrypt(key.encrypt([5, -6]) @ X) == plain_product([5, -6], X)


@pytest.mark.parametrize("profile", [profiles.TEST_ONLY, profiles.STANDARD, profiles.LONG_TERM])
def test_keys_have_their_length(profile: Profile) -> None:
    """n = p**2 q has exactly the profile's bits, and g generates the part of order p."""
    key = okamoto_uchiyama.generate(profile, PythonEngine(), seeded("length"))
    n, p = key.public.n, key._p
    assert n.bit_length() == profile.key_bits
    assert n % p**2 == 0
    assert gmpy2.powmod(key.public.g, p - 1, p**2) != 1
    assert p.bit_length() == -(-profile.key_bits // 3)
    assert len(key.public.to_bytes()) == profile.key_bits // 4


def test_too_wide_plaintexts_are_refused(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """A plaintext beyond the capacity is refused on encryption, without being shown."""
    public = okamoto_uchiyama_key.public
    for value in (1 << public.capacity_bits, -(1 << public.capacity_bits)):
        with pytest.raises(EncodingError) as caught:
            public.encrypt([value])
        assert str(value) not in str(caught.value)


@pytest.mark.parametrize("above", [0, 1, GAP_BITS // 2])
def test_an_over_range_query_is_refused(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey, above: int) -> None:
    """A plaintext wider than any honest sum is refused, and the refusal shows neither it nor p."""
    key = okamoto_uchiyama_key
    wide = key.encrypt([1, -1]) * (1 << (key.public.capacity_bits + above))
    with pytest.raises(CiphertextRefusedError, match="wider than any honest sum") as caught:
        key.decrypt(admit(key.public, wide.randomised().to_bytes(), 2))
    assert not any(character.isdigit() for character in str(caught.value))


def test_wrapping_around_p_is_refused(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """The query g**(2**k) with 2**k > p, whose answer would be 2**k modulo p and so give p away, gets no answer."""
    key = okamoto_uchiyama_key
    bits = key._p.bit_length()
    for power in range(bits, bits + 40):
        query = from_ints([gmpy2.powmod(key.public.g, 1 << power, key.public.n)], key.public.ring.width)
        with pytest.raises(CiphertextRefusedError):
            key.decrypt(EncryptedVector(key.public, query))


def test_negative_sums_are_centred(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """An honest negative sum comes back as itself and not as p minus something, which would show p."""
    key = okamoto_uchiyama_key
    assert key.decrypt(key.encrypt([-5]) - key.encrypt([1])) == [-6]


def test_masks_are_longer_than_what_they_hide(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """A mask has 128 bits more than the sum, all of them used, and the masked sum still fits."""
    public = okamoto_uchiyama_key.public
    for bits in (20, public.reply_bits):
        masks = public.random_mask(200, bits)
        lengths = Counter(mask.bit_length() for mask in masks)
        assert max(lengths) == bits + MASK_BITS
        assert 60 < lengths[bits + MASK_BITS] < 140
        assert max(masks) + (1 << (bits - 1)) < 1 << public.capacity_bits


def test_masks_leave_no_trace_of_the_sum(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """The top bits of a masked sum are the same whether the sum is the smallest or the largest of its width."""
    bits = 40
    masks = okamoto_uchiyama_key.public.random_mask(100, bits)
    low, high = -(1 << (bits - 1)) + 1, (1 << (bits - 1)) - 1
    assert all((mask + low) >> (bits + 64) == (mask + high) >> (bits + 64) for mask in masks)


def test_sums_too_wide_to_mask_are_refused(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """A sum whose mask would not fit is refused before it is masked."""
    public = okamoto_uchiyama_key.public
    with pytest.raises(CryptoError, match=f"at most {public.reply_bits} bits"):
        public.random_mask(1, public.reply_bits + 1)


def test_another_keys_ciphertexts_are_refused(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey, engine: Engine) -> None:
    """A secret key is never applied to ciphertexts of another modulus."""
    other = okamoto_uchiyama.generate(profiles.TEST_ONLY, engine, seeded("other"))
    with pytest.raises(CryptoError, match="belong to another one"):
        okamoto_uchiyama_key.decrypt(other.encrypt([1]))


def test_no_such_key_passes_for_paillier() -> None:
    """The owner of n = p**2 q has no n-th roots of the challenges: its modulus is no Paillier key."""
    key = okamoto_uchiyama.generate(profiles.TEST_ONLY, PythonEngine(), seeded("not paillier"))
    n, size = key.public.n, key.public.profile.key_bits // 8
    best = b"".join(seeded(f"root {index}").unit(n).to_bytes(size, "little") for index in range(11))
    with pytest.raises(KeyRefusedError, match="does not fit its challenge"):
        admit_paillier(
            n.to_bytes(size, "little"), best, ProofContext(b"s", "a", "b"), profiles.TEST_ONLY, PythonEngine()
        )
    assert gmpy2.gcd(n, (key._p - 1) * key._p * (n // key._p**2 - 1)) == key._p


def test_ciphertexts_do_not_show_parity() -> None:
    """The Jacobi symbol, which everybody can calculate, is as often 1 as -1 for even and for odd plaintexts."""
    for number in range(16):
        key = okamoto_uchiyama.generate(profiles.TEST_ONLY, PythonEngine(), seeded(f"jacobi {number}"))
        if gmpy2.jacobi(key.public.g, key.public.n) == 1:
            continue  # The symbol of g**m is 1 whatever m is.
        for parity in (0, 1):
            ciphertexts = to_ints(key.encrypt([parity] * 64).limbs)
            symbols = Counter(gmpy2.jacobi(value, key.public.n) for value in ciphertexts)
            assert 12 < symbols[1] < 52


def test_own_ciphertexts_are_spread(okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey) -> None:
    """Encryptions of one number are all different, below n, and fill its range evenly."""
    n = okamoto_uchiyama_key.public.n
    drawn = to_ints(okamoto_uchiyama_key.encrypt([7] * 400).limbs)
    assert len(set(drawn)) == 400
    quarters = Counter(4 * value // n for value in drawn)
    assert set(quarters) == {0, 1, 2, 3}
    assert min(quarters.values()) > 60
