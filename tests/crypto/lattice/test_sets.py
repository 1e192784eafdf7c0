"""Parameter sets stay within the published limits, and nothing else is accepted."""

from pathlib import Path

import gmpy2
import pytest

from plumbob.crypto.lattice import sets
from plumbob.crypto.lattice.sets import MOST_MODULUS_BITS, ParameterSet
from plumbob.errors import CryptoError
from plumbob.protocol.shares.shape import PROFILES

OFFERED = sorted({each for profile in PROFILES for each in profile}, key=lambda each: each.number)
PAGE = Path(__file__).parents[3] / "docs" / "lattice.md"


@pytest.mark.parametrize("parameters", OFFERED, ids=lambda each: str(each.number))
def test_a_set_is_within_the_guidelines(parameters: ParameterSet) -> None:
    """The modulus is no larger than the table allows for 128 bits at this degree."""
    assert parameters.modulus.bit_length() <= parameters.modulus_bits <= MOST_MODULUS_BITS[parameters.degree]


@pytest.mark.parametrize("parameters", OFFERED, ids=lambda each: str(each.number))
def test_primes_are_primes_with_transforms(parameters: ParameterSet) -> None:
    """Every modulus is a prime that is 1 modulo twice the degree, so it has a transform."""
    assert len(parameters.primes) == parameters.prime_count
    for prime in (*parameters.primes, *parameters.slot_primes):
        assert gmpy2.is_prime(prime)
        assert prime % (2 * parameters.degree) == 1


def test_primes_have_the_widths_of_the_wire() -> None:
    """Residues have exactly 50 bits, and slot residues 36, as the kernel assumes."""
    assert {prime.bit_length() for prime in sets.PRIMES} == {50}
    assert {prime.bit_length() for prime in sets.SLOT_PRIMES} == {36}
    assert len({*sets.PRIMES, *sets.SLOT_PRIMES}) == 9


@pytest.mark.parametrize("parameters", OFFERED, ids=lambda each: str(each.number))
def test_a_key_of_which_all_opened_bits_are_known_still_stands(parameters: ParameterSet) -> None:
    """What opened bits cannot carry out of a secret is long enough for its modulus, by the table's smallest ratio."""
    carried = parameters.most_opened_bits / 1.5849625007
    assert (parameters.degree - carried) * 106 / 4096 >= parameters.modulus_bits - 0.1


@pytest.mark.parametrize(("degree", "primes"), [(8, 2), (48, 2), (65536, 2), (32768, 5), (64, 0), (64, 7)])
def test_a_test_set_has_limits_too(degree: int, primes: int) -> None:
    """Degrees and numbers of primes that the kernel cannot take are refused."""
    with pytest.raises(CryptoError, match="expected"):
        sets.insecure_for_tests(degree, primes)


@pytest.mark.parametrize("parameters", OFFERED, ids=lambda each: str(each.number))
def test_the_page_has_the_numbers_of_the_code(parameters: ParameterSet) -> None:
    """The table of the documentation is that of the code."""
    (line,) = (each for each in PAGE.read_text().splitlines() if each.startswith(f"| {parameters.number} | "))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == str(parameters.degree)
    assert cells[2] == f"{len(parameters.primes)} primes, {parameters.modulus_bits} bits"
    assert cells[3] == str(MOST_MODULUS_BITS[parameters.degree])
    assert cells[5] == str(parameters.most_opened_bits)
