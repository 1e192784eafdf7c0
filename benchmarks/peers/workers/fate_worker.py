"""fate_utils (FATE 2.x, Rust): integer encoding, which spares its exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
from fate_utils import paillier
from serve import Integers, Rows, serve


class Fate:
    notes = {
        "widths": "integers (encode_i64), features 19 bits, residuals 23 bits",
        "randomness": "obfuscate=True",
        "mask": "62 bits (no wider integers in its coder), added as a fresh encryption of the mask",
    }

    def setup(self, bits: int) -> None:
        self.private, self.public, self.coder = paillier.keygen(bits)

    def prepare(self, matrix: Rows) -> Any:
        entries = np.array(matrix, dtype=np.int64)
        return self.coder.encode_i64_vec(entries.ravel()), list(entries.shape)

    def encrypt(self, values: Integers) -> Any:
        return self.public.encrypt_encoded(self.coder.encode_i64_vec(np.array(values, dtype=np.int64)), True)

    def product(self, encrypted: Any, prepared: Any) -> Any:
        encoded, shape = prepared
        return encrypted.matmul(self.public, encoded, [1, shape[0]], shape)

    def mask(self, sums: Any, masks: Integers) -> Any:
        return sums.add(self.public, self.encrypt(masks))

    def decrypt(self, encrypted: Any) -> Integers:
        return [int(value) for value in self.coder.decode_i64_vec(self.private.decrypt_to_encoded(encrypted))]

    def mask_bits(self, bits: int) -> int:
        return 62


if __name__ == "__main__":
    serve(Fate())
