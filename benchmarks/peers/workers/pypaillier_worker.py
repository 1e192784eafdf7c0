"""pypaillier (Rust on GMP): exact integers, and the product whose time may follow the scalar, its fastest."""

from __future__ import annotations

from typing import List

import paillier
from serve import Integers, Rows, serve


class Pypaillier:
    notes = {
        "widths": "integers, features 19 bits (not zero), residuals 23 bits",
        "randomness": "short exponents (Damgard-Jurik variant)",
        "mask": "n / 2^21 at most, added as a fresh encryption of the mask",
    }

    def setup(self, bits: int) -> None:
        self.public, self.private = paillier.generate_keypair(bits)
        self.notes = dict(self.notes, randomness=f"short exponents ({self.public.exponent_bits} bits)")

    def prepare(self, matrix: Rows) -> Rows:
        return [list(column) for column in zip(*matrix)]

    def encrypt(self, values: Integers) -> List[bytes]:
        return [bytes(blob) for blob in paillier.encrypt_integers(self.public, values)]

    def product(self, encrypted: List[bytes], prepared: Rows) -> List[bytes]:
        return [self.dot(encrypted, column) for column in prepared]

    def dot(self, encrypted: List[bytes], column: Integers) -> bytes:
        products = paillier.multiply_integers_public(self.public, encrypted, column)
        return bytes(paillier.add_many(self.public, products))

    def mask(self, sums: List[bytes], masks: Integers) -> List[bytes]:
        count = len(sums)
        pairs = [[index, count + index] for index in range(count)]
        return [bytes(blob) for blob in paillier.add_blocks(self.public, sums + self.encrypt(masks), pairs)]

    def decrypt(self, encrypted: List[bytes]) -> Integers:
        return [numerator for numerator, _ in paillier.decrypt_exact_many(self.private, encrypted)]

    def mask_bits(self, bits: int) -> int:
        return bits - 24


if __name__ == "__main__":
    serve(Pypaillier())
