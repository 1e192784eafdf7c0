"""Small sessions with fixed draws in which every kind of message is said, over a wire that may replace some."""

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from plumbob.crypto import Draws
from plumbob.data.ids import PackedIds
from plumbob.lab.simulate import Run
from plumbob.lab.simulate.parties import party_at
from plumbob.net import identity
from plumbob.party import proposal
from plumbob.party.signature import PURPOSE, MessageSigner, PlanSignature, swap_signatures
from plumbob.plan import Plan
from plumbob.protocol.account import SessionAccount
from plumbob.protocol.alignment import AlignmentParty
from plumbob.protocol.participant import Participant
from plumbob.protocol.prediction import Answerer, Asker
from tests.frozen.messages import ARBITER, EXCHANGE, QUERIES, SHARES, rows_of
from tests.protocol.support import Wire, outcomes, seated, tables_for, trained

Ends = Mapping[str, Any]
"""What each party's part of a session returned or raised."""
PLAN_HASH = hashlib.sha256(b"known answers").hexdigest()
"""The hash in every greeting, whatever the plan is: its form may change, and these answers need not."""
PLANS: dict[str, Plan] = {
    "exchange": Plan.for_columns((2, 2, 1), **EXCHANGE | {"seed": 0}),
    "arbiter": Plan.for_columns((2, 3), **ARBITER | {"test_share": 0.0}),
    "shares": Plan.for_columns((1, 1, 1), **SHARES | {"epochs": 1}),
    "kept": Plan.for_columns((1, 1), **SHARES | {"epochs": 1}),
    "opened": Plan.for_columns((1, 1), **SHARES | {"epochs": 1, "open": "own"}),
    "two": Plan.for_columns((1, 1), epochs=1),
    "signed": Plan.for_columns((1, 1), epochs=1, open="own"),
    "three": Plan.for_columns((1, 1, 1), epochs=1),
    "three, opened": Plan.for_columns((1, 1, 1), epochs=1, open="own"),
}


def root_of(name: str) -> bytes:
    """What a party draws from."""
    return hashlib.sha256(name.encode()).digest()


def at_table(plan: Plan, wire: Wire) -> dict[str, Participant]:
    """Everybody, with draws that are the same each time."""
    return seated(plan, wire, {party.name: Draws.begin(root_of(party.name)) for party in plan.parties})


def train(plan: Plan, wire: Wire, signers: Mapping[str, MessageSigner] | None = None) -> Ends:
    """All parties from the greeting to the end of their model."""
    tables = tables_for(plan, *rows_of(plan))
    participants = {
        name: replace(each, account=SessionAccount(signer=(signers or {}).get(name)))
        for name, each in at_table(plan, wire).items()
    }
    tasks = {name: party_at(each, tables.get(name), None, None).run for name, each in participants.items()}
    return outcomes(tasks, participants)


def train_signed(plan: Plan, wire: Wire) -> Ends:
    """Train as on a network, where everybody signs."""
    made = identities(tuple(party.name for party in plan.parties))
    certificates = {name: each.certificate for name, each in made.items()}
    return train(plan, wire, {name: MessageSigner(each, certificates) for name, each in made.items()})


@cache
def identities(names: tuple[str, ...]) -> dict[str, identity.Identity]:
    """Keys that anybody can make: the SHA-256 of the name, as a number."""
    made = {}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        for name in names:
            number = int.from_bytes(root_of(name), "big") >> 8
            patch.setattr(ec, "generate_private_key", partial(ec.derive_private_key, number))
            made[name] = identity.Identity.create(Path(folder) / name, name)
    return made


@cache
def model(name: str) -> Run:
    """The model that predictions ask."""
    plan = PLANS[name]
    return trained(plan, rows_of(plan), roots={party.name: root_of(party.name) for party in plan.parties})


def predict(name: str, wire: Wire) -> Ends:
    """A few rows, asked for by the label party."""
    plan, run = PLANS[name], model(name)
    X, _ = rows_of(plan)
    participants, tables = at_table(plan, wire), tables_for(plan, X[::-1].copy(), None)
    tasks: dict[str, Callable[[], Any]] = {
        each: partial(Asker(participants[each], tables[each], part).run, QUERIES)
        if each == plan.label_party.name
        else Answerer(participants[each], tables[each], part).run
        for each, part in run.model.parts.items()
    }
    return outcomes(tasks, participants)


def align(plan: Plan, wire: Wire) -> Ends:
    """Twelve ids, of which each party lacks some; the size comes first."""
    participants = at_table(plan, wire)
    tasks = {
        name: AlignmentParty(
            participant,
            PackedIds.of([f"id {number}" for number in range(3 * place, 12)]),
            go_on=lambda size: True,
            chunk=4,
            jobs=1,
        ).run
        for place, (name, participant) in enumerate(participants.items())
    }
    return outcomes(tasks, participants)


def sign(plan: Plan, wire: Wire) -> Ends:
    """Everybody's signature of the plan."""
    participants = at_table(plan, wire)
    made = identities(tuple(participants))
    certificates = {name: each.certificate for name, each in made.items()}
    tasks = {
        name: partial(
            swap_signatures,
            each.channels,
            PlanSignature(made[name].sign(PURPOSE, plan.hash().encode()), certificates),
            plan,
        )
        for name, each in participants.items()
    }
    return outcomes(tasks, participants)


def propose(plan: Plan, wire: Wire) -> Ends:
    """Make a plan from two tables."""
    participants = at_table(plan, wire)
    tables = tables_for(plan, *rows_of(plan))

    def agreed(name: str) -> Plan:
        has_label = name == plan.label_party.name
        brought = proposal.Proposal(tables[name], has_label, "", lambda parties, sizes: (_drafted(plan, parties), None))
        channels = participants[name].channels
        roles = proposal._roles(name, brought, channels)
        [label_party] = [party for party, (role, _) in roles.items() if role == proposal.LABEL]
        return proposal._agree(name, label_party, brought, {}, channels, lambda _: None)[0]

    return outcomes({name: partial(agreed, name) for name in participants}, participants)


def _drafted(plan: Plan, parties: Any) -> Plan:
    return Plan(parties=parties)


SESSIONS: dict[str, Callable[[Wire], Ends]] = {
    "training by exchange of three": partial(train, PLANS["exchange"]),
    "training by shares of two, signed": partial(train_signed, PLANS["signed"]),
    "training with an arbiter": partial(train, PLANS["arbiter"]),
    "training by shares of three": partial(train, PLANS["shares"]),
    "training by shares of two": partial(train, PLANS["kept"]),
    "training by shares of two, opened": partial(train, PLANS["opened"]),
    "prediction of three": partial(predict, "three, opened"),
    "alignment of two": partial(align, PLANS["two"]),
    "alignment of three": partial(align, PLANS["three"]),
    "signatures of two": partial(sign, PLANS["two"]),
    "proposal of two": partial(propose, PLANS["two"]),
}
"""Each runs to its end over a wire."""


def played(session: str, wire: Wire) -> Ends:
    """Play one session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "hash", lambda plan: PLAN_HASH)
        return SESSIONS[session](wire)
