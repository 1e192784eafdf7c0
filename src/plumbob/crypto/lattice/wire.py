"""The bytes of residues (50 bits each) and of numbers of whole bytes, as they are sent."""

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Packed, Pairs, Residues
from plumbob.crypto.lattice.sets import PRIME_BITS, ParameterSet


def pack(values: Residues) -> Packed:
    """Arrays (..., degree) of residues as (..., bytes): 50 bits each, the lowest first."""
    bits = np.unpackbits(_octets(values), axis=-1, bitorder="little")[..., :PRIME_BITS]
    joined = bits.reshape(*values.shape[:-1], values.shape[-1] * PRIME_BITS)
    return np.packbits(joined, axis=-1, bitorder="little")


def unpack(parameters: ParameterSet, packed: Packed) -> Residues:
    """The inverse of `pack`, for arrays (..., primes, bytes). ValueError if a residue is not below its prime."""
    bits = np.unpackbits(packed, axis=-1, bitorder="little")
    residues = np.zeros((*packed.shape[:-1], parameters.degree, 64), dtype=np.uint8)
    residues[..., :PRIME_BITS] = bits.reshape(*packed.shape[:-1], parameters.degree, PRIME_BITS)
    values = np.packbits(residues, axis=-1, bitorder="little").view("<u8")[..., 0].astype(np.uint64)
    if (values >= np.array(parameters.primes, dtype=np.uint64)[:, None]).any():
        raise ValueError("expected residues below their primes")
    return values


def pack_pairs(values: Pairs, bits: int) -> Packed:
    """Numbers (..., 2) of a whole number of bytes as (..., bytes)."""
    return np.ascontiguousarray(_octets(values).reshape(*values.shape[:-1], 16)[..., : bits // 8])


def unpack_pairs(packed: Packed, bits: int) -> Pairs:
    """The inverse of `pack_pairs`."""
    octets = np.zeros((*packed.shape[:-1], 16), dtype=np.uint8)
    octets[..., : bits // 8] = packed
    return octets.view("<u8").astype(np.uint64)


def _octets(values: NDArray[np.uint64]) -> Packed:
    little = np.ascontiguousarray(values, dtype="<u8")
    return little.view(np.uint8).reshape(*values.shape, 8)
