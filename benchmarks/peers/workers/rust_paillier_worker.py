"""rust_paillier ("paillier tensor implemented using rust"): 64-bit integer blocks, its module without threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import rust_paillier
from serve import Integers, Rows, serve


class RustPaillier:
    notes = {
        "widths": "integers (i64), features 19 bits, residuals 23 bits",
        "randomness": "as the library has it",
        "mask": "62 bits (no wider integers), added as a fresh encryption of the mask",
    }

    def setup(self, bits: int) -> None:
        self.public, self.private = rust_paillier.keygen(bits)

    def prepare(self, matrix: Rows) -> Any:
        return np.array(matrix, dtype=np.int64)

    def encrypt(self, values: Integers) -> Any:
        return self.public.encrypt_i64(np.array([values], dtype=np.int64))

    def product(self, encrypted: Any, prepared: Any) -> Any:
        return encrypted.matmul_plaintext_ix2_i64(prepared)

    def mask(self, sums: Any, masks: Integers) -> Any:
        return sums.add_cipherblock(self.encrypt(masks))

    def decrypt(self, encrypted: Any) -> Integers:
        return [int(value) for value in self.private.decrypt_i64(encrypted).ravel()]

    def mask_bits(self, bits: int) -> int:
        return 62


if __name__ == "__main__":
    serve(RustPaillier())
