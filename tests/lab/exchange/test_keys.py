"""lab/exchange/paillier.py: randomisers against their reference, rho**n, and key classes that print nothing.

On a toy modulus every n-th residue can be listed. n = 11 * 31 is chosen for its group, 10 times 30, which is not
cyclic: no single base reaches all of it, so a randomiser made of one base is caught however long its exponents are.
"""

import re
from collections import Counter

import gmpy2
import numpy as np
import pytest
from scipy import stats

from plumbob.lab.exchange import engines, paillier, profiles, uniform
from plumbob.lab.exchange.engines.interface import Digits, PaillierEngine, Ring
from plumbob.lab.exchange.engines.python import PowerTable, PythonEngine
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_ints
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey, window_table
from plumbob.lab.exchange.profiles import Profile
from tests.crypto.support import seeded
from tests.lab.exchange.support import decrypt_signed, integers

TOY_N = 11 * 31
TOY = Profile(profiles.TEST_ONLY.name, TOY_N.bit_length())
NTH_RESIDUES = sorted({pow(rho, TOY_N, TOY_N**2) for rho in range(TOY_N) if gmpy2.gcd(rho, TOY_N) == 1})
SURPRISING = 1e-6  # With seeded draws a test that passes once passes always.


def p_value(drawn: list[int]) -> float:
    """How likely uniform n-th residues are at least as uneven as these."""
    counts = Counter(drawn)
    assert set(counts) <= set(NTH_RESIDUES)
    return float(stats.chisquare([counts[residue] for residue in NTH_RESIDUES]).pvalue)


def test_randomisers_are_uniform() -> None:
    """Every n-th residue comes equally often, as with the reference rho**n."""
    assert len(NTH_RESIDUES) == 10 * 30
    assert p_value(to_ints(PublicKey(TOY_N, TOY, PythonEngine(), seeded("a")).randomisers(3000))) > SURPRISING
    randomness = seeded("a")
    assert p_value([pow(uniform.unit(randomness, TOY_N), TOY_N, TOY_N**2) for _ in range(3000)]) > SURPRISING


@pytest.mark.parametrize("digits", [1, 17], ids=["short exponents", "full-length exponents"])
def test_one_base_would_not_be(digits: int) -> None:
    """The same test refuses randomisers that are powers of one base, which it would have to."""
    randomness = seeded("one base")
    ring = Ring(TOY_N, 2)
    base = pow(uniform.unit(randomness, TOY_N), TOY_N, TOY_N**2)
    table = window_table(PythonEngine(), ring, base, digits)
    assert p_value(to_ints(PythonEngine().look_up(table, uniform.digits(randomness, 3000, digits)))) < SURPRISING


def test_few_bases_would_not_be() -> None:
    """The same test refuses independent bases with exponents of one bit, shorter than the group."""
    randomness = seeded("few")
    bases = from_ints([pow(uniform.unit(randomness, TOY_N), TOY_N, TOY_N**2) for _ in range(5)], 1)
    table = PythonEngine().table(Ring(TOY_N, 2), bases, 1)
    assert (
        p_value(to_ints(PythonEngine().look_up(table, uniform.digits(randomness, 3000, 5) & np.uint8(1)))) < SURPRISING
    )


@pytest.mark.parametrize("profile", [profiles.STANDARD, profiles.LONG_TERM])
def test_bases_are_as_many_as_the_proof_needs(profile: Profile) -> None:
    """At least 272 independent bases, and 128 bits more than the key has."""
    key = PublicKey((1 << profile.key_bits) - 1, profile, PythonEngine())
    assert key._bases >= 272
    assert key._bases * 8 >= profile.key_bits + 128


