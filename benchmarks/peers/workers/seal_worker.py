"""SEAL's transform and encryption, for benchmarks/lattice.py: a number of repeats comes in, a JSON line goes out.

With the primes [50, 50] a ciphertext has one prime and two polynomials: a call transforms both.
"""

import json
import sys
import time

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


def main():
    context = context_for([50, 50])
    evaluator = seal.Evaluator(context)
    generator = seal.KeyGenerator(context)
    ciphertext = seal.Encryptor(context, generator.create_public_key()).encrypt(seal.Plaintext("1x^3"))
    # Three primes of 50 bits in a ciphertext, and one that SEAL keeps for itself.
    wide = context_for([50, 50, 50, 50])
    encryptor = seal.Encryptor(wide, seal.KeyGenerator(wide).secret_key())
    message = seal.Plaintext("1x^3")
    for line in sys.stdin:
        repeats = int(line)
        both = best(
            repeats,
            lambda: evaluator.transform_to_ntt_inplace(ciphertext),
            lambda: evaluator.transform_from_ntt_inplace(ciphertext),
        )
        encryption = best(repeats // 4 + 1, lambda: encryptor.encrypt_symmetric(message))
        sys.stdout.write(json.dumps({"transform": both / 2, "encryption": encryption}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
