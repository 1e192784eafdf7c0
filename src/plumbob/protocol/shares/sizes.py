"""The bytes of a run, as sums over its products and over what travels beside them.

Everything follows from the plan and the number of training rows. Texts, the agreement on a seed, scores of held-out
rows and repeated tests of keys are not counted: they are a few kilobytes, or nobody knows them beforehand.
"""

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import NamedTuple

from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.plan import Plan
from plumbob.protocol.account import HASH_BYTES, seal_bytes
from plumbob.protocol.messages import HEADER
from plumbob.protocol.openings import WEIGHTS, columns_of
from plumbob.protocol.pair_masks import X25519_BYTES
from plumbob.protocol.shares.keys import COMMITMENT_BYTES
from plumbob.protocol.shares.shape import ELEMENT_BYTES, TERMS, Product, RunShape


class Sent(NamedTuple):
    """Messages of one size to one party."""

    receiver: str
    size: int
    """Bytes of each body."""
    times: int = 1


def sent_in_a_run(plan: Plan, trained: int, *, signed: bool = True) -> Iterator[Sent]:
    """Every message of a training on this many rows, in no particular order; in a simulation nobody signs."""
    shape = RunShape(plan, trained)
    yield from _set_up(shape)
    for level, passes in shape.levels:
        yield from _products(level.products, passes)
        yield from _masked_shares(level, passes)
    yield from _end(shape)
    if signed:
        yield from _seals(shape)


def total_bytes(plan: Plan, trained: int, receiver: str = "") -> int:
    """Bytes of all messages with their headers; those to one party alone where it is named."""
    sent = (each for each in sent_in_a_run(plan, trained) if receiver in ("", each.receiver))
    return sum(each.times * (HEADER.size + each.size) for each in sent)


def largest_body(plan: Plan, trained: int) -> int:
    """Bytes of the longest body of a run on this many rows."""
    return max(each.size for each in sent_in_a_run(plan, trained))


def _set_up(shape: RunShape) -> Iterator[Sent]:
    """Numbers, starting weights and keys."""
    for sender, receiver in permutations(shape.names, 2):
        yield Sent(receiver, HASH_BYTES)
        yield Sent(receiver, ELEMENT_BYTES * columns_of(shape.plan, sender))
        if shape.parties > 2:
            yield Sent(receiver, X25519_BYTES)
    yield from _tests(shape, shape.keyed_products)


def _tests(shape: RunShape, products: Iterable[Product]) -> Iterator[Sent]:
    """Keys and one test of each; the owner proves, every evaluator tests."""
    polynomials = dict.fromkeys(permutations(shape.names, 2), (0, 0))
    for product in products:
        for pair in product.pairs:
            keys, size = polynomials[pair]
            polynomials[pair] = keys + 1, size + product.parameters.polynomial_bytes
    for (owner, evaluator), (keys, size) in polynomials.items():
        yield Sent(evaluator, size)
        yield Sent(owner, 2 * size)
        yield Sent(evaluator, COMMITMENT_BYTES * keys)
        yield Sent(owner, SEED_BYTES * keys)
        yield Sent(evaluator, (1 + SEED_BYTES) * keys)


def _products(products: Iterable[Product], passes: int) -> Iterator[Sent]:
    for product in products:
        for owner, evaluator in product.pairs:
            yield Sent(evaluator, product.layout.request_bytes, passes)
            yield Sent(owner, product.layout.reply_bytes, passes)


def _masked_shares(shape: RunShape, passes: int) -> Iterator[Sent]:
    """What three and more parties lift: products of the sigmoid's stages, piece by piece, and sums of gradients."""
    label, *others = shape.names
    if shape.parties == 2:
        return
    for stage in shape.stages:
        if stage.is_masked:
            for piece in shape.pieces:
                numbers = (piece.stop - piece.start) * (TERMS if stage.is_turn else 1)
                size = shape.opening_of(stage).size(numbers)
                yield Sent(label, size, passes * len(stage.holders[1:]))
    columns = sum(columns_of(shape.plan, name) for name in shape.names)
    yield Sent(label, shape.lifted_sums.size(columns), passes * len(others))


def _end(shape: RunShape) -> Iterator[Sent]:
    """Opened weights, or what prediction is bound to."""
    for sender, receiver in permutations(shape.names, 2):
        if shape.plan.opens_weights:
            yield Sent(receiver, WEIGHTS.size(columns_of(shape.plan, receiver)))
        else:
            yield Sent(receiver, shape.prediction(sender, receiver).layout.request_bytes)
        if shape.plan.is_closed and shape.parties > 2:
            yield Sent(receiver, HASH_BYTES * (shape.parties - 1))
    if shape.plan.is_closed:
        yield from _tests(shape, shape.bound_products)


def _seals(shape: RunShape) -> Iterator[Sent]:
    """Everybody's last signature; opened weights have one before them and one after, too."""
    seals = 3 if shape.plan.opens_weights else 1
    for _, receiver in permutations(shape.names, 2):
        yield Sent(receiver, seal_bytes(shape.parties), seals)
