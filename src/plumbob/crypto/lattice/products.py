"""The products: an owner encrypts a vector under its key, an evaluator multiplies it with private numbers.

Both end with additive shares. Nothing here sends or stores anything: a request, a reply and a key are bytes that the
caller carries and records. docs/lattice.md proves what each side learns.
"""

import hashlib
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.context import SEED_BYTES, KeyContext, ProductContext, derive, expand, fingerprint
from plumbob.crypto.lattice.interface import (
    Answered,
    Packed,
    Pairs,
    ReplyKeys,
    RequestKeys,
    Residues,
    SlotValues,
    Small,
)
from plumbob.crypto.lattice.layout import ENTRY_BITS, Layout, SlotLayout
from plumbob.crypto.lattice.sets import PRIME_BITS, ParameterSet
from plumbob.errors import CiphertextRefusedError, CryptoError, KeyRefusedError

if TYPE_CHECKING:  # The engine is made of what stands here.
    from plumbob.crypto.lattice.kernel import LatticeEngine

LARGE_MATRIX = 1 << 28
"""Bytes from which on a transformed matrix is not kept."""
PART_BYTES = 1 << 23
"""Bytes of such a matrix that exist at a time: few enough that the same memory is used again."""
WORD_BYTES = 8
FACTOR_LIMIT = 1 << 23
"""Numbers in slots are smaller than this."""
MessageBody = bytes | memoryview
"""The body of a message, as it came."""


@dataclass(frozen=True, repr=False)
class TestedKey:
    """An owner's public key that passed the test, which only `key_test` makes."""

    __test__ = False  # pytest would take the name for that of a test.

    parameters: ParameterSet
    context: KeyContext
    residues: Residues
    digest: bytes

    @property
    def stream(self) -> bytes:
        return key_stream(self.parameters, self.context)


class OwnerKey:
    """The key of one kind of product: made from 32 bytes of the kernel, which the caller keeps as long as the key."""

    def __init__(
        self, engine: "LatticeEngine", parameters: ParameterSet, context: KeyContext, local_key: bytes
    ) -> None:
        if len(local_key) != SEED_BYTES:
            raise CryptoError(f"a local key has {SEED_BYTES} bytes, got {len(local_key)}: draw it from the kernel")
        self.engine, self.parameters, self.context = engine, parameters, context
        self._local_key = local_key
        self.secret = engine.secret(parameters, self._derive("secret"))

    def public_bytes(self) -> bytes:
        """What the evaluator gets, and tests before use."""
        stream = key_stream(self.parameters, self.context)
        packed = self.engine.public_key(self.parameters, self.secret, stream, self._derive("key errors"))
        return packed.tobytes()

    def _derive(self, label: str) -> bytes:
        return derive(self._local_key, label, self.context.encode(self.parameters))

    def derive_for(self, product: ProductContext, label: str, *fields: bytes) -> bytes:
        """Derive the key of a secret stream of one product."""
        return derive(self._local_key, label, product.encode(self.parameters), *fields)

    def fingerprint(self, product: ProductContext, content: NDArray[np.generic]) -> bytes:
        """A tag by which this party alone tells one content of a product's request from another."""
        return fingerprint(self._local_key, product.encode(self.parameters), np.ascontiguousarray(content))


def key_stream(parameters: ParameterSet, context: KeyContext) -> bytes:
    """The public stream of the key's uniform polynomial."""
    return expand("key", context.encode(parameters))


@dataclass(repr=False)
class Register:
    """What an evaluator has answered: a changed request for the same product, or a seed in another one, is refused.

    The caller keeps `entries` in its journal and hands them back after a restart.
    """

    entries: dict[bytes, bytes] = field(default_factory=dict)
    """Digests of contexts and seeds, and of the request that came with them."""

    def admit(self, context: bytes, seed: bytes, digest: bytes) -> None:
        names = (hashlib.sha256(b"context" + context).digest(), hashlib.sha256(b"seed" + seed).digest())
        if any(self.entries.get(name, digest) != digest for name in names):
            raise CiphertextRefusedError(
                "a second, different request for the same product, or one with a seed that was used before: expected "
                "each only once; end the run"
            )
        self.entries |= dict.fromkeys(names, digest)


@dataclass(frozen=True, repr=False)
class Answer:
    """What goes back to the owner, and what the evaluator keeps."""

    reply: bytes
    share: Pairs


