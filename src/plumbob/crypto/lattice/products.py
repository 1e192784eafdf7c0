"""The products: an owner encrypts a vector under its key, an evaluator multiplies it with private numbers.

Both end with additive shares. Nothing here sends or stores anything: a request, a reply and a key are bytes that the
caller carries and records. docs/lattice.md proves what each side learns.
"""

import hashlib
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

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
from plumbob.crypto.lattice.layout import ENTRY_BITS, AnyLayout, Layout, SlotLayout, cut, polynomials
from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.errors import CiphertextRefusedError, CryptoError, KeyRefusedError

if TYPE_CHECKING:  # The engine is made of what stands here.
    from plumbob.crypto.lattice.kernel import Engine

LARGE_MATRIX = 1 << 28
"""Bytes from which on a transformed matrix is not kept."""
PART_BYTES = 1 << 23
"""Bytes of such a matrix that exist at a time: few enough that the same memory is used again."""
WORD_BYTES = 8
MessageBody = bytes | memoryview
"""The body of a message, as it came."""


@dataclass(frozen=True, repr=False)
class TestedKey:
    """An owner's public key that passed the test: `key_test` makes it, `known` takes it up after a restart."""

    __test__ = False  # pytest would take the name for that of a test.

    parameters: ParameterSet
    context: KeyContext
    residues: Residues
    public: bytes
    """The key as its owner sent it."""

    @classmethod
    def known(cls, engine: "Engine", parameters: ParameterSet, context: KeyContext, public: bytes) -> Self:
        """A key that passed its test at an earlier start."""
        return cls(parameters, context, engine.unpack(parameters, polynomials(parameters, public, 1)[0]), public)

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(self.public).digest()

    @property
    def stream(self) -> bytes:
        return key_stream(self.parameters, self.context)


