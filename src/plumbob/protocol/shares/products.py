"""The parties of `shares`, the products of a pass as one of them asks and answers, and lifting behind masks.

A product has two ends. The owner encrypts numbers of its own, the evaluator multiplies them with private ones, and both
keep shares of the result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Protocol, TypeVar

import numpy as np

from plumbob.crypto.lattice import (
    Factors,
    KeyContext,
    MaskedOpening,
    Pairs,
    PrivateMatrix,
    Register,
    SlotFactors,
    SlotLayout,
    answer_request,
    local,
    make_request,
    open_reply,
    pairs,
)
from plumbob.crypto.lattice.context import derive, fingerprint
from plumbob.crypto.lattice.interface import SlotValues
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel, blame
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import columns_of
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares.keys import Keys
from plumbob.protocol.shares.shape import Product, RunShape

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
class Pass:
    """One pass at one party: its ends of all products."""

    number: int
    shape: RunShape
    """The shape of this pass's level."""
    holders: ColumnHolders
    session: bytes
    keys: Keys
    answering_key: bytes
    """The key that replies and masks are drawn from; a new one for each pass."""
    register: Register
    """What was answered in this pass and in those before it."""
    use: Use
    """Called with each named quantity of this party before it is used; an honest party changes nothing."""

    def __post_init__(self) -> None:
        self._products: dict[str, list[Product]] = {}
        for product in self.shape.products_in(self.number):
            if self.holders.name in product.parties:
                self._products.setdefault(product.kind, []).append(product)

    # One product.

    def ask(self, product: Product, values: SlotValues) -> None:
        """Encrypt own numbers for a product, as its owner, and send them to all its evaluators."""
        request = make_request(self.keys.own[product], self.number, product.layout, values)
        for name in product.evaluators:
            self.holders.channels[name].send(Kind.LATTICE_REQUEST, self.number, request)

    def answer(self, product: Product, factors: Factors) -> Pairs:
        """Multiply what the owner encrypted; returns this party's shares."""
        channel, key = self.holders.channels[product.owner], self.keys.tested[product]
        request = channel.receive_view(Kind.LATTICE_REQUEST, self.number, product.layout.request_bytes)
        with blame(product.owner):
            answer = answer_request(factors, key, self.number, request, self.answering_key, self.register)
        reply = self.use(f"replies for {product.kind.partition(' ')[0]}", self.number, answer.reply)
        channel.send(Kind.LATTICE_REPLY, self.number, reply)
        return answer.share

    def open(self, product: Product, evaluator: str) -> Pairs:
        """The owner's shares, from one evaluator's reply."""
        channel, layout = self.holders.channels[evaluator], product.layout
        reply = channel.receive_view(Kind.LATTICE_REPLY, self.number, layout.reply_bytes)
        with blame(evaluator):
            return open_reply(self.keys.own[product], layout, reply)

    # Products with a private matrix, between every two parties.

    def multiply(self, kind: str, lent: Mapping[str, Pairs], matrix: PrivateMatrix) -> dict[str, tuple[Pairs, Pairs]]:
        """Multiply with each peer: shares of (own matrix with what it lends, its matrix with what we lend)."""
        asked, answered = self._ends(kind)
        # All are asked before any is answered, so that everybody works at the same time.
        for peer, product in asked.items():
            self.ask(product, lent[peer])
        shares = {peer: self.answer(product, matrix) for peer, product in answered.items()}
        return {peer: (shares[peer], self.open(product, peer)) for peer, product in asked.items()}

    def _ends(self, kind: str) -> tuple[dict[str, Product], dict[str, Product]]:
        """The products that this party asks for, and those that it answers, by the peer at the other end."""
        listed, name = self._products[kind], self.holders.name
        asked = {peer: product for product in listed if product.owner == name for peer in product.evaluators}
        return asked, {product.owner: product for product in listed if product.owner != name}

    # Products in slots, between the owners and the evaluators of a stage.

    def begin_slots(self, kind: str, values: SlotValues) -> Callable[[], Pairs]:
        """Begin a stage's products with own numbers: an owner asks. The call that is returned ends them.

        It answers the peers, or opens their replies, and returns this party's share.
        """
        asked, answered = self._ends(kind)
        for product in dict.fromkeys(asked.values()):
            self.ask(product, values)
        return partial(self._end_slots, asked, answered, values)

    def _end_slots(self, asked: Mapping[str, Product], answered: Mapping[str, Product], values: SlotValues) -> Pairs:
        products = (*asked.values(), *answered.values())
        [layout] = {product.layout for product in products if isinstance(product.layout, SlotLayout)}
        shares = [self.open(product, peer) for peer, product in asked.items()]
        if answered:
            factors = SlotFactors(self.keys.engine, layout, values)
            shares += [self.answer(product, factors) for product in answered.values()]
        return reduce(partial(pairs.add_modulo, modulus=layout.parameters.slot_modulus), shares)

    # Three and more parties.

    def lift(self, kind: str, opening: MaskedOpening, share: Pairs) -> Pairs:
        """Lift a share (count, 2) to whole numbers, among the plan's first `holders`; the label party adds up."""
        if self.holders.is_first:
            peers = self.holders.names[1 : opening.holders]
            hidden = [self._receive_masked(peer, opening, len(share)) for peer in peers]
            return opening.lift(share, self.use("masked numbers", self.number, hidden))
        label, last = self.holders.label, self.shape.last_pass_of_key(self.number)
        masked = KeyContext(self.session, self.holders.name, label, kind, last).in_pass(self.number)
        context = masked.encode(self.shape.profile[2])
        # Bound to what it hides: the same masks never serve two vectors.
        content = fingerprint(self.answering_key, b"masked " + context, np.ascontiguousarray(share, dtype="<u8"))
        key = derive(self.answering_key, "masks", context, content)
        masks = opening.masks(key, len(share))
        hidden_share = opening.to_bytes(opening.hide(share, masks))
        self.holders.channels[label].send(Kind.MASKED_SHARE, self.number, hidden_share)
        return pairs.negate(masks)

    def _receive_masked(self, peer: str, opening: MaskedOpening, count: int) -> Pairs:
        body = self.holders.channels[peer].receive(Kind.MASKED_SHARE, self.number, opening.size(count))
        with blame(peer):
            return opening.from_bytes(body)
