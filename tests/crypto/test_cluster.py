"""The engine `ray` on a real cluster of two machines' worth of workers: the same bits, also when a worker is lost."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from plumbob.crypto import engines
from plumbob.crypto.engines import cluster, workers
from plumbob.crypto.engines.interface import Engine, Ring
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.limbs import Limbs, from_ints
from plumbob.errors import CryptoError
from tests.crypto.nodes import IGNORED_WARNINGS, leave_cluster, seen_tasks, two_nodes, worker_processes
from tests.protocol.support import made_up, plan_for, tables_for, weights_of

pytestmark = IGNORED_WARNINGS

RING = Ring((1 << 521) - 1, 2)
Operation = Callable[[Engine], Limbs]


@pytest.fixture(scope="module")
def ray_engine() -> Iterator[Engine]:
    """Two nodes with a worker each; everything is ended with the last test."""
    with two_nodes():
        yield engines.choose("ray", threads=1)


@pytest.fixture
def everything_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what would be too little work."""
    monkeypatch.setattr(workers, "LEAST_SECONDS", 0.0)


def residues(count: int) -> Limbs:
    """Units of the ring, since its root is a prime."""
    generator = np.random.default_rng(count)
    return from_ints((int.from_bytes(generator.bytes(100), "little") for _ in range(count)), RING.width)


def operations() -> dict[str, Operation]:
    """Every method, in both directions in which a product is cut."""
    generator = np.random.default_rng(0)
    tall, wide = (generator.integers(-16, 16, shape) for shape in ((12, 3), (3, 12)))
    digits = generator.integers(0, 16, (7, 5), dtype=np.uint8)
    other = Ring((1 << 127) - 1, 2)
    return {
        "multiply": lambda engine: engine.multiply(RING, residues(9), residues(9)[::-1]),
        "power": lambda engine: engine.power(RING, residues(9), (1 << 70) - 3),
        "tall product": lambda engine: engine.combine(RING, residues(12), tall, 5),
        "wide product": lambda engine: engine.combine(RING, residues(3), wide, 5),
        "pack": lambda engine: engine.pack(RING, residues(11), 3, 9),
        "look_up": lambda engine: engine.look_up(engine.table(RING, residues(5), 4), digits),
        "join": lambda engine: engine.join(RING, other, residues(4), from_ints([1, 2, 3, 4], other.width)),
    }


@pytest.mark.usefixtures("everything_travels")
@pytest.mark.parametrize("operation", operations().values(), ids=list(operations()))
def test_the_cluster_equals_the_reference(ray_engine: Engine, operation: Operation) -> None:
    """Cut up among workers or not, every result is the Python engine's, bit for bit."""
    result = operation(ray_engine)
    np.testing.assert_array_equal(result, operation(PythonEngine()))
    assert result.flags.c_contiguous


def test_small_work_stays_here(ray_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less than two tasks' time is not sent: nobody waits for a cluster to add two numbers."""
    sent = seen_tasks(monkeypatch)
    for operation in operations().values():
        operation(ray_engine)
    assert sent == []
    ray_engine.power(RING, residues(2000), 1 << 1000)
    assert len(sent) == 2


@pytest.mark.usefixtures("everything_travels")
def test_a_modulus_is_sent_once(ray_engine: Engine) -> None:
    """Each worker keeps what it got, so that a second product with the same key takes nothing from the store."""
    for _ in range(3):
        operations()["tall product"](ray_engine)
    parcel = RING.prepared["ray"]
    kept = (workers.StoredValue(parcel.digest, None),)
    missing = workers.Task(cluster.own_engine, "power", kept, (residues(2), 3))
    results = workers.workers().done([missing, missing])
    np.testing.assert_array_equal(results, [PythonEngine().power(RING, residues(2), 3)] * 2)


@pytest.mark.skipif(not engines.native_is_built(), reason="the reference takes entries of any size")
@pytest.mark.usefixtures("everything_travels")
def test_a_refusal_comes_back(ray_engine: Engine) -> None:
    """What an engine refuses is refused from a worker too, and the next call finds the workers in order."""
    too_large = np.full((12, 3), 1 << 20)
    with pytest.raises(ValueError, match="expected"):
        ray_engine.combine(RING, residues(12), too_large, 5)
    operation = operations()["tall product"]
    np.testing.assert_array_equal(operation(ray_engine), operation(PythonEngine()))


@pytest.mark.usefixtures("everything_travels")
def test_a_worker_killed_in_the_middle_of_a_product(ray_engine: Engine) -> None:
    """Its task is done again by its successor; the product is the same."""
    victim, witness = worker_processes()
    ring, matrix = Ring((1 << 2203) - 1, 2), np.random.default_rng(1).integers(-(1 << 18), 1 << 18, (800, 600))
    bases = from_ints(range(1, 801), ring.width)
    results: list[Limbs] = []
    product = threading.Thread(target=lambda: results.append(ray_engine.combine(ring, bases, matrix, 20)))
    product.start()
    wait_until_busy(victim)
    os.kill(victim, signal.SIGKILL)
    assert product.is_alive()
    product.join()
    np.testing.assert_array_equal(results[0], engines.choose("auto", 1).combine(ring, bases, matrix, 20))
    after = worker_processes()
    assert victim not in after
    assert witness in after


def wait_until_busy(process: int) -> None:
    """Until it has used a little processor time since now."""
    started = processor_ticks(process)
    while processor_ticks(process) < started + 3:
        time.sleep(0.005)


def processor_ticks(process: int) -> int:
    """User time so far, in the system's ticks (a hundredth of a second)."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[11])


@pytest.mark.usefixtures("everything_travels", "ray_engine")
def test_a_run_survives_the_loss_of_a_worker() -> None:
    """Killed after the first step, whatever it is doing then: the weights are those of a run without a cluster."""
    from plumbob.workshop.simulation import train

    plan = plan_for((2, 3), protocol="exchange", epochs=2)
    tables = tables_for(plan, *made_up())
    victim = worker_processes()[0]

    def kill_once(batch: object, steps: int) -> None:
        if getattr(batch, "step", 0) == 1:
            os.kill(victim, signal.SIGKILL)

    through_cluster = train(plan, tables, engine="ray", jobs=1, progress=kill_once)
    alone = train(plan, tables, engine="auto", jobs=1)
    assert through_cluster.record.engine == "ray"
    assert victim not in worker_processes()
    np.testing.assert_array_equal(weights_of(through_cluster), weights_of(alone))


@pytest.mark.usefixtures("ray_engine")
def test_work_that_is_lost_every_time_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how often it was tried and how to resume; the next call finds a worker."""
    monkeypatch.setattr(workers, "RETRIES", 0)
    pool = workers.Workers()
    with pytest.raises(CryptoError, match="lost the same work 1 times"):
        pool.map(lambda _: os._exit(1), [0])
    assert pool.map(lambda number: number + 1, [1, 2]) == [2, 3]


def test_no_cluster_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody listens the message says how to start a cluster."""
    leave_cluster()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(CryptoError, match="ray start --head"):
        engines.choose("ray")


def test_no_cluster_is_joined_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that runs on this machine may be another user's: it must be named."""
    leave_cluster()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(CryptoError, match="RAY_ADDRESS names no cluster"):
        engines.choose("ray")
