"""Every kind of session once, with draws from fixed roots: one line for each message, in a file that a test compares.

The tables hold small whole numbers that no scaling touches, or signs that whitening multiplies by one number, and the
rate of `exchange` is a power of two, so that no processor rounds a row, a weight or a score in another way. The plan's
hash, which is in every greeting, is a fixed one: a new key of the plan changes nothing here.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from plumbob.arrays import Matrix
from plumbob.crypto import Draws
from plumbob.data import Table
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan
from plumbob.protocol.alignment import AlignmentParty
from plumbob.protocol.messages import Message, decode
from plumbob.protocol.prediction import Answerer, Asker
from tests.protocol.support import Labels, Wire, outcomes, seated, tables_for

ROWS = 40
QUERIES = [[3, 1, 17], [4]]
PAILLIER: dict[str, Any] = {
    "key_bits": 512,
    "test_only_keys": True,
    "batch_size": 16,
    "epochs": 1,
    "scale": "none",
    "learning_rate": 0.125,
    "feature_bits": 16,
    "test_share": 0.2,
}
SHARES: dict[str, Any] = {
    "protocol": "shares",
    "epochs": 2,
    "test_share": 0.2,
    "seed": 7,
}
WHOLE: dict[str, Any] = SHARES | {"test_share": 0.0}
EXCHANGE: dict[str, Any] = PAILLIER | {"protocol": "exchange", "seed": 7}
ARBITER: dict[str, Any] = PAILLIER | {"protocol": "arbiter", "seed": 7}
NOISE: dict[str, Any] = {"noise": "std", "noise_std": 0.5, "row_norm": 1.0}
WHOLE_ROWS: dict[str, Any] = {"noise": "rows", "epsilon": 4.0, "delta": 1e-3}
TRAININGS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "exchange of two": ((2, 3), EXCHANGE),
    "exchange of two, joint seed": ((2, 3), EXCHANGE | {"seed": 0}),
    "exchange of two, no columns at the label party": ((0, 3), EXCHANGE | {"intercept": False}),
    "exchange of two, noise": ((2, 3), EXCHANGE | NOISE),
    "exchange of two, sound noise": ((2, 3), EXCHANGE | {"noise": "sound", "epsilon": 1.0, "row_norm": 1.0}),
    "exchange of two, flipped labels": ((2, 3), EXCHANGE | {"label_flip_epsilon": 1.0}),
    "exchange of two, whole replies": ((2, 3), EXCHANGE | {"replies": "paper"}),
    "exchange of three": ((2, 2, 1), EXCHANGE),
    "exchange of five": ((1, 1, 2, 1, 2), EXCHANGE),
    "arbiter of two": ((2, 3), ARBITER),
    "arbiter of two, unmasked": ((2, 3), ARBITER | {"unmasked_gradients_for_the_arbiter": True}),
    "arbiter of three, noise": ((2, 2, 1), ARBITER | NOISE | {"seed": 0}),
    "shares of two": ((2, 3), SHARES),
    "shares of two, joint seed": ((2, 3), SHARES | {"seed": 0}),
    "shares of two, opened": ((2, 3), SHARES | {"open": "own"}),
    "shares of two, penalty": ((2, 3), SHARES | {"l2": 0.25}),
    "shares of two, class weights": ((2, 3), WHOLE | {"class_weight": "balanced"}),
    "shares of two, penalty as a product": ((2, 3), WHOLE | {"l2": 0.05}),
    "shares of two, noise": ((2, 3), SHARES | WHOLE_ROWS),
    "shares of three": ((2, 2, 1), SHARES),
    "shares of three, opened, penalty": ((2, 2, 1), SHARES | {"open": "own", "l2": 0.25, "seed": 0}),
    "shares of three, noise": ((2, 2, 1), SHARES | WHOLE_ROWS),
    "shares of three, penalty as a product": ((2, 2, 1), WHOLE | {"l2": 0.05}),
    "shares of five": ((1, 1, 2, 1, 2), SHARES | {"epochs": 1}),
    "shares of five, opened": ((0, 1, 2, 1, 2), SHARES | {"epochs": 1, "open": "own"}),
}
PREDICTIONS = (
    "exchange of two",
    "exchange of three",
    "arbiter of two",
    "shares of two",
    "shares of two, opened",
    "shares of three",
    "shares of five",
)
ALIGNMENTS = {"of two": (1, 1), "of three": (1, 1, 1)}
KINDS = (
    *(f"training, {name}" for name in TRAININGS),
    *(f"prediction, {name}" for name in PREDICTIONS),
    *(f"alignment {name}{suffix}" for name in ALIGNMENTS for suffix in ("", ", size first")),
)


def lines(kind: str) -> list[str]:
    """Lines about one kind of session: step, kind, sender, receiver, size and hash of every message."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "hash", lambda plan: hashlib.sha256(b"frozen").hexdigest())
        said = _said(kind)
    return [
        f"{message.step} {message.kind.name} {sender} {receiver} {len(message.body)} "
        f"{hashlib.sha256(message.body).hexdigest()[:16]}"
        for sender, receiver, message in said
    ]


