"""Numbers as the kernels have them: halves in words of 32 bits, and a ring's constants in the order of numbers.h."""

from typing import Any

import numpy as np

try:
    from gmpy2 import mpz as large
except ImportError:  # Only the benchmark does without it: Python's own inverse takes ten times as long.
    large = int

LIMB_BITS = 32
LIMBS = (16, 32, 48, 64, 96, 128)


def limbs_for(root: int) -> int:
    """The fewest that the kernels are made for and in which sums have room (numbers.h)."""
    for limbs in LIMBS:
        bound = 1 << (LIMB_BITS * limbs)
        if root <= bound - (bound >> 28):
            if root < 16 or root % 2 == 0:
                break
            return limbs
    raise ValueError(f"expected an odd root above 16 of less than {LIMB_BITS * LIMBS[-1]} bits")


def radix_of(limbs: int) -> int:
    """R of numbers.h."""
    return 1 << (LIMB_BITS * (limbs + 1))


def ring_constants(root: int, degree: int, limbs: int) -> Any:
    """In the order of `Constants` in numbers.h."""
    radix, block = radix_of(limbs), 1 << (LIMB_BITS * limbs * degree)
    elements = (radix, radix**3, radix**4, 1, radix * block)
    parts = [words_of(root, limbs), words_of(root - radix % root + 1, limbs)]
    parts += [half_words(element, root, degree, limbs) for element in elements]
    return np.concatenate([*parts, words_of(-pow(root, -1, 1 << LIMB_BITS) % (1 << LIMB_BITS), 1)])


def half_words(value: int, root: int, degree: int, limbs: int) -> Any:
    """value modulo root**degree in halves: what is left modulo the root, then how often the root is in it."""
    upper, lower = divmod(large(value) % large(root) ** degree, root)
    return np.concatenate([words_of(int(half), limbs) for half in (lower, upper)[:degree]])


def from_halves(words: Any, root: int, limbs: int) -> int:
    """The inverse of `half_words`."""
    halves = [to_int(words[start : start + limbs]) for start in range(0, len(words), limbs)]
    return sum(half * root**power for power, half in enumerate(halves))


def words_of(value: int, count: int) -> Any:
    """Least significant first."""
    return np.frombuffer(value.to_bytes(4 * count, "little"), dtype="<u4").astype(np.uint32)


def to_int(words: Any) -> int:
    """The integer back."""
    return int.from_bytes(np.ascontiguousarray(words, dtype="<u4").tobytes(), "little")


def words_for(bound: int) -> int:
    """Words of an integer below the bound, in whole 64-bit limbs."""
    return 2 * max(1, -(-(bound - 1).bit_length() // 64))


def inverted(value: int, root: int, modulus: int) -> int:
    """1 / value modulo the root or its square: found modulo the root, and doubled in length by a step of Newton's."""
    number = large(value)
    inverse = pow(number, -1, root)
    return int(inverse * (2 - number * inverse) % modulus)
