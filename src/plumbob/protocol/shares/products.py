"""The parties of `shares`, the products of a pass as one of them asks and answers, and lifting behind masks.

A product has two ends. The owner encrypts numbers of its own, the evaluator multiplies them with private ones, and both
keep shares of the result.
"""

from collections.abc import Mapping
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
    local,
    pairs,
)
from plumbob.crypto.lattice.context import derive, fingerprint
from plumbob.crypto.lattice.interface import SlotValues
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel, said_by
from plumbob.protocol.handshake import Participant, Session
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import columns_of
from plumbob.protocol.shares.keys import Keys, key_context
from plumbob.protocol.shares.shape import LatticeShape, Stage

SCORES, SIGMOID, GRADIENTS = "scores", "sigmoid", "gradients"

Quantity = TypeVar("Quantity")


class Use(Protocol):
    """The type of `TrainingParty.use`."""

    def __call__(self, name: str, step: int, value: Quantity, /) -> Quantity: ...


@dataclass(frozen=True)
class ColumnHolders:
    """All parties with columns, seen from one of them; the order is the plan's."""

    plan: Plan
    name: str
    channels: Mapping[str, Channel]

    @classmethod
    def at(cls, participant: Participant) -> "ColumnHolders":
        names = [party.name for party in participant.plan.learners if party.name != participant.name]
        return cls(participant.plan, participant.name, {name: participant.channels[name] for name in names})

    @property
    def names(self) -> list[str]:
        return [party.name for party in self.plan.learners]

    @property
    def peers(self) -> list[str]:
        return list(self.channels)

    @property
    def place(self) -> int:
        """This party's place, from 0."""
        return self.names.index(self.name)

    @property
    def label(self) -> str:
        return self.plan.label_party.name

    @property
    def is_first(self) -> bool:
        """Whether this is the label party: of two, it rounds down and the other one up."""
        return self.name == self.label

    @property
    def is_pair(self) -> bool:
        return len(self.channels) == 1

    def columns(self, name: str) -> int:
        return columns_of(self.plan, name)

    @property
    def shares(self) -> local.AnyShares:
        """The kind of shares of weights and gradients."""
        return local.WrappedShares(self.is_first) if self.is_pair else local.WholeShares()


@dataclass(repr=False)
class Products:
    """One party's ends of all products of a run."""

    holders: ColumnHolders
    session: Session
    shape: LatticeShape
    engine: lattice.LatticeEngine
    keys: Keys
    use: Use
    """Called with each named quantity of this party before it is used; an honest party changes nothing."""
    answering_key: bytes = b""
    """The key that replies and masks of a pass are drawn from; a new one for each pass."""
    register: lattice.Register = field(default_factory=lattice.Register)

    def key_for(self, kind: str, number: int, owner: str, *evaluators: str) -> KeyContext:
        """The context of the key that a product of this pass uses."""
        return key_context(self.session.identity, kind, self.shape.last_pass_of_key(number), owner, evaluators)

    # With a private matrix.

    def with_matrix(
        self, kind: str, number: int, lent: Mapping[str, Pairs], matrix: PrivateMatrix, block: int = 0
    ) -> dict[str, tuple[Pairs, Pairs]]:
        """Multiply with each peer: shares of (own matrix with what it lends, its matrix with what we lend)."""
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
        answered = {}
        for peer, channel in channels.items():
            request = channel.receive_view(Kind.LATTICE_REQUEST, number)
            key = self.keys.tested[self.key_for(matrix_kind(kind, block), number, peer, name)]
            evaluator = Evaluator(matrix, key, number, self.answering_key, self.register)
            with said_by(peer):
                answer = evaluator.reply(request)
            channel.send(Kind.LATTICE_REPLY, number, self.use(f"replies for {kind}", number, answer.reply))
            answered[peer] = answer.share
        return {peer: (answered[peer], self._opened(number, peer, owner)) for peer, owner in owners.items()}

    def _opened(self, number: int, peer: str, owner: Owner | SlotOwner) -> Pairs:
        return owner.open(self.holders.channels[peer].receive_view(Kind.LATTICE_REPLY, number))

    def layout(self, kind: str, evaluator: str, block: int = 0) -> Layout:
        """The layout of a product with that party's matrix."""
        return self.shape.scores(evaluator) if kind == SCORES else self.shape.gradients(evaluator)[block]

    # In slots.

    def begin_slots(self, number: int, piece: int, stage: Stage, layout: SlotLayout, values: SlotValues) -> "SlotEnds":
        """Start this party's ends of a stage's products, with its own numbers; an owner sends its request."""
        names, kind = self.holders.names, slot_kind(piece, stage)
        owners, evaluators = ([names[place] for place in places] for places in (stage.owners, stage.evaluators))
        if self.holders.name not in owners:
            keys = {owner: self.keys.tested[self.key_for(kind, number, owner, *evaluators)] for owner in owners}
            ends = {
                owner: SlotEvaluator(self.engine, layout, key, number, self.answering_key, self.register)
                for owner, key in keys.items()
            }
            return SlotEnds(layout, values, ends)
        # One request for all evaluators.
        own = SlotOwner(self.keys.own[self.key_for(kind, number, self.holders.name, *evaluators)], number, layout)
        request = own.request(values)
        for name in evaluators:
            self.holders.channels[name].send(Kind.LATTICE_REQUEST, number, request)
        return SlotEnds(layout, values, dict.fromkeys(evaluators, own))

    def end_slots(self, number: int, begun: "SlotEnds") -> Pairs:
        """Finish a stage's products: answer the peers, or receive their answers; returns this party's share."""
        shares = []
        for peer, end in begun.ends.items():
            if isinstance(end, SlotOwner):
                shares.append(self._opened(number, peer, end))
                continue
            request = self.holders.channels[peer].receive_view(Kind.LATTICE_REQUEST, number)
            with said_by(peer):
                answer = end.reply(request, begun.values)
            self.holders.channels[peer].send(Kind.LATTICE_REPLY, number, answer.reply)
            shares.append(answer.share)
        return reduce(partial(pairs.add_modulo, modulus=begun.layout.parameters.slot_modulus), shares)

    # Three and more parties.

    def lift(self, number: int, kind: str, opening: MaskedOpening, share: Pairs) -> Pairs:
        """Lift a share (count, 2) to whole numbers, among the plan's first `holders`; the label party adds up."""
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
        with said_by(peer):
            return opening.from_bytes(body)


@dataclass(frozen=True, repr=False)
class SlotEnds:
    """One party's ends of products in slots that have begun, by the peer at the other end."""

    layout: SlotLayout
    values: SlotValues
    ends: Mapping[str, SlotOwner | SlotEvaluator]


def matrix_kind(kind: str, block: int) -> str:
    """The name of the products of one block of rows."""
    return f"{kind} {block}"


def slot_kind(piece: int, stage: Stage) -> str:
    """The name of the products of one piece of rows, in one stage of the sigmoid."""
    return f"{SIGMOID} {piece} in stage {stage.number}"
