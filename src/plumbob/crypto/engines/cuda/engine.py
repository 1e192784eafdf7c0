"""The engine on an NVIDIA GPU. What it returns stays on the device until somebody looks at it.

Side channels: which kernels run, and for how long, depends on shapes and widths only. Addresses depend on values in two
places, as in the native kernel: the random digits of `look_up`, and the matrix of `combine`. A secret exponent is
followed by reading every entry of its table. docs/gpu.md says what that leaves.
"""

import importlib
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from plumbob.crypto.engines.cuda.device import Device
from plumbob.crypto.engines.cuda.driver import DeviceRing, DeviceTable, Driver, Joint, Opener
from plumbob.crypto.engines.interface import (
    Digits,
    IntegerMatrix,
    Integers,
    PreparedPowers,
    Ring,
    check_bits,
    check_range,
    unbounded,
)
from plumbob.crypto.limbs import Limbs, from_ints, width_for
from plumbob.errors import CryptoError

LARGEST_WINDOW = 8


class DeviceLimbs:
    """Rows of limbs in the device's memory. It has what callers use of an array, and becomes one by itself."""

    dtype = np.dtype(np.uint64)

    def __init__(self, words: Any, device: Device) -> None:
        self._words = words
        self._device = device
        self._thread = threading.get_ident()
        self._host: Limbs | None = None

    @property
    def shape(self) -> tuple[int, int]:
        rows, words = self._words.shape
        return rows, words // 2

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, rows: slice) -> "DeviceLimbs":
        part = DeviceLimbs(self._words[rows], self._device)
        part._thread = self._thread
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Limbs:
        if self._host is None:
            self._host = np.ascontiguousarray(self._device.fetch(self.words())).view(np.uint64)
        return self._host.astype(dtype or np.uint64, copy=bool(copy))

    def words(self) -> Any:
        """For a kernel. Another thread has a stream of its own, and waits until the rows are there. It must not drop
        them before its kernel is done, because the thread that made them may then write there.
        """
        if self._thread != threading.get_ident():
            self._device.wait()
        return self._words