class Owner:
    """Encrypts a vector of ring elements for a private matrix, and opens the reply."""

    def __init__(self, key: OwnerKey, number: int, layout: Layout) -> None:
        check_same_set(key.parameters, layout.parameters)
        self.key, self.layout = key, layout
        self.product = key.context.in_pass(number)

    def request(self, values: Pairs) -> bytes:
        """Encrypt numbers (inputs, 2) modulo 2**input_bits."""
        if values.shape != (self.layout.inputs, 2):
            raise CryptoError(f"expected {self.layout.inputs} numbers of two limbs, got shape {values.shape}")
        engine, parameters = self.key.engine, self.key.parameters

        def encrypt(keys: RequestKeys, placed: Pairs, seed: bytes) -> bytes:
            return engine.encrypt(parameters, keys, placed, self.layout.input_bits, seed)

        return make_request(
            self.key, self.product, [self.layout.place_inputs(values)] if self.layout.requests else [], encrypt
        )

    def open(self, reply: MessageBody) -> Pairs:
        """The owner's shares (outputs, 2) modulo 2**output_bits."""
        layout = self.layout
        check_length("reply", reply, layout.reply_bytes)
        if not reply:
            return layout.nothing
        width = layout.reply_bits // 8
        packed = np.frombuffer(reply, dtype=np.uint8).reshape(layout.replies, layout.parameters.degree, width)
        return layout.take_outputs(self.key.engine.open(layout, self.key.secret, packed))


