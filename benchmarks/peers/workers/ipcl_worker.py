"""ipcl-python (Intel's Paillier library): `dot` per column on integers, its widest vector operation."""

from __future__ import annotations

from typing import Any, List

from ipcl_python import PaillierEncryptedNumber, PaillierKeypair
from ipcl_python.bindings.ipcl_bindings import ipclCipherText
from serve import Integers, Rows, serve


class Ipcl:
    notes = {
        "widths": "integers (exponent 0), features 19 bits, residuals 23 bits",
        "randomness": "short exponents (DJN), its default",
        "mask": "up to n / 3, added as a fresh encryption of the mask",
    }

    def setup(self, bits: int) -> None:
        self.public, self.private = PaillierKeypair.generate_keypair(bits, True)

    def prepare(self, matrix: Rows) -> Rows:
        return [list(column) for column in zip(*matrix)]

    def encrypt(self, values: Integers) -> Any:
        return self.public.encrypt(values)

    def product(self, encrypted: Any, prepared: Rows) -> List[Any]:
        return [encrypted.dot(column) for column in prepared]

    def mask(self, sums: List[Any], masks: Integers) -> Any:
        return self.joined(sums) + self.public.encrypt(masks)

    def joined(self, numbers: List[Any]) -> Any:
        """One vector instead of many: its kernels work on eight ciphertexts at a time."""
        count = len(numbers)
        texts = ipclCipherText(self.public.pubkey, [number.ciphertextBN(0) for number in numbers])
        return PaillierEncryptedNumber(self.public, texts, [0] * count, count)

    def decrypt(self, encrypted: Any) -> Integers:
        return list(self.private.raw_decrypt(encrypted))

    def mask_bits(self, bits: int) -> int:
        return bits - 3


if __name__ == "__main__":
    serve(Ipcl())
