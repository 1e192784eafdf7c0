"""The products of a pass, as one party asks for them and answers them, and the lifting of shares behind masks.

A product has two ends. The owner encrypts numbers of its own, the evaluator multiplies them with private ones, and both
keep shares of the result. Every product has a key of its own.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from plumbob.crypto import lattice
from plumbob.crypto.lattice import (
    Context,
    Evaluator,
    Layout,
    MaskedOpening,
    Owner,
    Pairs,
    PrivateMatrix,
    SlotEvaluator,
    SlotLayout,
    SlotOwner,
    Small,
    pairs,
)
from plumbob.crypto.lattice.context import SEED_BYTES, derive
from plumbob.protocol.handshake import PolynomialCounts, Session
from plumbob.protocol.lattice_company import ColumnHolders, said_by
from plumbob.protocol.lattice_keys import Keys
from plumbob.protocol.lattice_sets import LatticeShape
from plumbob.protocol.messages import Kind

SCORES, SIGMOID, GRADIENTS, PENALTIES = "scores", "sigmoid", "gradients", "penalties"


@dataclass(repr=False)
class Products:
    """One party's ends of all products of a run."""

    company: ColumnHolders
    session: Session
    shape: LatticeShape
    engine: lattice.LatticeEngine
    keys: Keys
    answering_key: bytes
    """What replies and masks are drawn from."""
    counts: PolynomialCounts = field(default_factory=PolynomialCounts)
    register: lattice.Register = field(default_factory=lattice.Register)

    def context(self, kind: str, number: int, owner: str, evaluator: str) -> Context:
        return Context(self.session.identity, owner, evaluator, kind, number)

    # With a private matrix.

    def with_matrix(
        self, kind: str, number: int, lent: Mapping[str, Pairs], matrix: PrivateMatrix
    ) -> dict[str, tuple[Pairs, Pairs]]:
        """With each peer: shares of (own matrix with what it lends, its matrix with what we lend)."""
        name, channels = self.company.name, self.company.channels
        owners = {
            peer: Owner(self.keys.own[self.context(kind, number, name, peer)], self.layout(kind, peer))
            for peer in channels
        }
        # All are asked before any is answered, so that everybody works at the same time.
        for peer, channel in channels.items():
            channel.send(Kind.LATTICE_REQUEST, number, owners[peer].request(lent[peer]))
            self.counts.encryptions += owners[peer].layout.requests
        answered = {peer: self._answered(kind, number, peer, matrix) for peer in channels}
        return {peer: (answered[peer], self._opened(number, peer, owner)) for peer, owner in owners.items()}

    def _answered(self, kind: str, number: int, peer: str, matrix: PrivateMatrix) -> Pairs:
        channel = self.company.channels[peer]
        request = channel.receive(Kind.LATTICE_REQUEST, number, SEED_BYTES + matrix.layout.request_bytes)
        key = self.keys.tested[self.context(kind, number, peer, self.company.name)]
        evaluator = Evaluator(matrix, key, self.answering_key, self.register)
        answer = said_by(peer, lambda: evaluator.reply(request))
        self.counts.randomisations += matrix.layout.replies
        channel.send(Kind.LATTICE_REPLY, number, answer.reply)
        return answer.share

    def _opened(self, number: int, peer: str, owner: Owner) -> Pairs:
        self.counts.decryptions += owner.layout.replies
        return owner.open(self.company.channels[peer].receive(Kind.LATTICE_REPLY, number, owner.layout.reply_bytes))

    def layout(self, kind: str, evaluator: str) -> Layout:
        """Of a product with that party's matrix."""
        makers = {SCORES: self.shape.scores, GRADIENTS: self.shape.gradients, PENALTIES: self.shape.penalties}
        return makers[kind](evaluator)

    # In slots.

    def ask_small(self, number: int, place: int, peer: str, layout: SlotLayout, factors: Small) -> Pairs:
        """The owner's share of own small numbers times the peer's."""
        owner = self._slot_owner(number, place, peer, layout)
        return self._opened_slots(number, peer, owner, owner.request(factors))

    def ask_shares(self, number: int, place: int, peer: str, layout: SlotLayout, shares: Pairs) -> Pairs:
        """The same of own shares modulo the slots' t."""
        owner = self._slot_owner(number, place, peer, layout)
        return self._opened_slots(number, peer, owner, owner.request_shares(shares))

    def answer_slots(self, number: int, place: int, peer: str, layout: SlotLayout, factors: Small) -> Pairs:
        """The evaluator's share."""
        channel = self.company.channels[peer]
        request = channel.receive(Kind.LATTICE_REQUEST, number, SEED_BYTES + layout.request_bytes)
        key = self.keys.tested[self.context(f"{SIGMOID} {place}", number, peer, self.company.name)]
        evaluator = SlotEvaluator(self.engine, layout, key, self.answering_key, self.register)
        answer = said_by(peer, lambda: evaluator.reply(request, factors))
        self.counts.randomisations += layout.replies
        channel.send(Kind.LATTICE_REPLY, number, answer.reply)
        return answer.share

    def _slot_owner(self, number: int, place: int, peer: str, layout: SlotLayout) -> SlotOwner:
        return SlotOwner(self.keys.own[self.context(f"{SIGMOID} {place}", number, self.company.name, peer)], layout)

    def _opened_slots(self, number: int, peer: str, owner: SlotOwner, request: bytes) -> Pairs:
        channel = self.company.channels[peer]
        channel.send(Kind.LATTICE_REQUEST, number, request)
        self.counts.encryptions += owner.layout.blocks * owner.layout.terms
        self.counts.decryptions += owner.layout.replies
        return owner.open(channel.receive(Kind.LATTICE_REPLY, number, owner.layout.reply_bytes))

    # Three and more parties.

    def lift(self, number: int, kind: str, opening: MaskedOpening, share: Pairs) -> Pairs:
        """A share (count, 2) as whole numbers, among the plan's first `holders` parties; the label party adds up."""
        if self.company.is_first:
            peers = self.company.names[1 : opening.holders]
            return opening.lifted(share, [self._hidden_by(peer, number, opening, len(share)) for peer in peers])
        label = self.company.label
        context = self.context(kind, number, self.company.name, label).encode(self.shape.profile[2])
        # Bound to what it hides: the same masks never serve two vectors.
        key = derive(self.answering_key, "masks", context, hashlib.sha256(share.tobytes()).digest())
        masks = opening.masks(key, len(share))
        self.company.channels[label].send(Kind.MASKED_SHARE, number, opening.to_bytes(opening.hidden(share, masks)))
        return pairs.negate(masks)

    def _hidden_by(self, peer: str, number: int, opening: MaskedOpening, count: int) -> Pairs:
        body = self.company.channels[peer].receive(Kind.MASKED_SHARE, number, opening.size(count))
        return said_by(peer, partial(opening.from_bytes, body))