class PrivateMatrix:
    """A private matrix of integers below 2**20 for all products with one layout.

    It is transformed once, for the first product. A large one would take four times as much memory as it does as it
    came, so it is transformed for each product, a part at a time, which takes no longer than reading it all from there.
    """

    def __init__(self, engine: "LatticeEngine", layout: Layout, entries: NDArray[np.int64] | Small) -> None:
        if entries.shape != (layout.rows, layout.columns):
            raise CryptoError(f"expected a matrix of {layout.rows} x {layout.columns}, got shape {entries.shape}")
        limit = 1 << (ENTRY_BITS - 1)
        if entries.size and not (-limit <= int(entries.min()) and int(entries.max()) < limit):
            raise CryptoError(f"expected entries in [-{limit}, {limit}), got larger ones: use fewer fraction bits")
        self.engine, self.layout = engine, layout
        small = np.ascontiguousarray(entries, dtype="<i4")
        self.digest = hashlib.sha256(small.data if small.size else b"").digest()
        self.entries = small.astype(np.int32, copy=False)
        self.prepared: dict[Hashable, Any] = {}
        """What engines keep for this matrix."""

    @cached_property
    def residues(self) -> Residues:
        """The whole transformed matrix: (replies, requests, primes, degree)."""
        return self.transformed(slice(0, self.layout.blocks))

    def transformed(self, blocks: slice) -> Residues:
        """Some blocks of rows, transformed."""
        parameters, placed = self.layout.parameters, self.layout.place_rows(self.entries, blocks)
        residues = self.engine.transform(parameters, placed.reshape(-1, parameters.degree))
        return residues.reshape(*placed.shape[:2], len(parameters.primes), parameters.degree)

    @property
    def parts(self) -> list[slice]:
        """Blocks of rows that are transformed together: all of them, unless that is too much to be kept."""
        layout = self.layout
        block_bytes = layout.groups * len(layout.parameters.primes) * layout.parameters.degree * WORD_BYTES
        if layout.blocks * block_bytes < LARGE_MATRIX:
            return [slice(0, layout.blocks)]
        together = max(1, PART_BYTES // block_bytes)
        return [slice(at, min(at + together, layout.blocks)) for at in range(0, layout.blocks, together)]


class Evaluator:
    """Multiplies its matrix with an owner's encrypted vector."""

    def __init__(
        self, matrix: PrivateMatrix, key: TestedKey, number: int, local_key: bytes, register: Register
    ) -> None:
        check_same_set(key.parameters, matrix.layout.parameters)
        self.matrix, self.key, self.product = matrix, key, key.context.in_pass(number)
        self._local_key, self._register = local_key, register

    def reply(self, request: MessageBody) -> Answer:
        """A fresh encryption of the owner's share, and the evaluator's share (outputs, 2) modulo 2**output_bits."""
        layout, engine = self.matrix.layout, self.matrix.engine
        packed = read_request(layout.parameters, request, layout.requests)
        # The reply's randomness depends on the matrix too: the same request with another must not repeat it.
        keys = admit(self._register, self.key, self.product, self._local_key, request, self.matrix.digest)
        if not layout.requests:
            return Answer(b"", layout.nothing)
        with refusing_residues():
            sent, share = engine.reply(self.matrix, keys(0), packed)
        return Answer(sent.tobytes(), layout.take_outputs(share))


class SlotOwner:
    """Encrypts numbers in slots, for one evaluator or for several, and opens their replies."""

    def __init__(self, key: OwnerKey, number: int, layout: SlotLayout) -> None:
        check_same_set(key.parameters, layout.parameters)
        self.key, self.layout = key, layout
        self.product = key.context.in_pass(number)

    def request(self, values: SlotValues) -> bytes:
        """Encrypt small numbers (terms, rows), or numbers (terms, rows, 2) below the slot modulus t."""
        check_values(values, self.layout)
        polynomials = [part.reshape(-1, *part.shape[2:]) for part in self.layout.place(values)]
        return make_request(
            self.key, self.product, polynomials, partial(self.key.engine.encrypt_slots, self.key.parameters)
        )

    def open(self, reply: MessageBody) -> Pairs:
        """The owner's shares (rows, 2), or (terms, rows, 2) where they turn, modulo the slot modulus t."""
        layout = self.layout
        check_length("reply", reply, layout.reply_bytes)
        if not reply:
            return layout.nothing
        packed = polynomials(layout.parameters, reply, layout.replies)
        with refusing_residues():
            slots = self.key.engine.open_slots(layout.parameters, self.key.secret, packed)
        return layout.take(cut(slots, [part.replies for part in layout.parts]))


class SlotEvaluator:
    """Multiplies its own numbers with an owner's, row by row, and adds the terms, or turns them."""

    def __init__(
        self,
        engine: "LatticeEngine",
        layout: SlotLayout,
        key: TestedKey,
        number: int,
        local_key: bytes,
        register: Register,
    ) -> None:
        check_same_set(key.parameters, layout.parameters)
        self.engine, self.layout, self.key, self.product = engine, layout, key, key.context.in_pass(number)
        self._local_key, self._register = local_key, register

    def reply(self, request: MessageBody, values: SlotValues) -> Answer:
        """Fresh encryptions of the owner's shares, and the evaluator's, of the same shape, modulo t."""
        layout, parameters = self.layout, self.layout.parameters
        check_values(values, layout)
        packed = read_request(parameters, request, layout.requests)
        placed = layout.place(values)
        # The reply's randomness depends on the numbers too: the same request with others must not repeat it.
        own = b"".join(fingerprint(self._local_key, b"values", each) for each in placed)
        keys = admit(self._register, self.key, self.product, self._local_key, request, own)
        asked, answers = cut(packed, [part.requests for part in layout.parts]), []
        with refusing_residues():
            for place, (part, numbers) in enumerate(zip(asked, placed, strict=True)):
                answers.append(self.engine.reply_slots(parameters, keys(place), part, numbers, layout.is_turn))
        sent, shares = zip(*answers, strict=True) if answers else ((), ())
        return Answer(b"".join(each.tobytes() for each in sent), layout.take(shares))


# What requests and replies have in common.


AnyKeys = TypeVar("AnyKeys", RequestKeys, ReplyKeys)
Part = TypeVar("Part", bound=NDArray[Any])


def make_request(
    key: OwnerKey, product: ProductContext, parts: Sequence[Part], encrypt: Callable[[RequestKeys, Part, bytes], bytes]
) -> bytes:
    """A seed that is bound to the product and to what is encrypted, then polynomials; each part has its own streams."""
    content = b"".join(key.fingerprint(product, part) for part in parts)
    seed = key.derive_for(product, "request seed", content)
    made = []
    for place, part in enumerate(parts):
        uniform = request_stream(key.parameters, product, seed, place)
        errors = key.derive_for(product, "request errors", content, _number(place))
        made.append(encrypt(RequestKeys(key.secret, uniform, errors), part, b"" if place else seed))
    return b"".join(made) or seed


def request_stream(parameters: ParameterSet, product: ProductContext, seed: bytes, part: int = 0) -> bytes:
    """The public stream of a request's uniform polynomials, which are never sent."""
    return expand("request", product.encode(parameters), seed, _number(part))


def at_place(keys: AnyKeys, part: slice) -> AnyKeys:
    """The same keys, for some of the polynomials: these have the bytes that they have in the whole."""
    return replace(keys, first=keys.first + part.start)


def joined(answers: Sequence[Answered]) -> Answered:
    """Join what was answered part by part."""
    if len(answers) == 1:
        return answers[0]
    replies, shares = zip(*answers, strict=True)
    return np.concatenate(replies), np.concatenate(shares)


def added_up(parameters: ParameterSet, sums: Iterable[Residues]) -> Residues:
    """The sum of what parts of a request add to the replies: residues have 50 bits, so that nothing overflows."""
    total: Residues = sum(sums, np.uint64(0)) % np.array(parameters.primes, dtype=np.uint64)[:, None]
    return total


def _number(part: int) -> bytes:
    return struct.pack("<Q", part)


def cut(polynomials: NDArray[Any], counts: Sequence[int]) -> list[NDArray[Any]]:
    """Cut polynomials into parts of these counts."""
    return [polynomials[end - count : end] for count, end in zip(counts, accumulate(counts), strict=True)]


def read_request(parameters: ParameterSet, request: MessageBody, count: int) -> Packed:
    """A request's polynomials, behind its seed."""
    check_length("request", request, SEED_BYTES + count * parameters.polynomial_bytes)
    return polynomials(parameters, memoryview(request)[SEED_BYTES:], count)


def polynomials(parameters: ParameterSet, data: MessageBody, count: int) -> Packed:
    """View bytes as polynomials: (count, primes, bytes)."""
    width = parameters.degree * PRIME_BITS // 8
    return np.frombuffer(data, dtype=np.uint8).reshape(count, len(parameters.primes), width)


def admit(
    register: Register, key: TestedKey, product: ProductContext, local_key: bytes, request: MessageBody, own: bytes
) -> Callable[[int], ReplyKeys]:
    """Refuse a request that was answered otherwise before; the keys for the reply to each of its parts.

    `own` marks own numbers.
    """
    context, seed = product.encode(key.parameters), bytes(request[:SEED_BYTES])
    content = fingerprint(local_key, b"request", request)
    register.admit(context, seed, hashlib.sha256(content + own).digest())

    def keys(part: int) -> ReplyKeys:
        fields = (context, content, key.digest, own, _number(part))
        uniform = request_stream(key.parameters, product, seed, part)
        secret, errors = (derive(local_key, label, *fields) for label in ("reply secret", "reply errors"))
        return ReplyKeys(uniform, key.residues, key.stream, secret, errors)

    return keys


def check_same_set(left: ParameterSet, right: ParameterSet) -> None:
    """Refuse a key of another parameter set than the product's."""
    if left != right:
        raise KeyRefusedError(f"a key of parameter set {left.number} for a product of set {right.number}: use its own")


def check_length(what: str, data: MessageBody, expected: int) -> None:
    """Refuse a message of another length than its public shape gives."""
    if len(data) != expected:
        raise CiphertextRefusedError(f"a {what} of {len(data)} bytes, expected {expected}: compare plans and versions")


def check_values(values: SlotValues, layout: SlotLayout) -> None:
    """Refuse small numbers that would wrap modulo t in the slots; wide ones are taken modulo t."""
    shape = (layout.terms, layout.rows)
    if values.shape not in (shape, (*shape, 2)):
        raise CryptoError(f"expected numbers of shape {shape}, or two limbs for each, got {values.shape}")
    if (
        values.ndim == 2
        and values.size
        and not (int(values.min()) > -FACTOR_LIMIT and int(values.max()) < FACTOR_LIMIT)
    ):
        raise CryptoError(f"expected numbers below {FACTOR_LIMIT} in slots, got larger ones: use fewer fraction bits")


@contextmanager
def refusing_residues() -> Iterator[None]:
    """Turn the engine's complaint about a residue out of range into a refusal of the peer's bytes."""
    try:
        yield
    except ValueError as error:
        raise CiphertextRefusedError("a residue outside its range: expected one below its prime") from error
