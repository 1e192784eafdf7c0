"""Drives the kernels: Python integers and numpy in, arrays on the device out. Nothing here needs more than numpy.

The kernels are compiled for one shape at a time: limbs of a half, degree, and lanes that share a number. Many numbers
are fastest with few lanes each, few numbers with many. Where the device has tensor cores, and products follow each
other, they are made in channels instead (channels.cu). A device compiles and launches: `cupy_device` with CuPy, and the
tests' emulation with a C++ compiler, so that both run this very code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from plumbob.crypto.engines.cuda.channels import NUMBERS, WINDOW, ChannelShape, bases_for
from plumbob.crypto.engines.cuda.device import BLOCK, Array, Device, DeviceShape
from plumbob.crypto.engines.cuda.words import (
    from_halves,
    half_words,
    inverted,
    limbs_for,
    radix_of,
    ring_constants,
    words_for,
)

LARGEST_GROUP = 12
WAYS = 8  # Factors that one group multiplies when products are folded.
MERGED = 8  # Bits of two digits' windows whose tables are merged: their digits are then read as one of 16 bits.
SCRATCH_BYTES = 1 << 30  # For the tables of `raise_rows`.
LONG_CHAIN = 16  # Squarings in a row, from which entering and leaving the channels pays.

u32, i32 = np.uint32, np.int32  # Numbers as kernels take them.


class Channels(NamedTuple):
    """What channels.cu needs of one ring, or of several one after the other."""

    shape: ChannelShape
    matrices: Array
    constants: Array


class Chains(NamedTuple):
    """Square and multiply, for each of this many results: `factors` factors, the last one first, `squarings` in between
    and `last_squarings` in the end. Factor k of result i is row i * step + k * factor_step, or one where that is not
    below `available`.
    """

    results: int
    step: int
    factor_step: int
    available: int
    factors: int
    squarings: int
    last_squarings: int = 0


@dataclass(frozen=True, repr=False)
class DeviceRing:
    """Integers modulo root**degree, with the constants that the kernels need of it on the device."""

    root: int
    degree: int
    limbs: int
    constants: Array
    channels: Channels | None
    """Where they serve the ring."""
    count = 1

    @cached_property
    def modulus(self) -> int:
        return int(self.root**self.degree)

    @property
    def element(self) -> int:
        """Words of a residue in Montgomery form."""
        return self.degree * self.limbs

    @cached_property
    def words(self) -> int:
        """Words of a standard residue: an even number, because others count in 64-bit limbs."""
        return words_for(self.modulus)


@dataclass(frozen=True, repr=False)
class Opener:
    """Several rings of one shape, whose items lie one after the other, and what logarithms in them need: the digits of
    each secret exponent, the highest first, and the scales.
    """

    rings: Sequence[DeviceRing]
    limbs: int
    degree: int
    element: int
    constants: Array
    channels: Channels | None
    exponents: Array
    scales: Array

    @property
    def count(self) -> int:
        return len(self.rings)


@dataclass(frozen=True, repr=False)
class DeviceTable:
    """Powers bases[j]**v in Montgomery form, entry v of table j; or, where there is room, of two bases at once:
    entry v + (w << window) of table j is then bases[2 j]**v * bases[2 j + 1]**w.
    """

    ring: DeviceRing
    window: int
    bases: int
    powers: Array

    @property
    def is_merged(self) -> bool:
        return len(self.powers) < self.bases


@dataclass(frozen=True, repr=False)
class Subsets:
    """Of every `size` rows the products of all subsets; and what is to be divided by in the end, made aside."""

    ring: DeviceRing
    channels: Channels | None
    """What the tables are in; lanes where there are none."""
    size: int
    tables: Array
    excess: Array


@dataclass(frozen=True, repr=False)
class Joint:
    """The ring of two coprime moduli's product, and what each remainder is multiplied with there."""

    ring: DeviceRing
    weights: Array


