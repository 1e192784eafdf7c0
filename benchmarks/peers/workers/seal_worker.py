"""SEAL's transform, encryption and product, for benchmarks/lattice.py: a JSON line comes in, one goes out.

With the primes [50, 50] a ciphertext has one prime and two polynomials: a call transforms both. The product is that of
a private matrix with an encrypted vector, laid out as ours (docs/lattice.md): coefficients modulo 2**51, plaintexts of
the matrix transformed before the clock starts. It ends in the clear, without masks or fresh randomness in a reply.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import seal

DEGREE = 8192


def context_for(primes):
    parameters = seal.EncryptionParameters(seal.scheme_type.bfv)
    parameters.set_poly_modulus_degree(DEGREE)
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(DEGREE, primes))
    parameters.set_plain_modulus(seal.PlainModulus.Batching(DEGREE, 20))
    return seal.SEALContext(parameters)


def best(repeats, call, after=lambda: None):
    seconds = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds = min(seconds, time.perf_counter() - start)
        after()
    return seconds


class Product:
    """Scores of all rows from encrypted weights."""

    def __init__(self, folder, rows, group, bits):
        inputs = np.load(Path(folder) / "inputs.npz")
        self.folder, self.rows, self.group, self.bits = Path(folder), rows, group, bits
        parameters = seal.EncryptionParameters(seal.scheme_type.bfv)
        parameters.set_poly_modulus_degree(DEGREE)
        parameters.set_coeff_modulus(seal.CoeffModulus.Create(DEGREE, [50, 50, 50]))
        parameters.set_plain_modulus(2**bits)
        self.context = seal.SEALContext(parameters)
        self.evaluator = seal.Evaluator(self.context)
        secret = seal.KeyGenerator(self.context).secret_key()
        self.encryptor = seal.Encryptor(self.context, secret)
        self.decryptor = seal.Decryptor(self.context, secret)
        weights = inputs["weights"]
        self.vectors = [weights[start : start + group] for start in range(0, len(weights), group)]
        self.blocks = self.transformed(inputs["entries"])

    def transformed(self, entries):
        """For each block of rows, a plaintext for each group of columns."""
        per_block = DEGREE // self.group
        padded = np.zeros((len(entries), len(self.vectors) * self.group), dtype=np.int64)
        padded[:, : entries.shape[1]] = entries
        found = []
        for first in range(0, len(entries), per_block):
            rows = padded[first : first + per_block]
            groups = rows.reshape(len(rows), len(self.vectors), self.group)[:, :, ::-1]
            found.append([self.prepared(groups[:, number].reshape(-1)) for number in range(len(self.vectors))])
        return found

    def prepared(self, numbers):
        plain = polynomial(numbers % 2**self.bits)
        self.evaluator.transform_to_ntt_inplace(plain, self.context.first_parms_id())
        return plain

    def run(self):
        start = time.process_time()
        lent = [self.encryptor.encrypt_symmetric(polynomial(vector)) for vector in self.vectors]
        for ciphertext in lent:
            self.evaluator.transform_to_ntt_inplace(ciphertext)
        results = [self.decrypted(self.block(lent, plains)) for plains in self.blocks]
        seconds = time.process_time() - start
        per_block = DEGREE // self.group
        places = np.arange(per_block) * self.group + self.group - 1
        outputs = np.concatenate([coefficients(plain)[places] for plain in results])
        np.save(self.folder / "outputs.npy", outputs[: self.rows])
        return seconds

    def block(self, lent, plains):
        total = self.evaluator.multiply_plain(lent[0], plains[0])
        for ciphertext, plain in zip(lent[1:], plains[1:]):
            self.evaluator.add_inplace(total, self.evaluator.multiply_plain(ciphertext, plain))
        self.evaluator.transform_from_ntt_inplace(total)
        return total

    def decrypted(self, ciphertext):
        return self.decryptor.decrypt(ciphertext)


def polynomial(numbers):
    """A plaintext with these coefficients, lowest first."""
    terms = [f"{int(value):X}x^{place}" for place, value in enumerate(numbers) if value]
    return seal.Plaintext(" + ".join(reversed(terms)) or "0")


def coefficients(plain):
    """Of a plaintext, as many as the degree; it shows them as text only: "1Fx^2 + 3x^1 + A"."""
    found = np.zeros(DEGREE, dtype=np.uint64)
    for term in plain.to_string().split(" + "):
        value, _, place = term.partition("x^")
        found[int(place or 0)] = int(value, 16)
    return found


def main():
    context = context_for([50, 50])
    evaluator = seal.Evaluator(context)
    generator = seal.KeyGenerator(context)
    ciphertext = seal.Encryptor(context, generator.create_public_key()).encrypt(seal.Plaintext("1x^3"))
    # Three primes of 50 bits in a ciphertext, and one that SEAL keeps for itself.
    wide = context_for([50, 50, 50, 50])
    encryptor = seal.Encryptor(wide, seal.KeyGenerator(wide).secret_key())
    message = seal.Plaintext("1x^3")
    product = None
    for line in sys.stdin:
        question = json.loads(line)
        if "product" in question:
            product = product or Product(question["product"], question["rows"], question["group"], question["bits"])
            answer = {"seconds": product.run()}
        else:
            repeats = question["repeats"]
            both = best(
                repeats,
                lambda: evaluator.transform_to_ntt_inplace(ciphertext),
                lambda: evaluator.transform_from_ntt_inplace(ciphertext),
            )
            encryption = best(repeats // 4 + 1, lambda: encryptor.encrypt_symmetric(message))
            answer = {"transform": both / 2, "encryption": encryption}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
