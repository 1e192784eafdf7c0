"""The parameter sets: numbered constants. Nothing is negotiated: a plan names a profile of them, by its number.

The limits on log2 q are those of Bossuat et al., "Security Guidelines for Implementing Homomorphic Encryption" (2024):
128 bits against classical attacks, ternary secrets, errors of standard deviation 3.2. docs/lattice.md says why each set
is as large as it is.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

from plumbob.errors import CryptoError

# Every prime is 1 modulo 32768, so that polynomials of up to 16384 coefficients have a transform; longer ones take only
# the primes that are 1 modulo 65536.
PRIMES = (
    1125899904679937,
    1125899903991809,
    1125899903827969,
    1125899903795201,
    1125899903500289,
    1125899903107073,
)
SLOT_PRIMES = (68718428161, 68717740033, 68716036097)
PRIME_BITS = 50
LARGEST_DEGREE = 32768

# The table of the guidelines: the largest log2 q for each degree.
MOST_MODULUS_BITS = {4096: 106, 8192: 214, 16384: 430, 32768: 868}
# The smallest ratio in that table. A secret of which a part is known needs this many bits of q, or fewer, per unknown.
SAFE_BITS_PER_UNKNOWN = min(bits / degree for degree, bits in MOST_MODULUS_BITS.items())
# Never more than the published estimate of what an opened share can carry out, whatever the ratio would allow.
MOST_OPENED_BITS = {4096: 2300, 8192: 2300, 16384: 15000, 32768: 42000}

ERROR_COINS = 21
LARGEST_ERROR = ERROR_COINS


@dataclass(frozen=True)
class ParameterSet:
    """The ring of integer polynomials modulo x**degree + 1 and modulo the product of the first primes that fit it."""

    number: int
    degree: int
    prime_count: int
    has_slots: bool = False

    @cached_property
    def primes(self) -> tuple[int, ...]:
        fitting = [prime for prime in PRIMES if prime % (2 * self.degree) == 1]
        return tuple(fitting[: self.prime_count])

    @property
    def slot_primes(self) -> tuple[int, ...]:
        return SLOT_PRIMES if self.has_slots else ()

    @cached_property
    def modulus(self) -> int:
        """The ciphertext modulus q, the product of the set's primes."""
        return math.prod(self.primes)

    @cached_property
    def slot_modulus(self) -> int:
        """The number t that slots calculate modulo; 1 without slots."""
        return math.prod(self.slot_primes)

    @property
    def modulus_bits(self) -> int:
        return PRIME_BITS * self.prime_count

    @property
    def polynomial_bytes(self) -> int:
        """Bytes of a polynomial modulo q on the wire."""
        return self.degree * self.modulus_bits // 8

    @property
    def most_opened_bits(self) -> int:
        """How many opened bits may carry coefficients of one key, three values each, before 128 bits are lost."""
        unknowns = math.ceil(self.modulus_bits / SAFE_BITS_PER_UNKNOWN)
        allowed = math.floor((self.degree - unknowns) * math.log2(3))
        return max(0, min(allowed, MOST_OPENED_BITS.get(self.degree, 0)))


SCORES = ParameterSet(1, 4096, 2)
SCORES_OPENED = ParameterSet(2, 8192, 2)
GRADIENTS = ParameterSet(3, 8192, 3)
GRADIENTS_OPENED = ParameterSet(4, 16384, 3)
SLOTS = ParameterSet(5, 16384, 6, has_slots=True)
SCORES_OPENED_WIDE = ParameterSet(6, 16384, 2)
SCORES_WIDEST = ParameterSet(7, 32768, 2)
GRADIENTS_WIDEST = ParameterSet(8, 32768, 3)


TEST_ONLY_NUMBER = 0


def insecure_for_tests(degree: int, prime_count: int, has_slots: bool = False) -> ParameterSet:
    """A set of any degree for tests; no profile holds it."""
    if degree < 16 or degree > LARGEST_DEGREE or degree & (degree - 1):
        raise CryptoError(f"degree {degree}: expected a power of two between 16 and {LARGEST_DEGREE}")
    offered = sum(prime % (2 * degree) == 1 for prime in PRIMES)
    if not 1 <= prime_count <= offered:
        raise CryptoError(f"{prime_count} primes: expected 1 to {offered} at degree {degree}")
    return ParameterSet(TEST_ONLY_NUMBER, degree, prime_count, has_slots)


@cache
def root(prime: int, degree: int) -> int:
    """A root of x**degree + 1: the first that small bases give."""
    for base in range(2, 1000):
        found = pow(base, (prime - 1) // (2 * degree), prime)
        if pow(found, degree, prime) == prime - 1:
            return found
    raise CryptoError(f"no transform of degree {degree} modulo {prime}: use a prime that is 1 modulo {2 * degree}")
