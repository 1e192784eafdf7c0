"""SecretFlow HEU (sf-heu), its numpy interface: `matmul` on arrays of integers. The schema is the first argument."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from heu import numpy as hnp
from heu import phe
from serve import Integers, Rows, serve

RANDOMNESS = {"ZPaillier": "short exponents (half the key's length), table for the key"}


class Heu:
    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.notes = {
            "widths": "integers (BigintEncoder), features 19 bits, residuals 23 bits",
            "randomness": RANDOMNESS.get(schema, "as the library has it"),
            "mask": "up to n / 2, added as a fresh encryption: its only way to re-randomise",
        }

    def setup(self, bits: int) -> None:
        self.kit = hnp.setup(getattr(phe.SchemaType, self.schema), bits)
        self.encoder = self.kit.bigint_encoder()
        self.evaluator = self.kit.evaluator()

    def prepare(self, matrix: Rows) -> Any:
        return self.kit.array(np.array(matrix), self.encoder)

    def encrypt(self, values: Integers) -> Any:
        return self.kit.encryptor().encrypt(self.kit.array(np.array(values), self.encoder))

    def product(self, encrypted: Any, prepared: Any) -> Any:
        return self.evaluator.matmul(encrypted, prepared)

    def mask(self, sums: Any, masks: Integers) -> Any:
        return self.evaluator.add(sums, self.encrypt(masks))

    def decrypt(self, encrypted: Any) -> Integers:
        return [int(value) for value in self.kit.decryptor().decrypt(encrypted).to_numpy(self.encoder).ravel()]

    def mask_bits(self, bits: int) -> int:
        return bits - 2


if __name__ == "__main__":
    serve(Heu(sys.argv[1]))