class RecordingEngine(PythonEngine):
    """Keeps what tables are made of and what is looked up in them."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.digits: list[Digits] = []

    def table(self, ring: Ring, bases: Limbs, window: int) -> PowerTable:
        self.bases += to_ints(bases)
        return super().table(ring, bases, window)

    def look_up(self, table: PowerTable, digits: Digits) -> Limbs:
        self.digits.append(digits)
        return super().look_up(table, digits)


def test_bases_are_independent_and_exponents_full() -> None:
    """Every base is an n-th power of its own, drawn once; every randomiser uses all of them with fresh whole digits."""
    private = paillier.generate(profiles.TEST_ONLY, PythonEngine(), seeded("recorded"))
    engine = RecordingEngine()
    key = PublicKey(private.public.n, profiles.TEST_ONLY, engine, seeded("recorded bases"))
    key.randomisers(20)
    key.randomisers(20)
    assert len(set(engine.bases)) == len(engine.bases) == key._bases
    assert all(is_nth_residue(private, base) for base in engine.bases)
    digits = np.concatenate(engine.digits)
    assert digits.shape == (40, len(engine.bases))
    assert len(np.unique(digits, axis=0)) == 40
    assert stats.chisquare(np.bincount(digits.ravel(), minlength=256)).pvalue > SURPRISING


def test_randomisers_encrypt_zero(key: PrivateKey) -> None:
    """A randomiser is an n-th residue, opens to 0, and is never 1."""
    public = key.public
    drawn = public.randomisers(50)
    assert key.decrypt(EncryptedVector(public, drawn)) == [0] * 50
    assert len(set(to_ints(drawn))) == 50
    for value in to_ints(drawn):
        assert value != 1
        assert is_nth_residue(key, value)


def is_nth_residue(key: PrivateKey, value: int) -> bool:
    """Whether this is an n-th residue, by the factors: its parts of order p and of order q are trivial."""
    return all(gmpy2.powmod(value, prime - 1, prime**2) == 1 for prime in (key._p, key._q))


def test_own_randomness_encrypts_zero(key: PrivateKey) -> None:
    """The owner's fast randomness consists of n-th residues as well, all of them different."""
    drawn = to_ints(key.encrypt([0] * 50).limbs)
    assert all(is_nth_residue(key, value) for value in drawn)
    assert len(set(drawn)) == 50


def test_own_base_powers_are_uniform() -> None:
    """Powers of the owner's base spread evenly over the group that the base generates."""
    ring, base = Ring(101, 2), pow(2, 101, 101**2)  # 2 generates the units modulo 101.
    table = window_table(PythonEngine(), ring, base, 17)
    drawn = Counter(to_ints(PythonEngine().look_up(table, uniform.digits(seeded("own"), 8000, 17))))
    assert len(drawn) == 100
    assert stats.chisquare(list(drawn.values())).pvalue > SURPRISING


def test_window_tables_are_powers(engine: PaillierEngine) -> None:
    """Digits, lowest first, look up the power that they spell."""
    ring = Ring(int(uniform.prime(seeded("ring"), 256)), 1)
    digits = uniform.digits(seeded("window"), 5, 9)
    found = to_ints(engine.look_up(window_table(engine, ring, 3, 9), digits))
    exponents = [sum(int(digit) << (8 * place) for place, digit in enumerate(row)) for row in digits]
    assert found == [pow(3, exponent, ring.root) for exponent in exponents]


def printed(value: object) -> str:
    """Everything that printing a value shows."""
    return f"{value!r} {value!s} {value}"


def test_keys_and_vectors_print_nothing(key: PrivateKey) -> None:
    """Keys, vectors, encoded data and tables show their kind and size, and no number that they hold."""
    X = integers([[123456], [-123456]], 20)
    vector = key.encrypt([987654, -987654])
    values = [key, key.public, vector, vector @ X, X, key.public._table, key._own_bases, *key._rings, key.public.ring]
    for text in map(printed, values):
        assert "123456" not in text
        assert "987654" not in text
        # The longest number left is a key length, or an address, which Python prints in base 16.
        assert all(len(run) <= 4 for run in re.findall(r"\d+", re.sub(r"0x[0-9a-f]+", "", text)))
    assert printed(key).count("test-only") == 3


def test_layouts_print_no_key(key: PrivateKey) -> None:
    """A layout of replies is public, and yet it does not repeat the modulus."""
    assert str(key.public.n) not in printed(Slots.paper(key.public, 2, 30))


def test_the_default_is_2048_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was not asked to be anything else has the default length and engine."""
    monkeypatch.setattr(engines, "choose", PythonEngine)
    public = paillier.generate().public
    assert public.profile is profiles.STANDARD
    assert public.n.bit_length() == 2048


def test_plain_numpy_columns_are_taken(key: PrivateKey) -> None:
    """Encoded numbers are encrypted at their own width, which is public."""
    encoded = integers([[5], [-6]], 9)
    column = type(encoded)(np.ascontiguousarray(encoded.values[:, 0]), encoded.encoding)
    assert decrypt_signed(key, key.encrypt(column)) == [5, -6]
    assert decrypt_signed(key, key.public.encrypt(column)) == [5, -6]
