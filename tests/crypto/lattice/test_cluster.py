"""Answers on a real cluster of two nodes: the same bytes, also when a node is lost."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from plumbob.crypto.lattice import (
    Engine,
    Layout,
    OwnerKey,
    PrivateMatrix,
    SlotLayout,
    make_request,
    sets,
    workers,
)
from plumbob.crypto.lattice.cluster import KEPT_FOR_WORKERS, ClusterEngine
from plumbob.crypto.lattice.layout import Direction
from plumbob.errors import CiphertextRefusedError
from plumbob.lab.simulate import Run
from plumbob.protocol.shares.training import SharesParty
from tests.crypto.lattice.support import (
    TINY,
    TINY_SLOTS,
    TINY_WIDE,
    Played,
    answered,
    make_key,
    play,
    play_slots,
    random_entries,
    random_pairs,
)
from tests.crypto.nodes import IGNORED_WARNINGS, address, homes_of_workers, seen_tasks, two_nodes
from tests.crypto.support import seeded
from tests.protocol.support import made_up, shares_plan, trained, weights_of

pytestmark = IGNORED_WARNINGS

ROWS = sets.SLOTS.degree + 3000
"""More than one block of slots holds."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """The nodes for all tests of this file."""
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture
def spread(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> list[workers.Task]:
    """Everything travels, also what would be too little work; the tasks that were given out."""
    monkeypatch.setattr(workers, "LEAST_SECONDS", 0.0)
    return seen_tasks(monkeypatch)


def product(direction: Direction) -> Callable[[Engine], Played]:
    """A product with a matrix of several blocks of rows, the last one not full."""
    parameters, bits = (TINY, (51, 32)) if direction == "scores" else (TINY_WIDE, (104, 88))
    layout = Layout(parameters, direction, 100, 5, 3, *bits)
    generator = np.random.default_rng(5)
    entries, values = random_entries(generator, 100, 5), random_pairs(generator, layout.inputs, bits[0])
    return lambda engine: play(engine, layout, entries, values)


def slots(is_turn: bool) -> Callable[[Engine], Played]:
    """Small numbers on both sides, in five blocks of rows."""
    layout = SlotLayout(TINY_SLOTS, 300, 4, is_turn)
    left, right = np.random.default_rng(6).integers(-(2**20), 2**20, (2, 4, 300)).astype(np.int32)
    return lambda engine: play_slots(engine, layout, left, right)


def shares() -> Callable[[Engine], Played]:
    """Wide numbers on the owner's side."""
    layout, generator = SlotLayout(TINY_SLOTS, 300, 4, is_turn=True), np.random.default_rng(7)
    left = random_pairs(generator, 4 * 300, 107).reshape(4, 300, 2)
    right = generator.integers(-(2**20), 2**20, (4, 300)).astype(np.int32)
    return lambda engine: play_slots(engine, layout, left, right)


PRODUCTS = {
    "scores": (product("scores"), {"reply"}),
    "gradients": (product("gradients"), {"add_up"}),
    "inner products": (slots(is_turn=False), {"reply_slots"}),
    "complex products": (slots(is_turn=True), {"reply_slots"}),
    "products of shares": (shares(), {"reply_slots"}),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_those_of_one_process(spread: list[workers.Task], name: str) -> None:
    """Requests, replies and both shares are the same bytes, and the answer was spread."""
    play_with, operations = PRODUCTS[name]
    there, here = play_with(ClusterEngine(address(), 1)), play_with(Engine(threads=1))
    assert (there.request, there.answer.reply) == (here.request, here.answer.reply)
    np.testing.assert_array_equal(there.answer.share, here.answer.share)
    np.testing.assert_array_equal(there.opened, here.opened)
    assert {task.operation for task in spread} == operations


@pytest.mark.usefixtures("nodes")
def test_small_work_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less than two tasks' time is not sent; the bytes are those of one process all the same."""
    sent = seen_tasks(monkeypatch)
    for play_with, _ in PRODUCTS.values():
        assert play_with(ClusterEngine(address(), 1)).answer.reply == play_with(Engine(threads=1)).answer.reply
    assert sent == []


@pytest.mark.usefixtures("spread")
def test_a_matrix_is_sent_once() -> None:
    """Its parts lie in the store for as long as the matrix is there: the second product sends none."""
    matrix, key, request = asked(ClusterEngine(address(), 1))
    first = answered(matrix, key, request)
    sent = matrix.prepared[KEPT_FOR_WORKERS]
    assert answered(matrix, key, request).reply == first.reply
    assert matrix.prepared[KEPT_FOR_WORKERS] is sent
    assert len(sent) == 2


@pytest.mark.usefixtures("spread")
def test_residues_out_of_range_are_refused() -> None:
    """What a peer sent is refused as it is without a cluster, and the next product finds the workers in order."""
    matrix, key, request = asked(ClusterEngine(address(), 1))
    with pytest.raises(CiphertextRefusedError, match="outside its range"):
        answered(matrix, key, request[:-13] + b"\xff" * 13)
    matrix, key, request = asked(ClusterEngine(address(), 1))
    assert answered(matrix, key, request).reply


def asked(engine: Engine) -> tuple[PrivateMatrix, OwnerKey, bytes]:
    """Somebody's matrix of several blocks, the key of the asking party, and its request."""
    layout, key = Layout(TINY, "scores", 100, 5, 3, 51, 32), make_key(engine, TINY)
    matrix = PrivateMatrix(engine, layout, np.ones((100, 5), dtype=np.int64))
    request = make_request(key, 1, layout, random_pairs(np.random.default_rng(8), 5, 51))
    return matrix, key, request


def messages_of(run: Run) -> dict[str, dict[str, list[bytes]]]:
    """All that each party received, byte for byte."""
    return {name: transcript.frames for name, transcript in run.transcripts.items()}


def shares_of(run: Run) -> dict[str, Any]:
    """Each party's shares of all weights."""
    return {name: party.held for name, party in run.parties.items() if isinstance(party, SharesParty)}


def train_with(cluster: str, split: tuple[int, ...], progress: Any = None) -> Run:
    """A short run whose randomness is the same each time, with all its messages."""
    plan = shares_plan(split, epochs=2 if len(split) == 2 else 1, seed=3)
    roots = {party.name: seeded(party.name).draw(32) for party in plan.parties}
    return trained(
        plan,
        made_up(ROWS, sum(split)),
        cluster=cluster,
        jobs=1,
        roots=roots,
        keep_bytes=True,
        progress=progress,
    )


def test_a_run_is_that_of_one_process(spread: list[workers.Task]) -> None:
    """Weights, shares and every message of three parties are those of one process, and the row blocks were spread."""
    there, here = train_with(address(), (2, 1, 2)), train_with("", (2, 1, 2))
    assert messages_of(there) == messages_of(here)
    assert shares_of(there) == shares_of(here)
    np.testing.assert_array_equal(weights_of(there), weights_of(here))
    assert {"reply", "add_up"} <= {task.operation for task in spread}


@pytest.mark.usefixtures("spread")
def test_a_run_survives_the_loss_of_a_node(nodes: Any) -> None:
    """Killed after the first pass, whatever it is doing then: weights and messages are those of one process."""
    assert len(set(homes_of_workers())) == 2

    def kill_once(batch: object, steps: int) -> None:
        if getattr(batch, "step", 0) == 1:
            nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    there, here = train_with(address(), (2, 3), kill_once), train_with("", (2, 3))
    assert len(set(homes_of_workers())) == 1
    assert messages_of(there) == messages_of(here)
    np.testing.assert_array_equal(weights_of(there), weights_of(here))
