"""Keys and tables that are made once for many runs: for tests of what does not depend on them.

A run spends most of its time on these, and a thousand runs of twelve rows nearly all of it. Keys come from a seed, so a
party that starts again finds its own.
"""

from typing import Any

import pytest

from plumbob.lab.exchange import arbiter, engines, paillier
from plumbob.lab.exchange import protocol as exchange
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey
from plumbob.lab.exchange.primitive import engine_of
from plumbob.lab.exchange.profiles import profile_of
from plumbob.plan import Plan
from plumbob.protocol.participant import Participant
from tests.crypto.support import seeded

MADE: dict[tuple[str, int], PrivateKey] = {}
TABLES: dict[tuple[int, str], Any] = {}


def made_key(name: str, plan: Plan) -> PrivateKey:
    """A party's key under a plan of this length."""
    if (name, plan.key_bits) not in MADE:
        key = paillier.generate(profile_of(plan), engines.choose(threads=1), seeded(name))
        key.prepare()
        MADE[name, plan.key_bits] = key
    return MADE[name, plan.key_bits]


def use_quick_keys(patch: pytest.MonkeyPatch) -> None:
    """Use quick keys in every protocol, until the patch is undone."""
    for module in (arbiter, exchange):
        patch.setattr(module, "make_key", _make_key)
    patch.setattr(PublicKey, "prepare", _prepare)


def _make_key(participant: Participant) -> PrivateKey:
    made = made_key(participant.name, participant.plan)
    public = PublicKey(made.public.n, made.public.profile, engine_of(participant), participant.draws.of("own key"))
    key = PrivateKey(int(made._p), int(made._q), public)
    vars(key)["_own_bases"] = made._own_bases
    return key


def _prepare(key: PublicKey) -> None:
    # One engine cannot read another's table.
    kind = (key.n, key.engine.name)
    if kind not in TABLES:
        TABLES[kind] = key._table
    vars(key)["_table"] = TABLES[kind]
