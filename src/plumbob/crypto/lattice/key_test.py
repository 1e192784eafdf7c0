"""The test of an owner's public key before its first use, in four messages. docs/lattice.md gives the reasons.

1. The evaluator sends X0 = b u + e1 + rho and X1 = a u + e2, all drawn from sigma; rho is uniform modulo q.
2. The owner commits to a nonce and to the high bits of X0 + X1 s.
3. The evaluator reveals sigma. The owner draws everything again, and ends the run if X0 or X1 differ.
4. If its high bits are those of rho, the owner reveals the nonce; if noise carried over, as in 1 to 3 of 100 honest
   tests, it asks for another test.
"""

import hmac
from typing import TYPE_CHECKING

import numpy as np

from plumbob.crypto.lattice.context import SEED_BYTES, KeyContext, derive, expand
from plumbob.crypto.lattice.layout import polynomials
from plumbob.crypto.lattice.products import OwnerKey, TestedKey, check_length, key_stream, refusing_residues
from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.crypto.streams import join
from plumbob.errors import KeyRefusedError

if TYPE_CHECKING:  # The engine is made of what stands here.
    from plumbob.crypto.lattice.kernel import Engine

DROPPED_BITS = {16384: 28, 32768: 29}
"""Low bits that are not compared, by degree.

Noise is far below these powers of two. Long polynomials have more noise, and more coefficients in which it can carry
over.
"""
FEWEST_DROPPED_BITS = 26
MOST_TESTS = 16
"""An honest key fails this many in a row with probability below 2**-79."""
STREAMS = ("u", "first errors", "second errors", "rho")


def dropped_bits(parameters: ParameterSet) -> int:
    """How many low bits of each coefficient are not compared."""
    return DROPPED_BITS.get(parameters.degree, FEWEST_DROPPED_BITS)


class KeyTest:
    """The evaluator's side, for one key and one sigma from the kernel."""

    def __init__(
        self, engine: "Engine", parameters: ParameterSet, context: KeyContext, public: bytes, sigma: bytes
    ) -> None:
        check_length("public key", public, parameters.polynomial_bytes)
        self.engine, self.parameters, self.context, self._sigma = engine, parameters, context, sigma
        with refusing_residues():
            self._residues = engine.unpack(parameters, polynomials(parameters, public, 1)[0])
        self._public = public
        self._commitment: bytes | None = None

    def challenge(self) -> bytes:
        """What the evaluator sends first: X0 and X1, drawn from its secret sigma."""
        return _challenge(self.engine, self.parameters, self.context, self._residues, self._sigma)

    def reveal(self, commitment: bytes) -> bytes:
        """Reveal sigma, once the owner has committed to what it decrypted."""
        check_length("commitment", commitment, SEED_BYTES)
        if self._commitment is not None:
            raise KeyRefusedError("a second commitment in one test of a key: expected one; end the run")
        self._commitment = commitment
        return self._sigma

    def finish(self, nonce: bytes) -> TestedKey:
        """Return the key if the owner had committed to rho's high bits; refuse it otherwise."""
        check_length("nonce", nonce, SEED_BYTES)
        expected = _commitment(nonce, _rho(self.engine, self.parameters, self.context, self._sigma))
        if self._commitment is None or not hmac.compare_digest(self._commitment, expected):
            raise KeyRefusedError(
                "the owner's key failed its test: it does not decrypt what was encrypted for it; end the run and ask "
                "the owner to reinstall"
            )
        return TestedKey(self.parameters, self.context, self._residues, self._public)


class KeyProof:
    """The owner's side of one test, with a secret of its own from the kernel."""

    def __init__(self, key: OwnerKey, public: bytes, secret: bytes) -> None:
        self.key, self._secret = key, secret
        self._residues = key.engine.unpack(key.parameters, polynomials(key.parameters, public, 1)[0])
        self._challenge: bytes | None = None
        self._nonce = self._high_bits = b""

    def commit(self, challenge: bytes) -> bytes:
        """A commitment to the high bits of X0 + X1 s, which are never sent: they would give the secret away."""
        parameters, engine = self.key.parameters, self.key.engine
        check_length("challenge", challenge, 2 * parameters.polynomial_bytes)
        if self._challenge is not None:
            raise KeyRefusedError("a second challenge in one test of a key: expected one; end the run")
        with refusing_residues():
            first, second = engine.unpack(parameters, polynomials(parameters, challenge, 2))
        decrypted = engine.combine(parameters, first, second, self.key.secret)
        self._challenge, self._high_bits = challenge, engine.high_bits(parameters, decrypted, dropped_bits(parameters))
        # The secret was drawn before the challenge came. An owner whose journal was set back to that moment and that
        # then gets another challenge must not commit again under a nonce that it may have revealed already.
        self._nonce = derive(self._secret, "key test nonce", challenge)
        return _commitment(self._nonce, self._high_bits)

    def reveal(self, sigma: bytes) -> bytes | None:
        """The nonce; None if noise carried over and another test is needed."""
        parameters, engine, context = self.key.parameters, self.key.engine, self.key.context
        check_length("sigma", sigma, SEED_BYTES)
        drawn = _challenge(engine, parameters, context, self._residues, sigma)
        # The evaluator knows every byte of it, so the comparison may take as long as it likes.
        if drawn != self._challenge:
            raise KeyRefusedError(
                "the challenge was not drawn as it should be: it would have read this key; end the run"
            )
        matches = hmac.compare_digest(self._high_bits, _rho(engine, parameters, context, sigma))
        return self._nonce if matches else None


def _challenge(
    engine: "Engine", parameters: ParameterSet, context: KeyContext, residues: np.ndarray, sigma: bytes
) -> bytes:
    streams = tuple(_stream(parameters, context, sigma, label) for label in STREAMS)
    return engine.challenge(parameters, (residues, key_stream(parameters, context)), streams).tobytes()


def _rho(engine: "Engine", parameters: ParameterSet, context: KeyContext, sigma: bytes) -> bytes:
    drawn = engine.uniform(parameters, _stream(parameters, context, sigma, STREAMS[-1]))
    return engine.high_bits(parameters, drawn, dropped_bits(parameters))


def _stream(parameters: ParameterSet, context: KeyContext, sigma: bytes, label: str) -> bytes:
    return derive(sigma, f"key test {label}", context.encode(parameters))


def _commitment(nonce: bytes, high_bits: bytes) -> bytes:
    return expand("commitment", join(nonce, high_bits))
