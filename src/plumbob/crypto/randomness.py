"""Uniform numbers from a source of random bytes: the kernel, or a run's own stream.

By default every draw is a system call, so a forked process never repeats its parent's randomness. A run draws from
streams instead, whose root the kernel gave (`crypto.draws`). A test hands in a source of its own; `is_kernel` is what
the record reports.
"""

import os
from collections.abc import Callable


class Randomness:
    """Uniform draws from a source of random bytes."""

    def __init__(self, source: Callable[[int], bytes] = os.urandom, is_kernel: bool | None = None) -> None:
        self._source = source
        self.is_kernel = source is os.urandom if is_kernel is None else is_kernel
        """False for a test's source: what was drawn then is not secret. True also where what the kernel gave is kept
        for a restart."""

    def draw(self, count: int) -> bytes:
        """This many uniform bytes."""
        return self._source(count)

    def below(self, bound: int) -> int:
        """One number uniform in [0, bound), by rejection."""
        bits = (bound - 1).bit_length()
        while True:
            value = self.of_bits(bits)
            if value < bound:
                return value

    def many_below(self, bound: int, count: int) -> list[int]:
        """Numbers like those of `below`, drawn at once: a system call for each would take most of the time."""
        bits = (bound - 1).bit_length()
        size = -(-bits // 8)
        spare = 8 * size - bits
        values: list[int] = []
        while len(values) < count:
            missing = count - len(values)
            drawn = self.draw(missing * size)
            candidates = [int.from_bytes(drawn[size * k : size * (k + 1)], "little") >> spare for k in range(missing)]
            values += [value for value in candidates if value < bound]
        return values

    def of_bits(self, bits: int) -> int:
        """One number uniform in [0, 2**bits)."""
        size = -(-bits // 8)
        return int.from_bytes(self.draw(size), "little") >> (8 * size - bits)


SYSTEM_RANDOMNESS = Randomness()
