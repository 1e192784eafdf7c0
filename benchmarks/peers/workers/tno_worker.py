"""tno.mpc.encryption_schemes.paillier (Python, gmpy2): integers, its scheme's own operators."""

from __future__ import annotations

import warnings
from typing import Any, List

from serve import Integers, Rows, serve
from tno.mpc.encryption_schemes.paillier import Paillier

# It warns when a fresh ciphertext is calculated with; this is what is to be measured.
warnings.simplefilter("ignore")


class Tno:
    notes = {
        "widths": "integers (precision 0), features 19 bits, residuals 23 bits",
        "randomness": "full length (r^n)",
        "mask": "up to n / 2, then randomize()",
    }

    def setup(self, bits: int) -> None:
        self.scheme = Paillier.from_security_parameter(key_length=bits, precision=0)

    def prepare(self, matrix: Rows) -> List[Any]:
        return list(zip(*matrix))

    def encrypt(self, values: Integers) -> List[Any]:
        return [self.scheme.encrypt(value) for value in values]

    def product(self, encrypted: List[Any], prepared: List[Any]) -> List[Any]:
        return [self.dot(encrypted, column) for column in prepared]

    def dot(self, encrypted: List[Any], column: Integers) -> Any:
        total = encrypted[0] * column[0]
        for number, entry in zip(encrypted[1:], column[1:]):
            total = total + number * entry
        return total

    def mask(self, sums: List[Any], masks: Integers) -> List[Any]:
        return [self.rerandomised(total + mask) for total, mask in zip(sums, masks)]

    def rerandomised(self, number: Any) -> Any:
        # A number that counts as fresh would be passed over.
        number.get_value()
        return number.randomize()

    def decrypt(self, encrypted: List[Any]) -> Integers:
        return [int(self.scheme.decrypt(number)) for number in encrypted]

    def mask_bits(self, bits: int) -> int:
        return bits - 3


if __name__ == "__main__":
    serve(Tno())
