"""Answers on a real cluster of two nodes: the same bytes, also when a node is lost."""

import importlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.crypto.lattice import Layout, OwnerKey, PrivateMatrix, cluster, make_request, sets
from plumbob.crypto.lattice.cluster import KEPT_FOR_CLUSTER, RETRIES, ClusterEngine
from plumbob.crypto.lattice.kernel import Engine
from plumbob.errors import CiphertextRefusedError, EngineError
from plumbob.lab.simulate import Run
from plumbob.protocol.shares.training import SharesParty
from tests.crypto.lattice.support import (
    TINY,
    answered,
    assert_alike,
    make_key,
    matrix_product,
    random_pairs,
    slot_product,
)
from tests.crypto.support import seeded
from tests.protocol.support import made_up, shares_plan, trained, weights_of

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="the extra 'ray' is not installed")

# Ray's own code, and what it starts, warn about themselves.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{name}")
    for name in (
        "ResourceWarning",
        "DeprecationWarning",
        "FutureWarning",
        "pytest.PytestUnraisableExceptionWarning",
        "pytest.PytestUnhandledThreadExceptionWarning",
    )
]

ROWS = sets.SLOTS.degree + 3000
"""More than one block of slots holds."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Two nodes with a processor each, for all tests of this file; everything is ended with the last one."""
    two = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    two.add_node(num_cpus=1)
    engine = ClusterEngine(where(two), 1)
    for _ in range(600):
        # A node is listed before the others know how to reach it.
        with suppress(ray.exceptions.RayError):
            if len(homes_of_tasks(engine)) == 2:
                break
        time.sleep(0.1)
    yield two
    ray.shutdown()
    two.shutdown()


def where(nodes: Any) -> str:
    """The cluster as party.toml names it."""
    return f"ray://{nodes.address}"


def homes_of_tasks(engine: ClusterEngine) -> set[str]:
    """The nodes that work on tasks which are given out together."""

    def home(_: int) -> str:
        time.sleep(0.3)
        return str(importlib.import_module("ray").get_runtime_context().get_node_id())

    return set(engine.spread(home, [(0,), (1,)]))


@pytest.fixture
def spread(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything travels, also what would be too little work; what the tasks that were given out do."""
    monkeypatch.setattr(cluster, "LEAST_SECONDS", 0.0)
    return names_of_tasks(monkeypatch)


def names_of_tasks(patch: pytest.MonkeyPatch) -> list[str]:
    """What is given out from now on."""
    names: list[str] = []
    give_out = ClusterEngine.spread

    def note(self: ClusterEngine, work: Callable[..., Any], pieces: Sequence[tuple[Any, ...]]) -> list[Any]:
        names.extend(work.__name__ for _ in pieces)
        return give_out(self, work, pieces)

    patch.setattr(ClusterEngine, "spread", note)
    return names


PRODUCTS = {
    "scores": (matrix_product("scores", 1000, 5), "reply_of_rows"),
    "gradients": (matrix_product("gradients", 1000, 5), "sums_of_rows"),
    "inner products": (slot_product(300, 4, "small x small"), "reply_of_slots"),
    "complex products": (slot_product(300, 4, "small x small", is_turn=True), "reply_of_slots"),
    "products of shares": (slot_product(300, 4, "wide x small", is_turn=True), "reply_of_slots"),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_those_of_one_process(nodes: Any, spread: list[str], name: str) -> None:
    """Requests, replies and both shares are the same bytes, and the answer was spread."""
    play_with, work = PRODUCTS[name]
    assert_alike(play_with(ClusterEngine(where(nodes), 1)), play_with(Engine(threads=1)))
    assert spread == [work, work]


def test_small_work_stays_here(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less than two tasks' time is not sent; the bytes are those of one process all the same."""
    names = names_of_tasks(monkeypatch)
    for play_with, _ in PRODUCTS.values():
        assert play_with(ClusterEngine(where(nodes), 1)).answer.reply == play_with(Engine(threads=1)).answer.reply
    assert names == []


@pytest.mark.usefixtures("spread")
def test_a_matrix_is_sent_once(nodes: Any) -> None:
    """Its parts lie in the store for as long as the matrix is there: the second product sends none."""
    matrix, key, request = asked(ClusterEngine(where(nodes), 1))
    first = answered(matrix, key, request)
    stored = matrix.prepared[KEPT_FOR_CLUSTER]
    assert answered(matrix, key, request).reply == first.reply
    assert matrix.prepared[KEPT_FOR_CLUSTER] is stored
    assert len(stored) == 2


@pytest.mark.usefixtures("spread")
def test_residues_out_of_range_are_refused(nodes: Any) -> None:
    """What a peer sent is refused as it is without a cluster, and the next product finds the nodes in order."""
    matrix, key, request = asked(ClusterEngine(where(nodes), 1))
    with pytest.raises(CiphertextRefusedError, match="outside its range"):
        answered(matrix, key, request[:-13] + b"\xff" * 13)
    matrix, key, request = asked(ClusterEngine(where(nodes), 1))
    assert answered(matrix, key, request).reply


@pytest.mark.parametrize("deaths", [1, RETRIES + 1])
def test_a_killed_worker_is_replaced(nodes: Any, tmp_path: Path, deaths: int) -> None:
    """Its task is given to another one; a task that kills every worker ends the run in words."""

    def die_first(_: int) -> int:
        before = len(list(tmp_path.iterdir()))
        (tmp_path / str(before)).touch()
        if before < deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return before

    engine = ClusterEngine(where(nodes), 1)
    if deaths <= RETRIES:
        assert engine.spread(die_first, [(0,)]) == [deaths]
    else:
        with pytest.raises(EngineError, match="run the same command again to resume"):
            engine.spread(die_first, [(0,)])


@pytest.mark.parametrize(
    ("address", "words"), [("bank:6379", "expected ray://HOST:PORT"), ("ray://127.0.0.1:1", "nobody answers there")]
)
def test_a_wrong_address_is_told(address: str, words: str) -> None:
    """Before Ray waits for minutes."""
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(EngineError, match=words):
        ClusterEngine(address)


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


def test_a_run_is_that_of_one_process(nodes: Any, spread: list[str]) -> None:
    """Weights, shares and every message of three parties are those of one process, and the row blocks were spread."""
    there, here = train_with(where(nodes), (2, 1, 2)), train_with("", (2, 1, 2))
    assert messages_of(there) == messages_of(here)
    assert shares_of(there) == shares_of(here)
    np.testing.assert_array_equal(weights_of(there), weights_of(here))
    assert {"reply_of_rows", "sums_of_rows"} <= set(spread)


@pytest.mark.usefixtures("spread")
def test_a_run_survives_the_loss_of_a_node(nodes: Any) -> None:
    """Killed after the first pass, whatever it is doing then: weights and messages are those of one process."""
    assert len(homes_of_tasks(ClusterEngine(where(nodes), 1))) == 2

    def kill_once(batch: object, steps: int) -> None:
        if getattr(batch, "step", 0) == 1:
            nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    there, here = train_with(where(nodes), (2, 3), kill_once), train_with("", (2, 3))
    assert len(homes_of_tasks(ClusterEngine(where(nodes), 1))) == 1
    assert messages_of(there) == messages_of(here)
    np.testing.assert_array_equal(weights_of(there), weights_of(here))
