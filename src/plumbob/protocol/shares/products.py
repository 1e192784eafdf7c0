"""The products of a pass, as one party asks for them and answers them, and the lifting of shares behind masks.

A product has two ends. The owner encrypts numbers of its own, the evaluator multiplies them with private ones, and both
keep shares of the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Protocol, TypeVar

import numpy as np

from plumbob.crypto import lattice
from plumbob.crypto.lattice import (
    Evaluator,
    KeyContext,
    Layout,
    MaskedOpening,
    Owner,
    Pairs,
    PrivateMatrix,
    SlotEvaluator,
    SlotLayout,
    SlotOwner,
    TestedKey,
    pairs,
)
from plumbob.crypto.lattice.context import derive, fingerprint
from plumbob.crypto.lattice.interface import SlotValues
from plumbob.protocol.handshake import PolynomialCounts, Session
from plumbob.protocol.messages import Kind
from plumbob.protocol.shares.holders import ColumnHolders, said_by
from plumbob.protocol.shares.keys import Keys, key_context
from plumbob.protocol.shares.shape import LatticeShape, Stage

SCORES, SIGMOID, GRADIENTS = "scores", "sigmoid", "gradients"

Quantity = TypeVar("Quantity")


class Use(Protocol):
    """The type of `TrainingParty.use`."""

    def __call__(self, name: str, step: int, value: Quantity, /) -> Quantity: ...


@dataclass(repr=False)
class Products:
    """One party's ends of all products of a run."""

    holders: ColumnHolders
    session: Session
    shape: LatticeShape
    engine: lattice.LatticeEngine
    keys: Keys
    use: Use
    """What this party does with a named quantity of its own: nothing."""
    answering_key: bytes = b""
    """What the replies and masks of a pass are drawn from; a new one for each."""
    counts: PolynomialCounts = field(default_factory=PolynomialCounts)
    register: lattice.Register = field(default_factory=lattice.Register)

    def key_for(self, kind: str, number: int, owner: str, *evaluators: str) -> KeyContext:
        """Of the key that a product of this pass uses."""
        return key_context(self.session.identity, kind, self.shape.last_pass_of_key(number), owner, evaluators)

    # With a private matrix.

    def with_matrix(
        self, kind: str, number: int, lent: Mapping[str, Pairs], matrix: PrivateMatrix, block: int = 0
    ) -> dict[str, tuple[Pairs, Pairs]]:
        """With each peer: shares of (own matrix with what it lends, its matrix with what we lend)."""
        name, channels = self.holders.name, self.holders.channels
        owners = {
            peer: Owner(
                self.keys.own[self.key_for(matrix_kind(kind, block), number, name, peer)],
                number,
                self.layout(kind, peer, block),
            )
            for peer in channels
        }
        # All are asked before any is answered, so that everybody works at the same time.
        for peer, channel in channels.items():
            channel.send(Kind.LATTICE_REQUEST, number, owners[peer].request(lent[peer]))
            self.counts.encryptions += owners[peer].layout.requests
        answered = {peer: self._answered(kind, number, peer, matrix, block) for peer in channels}
        return {peer: (answered[peer], self._opened(number, peer, owner)) for peer, owner in owners.items()}

    def _answered(self, kind: str, number: int, peer: str, matrix: PrivateMatrix, block: int) -> Pairs:
        channel = self.holders.channels[peer]
        request = channel.receive_view(Kind.LATTICE_REQUEST, number)
        key = self.keys.tested[self.key_for(matrix_kind(kind, block), number, peer, self.holders.name)]
        evaluator = Evaluator(matrix, key, number, self.answering_key, self.register)
        answer = said_by(peer, lambda: evaluator.reply(request))
        self.counts.randomisations += matrix.layout.replies
        channel.send(Kind.LATTICE_REPLY, number, self.use(f"replies for {kind}", number, answer.reply))
        return answer.share

    def _opened(self, number: int, peer: str, owner: Owner) -> Pairs:
        self.counts.decryptions += owner.layout.replies
        return owner.open(self.holders.channels[peer].receive_view(Kind.LATTICE_REPLY, number))

    def layout(self, kind: str, evaluator: str, block: int = 0) -> Layout:
        """Of a product with that party's matrix."""
        return self.shape.scores(evaluator) if kind == SCORES else self.shape.gradients(evaluator)[block]

    # In slots.

    def multiply_slots(self, number: int, piece: int, stage: Stage, layout: SlotLayout, values: SlotValues) -> Pairs:
        """This party's share of a stage's products, with its own numbers on its side of them."""
        owners, evaluators = (self._names_at(places) for places in (stage.owners, stage.evaluators))
        if self.holders.name in owners:
            own = self.keys.own[self.key_for(slot_kind(piece, stage), number, self.holders.name, *evaluators)]
            shares = self._asked(number, SlotOwner(own, number, layout), evaluators, values)
        else:
            keys = [self.key_for(slot_kind(piece, stage), number, owner, *evaluators) for owner in owners]
            shares = (self._answered_slots(number, self.keys.tested[key], layout, values) for key in keys)
        return reduce(partial(pairs.add_modulo, modulus=layout.parameters.slot_modulus), shares)

    def _names_at(self, places: range) -> list[str]:
        return [self.holders.names[place] for place in places]

    def _asked(self, number: int, owner: SlotOwner, evaluators: Sequence[str], values: SlotValues) -> Iterator[Pairs]:
        """One request for all evaluators; then the owner's share of each one's products."""
        request, layout = owner.request(values), owner.layout
        self.counts.encryptions += layout.requests
        for name in evaluators:
            self.holders.channels[name].send(Kind.LATTICE_REQUEST, number, request)
        for name in evaluators:
            self.counts.decryptions += layout.replies
            yield owner.open(self.holders.channels[name].receive_view(Kind.LATTICE_REPLY, number))

    def _answered_slots(self, number: int, key: TestedKey, layout: SlotLayout, values: SlotValues) -> Pairs:
        """Answer one owner's request in slots; the share of the products that stays here."""
        owner = key.context.owner
        channel = self.holders.channels[owner]
        request = channel.receive_view(Kind.LATTICE_REQUEST, number)
        evaluator = SlotEvaluator(self.engine, layout, key, number, self.answering_key, self.register)
        answer = said_by(owner, lambda: evaluator.reply(request, values))
        self.counts.randomisations += layout.replies
        channel.send(Kind.LATTICE_REPLY, number, answer.reply)
        return answer.share

    # Three and more parties.

    def lift(self, number: int, kind: str, opening: MaskedOpening, share: Pairs) -> Pairs:
        """A share (count, 2) as whole numbers, among the plan's first `holders` parties; the label party adds up."""
        if self.holders.is_first:
            peers = self.holders.names[1 : opening.holders]
            hidden = [self._hidden_by(peer, number, opening, len(share)) for peer in peers]
            return opening.lifted(share, self.use("masked numbers", number, hidden))
        label = self.holders.label
        context = self.key_for(kind, number, self.holders.name, label).in_pass(number).encode(self.shape.profile[2])
        # Bound to what it hides: the same masks never serve two vectors.
        content = fingerprint(self.answering_key, b"masked " + context, np.ascontiguousarray(share, dtype="<u8"))
        key = derive(self.answering_key, "masks", context, content)
        masks = opening.masks(key, len(share))
        self.holders.channels[label].send(Kind.MASKED_SHARE, number, opening.to_bytes(opening.hidden(share, masks)))
        return pairs.negate(masks)

    def _hidden_by(self, peer: str, number: int, opening: MaskedOpening, count: int) -> Pairs:
        body = self.holders.channels[peer].receive(Kind.MASKED_SHARE, number)
        return said_by(peer, partial(opening.from_bytes, body))


def matrix_kind(kind: str, block: int) -> str:
    """Of the products of one block of the rows."""
    return f"{kind} {block}"


def slot_kind(piece: int, stage: Stage) -> str:
    """Of the products of one piece of the rows, in one stage of the sigmoid."""
    return f"{SIGMOID} {piece} in stage {stage.number}"