class CudaEngine:
    """One GPU."""

    name = "cuda"

    def __init__(self, device: Device | None = None) -> None:
        self._device = gpu() if device is None else device
        self._driver = Driver(self._device)

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        check_width(ring, left, right)
        if len(right) not in (1, len(left)):
            raise ValueError(f"expected 1 or {len(left)} rows on the right, got {len(right)}")
        with self._working():
            return self._limbs(self._driver.multiply(self._ring(ring), self._words(left), self._words(right)))

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        if ring.degree != 2:
            raise ValueError(f"expected a ring with a squared root, got degree {ring.degree}")
        with self._working():
            if isinstance(values, np.ndarray) and ring.root >> 63:  # The GPU adds the root where one is negative.
                signed = self._driver.xp.asarray(np.ascontiguousarray(values, dtype=np.int64))
                return self._limbs(self._driver.embed_signed(self._ring(ring), signed))
            residues = from_ints((value % ring.root for value in unbounded(values)), width_for(ring.root))
            return self._limbs(self._driver.embed(self._ring(ring), self._words(residues)))

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        check_width(ring, bases)
        if exponent < 0:
            raise ValueError("expected an exponent of 0 or more, got a negative one: invert the bases first")
        with self._working():
            return self._limbs(self._driver.power(self._ring(ring), self._words(bases), int(exponent)))

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        check_width(ring, bases)
        if len(matrix) != len(bases):
            raise ValueError(f"expected a matrix of {len(bases)} rows, got {len(matrix)}")
        check_bits(bits)
        with self._working():
            subsets = self._driver.subsets(self._ring(ring), self._words(bases), matrix.shape[1], bits)
            check_range(matrix, bits)  # Only now, because the device has something to do meanwhile.
            # Half as much to bring there, where entries fit.
            entries = self._driver.xp.asarray(np.ascontiguousarray(matrix, dtype=np.int32 if bits < 32 else np.int64))
            return self._limbs(self._driver.combine(subsets, entries, bits))

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        check_width(ring, values)
        if slots < 1 or slot_bits < 0:
            raise ValueError(f"expected 1 slot or more of 0 bits or more, got {slots} of {slot_bits}")
        with self._working():
            return self._limbs(self._driver.pack(self._ring(ring), self._words(values), slots, slot_bits))

    def table(self, ring: Ring, bases: Limbs, window: int) -> PreparedPowers:
        check_width(ring, bases)
        if not 1 <= window <= LARGEST_WINDOW:
            raise ValueError(f"expected a window of 1 to {LARGEST_WINDOW} bits, got {window}")
        with self._working():
            table = self._driver.table(self._ring(ring), self._words(bases), window)
        self._device.wait()  # It may be used by any thread.
        return table

    def look_up(self, table: PreparedPowers, digits: Digits) -> Limbs:
        check_digits(table, digits)
        with self._working():
            return self._limbs(self._driver.look_up(table, self._driver.xp.asarray(digits)))

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        check_width(first, left)
        check_width(second, right)
        if len(left) != len(right):
            raise ValueError(f"expected {len(left)} rows on both sides, got {len(right)} on the right")
        with self._working():
            return self._limbs(self._driver.join(self._joint(first, second), self._words(left), self._words(right)))

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        with self._working():
            if len({self._ring(ring).limbs for ring in rings}) > 1:
                pairs = zip(rings, scales, strict=True)
                return [self.logarithms([ring], values, [scale])[0] for ring, scale in pairs]
            parts = self._driver.logarithms(self._opener(rings, scales), self._words(values))
        return [self._limbs(part) for part in parts]

    @contextmanager
    def _working(self) -> Iterator[None]:
        with self._device.working():
            try:
                yield
            except MemoryError:  # CuPy's is one; it speaks of bytes and pools.
                raise CryptoError(
                    "engine 'cuda': the GPU's memory is full; expected room for the keys' tables and a batch. "
                    "End other programs on the GPU, take a smaller batch_size, or use 'native'"
                ) from None

    def _words(self, limbs: Limbs | DeviceLimbs) -> Any:
        if isinstance(limbs, DeviceLimbs):
            return self._driver.xp.ascontiguousarray(limbs.words())
        return self._driver.xp.asarray(np.ascontiguousarray(limbs, dtype=np.uint64).view(np.uint32))

    def _limbs(self, words: Any) -> Limbs:
        """Callers see limbs; that they are brought here late is nobody's business."""
        return cast(Limbs, DeviceLimbs(words, self._device))

    def _ring(self, ring: Ring) -> DeviceRing:
        """Its constants on the device."""
        made: DeviceRing = self._prepared(ring, self.name, lambda: self._driver.ring(int(ring.root), ring.degree))
        return made

    def _opener(self, rings: Sequence[Ring], scales: Sequence[int]) -> Opener:
        place = self.name, *((ring.root, scale) for ring, scale in zip(rings, scales, strict=True))
        own = [self._ring(ring) for ring in rings]
        opener: Opener = self._prepared(rings[0], place, lambda: self._driver.opener(own, scales))
        return opener

    def _joint(self, first: Ring, second: Ring) -> Joint:
        place = self.name, second.root, second.degree
        moduli = (int(first.root), first.degree), (int(second.root), second.degree)
        joint: Joint = self._prepared(first, place, lambda: self._driver.joint(*moduli))
        return joint

    def _prepared(self, ring: Ring, place: Hashable, make: Callable[[], Any]) -> Any:
        """What is kept for a ring. It dies with the ring, whose root may be a secret prime."""
        if place not in ring.prepared:
            made = make()
            self._device.wait()  # Whoever finds it there may be a thread with a stream of its own.
            ring.prepared[place] = made
        return ring.prepared[place]


def gpu() -> Device:
    """CuPy and the current GPU, or an error that says which of them is missing."""
    try:
        found = importlib.import_module("plumbob.crypto.engines.cuda.cupy_device")
    except ImportError as error:
        raise CryptoError(
            f"engine 'cuda' needs CuPy, which cannot be imported here ({error.name or 'cupy'}): "
            "pip install 'plumbob[cuda]'; or use 'native'"
        ) from None
    try:
        device: Device = found.CupyDevice()
    except Exception as error:  # CuPy's own errors have no common base, and none of them is of use to a user.
        raise CryptoError(
            f"engine 'cuda' found no GPU that works ({type(error).__name__}): expected an NVIDIA GPU and its driver; "
            "look at nvidia-smi, or use 'native'"
        ) from None
    return device


def check_width(ring: Ring, *arrays: Limbs) -> None:
    """Kernels read as many limbs as the ring says."""
    for limbs in arrays:
        if len(limbs.shape) != 2 or limbs.shape[1] != ring.width:
            raise ValueError(f"expected rows of {ring.width} limbs, got an array of shape {limbs.shape}")


def check_digits(table: DeviceTable, digits: Digits) -> None:
    """Kernels read the entry that a digit names. With the largest window every byte names one."""
    is_any_byte = table.window == LARGEST_WINDOW and digits.dtype == np.uint8
    if digits.shape[1] != table.bases or (digits.size and not is_any_byte and int(digits.max()) >> table.window):
        raise ValueError(f"expected {table.bases} digits of {table.window} bits in a row")
