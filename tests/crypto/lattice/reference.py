"""The kernel's oracle: numpy and Python's integers. It defines the bytes that the kernel must give too."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import angles as sines
from plumbob.crypto.lattice import pairs
from plumbob.crypto.lattice.interface import (
    Angles,
    Answered,
    Packed,
    Pairs,
    ReplyKeys,
    RequestKeys,
    Residues,
    SlotValues,
    Small,
    Wave,
)
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.layout import Layout
from plumbob.crypto.lattice.local import pairs_of
from plumbob.crypto.lattice.products import PrivateMatrix
from plumbob.crypto.lattice.sets import ParameterSet
from tests.crypto.lattice import residues
from tests.crypto.lattice.residues import forward, inverse, multiply

FRACTION_BITS = 256
"""A residue is divided by q in fixed point: this many bits of the fraction are calculated."""
HIGH_BYTES = 40
LIMB_BYTES = 2
ROWS_AT_ONCE = 1 << 15
"""Rows that own sums take at once: this many products of 31 and 16 bits stay below 2**63."""

BigIntegers = NDArray[np.object_]


class ReferenceEngine(Engine):
    """Calculates with polynomials in numpy, on one thread."""

    def __init__(self) -> None:
        self.name, self.path, self.threads = "python", "numpy", 1

    def secret(self, parameters: ParameterSet, key: bytes) -> Residues:
        return _transformed(parameters, residues.ternary(key, 0, parameters.degree))

    def public_key(self, parameters: ParameterSet, secret: Residues, uniform: bytes, errors: bytes) -> Packed:
        noise = _transformed(parameters, residues.errors(errors, 0, parameters.degree))
        a = _uniform(parameters, uniform, 0)
        return residues.pack(_subtract(parameters, noise, _multiply(parameters, a, secret)))

    def unpack(self, parameters: ParameterSet, packed: Packed) -> Residues:
        return residues.unpack(parameters, packed)

    def transform(self, parameters: ParameterSet, coefficients: Small) -> Residues:
        return np.stack([_transformed(parameters, each.astype(np.int64)) for each in coefficients])

    def encrypt(self, parameters: ParameterSet, keys: RequestKeys, messages: Pairs, bits: int, seed: bytes) -> bytes:
        return seed + _encrypted(parameters, keys, [_scaled_up(parameters, _integers(each), bits) for each in messages])

    def encrypt_slots(self, parameters: ParameterSet, keys: RequestKeys, values: SlotValues, seed: bytes) -> bytes:
        return seed + _encrypted(parameters, keys, [_slots_scaled_up(parameters, _whole(each)) for each in values])

    def reply(self, matrix: PrivateMatrix, keys: ReplyKeys, packed: Packed) -> Answered:
        return self.hide(matrix.layout, keys, self.add_up(matrix, keys.uniform, 0, packed))

    def add_up(self, matrix: PrivateMatrix, uniform: bytes, first: int, packed: Packed) -> Residues:
        parameters = matrix.layout.parameters
        received = residues.unpack(parameters, packed)
        expanded = [_uniform(parameters, uniform, first + place) for place in range(len(received))]
        return np.stack([_summed(parameters, received, expanded, row) for row in matrix.residues])

    def hide(self, layout: Layout, keys: ReplyKeys, sums: Residues) -> Answered:
        parameters = layout.parameters
        replies, shares = [], []
        for place, each in enumerate(sums, keys.first):
            own, sent = _hidden(parameters, keys, each, place)
            replies.append(pairs.to_octets(_fraction_bits(parameters, sent, layout.reply_bits), layout.reply_bits // 8))
            shares.append(_fraction_bits(parameters, own, layout.output_bits)[layout.answers])
        return np.stack(replies), np.stack(shares)

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        received, terms = residues.unpack(parameters, packed), values.shape[1]
        products = _turned(parameters, values) if is_turn else _added_up(parameters, values)
        replies, shares = [], []
        for index, (places, factors) in enumerate(products, keys.first * (terms if is_turn else 1)):
            expanded = [_uniform(parameters, keys.uniform, keys.first * terms + place) for place in places]
            own, sent = _hidden(parameters, keys, _summed(parameters, received[places], expanded, factors), index)
            replies.append(residues.pack(sent))
            shares.append(_slots_scaled_down(parameters, own))
        return np.stack(replies), np.stack(shares)

    def open(self, layout: Layout, secret: Residues, packed: Packed) -> Pairs:
        opened = (_opened(layout, secret, pairs.from_octets(each)) for each in packed)
        return np.stack([each[layout.answers] for each in opened])

    def open_slots(self, parameters: ParameterSet, secret: Residues, packed: Packed) -> Pairs:
        received = residues.unpack(parameters, packed)
        products = [_multiply(parameters, each, secret) for each in received]
        return np.stack([_slots_scaled_down(parameters, each) for each in products])

    def challenge(self, parameters: ParameterSet, key: tuple[Residues, bytes], keys: tuple[bytes, ...]) -> Packed:
        b, a = key[0], _uniform(parameters, key[1], 0)
        u = _transformed(parameters, residues.ternary(keys[0], 0, parameters.degree))
        first = _transformed(parameters, residues.errors(keys[1], 0, parameters.degree))
        second = _transformed(parameters, residues.errors(keys[2], 0, parameters.degree))
        hidden = _add(parameters, first, _uniform(parameters, keys[3], 0))
        x0 = _add(parameters, _multiply(parameters, b, u), hidden)
        x1 = _add(parameters, _multiply(parameters, a, u), second)
        return np.stack([residues.pack(x0), residues.pack(x1)])

    def uniform(self, parameters: ParameterSet, key: bytes) -> Residues:
        return _uniform(parameters, key, 0)

    def combine(self, parameters: ParameterSet, first: Residues, second: Residues, secret: Residues) -> Residues:
        return _add(parameters, first, _multiply(parameters, second, secret))

    def high_bits(self, parameters: ParameterSet, value: Residues, dropped: int) -> bytes:
        composed = _composed(parameters.primes, _coefficients(parameters, value))
        return b"".join((int(each) >> dropped).to_bytes(HIGH_BYTES, "little") for each in composed)

    def waves(self, angles: Angles, waves: Sequence[Wave], dropped: int) -> Small:
        result = np.empty((len(waves), len(angles)), dtype=np.int32)
        for place, (harmonic, shift, scale) in enumerate(waves):
            turned = np.uint32(harmonic) * angles.astype(np.uint32) + np.uint32(shift)
            result[place] = (sines.sine(turned).astype(np.int64) * scale + (1 << dropped >> 1)) >> dropped
        return result

    def own_scores(self, entries: Small, share: Pairs) -> NDArray[np.uint64]:
        # Modulo 2**64, products and sums of a signed number's complement are those of the number.
        return entries.astype(np.int64).view(np.uint64) @ share[:, 0]

    def own_sums(self, entries: Small, share: Pairs) -> Pairs:
        """The sums, by limbs so short that no sum of signed 64-bit numbers overflows."""
        totals = np.zeros((entries.shape[1], 16 // LIMB_BYTES), dtype=object)
        for start in range(0, len(entries), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            limbs = np.ascontiguousarray(share[rows], dtype="<u8").view("<u2").astype(np.int64)
            totals += (entries[rows].astype(np.int64).T @ limbs).astype(object)
        return pairs_of([sum(part << (8 * LIMB_BYTES * place) for place, part in enumerate(row)) for row in totals])


# Polynomials modulo q, transformed.


def _transformed(parameters: ParameterSet, coefficients: NDArray[np.int64]) -> Residues:
    return np.stack([forward((coefficients % prime).astype(np.uint64), prime) for prime in parameters.primes])


def _coefficients(parameters: ParameterSet, value: Residues) -> Residues:
    return np.stack([inverse(each, prime) for each, prime in zip(value, parameters.primes, strict=True)])


def _uniform(parameters: ParameterSet, key: bytes, index: int) -> Residues:
    """One uniform polynomial: uniform values are uniform in transformed order too, so no transform is needed."""
    drawn = (residues.uniform(key, index, part, p, parameters.degree) for part, p in enumerate(parameters.primes))
    return np.stack(list(drawn))


def _multiply(parameters: ParameterSet, left: Residues, right: Residues) -> Residues:
    return np.stack([multiply(a, b, prime) for a, b, prime in zip(left, right, parameters.primes, strict=True)])


def _add(parameters: ParameterSet, left: Residues, right: Residues) -> Residues:
    return (left + right) % _column(parameters)


def _subtract(parameters: ParameterSet, left: Residues, right: Residues) -> Residues:
    return (left + _column(parameters) - right) % _column(parameters)


def _column(parameters: ParameterSet) -> Residues:
    return np.array(parameters.primes, dtype=np.uint64)[:, None]


def _encrypted(parameters: ParameterSet, keys: RequestKeys, scaled: Iterable[BigIntegers]) -> bytes:
    packed = []
    for index, message in enumerate(scaled, keys.first):
        noisy = message + residues.errors(keys.errors, index, parameters.degree)
        transformed = np.stack([forward((noisy % p).astype(np.uint64), p) for p in parameters.primes])
        mask = _multiply(parameters, _uniform(parameters, keys.uniform, index), keys.secret)
        packed.append(residues.pack(_add(parameters, transformed, mask)).tobytes())
    return b"".join(packed)


def _summed(parameters: ParameterSet, received: Residues, expanded: list[Residues], row: Residues) -> Residues:
    """The sums of c0 Z and of -c1 Z; c1 = -expanded."""
    sums = np.zeros((2, len(parameters.primes), parameters.degree), dtype=np.uint64)
    for c0, opposite, factor in zip(received, expanded, row, strict=True):
        products = (_multiply(parameters, each, factor) for each in (c0, opposite))
        sums = np.stack([_add(parameters, total, product) for total, product in zip(sums, products, strict=True)])
    return sums


def _hidden(parameters: ParameterSet, keys: ReplyKeys, sums: Residues, index: int) -> tuple[Residues, Residues]:
    """The evaluator's part, the sum of c0 Z and b u, and what is sent, that of c1 Z and a u + e2."""
    u = _transformed(parameters, residues.ternary(keys.secret, index, parameters.degree))
    fresh = _transformed(parameters, residues.errors(keys.errors, index, parameters.degree))
    own = _add(parameters, sums[0], _multiply(parameters, keys.b, u))
    sent = _add(parameters, _multiply(parameters, _uniform(parameters, keys.a, 0), u), fresh)
    return own, _subtract(parameters, sent, sums[1])