class OwnerKey:
    """The key of one kind of product: made from a seed of 32 bytes, which the caller keeps as long as the key."""

    def __init__(self, engine: "Engine", parameters: ParameterSet, context: KeyContext, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise CryptoError(f"a key's seed has {SEED_BYTES} bytes, got {len(seed)}: draw it from the kernel")
        self.engine, self.parameters, self.context, self.seed = engine, parameters, context, seed
        self.secret = engine.secret(parameters, self._derive("secret"))

    @cached_property
    def public(self) -> bytes:
        """What the evaluator gets, and tests before use."""
        stream = key_stream(self.parameters, self.context)
        packed = self.engine.public_key(self.parameters, self.secret, stream, self._derive("key errors"))
        return packed.tobytes()

    def _derive(self, label: str) -> bytes:
        return derive(self.seed, label, self.context.encode(self.parameters))

    def derive_for(self, product: ProductContext, label: str, *fields: bytes) -> bytes:
        """Derive the key of a secret stream of one product."""
        return derive(self.seed, label, product.encode(self.parameters), *fields)

    def fingerprint(self, product: ProductContext, content: NDArray[np.generic]) -> bytes:
        """A tag by which this party alone tells one content of a product's request from another."""
        return fingerprint(self.seed, product.encode(self.parameters), np.ascontiguousarray(content))


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


# Three steps of a product: the owner asks, the evaluator answers, the owner opens.


def make_request(key: OwnerKey, number: int, layout: AnyLayout, values: SlotValues) -> bytes:
    """Encrypt numbers, as the layout places them, for the product of this pass.

    A seed that is bound to the product and to what is encrypted, then polynomials; each part has its own streams.
    """
    check_same_set(key.parameters, layout.parameters)
    parameters, product, parts = key.parameters, key.context.in_pass(number), layout.place(values)
    content = b"".join(key.fingerprint(product, part) for part in parts)
    seed = key.derive_for(product, "request seed", content)
    made = []
    for place, part in enumerate(parts):
        uniform = request_stream(parameters, product, seed, place)
        errors = key.derive_for(product, "request errors", content, _number(place))
        keys, before = RequestKeys(key.secret, uniform, errors), b"" if place else seed
        if isinstance(layout, Layout):
            made.append(key.engine.encrypt(parameters, keys, part, layout.input_bits, before))
        else:
            made.append(key.engine.encrypt_slots(parameters, keys, part.reshape(-1, *part.shape[2:]), before))
    return b"".join(made) or seed


def answer_request(
    factors: "Factors", key: TestedKey, number: int, request: MessageBody, local_key: bytes, register: Register
) -> Answer:
    """Multiply an encrypted vector: fresh encryptions of the owner's shares, and the evaluator's shares."""
    layout = factors.layout
    check_same_set(key.parameters, layout.parameters)
    check_length("request", request, layout.request_bytes)
    packed = polynomials(layout.parameters, memoryview(request)[SEED_BYTES:], layout.requests)
    # The reply's randomness depends on the factors too: the same request with others must not repeat it.
    keys = admit(register, key, key.context.in_pass(number), local_key, request, factors.tag(local_key))
    return factors.multiply(keys, packed) if layout.requests else Answer(b"", layout.nothing)


def open_reply(key: OwnerKey, layout: AnyLayout, reply: MessageBody) -> Pairs:
    """The owner's shares, of the shape and in the ring that the layout says."""
    check_length("reply", reply, layout.reply_bytes)
    if not reply:
        return layout.nothing
    parameters, packed = layout.parameters, np.frombuffer(reply, dtype=np.uint8)
    with refusing_residues():
        if isinstance(layout, Layout):
            shaped = packed.reshape(layout.replies, parameters.degree, layout.reply_bits // 8)
            return layout.take_outputs(key.engine.open(layout, key.secret, shaped))
        slots = key.engine.open_slots(parameters, key.secret, polynomials(parameters, packed, layout.replies))
    return layout.take(cut(slots, [part.replies for part in layout.parts]))


# What an evaluator multiplies with.


class Factors(Protocol):
    """Private numbers of one product."""

    @property
    def layout(self) -> AnyLayout: ...

    def tag(self, local_key: bytes) -> bytes:
        """A tag by which their owner tells them from others."""

    def multiply(self, keys: "ReplyKeysOfPart", packed: Packed) -> Answer:
        """Multiply the polynomials of a request."""


class PrivateMatrix:
    """A private matrix of integers below 2**20 for all products with one layout.

    It is transformed once, for the first product. A large one would take four times as much memory as it does as it
    came, so it is transformed for each product, a part at a time, which takes no longer than reading it all from there.
    """

    def __init__(self, engine: "Engine", layout: Layout, entries: NDArray[np.int64] | Small) -> None:
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

    def tag(self, local_key: bytes) -> bytes:
        return self.digest

    def multiply(self, keys: "ReplyKeysOfPart", packed: Packed) -> Answer:
        with refusing_residues():
            sent, share = self.engine.reply(self, keys(0), packed)
        return Answer(sent.tobytes(), self.layout.take_outputs(share))

    @cached_property
    def residues(self) -> Residues:
        """The whole transformed matrix: (replies, requests, primes, degree)."""
        return self.transform(slice(0, self.layout.blocks))

    def transform(self, blocks: slice) -> Residues:
        """Transform some blocks of rows."""
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


class SlotFactors:
    """Private numbers in slots, multiplied row by row and added up, or turned: for the products of one pass."""

    def __init__(self, engine: "Engine", layout: SlotLayout, values: SlotValues) -> None:
        self.engine, self.layout, self._placed = engine, layout, layout.place(values)

    def tag(self, local_key: bytes) -> bytes:
        return b"".join(fingerprint(local_key, b"values", each) for each in self._placed)

    def multiply(self, keys: "ReplyKeysOfPart", packed: Packed) -> Answer:
        layout, answers = self.layout, []
        asked = cut(packed, [part.requests for part in layout.parts])
        with refusing_residues():
            for place, (part, numbers) in enumerate(zip(asked, self._placed, strict=True)):
                answers.append(self.engine.reply_slots(layout.parameters, keys(place), part, numbers, layout.is_turn))
        sent, shares = zip(*answers, strict=True)
        return Answer(b"".join(each.tobytes() for each in sent), layout.take(shares))


# What requests and replies have in common.


AnyKeys = TypeVar("AnyKeys", RequestKeys, ReplyKeys)
ReplyKeysOfPart = Callable[[int], ReplyKeys]
"""Gives the keys of the reply to one part of a request."""


def request_stream(parameters: ParameterSet, product: ProductContext, seed: bytes, part: int = 0) -> bytes:
    """The public stream of a request's uniform polynomials, which are never sent."""
    return expand("request", product.encode(parameters), seed, _number(part))


def at_place(keys: AnyKeys, part: slice) -> AnyKeys:
    """The same keys, for some of the polynomials: these have the bytes that they have in the whole."""
    return replace(keys, first=keys.first + part.start)


def join_answers(answers: Sequence[Answered]) -> Answered:
    """Join what was answered part by part."""
    if len(answers) == 1:
        return answers[0]
    replies, shares = zip(*answers, strict=True)
    return np.concatenate(replies), np.concatenate(shares)


def add_up_parts(parameters: ParameterSet, sums: Iterable[Residues]) -> Residues:
    """Add up what parts of a request add to the replies: residues have 50 bits, so that nothing overflows."""
    total: Residues = sum(sums, np.uint64(0)) % np.array(parameters.primes, dtype=np.uint64)[:, None]
    return total


def _number(part: int) -> bytes:
    return struct.pack("<Q", part)


def admit(
    register: Register, key: TestedKey, product: ProductContext, local_key: bytes, request: MessageBody, own: bytes
) -> ReplyKeysOfPart:
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


@contextmanager
def refusing_residues() -> Iterator[None]:
    """Turn the engine's complaint about a residue out of range into a refusal of the peer's bytes."""
    try:
        yield
    except ValueError as error:
        raise CiphertextRefusedError("a residue outside its range: expected one below its prime") from error
