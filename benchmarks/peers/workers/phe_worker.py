"""phe (python-paillier, with gmpy2): integers through its public operators, so that no exponents are aligned."""

from __future__ import annotations

from typing import Any, List

from phe import EncodedNumber, paillier
from serve import Integers, Rows, serve


class Phe:
    notes = {
        "widths": "integers, features 19 bits, residuals 23 bits",
        "randomness": "full length (r^n)",
        "mask": "uniform modulo n, then obfuscate()",
    }

    def setup(self, bits: int) -> None:
        self.public, self.private = paillier.generate_paillier_keypair(n_length=bits)

    def prepare(self, matrix: Rows) -> List[Any]:
        return list(zip(*matrix))

    def encrypt(self, values: Integers) -> List[Any]:
        return [self.public.encrypt(value) for value in values]

    def product(self, encrypted: List[Any], prepared: List[Any]) -> List[Any]:
        return [self.dot(encrypted, column) for column in prepared]

    def dot(self, encrypted: List[Any], column: Integers) -> Any:
        total = encrypted[0] * column[0]
        for number, entry in zip(encrypted[1:], column[1:]):
            total = total + number * entry
        return total

    def mask(self, sums: List[Any], masks: Integers) -> List[Any]:
        masked = [total + EncodedNumber(self.public, mask, 0) for total, mask in zip(sums, masks)]
        for number in masked:
            number.obfuscate()
        return masked

    def decrypt(self, encrypted: List[Any]) -> Integers:
        return [self.private.raw_decrypt(number.ciphertext(be_secure=False)) for number in encrypted]

    def mask_bits(self, bits: int) -> int:
        return bits - 1


if __name__ == "__main__":
    serve(Phe())
