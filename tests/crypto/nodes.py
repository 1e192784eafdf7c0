"""A real cluster of two nodes for tests."""

import importlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from plumbob.crypto.lattice import workers

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="the extra 'ray' is not installed")
NodeAffinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy

# Ray's own code, and what it starts, warn about themselves.
IGNORED_WARNINGS = [
    pytest.mark.filterwarnings(f"ignore::{name}")
    for name in (
        "ResourceWarning",
        "DeprecationWarning",
        "FutureWarning",
        "pytest.PytestUnraisableExceptionWarning",
        "pytest.PytestUnhandledThreadExceptionWarning",
    )
]


@contextmanager
def two_nodes() -> Iterator[Any]:
    """Two nodes with a worker each; everything is ended with the last test."""
    nodes = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    place.append(f"ray://{nodes.address}")
    workers.workers(address())
    for node in ray.nodes():
        wait_for(node["NodeID"])
    yield nodes
    leave_cluster()
    nodes.shutdown()


place: list[str] = []
"""The cluster that was started last."""


def address() -> str:
    """The cluster as party.toml names it."""
    return place[-1]


def wait_for(node: str) -> None:
    """Wait until a node does work: it is listed before the others know how to reach it."""
    here, trivial = NodeAffinity(node, soft=False), ray.remote(num_cpus=0)(lambda: None)
    for _ in range(600):
        with suppress(ray.exceptions.TaskUnschedulableError):
            ray.get(trivial.options(scheduling_strategy=here).remote())
            return
        time.sleep(0.1)
    raise AssertionError("a node of the cluster did no work within a minute")


def leave_cluster() -> None:
    """The workers end with the connection; the next engine connects again."""
    workers.workers.cache_clear()
    ray.shutdown()


def homes_of_workers() -> list[str]:
    """The node of each worker."""
    return workers.workers(address()).map(
        lambda _: importlib.import_module("ray").get_runtime_context().get_node_id(), [0, 1]
    )


def seen_tasks(patch: pytest.MonkeyPatch) -> list[workers.Task]:
    """What is sent to workers from now on."""
    sent: list[workers.Task] = []
    carried_out = workers.Workers.done

    def seen(self: workers.Workers, tasks: Sequence[workers.Task]) -> list[Any]:
        sent.extend(tasks)
        return carried_out(self, tasks)

    patch.setattr(workers.Workers, "done", seen)
    return sent
