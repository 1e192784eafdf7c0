"""Whether a cluster would pay for blinding: two raylets on this machine against one thread of this process.

    python benchmarks/scale/blinding_on_ray.py [--chunks 24]

A chunk of 4096 ids, hashed, is sent to a worker, multiplied there and comes back, as `--engine ray` would do it. What
counts is the processor time that stays at home: however many nodes there are, a side cannot be faster than that.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import time
from functools import partial

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray.cluster_utils import Cluster

from plumbob.crypto.engines.workers import workers
from plumbob.crypto.ristretto import NativeGroup
from plumbob.protocol.alignment import CHUNK

SCALAR = 12345678901234567890123456789
AHEAD = 4
"""Chunks that are under way at a time."""


def blinded(uniform: bytes) -> bytes:
    """What a worker does; the secret scalar lies there."""
    return NativeGroup(threads=1).times_hashed(uniform, SCALAR)


def main() -> None:
    """Both ways in turns, and what each takes."""
    parser = argparse.ArgumentParser(description="blinding on two raylets")
    parser.add_argument("--chunks", type=int, default=24)
    chunks = parser.parse_args().chunks
    uniform = [hashlib.shake_256(number.to_bytes(4, "little")).digest(64 * CHUNK) for number in range(chunks)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    os.environ["RAY_ADDRESS"] = cluster.address
    spread = partial(workers().map, blinded)
    expected = list(map(blinded, uniform))
    assert spread(uniform) == expected
    ways = {"this process": lambda: list(map(blinded, uniform)), "two raylets": lambda: in_pieces(spread, uniform)}
    for _ in range(3):
        for name, work in ways.items():
            wall, cpu = time.perf_counter(), processor_seconds()
            assert work() == expected
            taken = time.perf_counter() - wall, processor_seconds() - cpu
            shown = [f"{1e6 * seconds / (chunks * CHUNK):.2f}" for seconds in taken]
            print(f"{name:12} {shown[0]} us per id, of which {shown[1]} are processor time at home", flush=True)
    ray.shutdown()
    cluster.shutdown()


def in_pieces(spread: partial[list[bytes]], uniform: list[bytes]) -> list[bytes]:
    """As many chunks at a time as a party has under way."""
    return [point for start in range(0, len(uniform), AHEAD) for point in spread(uniform[start : start + AHEAD])]


def processor_seconds() -> float:
    """Of this process, with all its threads."""
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


if __name__ == "__main__":
    main()
