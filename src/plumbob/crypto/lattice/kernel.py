"""What the C++ kernel in `native/` does with polynomials: everything that is slow, nothing about who holds what.

Several residues per instruction and several threads, without the GIL. All paths and any number of threads give the same
bytes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto import _kernel
from plumbob.crypto.kernel import KernelEngine
from plumbob.crypto.lattice.interface import (
    Angles,
    Answered,
    Packed,
    Pairs,
    ReplyKeys,
    RequestKeys,
    Residues,
    SlotValues,
    Small,
    Wave,
)
from plumbob.crypto.lattice.layout import Layout
from plumbob.crypto.lattice.products import PrivateMatrix, add_up_parts, at_place, join_answers
from plumbob.crypto.lattice.sets import ParameterSet, root


def available_paths() -> list[str]:
    """The instruction sets that the kernel can use on this machine, best first; "portable" is always the last."""
    return _kernel.lattice_paths()


class Engine(KernelEngine):
    """Calculates with polynomials in the compiled kernel."""

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        super().__init__(available_paths(), path, threads)
        self._prepared: dict[ParameterSet, Any] = {}

    def secret(self, parameters: ParameterSet, key: bytes) -> Residues:
        """A random ternary polynomial, transformed."""
        return _kernel.lattice_ternary(self._lattice(parameters), key, 0)

    def public_key(self, parameters: ParameterSet, secret: Residues, uniform: bytes, errors: bytes) -> Packed:
        """-a s + e, with a from the first stream and e from the second."""
        lattice = self._lattice(parameters)
        primes = np.array(parameters.primes, dtype=np.uint64)[:, None]
        noise, a = _kernel.lattice_errors(lattice, errors, 0), _kernel.lattice_uniform(lattice, uniform, 0)
        # The sign goes to a, which is public: numpy does not promise to take the same time for every secret.
        opposite = _reduced(primes - a, primes)
        return _kernel.lattice_pack(lattice, _kernel.lattice_combine(lattice, noise, opposite, secret))

    def unpack(self, parameters: ParameterSet, packed: Packed) -> Residues:
        """Unpack polynomials from the wire. ValueError if a residue is not below its prime."""
        shaped = packed.reshape(-1, *packed.shape[-2:])
        return _kernel.lattice_unpack(self._lattice(parameters), shaped).reshape(
            *packed.shape[:-2], len(parameters.primes), parameters.degree
        )

    def transform(self, parameters: ParameterSet, coefficients: Small) -> Residues:
        """Polynomials (count, degree) with small signed coefficients, as (count, primes, degree)."""
        return _kernel.lattice_transform(self._lattice(parameters), np.ascontiguousarray(coefficients), self.threads)

    def encrypt(self, parameters: ParameterSet, keys: RequestKeys, messages: Pairs, bits: int, seed: bytes) -> bytes:
        """The seed, then a s + e + round(q m / 2**bits) for each polynomial m of `messages` (count, degree, 2)."""
        lattice, contiguous = self._lattice(parameters), np.ascontiguousarray(messages)
        return _kernel.lattice_encrypt(lattice, *_request(keys), contiguous, bits, seed, self.threads)

    def encrypt_slots(self, parameters: ParameterSet, keys: RequestKeys, values: SlotValues, seed: bytes) -> bytes:
        """The same as `encrypt`, for polynomials whose slots hold the rows of `values` (count, degree)."""
        lattice, contiguous = self._lattice(parameters), np.ascontiguousarray(values)
        encrypt: Any = _kernel.lattice_encrypt_slots if values.ndim == 2 else _kernel.lattice_encrypt_wide_slots
        request: bytes = encrypt(lattice, *_request(keys), contiguous, seed, self.threads)
        return request

    def reply(self, matrix: PrivateMatrix, keys: ReplyKeys, packed: Packed) -> Answered:
        """For each row of the placed matrix one fresh encryption of its product with the request.

        The evaluator's shares are those of the coefficients that are answers.
        """
        layout, parts, uniform = matrix.layout, matrix.parts, keys.uniform
        lattice = self._lattice(layout.parameters)
        if layout.direction == "scores" or len(parts) == 1:
            answers = []
            for part in parts:
                residues = matrix.residues if len(parts) == 1 else matrix.transform(part)
                given = (*_reply(at_place(keys, part)), packed, residues, *_widths(layout))
                answers.append(_kernel.lattice_reply(lattice, *given, self.threads))
            return join_answers(answers)
        sums = (
            _kernel.lattice_add_up(lattice, uniform, part.start, packed[part], matrix.transform(part), self.threads)
            for part in parts
        )
        return self.hide(layout, keys, add_up_parts(layout.parameters, sums))

    def add_up(self, matrix: PrivateMatrix, uniform: bytes, first: int, packed: Packed) -> Residues:
        """What some of a request's polynomials, from the place `first` on, add to the replies, before it is hidden.

        That is the sums of c0 Z and of a Z for each row of the placed matrix: (replies, 2, primes, degree).
        """
        lattice = self._lattice(matrix.layout.parameters)
        return _kernel.lattice_add_up(lattice, uniform, first, packed, matrix.residues, self.threads)

    def hide(self, layout: Layout, keys: ReplyKeys, sums: Residues) -> Answered:
        """What `reply` returns, from the sums over a whole request."""
        lattice = self._lattice(layout.parameters)
        return _kernel.lattice_hide(lattice, *_reply(keys), sums, *_widths(layout), self.threads)

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        """For each block of `values` (blocks, terms, degree) one reply: the sum of its terms' products in slots.

        Where they turn, complex products: on both sides the first half of the terms are real parts, the second
        imaginary ones. There is a reply for each block and term then, (blocks * terms, ...), in the same order.
        """
        lattice, contiguous = self._lattice(parameters), np.ascontiguousarray(values)
        multiply: Any = _kernel.lattice_reply_slots if values.ndim == 3 else _kernel.lattice_reply_wide_slots
        answered: Answered = multiply(lattice, *_reply(keys), packed, contiguous, is_turn, self.threads)
        return answered

    def open(self, layout: Layout, secret: Residues, packed: Packed) -> Pairs:
        """The owner's shares of those coefficients of each reply that are answers."""
        return _kernel.lattice_open(self._lattice(layout.parameters), secret, packed, *_widths(layout), self.threads)

    def open_slots(self, parameters: ParameterSet, secret: Residues, packed: Packed) -> Pairs:
        """The owner's shares of all slots of the replies."""
        return _kernel.lattice_open_slots(self._lattice(parameters), secret, packed, self.threads)

    def challenge(self, parameters: ParameterSet, key: tuple[Residues, bytes], streams: tuple[bytes, ...]) -> Packed:
        """X0 = b u + e1 + rho and X1 = a u + e2, with u, e1, e2, rho from the four streams."""
        lattice = self._lattice(parameters)
        u = _kernel.lattice_ternary(lattice, streams[0], 0)
        first, second = (_kernel.lattice_errors(lattice, stream, 0) for stream in streams[1:3])
        a, rho = (_kernel.lattice_uniform(lattice, stream, 0) for stream in (key[1], streams[3]))
        # Added in the kernel, like everything secret: the polynomial 1 has this transform.
        hidden = _kernel.lattice_combine(lattice, first, rho, np.ones_like(rho))
        x0, x1 = _kernel.lattice_combine(lattice, hidden, key[0], u), _kernel.lattice_combine(lattice, second, a, u)
        return np.stack([_kernel.lattice_pack(lattice, x0), _kernel.lattice_pack(lattice, x1)])

    def uniform(self, parameters: ParameterSet, key: bytes) -> Residues:
        """One uniform polynomial, transformed."""
        return _kernel.lattice_uniform(self._lattice(parameters), key, 0)

    def combine(self, parameters: ParameterSet, first: Residues, second: Residues, secret: Residues) -> Residues:
        """first + second * secret."""
        return _kernel.lattice_combine(
            self._lattice(parameters), np.ascontiguousarray(first), np.ascontiguousarray(second), secret
        )

    def high_bits(self, parameters: ParameterSet, value: Residues, dropped: int) -> bytes:
        """The coefficients in [0, q) without their lowest bits, each in 40 bytes."""
        return _kernel.lattice_high_bits(self._lattice(parameters), value, dropped)

    def waves(self, angles: Angles, waves: Sequence[Wave], dropped: int) -> Small:
        """For each (harmonic, shift, scale) the sines of harmonic * angle + shift, times the scale: (waves, angles).

        A sine has 30 fraction bits, the scale 32 bits with its sign; the product is divided by 2**dropped and rounded.
        """
        harmonics, shifts, scales = ([wave[place] for wave in waves] for place in range(3))
        contiguous = np.ascontiguousarray(angles, dtype=np.uint32)
        return _kernel.lattice_waves(self.path, contiguous, harmonics, shifts, scales, dropped, self.threads)

    def own_scores(self, entries: Small, share: Pairs) -> NDArray[np.uint64]:
        """A matrix (rows, columns) times a vector (columns, 2), modulo 2**64."""
        return _kernel.lattice_own_scores(entries, share, self.threads)

    def own_sums(self, entries: Small, share: Pairs) -> Pairs:
        """The transposed matrix times a vector (rows, 2), modulo 2**128."""
        return _kernel.lattice_own_sums(entries, np.ascontiguousarray(share), self.threads)

    def repeat_transform(self, parameters: ParameterSet, values: Residues, repeats: int) -> None:
        """Transform in place, for benchmarks: nothing but the transform takes time."""
        _kernel.lattice_forward(self._lattice(parameters), values, repeats)

    def _lattice(self, parameters: ParameterSet) -> Any:
        if parameters not in self._prepared:
            primes, slots = list(parameters.primes), list(parameters.slot_primes)
            roots = [[root(p, parameters.degree) for p in group] for group in (primes, slots)]
            self._prepared[parameters] = _kernel.lattice(
                self.path, parameters.degree, primes, roots[0], slots, roots[1]
            )
        return self._prepared[parameters]


def engine_on(threads: int | None = None, cluster: str = "") -> Engine:
    """The engine on `threads` threads (None: every core), which leaves answers to a cluster where one is named."""
    if not cluster:
        return Engine(threads=threads)
    from plumbob.crypto.lattice.cluster import ClusterEngine  # Late: Ray is an extra.

    return ClusterEngine(cluster, threads)


def _reduced(values: Residues, primes: Residues) -> Residues:
    """Numbers below twice the prime, reduced: a negative difference would be huge, so the smaller is right."""
    reduced: Residues = np.minimum(values, values - primes)
    return reduced


# Arguments, as the kernel takes them.


def _widths(layout: Layout) -> tuple[int, int, NDArray[np.uint32]]:
    return layout.reply_bits, layout.output_bits, layout.answers


def _request(keys: RequestKeys) -> tuple[Residues, bytes, bytes, int]:
    return keys.secret, keys.uniform, keys.errors, keys.first


def _reply(keys: ReplyKeys) -> tuple[bytes, Residues, bytes, bytes, bytes, int]:
    return keys.uniform, keys.b, keys.a, keys.secret, keys.errors, keys.first