# Between integers and fractions of q.


def _integers(values: Pairs) -> BigIntegers:
    low, high = values[..., 0].astype(object), values[..., 1].astype(object)
    joined: BigIntegers = low + high * (1 << 64)
    return joined


def _scaled_up(parameters: ParameterSet, message: BigIntegers, bits: int) -> BigIntegers:
    """round(q m / 2**bits), as encryption adds it."""
    scaled: BigIntegers = (message * parameters.modulus + (1 << (bits - 1))) >> bits
    return scaled


def _fraction(parameters: ParameterSet, coefficients: Residues) -> BigIntegers:
    """x / q modulo 1, in units of 2**-256, from x modulo each prime."""
    total = np.zeros(parameters.degree, dtype=object)
    for row, prime in zip(coefficients, parameters.primes, strict=True):
        weight = pow(parameters.modulus // prime, -1, prime)
        total += multiply(row, np.uint64(weight), prime).astype(object) * ((1 << FRACTION_BITS) // prime)
    wrapped: BigIntegers = total % (1 << FRACTION_BITS)
    return wrapped


def _fraction_bits(parameters: ParameterSet, value: Residues, bits: int) -> Pairs:
    """round(2**bits x / q) modulo 2**bits."""
    fraction = _fraction(parameters, _coefficients(parameters, value))
    return pairs_of(_rounded(fraction, FRACTION_BITS - bits) % (1 << bits))


def _rounded(values: BigIntegers, dropped: int) -> BigIntegers:
    result: BigIntegers = (values + (1 << (dropped - 1))) >> dropped
    return result


def _opened(layout: Layout, secret: Residues, reply: Pairs) -> Pairs:
    """The product of a reply and the secret, exactly, and then its high bits."""
    parameters, bits, numbers = layout.parameters, layout.reply_bits, _integers(reply)
    centred = np.where(numbers >= 1 << (bits - 1), numbers - (1 << bits), numbers)
    transformed = np.stack([forward((centred % p).astype(np.uint64), p) for p in parameters.primes])
    product = _composed(parameters.primes, _coefficients(parameters, _multiply(parameters, transformed, secret)))
    signed = np.where(product > parameters.modulus // 2, product - parameters.modulus, product)
    return pairs_of(_rounded(signed, bits - layout.output_bits) % (1 << layout.output_bits))


def _composed(primes: tuple[int, ...], coefficients: Residues) -> BigIntegers:
    """Combine by Chinese remainders to numbers in [0, product of the primes)."""
    modulus = int(np.prod(np.array(primes, dtype=object)))
    total = np.zeros(coefficients.shape[-1], dtype=object)
    for row, prime in zip(coefficients, primes, strict=True):
        rest = modulus // prime
        total += row.astype(object) * (rest * pow(rest, -1, prime))
    composed: BigIntegers = total % modulus
    return composed


# Slots.


Factors = Iterator[tuple[list[int], Residues]]
"""For each reply the places of the polynomials that it adds up, and what each is multiplied with."""


def _added_up(parameters: ParameterSet, values: SlotValues) -> Factors:
    terms = values.shape[1]
    for block, row in enumerate(values):
        places = list(range(block * terms, (block + 1) * terms))
        yield places, np.stack([_slots_plaintext(parameters, each) for each in row])


def _turned(parameters: ParameterSet, values: SlotValues) -> Factors:
    blocks, terms = values.shape[:2]
    for block, place in np.ndindex(blocks, terms):
        real = place % (terms // 2)
        both = [real, real + terms // 2]
        cosine, sine = (_slots_plaintext(parameters, values[block, each]) for each in both)
        opposite = _subtract(parameters, np.zeros_like(sine), sine)
        is_imaginary = place >= terms // 2
        yield [block * terms + each for each in both], np.stack([sine, cosine] if is_imaginary else [cosine, opposite])


def _whole(values: NDArray[Any]) -> BigIntegers:
    """The slots of one polynomial, from small numbers or from wide ones."""
    return _integers(values) if values.ndim == 2 else values.astype(object)


def _slot_weights(parameters: ParameterSet, values: BigIntegers) -> list[Residues]:
    """The polynomial whose slots are given, as its coefficients' weights w_j = m (t / t_j)**-1 modulo t_j."""
    weights = []
    for prime in parameters.slot_primes:
        coefficients = inverse((values % prime).astype(np.uint64), prime)
        weights.append(multiply(coefficients, np.uint64(pow(parameters.slot_modulus // prime, -1, prime)), prime))
    return weights


def _slots_scaled_up(parameters: ParameterSet, values: BigIntegers) -> BigIntegers:
    """About q m / t: each of the three parts w_j q / t_j is rounded down, so it is too small by less than three."""
    total = np.zeros(parameters.degree, dtype=object)
    for weight, prime in zip(_slot_weights(parameters, values), parameters.slot_primes, strict=True):
        total += weight.astype(object) * parameters.modulus // prime
    return total


def _slots_plaintext(parameters: ParameterSet, values: NDArray[Any]) -> Residues:
    """A polynomial that is m modulo t, with coefficients between -1.5 t and 1.5 t."""
    total = np.zeros(parameters.degree, dtype=object)
    for weight, prime in zip(_slot_weights(parameters, _whole(values)), parameters.slot_primes, strict=True):
        centred = weight.astype(np.int64) - np.where(weight > prime // 2, prime, 0)
        total += centred.astype(object) * (parameters.slot_modulus // prime)
    return np.stack([forward((total % p).astype(np.uint64), p) for p in parameters.primes])


def _slots_scaled_down(parameters: ParameterSet, value: Residues) -> Pairs:
    """round(t x / q) modulo t, and then the slots of that polynomial, in [0, t)."""
    fraction = _fraction(parameters, _coefficients(parameters, value))
    rounded = _rounded(fraction * parameters.slot_modulus, FRACTION_BITS)
    slots = np.stack([forward((rounded % p).astype(np.uint64), p) for p in parameters.slot_primes])
    return pairs_of(_composed(parameters.slot_primes, slots))
