"""What the kernel (native/kernel.cpp) offers. Arrays are C-contiguous; ValueError where shapes do not fit."""

import numpy as np
from numpy.typing import NDArray

Limbs = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Small = NDArray[np.int32]

class Lattice: ...

def lattice_paths() -> list[str]: ...
def lattice(
    path: str, degree: int, primes: list[int], roots: list[int], slot_primes: list[int], slot_roots: list[int]
) -> Lattice: ...
def lattice_uniform(lattice: Lattice, key: bytes, index: int) -> Limbs: ...
def lattice_ternary(lattice: Lattice, key: bytes, index: int) -> Limbs: ...
def lattice_errors(lattice: Lattice, key: bytes, index: int) -> Limbs: ...
def lattice_transform(lattice: Lattice, coefficients: Small, threads: int) -> Limbs: ...
def lattice_forward(lattice: Lattice, values: Limbs, repeats: int) -> None: ...
def lattice_combine(lattice: Lattice, first: Limbs, second: Limbs, third: Limbs) -> Limbs: ...
def lattice_pack(lattice: Lattice, value: Limbs) -> Bytes: ...
def lattice_unpack(lattice: Lattice, packed: Bytes) -> Limbs: ...
def lattice_high_bits(lattice: Lattice, value: Limbs, dropped: int) -> bytes: ...
def lattice_encrypt(
    lattice: Lattice,
    secret: Limbs,
    uniform: bytes,
    errors: bytes,
    first: int,
    messages: Limbs,
    bits: int,
    prefix: bytes,
    threads: int,
) -> bytes: ...
def lattice_encrypt_slots(
    lattice: Lattice,
    secret: Limbs,
    uniform: bytes,
    errors: bytes,
    first: int,
    values: Small,
    prefix: bytes,
    threads: int,
) -> bytes: ...
def lattice_encrypt_wide_slots(
    lattice: Lattice,
    secret: Limbs,
    uniform: bytes,
    errors: bytes,
    first: int,
    values: Limbs,
    prefix: bytes,
    threads: int,
) -> bytes: ...
def lattice_add_up(
    lattice: Lattice, uniform: bytes, first: int, packed: Bytes, matrix: Limbs, threads: int
) -> Limbs: ...
def lattice_reply(
    lattice: Lattice,
    uniform: bytes,
    b: Limbs,
    a: bytes,
    secret: bytes,
    errors: bytes,
    first: int,
    packed: Bytes,
    matrix: Limbs,
    reply_bits: int,
    share_bits: int,
    answers: NDArray[np.uint32],
    threads: int,
) -> tuple[Bytes, Limbs]: ...
def lattice_hide(
    lattice: Lattice,
    uniform: bytes,
    b: Limbs,
    a: bytes,
    secret: bytes,
    errors: bytes,
    first: int,
    sums: Limbs,
    reply_bits: int,
    share_bits: int,
    answers: NDArray[np.uint32],
    threads: int,
) -> tuple[Bytes, Limbs]: ...
def lattice_reply_slots(
    lattice: Lattice,
    uniform: bytes,
    b: Limbs,
    a: bytes,
    secret: bytes,
    errors: bytes,
    first: int,
    packed: Bytes,
    values: Small,
    is_turn: bool,
    threads: int,
) -> tuple[Bytes, Limbs]: ...
def lattice_reply_wide_slots(
    lattice: Lattice,
    uniform: bytes,
    b: Limbs,
    a: bytes,
    secret: bytes,
    errors: bytes,
    first: int,
    packed: Bytes,
    values: Limbs,
    is_turn: bool,
    threads: int,
) -> tuple[Bytes, Limbs]: ...
def lattice_open(
    lattice: Lattice,
    secret: Limbs,
    packed: Bytes,
    reply_bits: int,
    share_bits: int,
    answers: NDArray[np.uint32],
    threads: int,
) -> Limbs: ...
def lattice_open_slots(lattice: Lattice, secret: Limbs, packed: Bytes, threads: int) -> Limbs: ...
def lattice_waves(
    path: str,
    angles: NDArray[np.uint32],
    harmonics: list[int],
    shifts: list[int],
    scales: list[int],
    dropped: int,
    threads: int,
) -> Small: ...
def lattice_own_scores(entries: Small, share: Limbs, threads: int) -> Limbs: ...
def lattice_own_sums(entries: Small, share: Limbs, threads: int) -> Limbs: ...

class RistrettoBuckets: ...

Buffer = bytes | bytearray | memoryview

def ristretto_paths() -> list[str]: ...
def ristretto_times(
    path: str, points: Buffer, scalar: bytes, threads: int
) -> tuple[bytes, None] | tuple[None, int]: ...
def ristretto_times_mapped(
    path: str, uniform: Buffer, scalar: bytes, threads: int
) -> tuple[bytes, None] | tuple[None, int]: ...
def ristretto_add(path: str, left: Buffer, right: Buffer, threads: int) -> tuple[bytes, None] | tuple[None, int]: ...
def ristretto_buckets(path: str) -> RistrettoBuckets: ...
def ristretto_combine(buckets: RistrettoBuckets, points: Buffer, factors: Buffer, threads: int) -> int | None: ...
def ristretto_join(buckets: RistrettoBuckets) -> bytes: ...