Said = Iterator[tuple[str, str, Message]]


def _said(kind: str) -> Said:
    purpose, _, name = kind.partition(", ")
    if purpose == "training":
        return _in_order(_messages_of(_trained(name)))
    if purpose == "prediction":
        return _in_order(_predicted(_trained(name)).log)
    return _in_order(_aligned(ALIGNMENTS[purpose.removeprefix("alignment ")], size_first=bool(name)).log)


def _in_order(log: Any) -> Said:
    """The messages by sender and receiver: the order in which threads send is no part of a protocol."""
    return iter(sorted(log, key=lambda entry: (entry[0], entry[1], entry[2].sequence)))


def rows_of(plan: Plan) -> tuple[Matrix, Labels]:
    """Whole numbers between -3 and 3, or signs whose columns have nothing in common, and labels."""
    rows, columns = np.arange(ROWS)[:, None], np.arange(plan.columns)[None, :]
    common = rows & (columns + 1)
    signs = 1 - 2 * ((common ^ common >> 1 ^ common >> 2) & 1)
    numbers = (7 * rows + 3 * columns + rows * columns) % 7 - 3
    X = (signs if plan.is_whitened else numbers).astype(np.float64)
    return X, (rows[:, 0] * rows[:, 0] % 5 > 1).astype(np.int64)


def _roots(plan: Plan) -> dict[str, bytes]:
    return {party.name: hashlib.sha256(party.name.encode()).digest() for party in plan.parties}


def _trained(name: str) -> Run:
    split, keys = TRAININGS[name]
    plan = Plan.for_columns(split, **keys)
    return train(plan, tables_for(plan, *rows_of(plan)), roots=_roots(plan), keep_bytes=True, jobs=1)


def _messages_of(run: Run) -> Said:
    ends: list[Any] = [*run.transcripts.values(), *([] if run.arbiter is None else [run.arbiter])]
    for end in ends:
        for peer, frames in end.frames.items():
            for frame in frames:
                yield peer, end.party, decode(frame)


def _predicted(run: Run) -> Wire:
    plan, wire = run.model.plan, Wire()
    tables = _new_tables(plan)
    participants = seated(plan, wire, {name: Draws.begin(root) for name, root in _roots(plan).items()})
    tasks: dict[str, Any] = {
        name: partial(Asker(participants[name], tables[name], part).run, QUERIES)
        if name == plan.label_party.name
        else Answerer(participants[name], tables[name], part).run
        for name, part in run.model.parts.items()
    }
    _refuse_failures(outcomes(tasks, participants))
    return wire


def _new_tables(plan: Plan) -> dict[str, Table]:
    X, _ = rows_of(plan)
    return tables_for(plan, X[::-1].copy(), None)


def _aligned(split: tuple[int, ...], size_first: bool) -> Wire:
    plan, wire = Plan.for_columns(split), Wire()
    participants = seated(plan, wire, {name: Draws.begin(root) for name, root in _roots(plan).items()})
    tasks = {
        name: AlignmentParty(
            participant,
            [f"id {number}" for number in range(3 * place, 12)],
            go_on=(lambda size: True) if size_first else None,
            chunk=4,
            jobs=1,
        ).run
        for place, (name, participant) in enumerate(participants.items())
    }
    _refuse_failures(outcomes(tasks, participants))
    return wire


def _refuse_failures(ends: Mapping[str, Any]) -> None:
    for end in ends.values():
        if isinstance(end, Exception):
            raise end
