"""Masks that hide one party's answer among several: each two of them add and subtract the same number.

In the sum over all who answer, the masks cancel; whoever gets the answers gets that sum and nothing of a single one.
"""

import hashlib
from collections.abc import Mapping


def zero_sum_mask(
    keys: Mapping[str, bytes], session: bytes, name: str, receiver: str, step: int, index: int, modulus: int
) -> int:
    """The mask that `name` adds: plus those shared with later parties, minus those shared with earlier ones."""
    return sum(
        (1 if name < other else -1) * pair_mask(key, session, receiver, step, index, modulus)
        for other, key in keys.items()
        if other != receiver
    )


def pair_mask(key: bytes, session: bytes, receiver: str, step: int, index: int, modulus: int) -> int:
    """A pseudo-random number modulo a power of two, never the same for two different contexts."""
    name = receiver.encode()
    numbers = (len(name), step, index)
    context = key + session + b"".join(number.to_bytes(8, "little") for number in numbers) + name
    return int.from_bytes(hashlib.shake_256(context).digest((modulus.bit_length() + 7) // 8), "little") % modulus
