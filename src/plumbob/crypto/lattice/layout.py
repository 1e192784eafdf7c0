"""Where numbers stand in polynomials, so that one product of polynomials is many inner products.

Row i and column j of a matrix, in groups of g columns, stand at x**(i g + g - 1 - j). For scores, v_j stands at x**j
and the answer for row i appears at x**(i g + g - 1). For gradients, r_i stands at x**(-i g) = -x**(degree - i g), and
the answer for column j at x**(g - 1 - j). No other product lands there: docs/lattice.md has the proof.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import pairs
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.interface import Packed, Pairs, SlotValues, Small
from plumbob.crypto.lattice.sets import LARGEST_ERROR, PRIME_BITS, ParameterSet
from plumbob.errors import CryptoError

Direction = Literal["scores", "gradients"]
ENTRY_BITS = 21
"""Bits of an entry of a matrix, sign included."""
MOST_OUTPUT_BITS = 112
DRAW_SQUARE = 10.5
"""Mean square of an error as it is drawn."""
ERROR_SQUARE = 19.5
"""Mean square of an error in slots: 10.5 of the draw, and less than 9 of rounding q m / t."""
TAIL_BITS = 128
"""Noise that is bounded by chance exceeds its bound with probability 2**-127."""
FACTOR_LIMIT = 1 << 23
"""Small numbers in slots are smaller than this."""
SPARE = 64
"""The worst noise of a product is at most a unit of the output divided by this."""


@dataclass(frozen=True)
class Layout:
    """One product of a private matrix with an encrypted vector; the shape is public."""

    parameters: ParameterSet
    direction: Direction
    rows: int
    columns: int
    group: int
    input_bits: int
    output_bits: int

    @classmethod
    def choose(
        cls,
        parameters: ParameterSet,
        direction: Direction,
        rows: int,
        columns: int,
        input_bits: int,
        output_bits: int,
    ) -> "Layout":
        """The layout that sends the fewest bytes."""
        widest = max(1, min(columns, parameters.degree))
        candidates = (
            cls(parameters, direction, rows, columns, group, input_bits, output_bits) for group in range(1, widest + 1)
        )
        return min(candidates, key=lambda layout: layout.total_bytes)

    def __post_init__(self) -> None:
        if not 1 <= self.output_bits <= min(self.input_bits, MOST_OUTPUT_BITS) or self.input_bits > 128:
            raise CryptoError(
                f"a product from {self.input_bits} to {self.output_bits} bits: expected at most 128 and "
                f"{MOST_OUTPUT_BITS}, and no more out than in"
            )
        if self.worst_noise * SPARE << self.output_bits > self.parameters.modulus:
            raise CryptoError(
                f"{self.direction} of {self.rows} rows and {self.columns} columns with {self.output_bits} output bits: "
                f"the noise may reach the last bit with parameter set {self.parameters.number}; use fewer output bits"
            )
        # The owner multiplies a reply with its secret exactly, which takes two spare bits.
        if self.reply_bits + self.parameters.degree.bit_length() > self.parameters.modulus_bits - 1:
            raise CryptoError(f"{self.output_bits} output bits are too many for set {self.parameters.number}")

    @property
    def rows_per_block(self) -> int:
        return self.parameters.degree // self.group

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.rows_per_block)

    @property
    def groups(self) -> int:
        return -(-self.columns // self.group)

    @property
    def is_empty(self) -> bool:
        return self.rows == 0 or self.columns == 0

    @property
    def inputs(self) -> int:
        """How many numbers the owner encrypts."""
        return self.columns if self.direction == "scores" else self.rows

    @property
    def outputs(self) -> int:
        """How many numbers both sides end with shares of."""
        return self.rows if self.direction == "scores" else self.columns

    @property
    def requests(self) -> int:
        """How many polynomials a request has."""
        return 0 if self.is_empty else self.groups if self.direction == "scores" else self.blocks

    @property
    def replies(self) -> int:
        """How many polynomials a reply has."""
        return 0 if self.is_empty else self.blocks if self.direction == "scores" else self.groups

    @property
    def reply_bits(self) -> int:
        """Bits of a coefficient that is sent back: eight more than an output's, nine at degree 16384; whole bytes."""
        guard = 8 + max(0, self.parameters.degree.bit_length() - 14)
        return 8 * -(-(self.output_bits + guard) // 8)

    @property
    def request_bytes(self) -> int:
        """Bytes of a request: its seed, and its polynomials."""
        return SEED_BYTES + self.requests * self.parameters.polynomial_bytes

    @property
    def reply_bytes(self) -> int:
        return self.replies * self.parameters.degree * self.reply_bits // 8

    @property
    def total_bytes(self) -> int:
        return self.request_bytes + self.reply_bytes

    @property
    def worst_noise(self) -> int:
        """The noise of a coefficient of the product modulo q, before rounding; docs/lattice.md proves both bounds.

        No draw exceeds the first. The second is that of many inputs: errors of random signs add up by their squares,
        and exceed it once in 2**127 outputs.
        """
        rounded = self.inputs << (ENTRY_BITS - 2)
        certain = LARGEST_ERROR * self.inputs << (ENTRY_BITS - 1)
        likely = math.isqrt(round(2 * DRAW_SQUARE * TAIL_BITS * math.log(2)) * self.inputs) + 1 << (ENTRY_BITS - 1)
        return rounded + min(certain, likely) + 2 * LARGEST_ERROR * self.parameters.degree

    @property
    def failure_chance(self) -> float:
        """The chance that any output of a product is off by a unit more than rounding explains: see docs/lattice.md.

        The dropped bits of a reply are uniform and independent, by RLWE, and at most three quarters of the secret's
        coefficients are not zero.
        """
        allowed = (1 - 1 / SPARE) * 2 ** (self.reply_bits - self.output_bits)
        weight = 3 / 4 * self.parameters.degree
        return min(1.0, 2 * self.outputs * math.exp(-6 * allowed**2 / weight))

    def place(self, values: SlotValues) -> list[Pairs]:
        """The owner's numbers (inputs, 2), modulo 2**input_bits, as polynomials; none where there are no factors."""
        if values.shape != (self.inputs, 2):
            raise CryptoError(f"expected {self.inputs} numbers of two limbs, got shape {values.shape}")
        return [] if self.is_empty else [self._placed(values.astype(np.uint64, copy=False))]

    def _placed(self, values: Pairs) -> Pairs:
        """The polynomials (requests, degree, 2)."""
        placed = np.zeros((self.requests, self.parameters.degree, 2), dtype=np.uint64)
        together = self.group if self.direction == "scores" else self.rows_per_block
        padded = np.zeros((self.requests * together, 2), dtype=np.uint64)
        padded[: self.inputs] = values
        blocks = padded.reshape(self.requests, together, 2)
        if self.direction == "scores":
            placed[:, :together] = pairs.reduce(blocks, self.input_bits)
            return placed
        placed[:, 0] = pairs.reduce(blocks[:, 0], self.input_bits)
        # Row i at degree - i g: the last one first.
        lowest = self.parameters.degree - (together - 1) * self.group
        placed[:, lowest :: self.group] = pairs.reduce(pairs.negate(blocks[:, :0:-1]), self.input_bits)
        return placed

    @property
    def answers(self) -> NDArray[np.uint32]:
        """Where the answers stand among the coefficients of each reply, in their order."""
        if self.direction == "scores":
            return np.arange(self.group - 1, self.rows_per_block * self.group, self.group, dtype=np.uint32)
        return np.arange(self.group - 1, -1, -1).astype(np.uint32)

    def take_outputs(self, answers: Pairs) -> Pairs:
        """The outputs, from the answers (replies, answers, 2): the last reply may have more than are needed."""
        return answers.reshape(-1, 2)[: self.outputs]

    @property
    def nothing(self) -> Pairs:
        """The outputs of a product without factors: all zero."""
        return np.zeros((self.outputs, 2), dtype=np.uint64)

    def place_rows(self, matrix: Small, blocks: slice) -> Small:
        """Place some blocks of a matrix's rows as polynomials (replies, requests, degree)."""
        height, count = self.rows_per_block, blocks.stop - blocks.start
        rows = matrix[blocks.start * height : blocks.stop * height]
        padded = np.zeros((count * height, self.groups * self.group), dtype=np.int32)
        padded[: len(rows), : self.columns] = rows
        grouped = padded.reshape(count, height, self.groups, self.group)[..., ::-1]
        order = (0, 2, 1, 3) if self.direction == "scores" else (2, 0, 1, 3)
        placed = np.zeros((*(grouped.shape[axis] for axis in order[:2]), self.parameters.degree), dtype=np.int32)
        placed[..., : height * self.group].reshape(*placed.shape[:2], height, self.group)[:] = grouped.transpose(order)
        return placed


@dataclass(frozen=True)
class SlotLayout:
    """Products of two private vectors of `terms` numbers for each row: inner products, or complex ones.

    Where they turn, the first half of the terms are real parts and cosines, the second half imaginary parts and sines,
    and each complex product is kept by itself.
    """

    parameters: ParameterSet
    rows: int
    terms: int
    is_turn: bool = False

    def __post_init__(self) -> None:
        if not self.parameters.has_slots:
            raise CryptoError(f"parameter set {self.parameters.number} has no slots: use the one for slots")
        if self.is_turn and self.terms % 2:
            raise CryptoError(f"expected as many sines as cosines, got {self.terms} terms in all")

    @cached_property
    def parts(self) -> tuple["PackedRows", ...]:
        """All rows, placed so that requests and replies together have the fewest polynomials."""
        return fewest_polynomials(self.parameters.degree, self.rows, self.terms, self.is_turn) if self.terms else ()

    @property
    def requests(self) -> int:
        """How many polynomials a request has."""
        return sum(part.requests for part in self.parts)

    @property
    def replies(self) -> int:
        """How many polynomials a reply has."""
        return sum(part.replies for part in self.parts)

    @property
    def outputs(self) -> int:
        """How many numbers per row both sides end with shares of."""
        return self.terms if self.is_turn else 1

    @property
    def request_bytes(self) -> int:
        """Bytes of a request: its seed, and its polynomials."""
        return SEED_BYTES + self.requests * self.parameters.polynomial_bytes

    @property
    def reply_bytes(self) -> int:
        return self.replies * self.parameters.polynomial_bytes

    @property
    def total_bytes(self) -> int:
        return self.request_bytes + self.reply_bytes

    def failure_chance(self, largest: float) -> float:
        """The chance of a wrong share in a product whose inner products are at most `largest`: see docs/lattice.md.

        One coefficient that is rounded the wrong way spoils a block, and one share that does not wrap spoils a row.
        """
        modulus, degree = self.parameters.slot_modulus, self.parameters.degree
        noise = sum(part.replies * math.sqrt(ERROR_SQUARE * degree * part.products) for part in self.parts)
        rounding = degree * 3 / 2 * modulus * noise * modulus / self.parameters.modulus
        return min(1.0, rounding + self.outputs * self.rows * largest / modulus)

    def place(self, values: SlotValues) -> list[NDArray[Any]]:
        """Small numbers (terms, rows), or wide ones (terms, rows, 2), as slots: a part is (blocks, polynomials, ...).

        Wide numbers are taken modulo the slot modulus t; small ones that would wrap modulo t are refused.
        """
        shape = (self.terms, self.rows)
        if values.shape not in (shape, (*shape, 2)):
            raise CryptoError(f"expected numbers of shape {shape}, or two limbs for each, got {values.shape}")
        is_small = values.ndim == 2 and values.size > 0
        if is_small and not -FACTOR_LIMIT < int(values.min()) <= int(values.max()) < FACTOR_LIMIT:
            raise CryptoError(
                f"expected numbers below {FACTOR_LIMIT} in slots, got larger ones: use fewer fraction bits"
            )
        return [part.place(values) for part in self.parts]

    def take(self, slots: Sequence[Pairs]) -> Pairs:
        """The parts' slots as shares (rows, 2), or, where they turn, (terms, rows, 2)."""
        if not slots:
            return self.nothing
        taken = [part.take(each, self.parameters.slot_modulus) for part, each in zip(self.parts, slots, strict=True)]
        return np.concatenate(taken, axis=-2)

    @property
    def nothing(self) -> Pairs:
        """What `take` gives where there are no rows."""
        return np.zeros((self.terms, self.rows, 2) if self.is_turn else (self.rows, 2), dtype=np.uint64)


AnyLayout = Layout | SlotLayout
"""What a product needs of its layout: how to place its numbers, the sizes of its messages, and `nothing`."""


@dataclass(frozen=True)
class PackedRows:
    """Rows of a product in slots, in blocks, with `together` terms of each row in one polynomial.

    Within a polynomial the first of its terms comes first, for all rows of the block, then the second. Slots without a
    number hold zero on both sides: what is added up of them is a share of zero. Where they turn, a cosine and its sine
    stand at the same slot of two polynomials.
    """

    degree: int
    first: int
    count: int
    terms: int
    together: int
    is_turn: bool

    @property
    def height(self) -> int:
        """How many rows a block has."""
        return self.degree // self.together

    @property
    def blocks(self) -> int:
        return -(-self.count // self.height)

    @property
    def halves(self) -> int:
        """How many kinds of polynomials: real and imaginary parts are placed alike, but never in one polynomial."""
        return 2 if self.is_turn else 1

    @property
    def polynomials(self) -> int:
        """How many polynomials a block's request takes."""
        return self.halves * -(-self.terms // (self.halves * self.together))

    @property
    def products(self) -> int:
        """How many products of polynomials are added up in one reply."""
        return 2 if self.is_turn else self.polynomials

    @property
    def requests(self) -> int:
        return self.blocks * self.polynomials

    @property
    def replies(self) -> int:
        return self.requests if self.is_turn else self.blocks

    def place(self, values: SlotValues) -> NDArray[Any]:
        """Place the numbers (terms, rows, ...) of these rows in slots, from those of all rows."""
        own = values[:, self.first : self.first + self.count]
        numbers = own.reshape(self.halves, -1, *own.shape[1:])
        shape = (self.blocks, self.halves, self.polynomials // self.halves, self.degree, *values.shape[2:])
        placed = np.zeros(shape, dtype=values.dtype)
        for block, term in np.ndindex(self.blocks, numbers.shape[1]):
            part = numbers[:, term, block * self.height : (block + 1) * self.height]
            polynomial, start = term // self.together, term % self.together * self.height
            placed[block, :, polynomial, start : start + part.shape[1]] = part
        return placed.reshape(self.blocks, self.polynomials, self.degree, *values.shape[2:])

    def take(self, slots: Pairs, modulus: int) -> Pairs:
        """Shares (count, 2) of the sums over a row's slots, or (terms, count, 2) of every product, modulo t."""
        used = slots.reshape(self.blocks, -1, self.degree, 2)[:, :, : self.together * self.height]
        by_term = used.reshape(self.blocks, -1, self.together, self.height, 2)
        if not self.is_turn:
            # Added up before anything is lifted: lifting each slot would fail as often as there are slots.
            total: Pairs = reduce(partial(pairs.add_modulo, modulus=modulus), by_term[:, 0].swapaxes(0, 1))
            return total.reshape(-1, 2)[: self.count]
        every = by_term.transpose(1, 2, 0, 3, 4).reshape(2, -1, self.blocks * self.height, 2)
        return every[:, : self.terms // 2, : self.count].reshape(self.terms, self.count, 2)


def fewest_polynomials(degree: int, rows: int, terms: int, is_turn: bool) -> tuple[PackedRows, ...]:
    """Rows in parts, each with as many terms in a polynomial as makes requests and replies the fewest in all.

    Blocks whose polynomials hold one term each send the least for a row. They are filled first, and what is left over
    is tried with every number of terms.
    """
    full = rows // degree * degree
    _, tail = _fewest(degree, rows - full, terms, is_turn, 1)
    heights = [(1, full)] if full else []
    parts: list[PackedRows] = []
    for together, count in (*heights, *tail):
        if parts and parts[-1].together == together:
            parts[-1] = replace(parts[-1], count=parts[-1].count + count)
        else:
            start = parts[-1].first + parts[-1].count if parts else 0
            parts.append(PackedRows(degree, start, count, terms, together, is_turn))
    return tuple(parts)


@cache
def _fewest(degree: int, rows: int, terms: int, is_turn: bool, least: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The number of polynomials, and (terms together, rows) of each block, with at least `least` terms in each."""
    if rows <= 0:
        return 0, ()
    blocks: dict[int, PackedRows] = {}
    for together in range(least, min(degree, terms // 2 if is_turn else terms) + 1):
        block = PackedRows(degree, 0, min(rows, degree // together), terms, together, is_turn)
        # Of those with as many polynomials, the one with the fewest terms in each has room for the most rows.
        blocks.setdefault(block.polynomials, block)
    tried = []
    for block in blocks.values():
        together = block.together
        polynomials, rest = _fewest(degree, rows - block.count, terms, is_turn, together)
        tried.append((block.requests + block.replies + polynomials, ((together, block.count), *rest)))
    return min(tried, key=lambda found: found[0])


# Polynomials on the wire.


def polynomials(parameters: ParameterSet, data: bytes | memoryview | Packed, count: int) -> Packed:
    """View bytes as polynomials: (count, primes, bytes)."""
    width = parameters.degree * PRIME_BITS // 8
    return np.frombuffer(data, dtype=np.uint8).reshape(count, len(parameters.primes), width)


def cut(polynomials: NDArray[Any], counts: Sequence[int]) -> list[NDArray[Any]]:
    """Cut polynomials into parts of these counts."""
    return [polynomials[end - count : end] for count, end in zip(counts, accumulate(counts), strict=True)]
