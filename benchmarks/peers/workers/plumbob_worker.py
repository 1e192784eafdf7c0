"""Plumbob itself, through its public interface. Argument: the engine (`native:avx2` for one path)."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

import gmpy2
import numpy as np
from serve import FEATURE_BITS, RESIDUAL_BITS, ROWS, Answer, Integers, Rows, features, residuals, serve, timing

from plumbob import crypto
from plumbob.crypto import engines, profiles

FEATURES = crypto.Encoding(fraction_bits=16, integer_bits=FEATURE_BITS - 17)
RESIDUALS = crypto.Encoding(fraction_bits=20, integer_bits=RESIDUAL_BITS - 21)
# Nobody learns a slot's width from the data: it follows from the public widths and the rows.
SUM_BITS = crypto.sum_bits(ROWS, FEATURES, RESIDUALS)

REPEATS = 20_000


def open_engine(name: str, threads: int) -> Any:
    """`python`, `native`, or `native:avx2` for one dispatch path of the kernel."""
    engine, _, path = name.partition(":")
    if not path:
        return engines.choose(engine, threads=threads)
    from plumbob.crypto.engines.native import NativeEngine  # Not there where the kernel was not built.

    return NativeEngine(path, threads)


class Plumbob:
    def __init__(self, engine: str) -> None:
        self.engine = open_engine(engine, threads=int(os.environ.get("PLUMBOB_THREADS", "1")))
        self.notes = {
            "widths": f"features {FEATURES.bits} bits, residuals {RESIDUALS.bits} bits, slots {SUM_BITS} bits",
            "randomness": "full length and 128 spare bits; replies: independent bases",
            "mask": "packed, masked by the key's own rule, randomised()",
        }

    def setup(self, bits: int) -> None:
        self.private = crypto.paillier.generate(profiles.for_key_bits(bits), self.engine)

    def prepare(self, matrix: Rows) -> Any:
        return crypto.Encoded(np.array(matrix, dtype=np.int64), FEATURES)

    def encrypt(self, values: Integers) -> Any:
        return self.private.encrypt(crypto.Encoded(np.array(values, dtype=np.int64), RESIDUALS))

    def product(self, encrypted: Any, prepared: Any) -> Any:
        return encrypted @ prepared

    def mask(self, sums: Any, masks: Integers) -> Any:
        """The masks handed in have the peers' form; ours are one for each packed reply."""
        self.slots = crypto.Slots.packed(self.private.public, len(masks), SUM_BITS)
        packed = self.slots.pack(sums)
        self.drawn = self.private.public.random_mask(len(packed), self.slots.masked_bits)
        return (packed + self.drawn).randomised()

    def decrypt(self, encrypted: Any) -> Integers:
        opened: Integers = self.private.decrypt(encrypted)
        return opened

    def unmask(self, opened: Integers, masks: Integers) -> Integers:
        sums: Integers = self.slots.unpack(self.slots.truncate(opened), self.drawn)
        return sums

    def mask_bits(self, bits: int) -> int:
        return 62

    def traffic(self, columns: int) -> dict[str, int]:
        """Bytes of one direction."""
        request = self.encrypt(residuals(ROWS))
        reply = self.mask(self.product(request, self.prepare(features(ROWS, columns, True))), [0] * columns)
        return {
            "request": len(request.to_bytes()),
            "masked_reply": len(reply.to_bytes()),
            "handed_back": len(self.slots.to_bytes(self.slots.truncate(self.decrypt(reply)))),
        }

    def modular_multiplication(self) -> Answer:
        """Seconds of one multiplication and reduction by GMP modulo n^2, the unit of the Four-Russians count."""
        modulus = gmpy2.mpz(self.private.public.n) ** 2
        left, right = (gmpy2.mpz(secrets.randbelow(int(modulus))) for _ in range(2))
        answer = timing(lambda: multiply_repeatedly(left, right, modulus))
        return {clock: seconds / REPEATS for clock, seconds in answer.items()}


def multiply_repeatedly(left: Any, right: Any, modulus: Any) -> None:
    """A chain, so that no product can be left out."""
    for _ in range(REPEATS):
        left = left * right % modulus


if __name__ == "__main__":
    serve(Plumbob(*sys.argv[1:]))