class Driver:
    """Every operation of an engine, on arrays on the device: rows of uint32 words, least significant first."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.xp = device.xp
        self._shapes: dict[tuple[int, int, int], DeviceShape] = {}
        self._matrices: dict[int, Array] = {}  # Of channels, for each number of limbs; who makes a ring waits for them.

    # Rings

    def ring(self, root: int, degree: int) -> DeviceRing:
        limbs = limbs_for(root)
        constants = self.xp.asarray(ring_constants(root, degree, limbs))
        return DeviceRing(root, degree, limbs, constants, self._channels(root, degree, limbs))

    def _channels(self, root: int, degree: int, limbs: int) -> Channels | None:
        bases = bases_for(limbs) if self.device.has_channels and degree == 2 else None
        constants = None if bases is None else bases.constants(root, radix_of(limbs))
        if bases is None or constants is None:
            return None
        if limbs not in self._matrices:
            self._matrices[limbs] = self.xp.asarray(bases.matrices)
        return Channels(bases.shape, self._matrices[limbs], self.xp.asarray(constants))

    def joint(self, first: tuple[int, int], second: tuple[int, int]) -> Joint:
        """Of two rings, given as root and degree."""
        (left, left_degree), (right, right_degree) = first, second
        squared = left_degree == right_degree == 2
        ring = self.ring(left * right if squared else left**left_degree * right**right_degree, 2 if squared else 1)
        moduli = left**left_degree, right**right_degree
        radix = radix_of(ring.limbs)
        weights = [other * pow(other, -1, own) * radix**2 % ring.modulus for own, other in (moduli, moduli[::-1])]
        return Joint(ring, self._elements(ring, weights))

    # Operations

    def multiply(self, ring: DeviceRing, left: Array, right: Array) -> Array:
        out = self._integers(len(left), ring.words)
        step = 0 if len(right) == 1 else 1
        self._run(ring, "multiply_pairs", len(left), (ring.constants, out, left, right, u32(step), i32(ring.words)))
        return out

    def embed(self, ring: DeviceRing, values: Array) -> Array:
        out = self._integers(len(values), ring.words)
        arguments = (ring.constants, out, i32(ring.words), values, i32(values.shape[1]))
        self._run(ring, "embed_rows", len(values), arguments)
        return out

    def embed_signed(self, ring: DeviceRing, values: Array) -> Array:
        """Of 64-bit integers that are not larger than the root."""
        out = self._integers(len(values), ring.words)
        self._run(ring, "embed_signed_rows", len(values), (ring.constants, out, i32(ring.words), values))
        return out

    def power(self, ring: DeviceRing, bases: Array, exponent: int) -> Array:
        exponents = self._exponents([exponent])
        return self._joined([self._leave(ring, self._raised(ring, part, exponents)) for part in pieces(ring, bases)])

    def opener(self, rings: Sequence[DeviceRing], scales: Sequence[int]) -> Opener:
        """For `logarithms`."""
        first, xp = rings[0], self.xp
        radix = radix_of(first.limbs)
        factors = [self._elements(ring, [scale * radix % ring.root]) for ring, scale in zip(rings, scales, strict=True)]
        return Opener(
            rings,
            first.limbs,
            first.degree,
            first.element,
            xp.concatenate([ring.constants for ring in rings]),
            self._joined_channels([ring.channels for ring in rings]),
            self._exponents([ring.root - 1 for ring in rings]),
            xp.concatenate(factors),
        )

    def _joined_channels(self, parts: Sequence[Channels | None]) -> Channels | None:
        there = [part for part in parts if part is not None]
        if len(there) < len(parts):
            return None
        return there[0]._replace(constants=self.xp.concatenate([part.constants for part in there]))

    def logarithms(self, opener: Opener, values: Array) -> list[Array]:
        """For each ring of root n: (values**(n - 1) - 1) / n * scale modulo n."""
        parts = zip(*(self._logarithms(opener, part) for part in pieces(opener, values)), strict=True)
        return [self._joined(part) for part in parts]

    def _logarithms(self, opener: Opener, values: Array) -> list[Array]:
        elements = self._raised(opener, values, opener.exponents)
        rows, widths = len(values), [words_for(ring.root) for ring in opener.rings]
        out = self._integers(len(elements), max(widths))
        arguments = (opener.constants, u32(rows), out, i32(max(widths)), elements, opener.scales)
        self._run(opener, "leave_logarithms", len(elements), arguments)
        return [out[k * rows : (k + 1) * rows, :width] for k, width in enumerate(widths)]

    def subsets(self, ring: DeviceRing, bases: Array, columns: int, bits: int) -> Subsets:
        """For `combine` with a matrix of this many columns, and entries of `bits` bits with their sign.

        Four Russians: subset products of a few rows are tabulated once and shared by all columns and bit planes.
        """
        entered = self._enter(ring, bases)
        size = group_size(len(bases), columns * bits)
        channels = self._channels_with_room(ring, -(-len(bases) // size) << size)
        if channels is None:
            tables = self._subsets(ring, entered, size)
        else:
            tables = self._subsets_in_channels(channels, entered, size)
        with self.device.aside():
            excess = self._excess(ring, channels, tables, bits - 1)
        if channels is None:
            # It is little work, but would wait for all of what comes now once the device is full of that.
            self.device.rejoin()
        return Subsets(ring, channels, size, tables, excess)

    def combine(self, subsets: Subsets, matrix: Array, bits: int) -> Array:
        """Column j: the product over rows i of bases[i]**matrix[i, j]."""
        ring, (rows, columns) = subsets.ring, matrix.shape
        if rows == 0 or columns == 0:
            return self._leave(ring, self.xp.tile(self._one(ring), (columns, 1)))
        sums = self._combine_unsigned(subsets, matrix, bits)
        excess = from_halves(self.device.fetch_aside(subsets.excess)[0], ring.root, ring.limbs)
        inverse = inverted(excess, ring.root, ring.modulus) * radix_of(ring.limbs) % ring.modulus
        return self._leave(ring, sums, self._elements(ring, [inverse]))

    def pack(self, ring: DeviceRing, values: Array, slots: int, slot_bits: int) -> Array:
        entered = self._enter(ring, values)
        chains = Chains(-(-len(values) // slots), slots, 1, len(values), slots, slot_bits)
        channels = ring.channels
        if channels is None or slot_bits < LONG_CHAIN:
            return self._leave(ring, self._fold_powers(ring, entered, chains))
        numbers = self._numbers(channels, len(entered))
        self._run_channels(channels, "enter_channels", len(entered), (numbers, entered))
        return self._leave(ring, self._fold_in_channels(ring, channels, numbers, chains))

    def table(self, ring: DeviceRing, bases: Array, window: int) -> DeviceTable:
        count = len(bases)
        powers = self.xp.empty((count, 1 << window, ring.element), dtype=np.uint32)
        powers[:, 0] = self._one(ring)
        powers[:, 1] = self._enter(ring, bases)
        for level in range(window):
            low = 1 << level
            self._run(ring, "double_powers", count * low, (ring.constants, powers, i32(window), u32(low)))
        if window == MERGED and count % 2 == 0 and powers.nbytes << (window - 1) <= self.device.largest_table:
            powers = self._merged(ring, powers, window)
        return DeviceTable(ring, window, count, powers)

    def look_up(self, table: DeviceTable, digits: Array) -> Array:
        rows = len(digits)
        if table.bases == 0:
            return self._leave(table.ring, self.xp.tile(self._one(table.ring), (rows, 1)))
        indices = digits.view(np.uint16) if table.is_merged else self.xp.asarray(digits, dtype=np.uint16)
        steps = (len(table.powers), 1)
        products, parts = self._multiply_entries(table.ring, table.powers, indices, steps, rows)
        parts = self._fold(table.ring, products, parts, rows, WAYS)
        return self._leave(table.ring, products[: parts * rows], parts=parts)

    def join(self, joint: Joint, left: Array, right: Array) -> Array:
        ring = joint.ring
        out = self._integers(len(left), ring.words)
        sides = (left, i32(left.shape[1]), right, i32(right.shape[1]))
        self._run(ring, "join_pairs", len(left), (ring.constants, out, i32(ring.words), *sides, joint.weights))
        return out

    # Their parts

    def _excess(self, ring: DeviceRing, channels: Channels | None, tables: Array, squarings: int) -> Array:
        """Entries are shifted to be non-negative, which multiplies this in everywhere: the product of all rows, squared
        this many times. Each table's last entry is the product of its rows.
        """
        n_tables, entries = tables.shape[:2]
        if channels is not None:
            last = tables.reshape(n_tables * entries, channels.shape.number_words)[entries - 1 :]
            return self._fold_in_channels(
                ring, channels, last, Chains(1, 0, entries, len(last), n_tables, 0, squarings)
            )
        factors = tables[:, -1].copy()
        self._fold(ring, factors, n_tables, 1)
        steps = self.xp.concatenate([self._one(ring), factors[:1]])
        return self._fold_powers(ring, steps, Chains(1, 2, 1, len(steps), 2, squarings))

    def _enter(self, ring: DeviceRing | Opener, integers: Array) -> Array:
        """Montgomery form in every ring, one ring's rows after the other's."""
        rows = len(integers)
        elements = self.xp.empty((rows * ring.count, ring.element), dtype=np.uint32)
        arguments = (ring.constants, u32(rows), elements, integers, i32(integers.shape[1]))
        self._run(ring, "enter_rows", len(elements), arguments)
        return elements

    def _leave(self, ring: DeviceRing, elements: Array, factor: Array | None = None, parts: int = 1) -> Array:
        """As standard integers: the products of `parts` elements each, one part's rows after the other's."""
        rows = len(elements) // parts
        out = self._integers(rows, ring.words)
        chosen = np.uint64(0) if factor is None else factor  # A null pointer.
        arguments = (ring.constants, out, i32(ring.words), elements, chosen, u32(parts))
        self._run(ring, "leave_rows", rows, arguments)
        return out

    def _raised(self, ring: DeviceRing | Opener, integers: Array, exponents: Array) -> Array:
        """Elements raised to a row of digits for each ring."""
        elements = self._enter(ring, integers)
        channels = ring.channels
        if channels is not None and WINDOW * exponents.shape[1] >= LONG_CHAIN:
            threads = self._channel_threads(channels.shape, len(elements))
            powers = self.xp.empty((threads << WINDOW, 4), dtype=np.uint32)
            digits = (exponents, i32(exponents.shape[1]))
            whole = (u32(len(integers)), elements, *digits, powers)
            self._run_channels(channels, "raise_channels", len(elements), whole)
            return elements
        threads = self._shape(ring, len(elements)).threads
        groups = -(-len(elements) * threads // BLOCK) * BLOCK // threads
        tables = self.xp.empty((groups << WINDOW, ring.element), dtype=np.uint32)
        sizes = (i32(exponents.shape[1]), i32(WINDOW))
        arguments = (ring.constants, u32(len(integers)), elements, exponents, *sizes, tables)
        self._run(ring, "raise_rows", len(elements), arguments)
        return elements

    def _exponents(self, exponents: Sequence[int]) -> Array:
        """Their digits, padded to the same public length."""
        length = max(-(-exponent.bit_length() // WINDOW) for exponent in exponents)
        return self.xp.asarray(np.array([window_digits(exponent, length) for exponent in exponents], dtype=np.uint8))

    def _combine_unsigned(self, subsets: Subsets, matrix: Array, bits: int) -> Array:
        ring, channels, tables = subsets.ring, subsets.channels, subsets.tables
        columns = matrix.shape[1]
        items = columns * bits
        chains = Chains(columns, 1, columns, items, bits, 1)
        indices = self._subset_indices(ring, matrix, bits, subsets.size)
        if channels is None:
            planes, parts = self._multiply_entries(ring, tables, indices, (1, items), items)
            self._fold(ring, planes, parts, items)
            return self._fold_powers(ring, planes, chains)
        planes = self._numbers(channels, items)
        arguments = (planes, tables, i32(subsets.size), u32(len(indices)), indices)
        self._run_channels(channels, "multiply_entry_channels", items, arguments)
        return self._fold_in_channels(ring, channels, planes, chains)

    def _subset_indices(self, ring: DeviceRing, matrix: Array, bits: int, size: int) -> Array:
        """Which of a table's `size` rows are in the product, for every table, plane and column."""
        rows, columns = matrix.shape
        indices = self.xp.empty((-(-rows // size), columns * bits), dtype=np.uint16)
        shape = (u32(rows), u32(columns), i32(bits), i32(size))
        kernel = "find_subsets" if matrix.dtype == np.int64 else "find_subsets_of_32_bits"
        self._run_words(ring, kernel, indices.size, (indices, matrix, *shape))
        return indices

    def _merged(self, ring: DeviceRing, powers: Array, window: int) -> Array:
        pairs = len(powers) // 2
        merged = self.xp.empty((pairs, 1 << (2 * window), ring.element), dtype=np.uint32)
        self._run(ring, "merge_tables", pairs << (2 * window), (ring.constants, merged, powers, i32(window)))
        return merged

    def _subsets(self, ring: DeviceRing, entered: Array, size: int) -> Array:
        """For every `size` rows the products of all their subsets; an entry's bits say which rows are in it."""
        tables = self.xp.empty((-(-len(entered) // size), 1 << size, ring.element), dtype=np.uint32)
        arguments = (ring.constants, tables, entered, u32(len(entered)), i32(size))
        self._run_words(ring, "start_subsets", len(tables) * (size + 1) * ring.element, arguments)
        half = 1
        while half < size:
            count = len(tables) * -(-size // (2 * half)) << min(2 * half, size)
            self._run(ring, "join_subsets", count, (ring.constants, tables, i32(size), i32(half)))
            half *= 2
        return tables

    def _multiply_entries(
        self, ring: DeviceRing, tables: Array, indices: Array, steps: tuple[int, int], items: int
    ) -> tuple[Array, int]:
        """For every item the product of one entry of each table, in as many parts as are returned too, one part's rows
        after the other's. `steps` lead from item to item and table to table.
        """
        n_tables, size = len(tables), tables.shape[1].bit_length() - 1
        # Few items would leave most of the device idle, so their tables are cut into parts.
        length = part_length(n_tables, min(n_tables, max(1, self._many // max(items, 1))))
        parts = -(-n_tables // length)
        products = self.xp.empty((parts * items, ring.element), dtype=np.uint32)
        shape = (u32(steps[0]), u32(steps[1]), u32(items), u32(length))
        arguments = (ring.constants, products, tables, i32(size), u32(n_tables), indices, *shape)
        self._run(ring, "multiply_entries", parts * items, arguments)
        return products, parts

    def _fold(self, ring: DeviceRing, elements: Array, parts: int, items: int, most: int = 1) -> int:
        """Multiply `parts` rows of `items` elements into the first ones, until at most this many are left."""
        while parts > most:
            distance = -(-parts // WAYS)
            arguments = (ring.constants, elements, u32(distance), u32(parts), u32(items))
            self._run(ring, "fold_rows", distance * items, arguments)
            parts = distance
        return parts

    def _fold_powers(self, ring: DeviceRing, elements: Array, chains: Chains) -> Array:
        """Without last squarings."""
        count, *sizes = chains[:-1]
        out = self.xp.empty((count, ring.element), dtype=np.uint32)
        self._run(ring, "fold_powers", count, (ring.constants, out, elements, *map(u32, sizes)))
        return out

    def _joined(self, parts: Sequence[Array]) -> Array:
        """One below the other; a single one needs no copy."""
        return parts[0] if len(parts) == 1 else self.xp.concatenate(parts)

    def _one(self, ring: DeviceRing) -> Array:
        """A row with the element one."""
        return ring.constants[2 * ring.limbs : 2 * ring.limbs + ring.element].reshape(1, -1)

    def _elements(self, ring: DeviceRing, values: Sequence[int]) -> Array:
        """Exact halves of the values as they are."""
        words = [half_words(value, ring.root, ring.degree, ring.limbs) for value in values]
        return self.xp.asarray(np.stack(words))

    def _integers(self, rows: int, words: int) -> Array:
        return self.xp.empty((rows, words), dtype=np.uint32)

    # Launches

    @property
    def _many(self) -> int:
        """Items that keep every processor busy, some to spare for those that are done first: 19 warps of eight."""
        return self.device.processors * 19 * 8

    def _shape(self, ring: DeviceRing | Opener, items: int) -> DeviceShape:
        """Few items get as many lanes each as there are processors for; many are fastest with the fewest."""
        asked = ring.limbs, ring.degree, items
        shape = self._shapes.get(asked)
        if shape is None:
            shape = self._shapes[asked] = self._chosen_shape(ring, items)
        return shape

    def _chosen_shape(self, ring: DeviceRing | Opener, items: int) -> DeviceShape:
        lanes = [threads for threads in self.device.lanes if ring.limbs % (2 * threads) == 0]
        room = self.device.processors * 4 * 32
        fitting = [threads for threads in lanes if threads * items <= room]
        return DeviceShape(ring.limbs, ring.degree, max(fitting, default=min(lanes)))

    def _run(self, ring: DeviceRing | Opener, kernel: str, items: int, arguments: tuple[Any, ...]) -> None:
        if items:
            shape = self._shape(ring, items)
            self.device.launch(shape, kernel, items * shape.threads, (*arguments, u32(items)))

    # In channels

    def _channels_with_room(self, ring: DeviceRing, entries: int) -> Channels | None:
        """The ring's, where a table of this many numbers has room."""
        channels = ring.channels
        if channels is None or 4 * entries * channels.shape.number_words > self.device.largest_table:
            return None
        return channels

    def _numbers(self, channels: Channels, count: int) -> Array:
        return self.xp.empty((count, channels.shape.number_words), dtype=np.uint32)

    def _subsets_in_channels(self, channels: Channels, entered: Array, size: int) -> Array:
        """As `_subsets`."""
        n_tables = -(-len(entered) // size)
        subsets = self._numbers(channels, n_tables << size).reshape(n_tables, 1 << size, channels.shape.number_words)
        started = (subsets, entered, u32(len(entered)), i32(size))
        self._run_channels(channels, "start_subset_channels", n_tables * (size + 1), started)
        half = 1
        while half < size:
            count = n_tables * -(-size // (2 * half)) << min(2 * half, size)
            self._run_channels(channels, "join_subset_channels", count, (subsets, i32(size), i32(half)))
            half *= 2
        return subsets

    def _fold_in_channels(self, ring: DeviceRing, channels: Channels, numbers: Array, chains: Chains) -> Array:
        """As `_fold_powers`; what comes out are elements again."""
        count, *sizes = chains
        out = self.xp.empty((count, ring.element), dtype=np.uint32)
        self._run_channels(channels, "fold_channels", count, (out, numbers, *map(u32, sizes)))
        return out

    def _channel_threads(self, shape: ChannelShape, items: int) -> int:
        """Blocks stay and take items after items, so there are no more than can work beside each other."""
        return min(-(-items // NUMBERS), shape.beside * self.device.processors) * shape.block

    def _run_channels(self, channels: Channels, kernel: str, items: int, arguments: tuple[Any, ...]) -> None:
        if items:
            threads = self._channel_threads(channels.shape, items)
            whole = (channels.constants, channels.matrices, *arguments, u32(items))
            self.device.launch(channels.shape, kernel, threads, whole)

    def _run_words(self, ring: DeviceRing, kernel: str, words: int, arguments: tuple[Any, ...]) -> None:
        """One thread for each item."""
        if words:
            self.device.launch(self._shape(ring, words), kernel, words, (*arguments, u32(words)))


def window_digits(exponent: int, length: int) -> list[int]:
    """The highest first."""
    mask = (1 << WINDOW) - 1
    return [exponent >> (WINDOW * position) & mask for position in reversed(range(length))]


def pieces(ring: DeviceRing | Opener, rows: Array) -> list[Array]:
    """As many rows at once as the tables of their powers have room for."""
    step = max(1, SCRATCH_BYTES // (ring.count * ring.element * 4 << WINDOW))
    return [rows[start : start + step] for start in range(0, max(len(rows), 1), step)]


@cache
def group_size(rows: int, looked_up: int) -> int:
    """Rows per table that make the count of products, ceil(rows / g) * (2**g + looked_up), smallest."""
    return min(range(1, LARGEST_GROUP + 1), key=lambda size: -(-rows // size) * ((1 << size) + looked_up))


@cache
def part_length(tables: int, most_parts: int) -> int:
    """Tables of a part that make the chain shortest: of products and launches, in the parts and in folding them."""
    fewest = -(-tables // most_parts)
    return min(range(fewest, fewest + WAYS), key=lambda length: length + fold_steps(-(-tables // length)))


def fold_steps(parts: int) -> int:
    """Products one after the other, and launches, in which `parts` become one."""
    steps = 0
    while parts > 1:
        distance = -(-parts // WAYS)
        steps += -(-parts // distance)
        parts = distance
    return steps
