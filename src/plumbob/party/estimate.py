"""The cost of a `shares` plan: bytes exactly as they are sent, memory by what is held, minutes from constants.

An estimate is for all parties on this machine, as `train` runs them; parties on machines of their own share the work.
Minutes are right within a factor of two on a machine that has nothing else to do.
"""

import resource
import sys
from dataclasses import dataclass
from typing import NamedTuple

from plumbob.checking.check import figures_of
from plumbob.checking.figures import Figures
from plumbob.counting import counted, seconds, size
from plumbob.crypto.kernel import cores
from plumbob.crypto.lattice import Layout, ParameterSet, SlotLayout
from plumbob.crypto.lattice.kernel import available_paths
from plumbob.data import store
from plumbob.errors import PlanError
from plumbob.party.evidence import evidence_bytes
from plumbob.plan import Plan, in_words
from plumbob.protocol.shares.shape import TERMS, Product, RunShape
from plumbob.protocol.shares.sizes import total_bytes

MEBIBYTE = 2**20
SHOWN_IN_MINUTES = 2.0
"""A run that takes less is told in seconds."""
BYTE_SECONDS = 5e-9
"""Seconds per byte that is sent: hashed at both ends and copied, with the work on its rows at home."""
LIBRARIES = 30 * MEBIBYTE
"""Memory that training loads beyond what a check has loaded."""
COPIES_OF_DATA = 3
"""How often tables are in memory: as read, aligned, and scaled."""
BYTES_OF_IDS = 200
"""Bytes per row, at each party, while tables are aligned."""
COPIES_OF_MESSAGES = 2
"""How often the messages of a pass over all rows are in memory: with their sender and with their receiver."""


class PolynomialSeconds(NamedTuple):
    """Seconds of one thread for each number of a polynomial (degree times primes), by the work that is done on it."""

    request: float
    """A polynomial of a request is encrypted."""
    reply: float
    """A polynomial of a reply is hidden and opened."""
    entry: float
    """A polynomial of a matrix is multiplied with one of a request."""
    slots: float
    """A block of rows goes through a product in slots."""
    turn: float
    """A block of rows goes through a complex product in slots."""
    key: float
    """A key is made and tested."""


SECONDS = {
    "avx512ifma": PolynomialSeconds(15e-9, 29e-9, 5e-9, 270e-9, 770e-9, 190e-9),
    "avx2": PolynomialSeconds(21e-9, 36e-9, 8e-9, 480e-9, 1170e-9, 250e-9),
    "portable": PolynomialSeconds(48e-9, 107e-9, 22e-9, 1340e-9, 3000e-9, 350e-9),
}
"""Measured once, one thread on a server's processor of 2024, by the kernel's instruction set."""


@dataclass(frozen=True)
class Estimate:
    """The cost of one run of a plan on this machine."""

    steps: int
    setup_seconds: float
    step_seconds: float
    """The mean seconds of a step: steps on a sample of the rows take less time than those on all."""
    minutes: float
    bytes_sent: int
    """The bytes of all parties' training messages; the greeting adds some kilobytes."""
    megabytes_sent: float
    peak_memory_mib: float
    temporary_files_mib: float
    """Features too large for memory, in files whose pages stay in memory while nobody else needs the room."""
    evidence_mib: float
    """What the party with the most to keep seals for its auditor; 0 where the plan keeps none."""
    rows: int
    passes: str
    """How many passes there are, on how many rows, in words."""


def estimate(plan: Plan) -> Estimate:
    """Estimate the cost of a `shares` plan; PlanError for any other."""
    if not plan.kind.has_lattices:
        raise PlanError(f'--estimate: expected protocol = "shares", got "{plan.protocol}"; leave --estimate out')
    figures = figures_of(plan)
    shape, sent, data = RunShape(plan, figures.rows), total_bytes(plan, figures.rows), data_bytes(figures)
    threads, path = cores(), SECONDS[available_paths()[0]]
    setup = setup_work(shape, path) / threads
    steps = step_work(shape, path) / threads + BYTE_SECONDS * sent
    return Estimate(
        steps=figures.steps,
        setup_seconds=setup,
        step_seconds=steps / figures.steps,
        minutes=(setup + steps) / 60.0,
        bytes_sent=sent,
        megabytes_sent=sent / 1e6,
        peak_memory_mib=(peak_memory(figures, sent) + key_memory(shape)) / MEBIBYTE,
        temporary_files_mib=COPIES_OF_DATA * sum(size for size in data if size >= store.MAPPED_FROM) / MEBIBYTE,
        evidence_mib=most_evidence(figures) / MEBIBYTE,
        rows=figures.rows,
        passes=in_words(figures.levels),
    )


def estimate_lines(cost: Estimate, plan: Plan) -> list[str]:
    """The estimate as lines for a terminal."""
    files = f", and {size(cost.temporary_files_mib * 2**20)} of temporary files" if cost.temporary_files_mib else ""
    return [
        f"estimate for {counted(cost.rows, 'training row')}, all parties on this machine:",
        f"  about {_duration(cost.minutes)} ({counted(cost.steps, *plan.step_nouns)} of {seconds(cost.step_seconds)})",
        f"  {cost.passes}",
        f"  {size(cost.bytes_sent)} sent, all parties together",
        f"  about {size(cost.peak_memory_mib * 2**20)} of memory at its peak{files}",
        *([f"  up to {size(cost.evidence_mib * 2**20)} of evidence at each party"] if cost.evidence_mib else []),
    ]


def _duration(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes >= SHOWN_IN_MINUTES else seconds(60 * minutes)


def most_evidence(figures: Figures) -> int:
    """The bytes of evidence at the party that keeps the most."""
    plan = figures.plan
    if not plan.keeps_evidence:
        return 0
    return max(evidence_bytes(plan.replace(test_share=0.0), party.name, figures.rows) for party in plan.learners)


# Time, of one thread.


def setup_work(whole: RunShape, path: PolynomialSeconds) -> float:
    """Seconds for all keys of products in slots; those of matrices are few."""
    slots = (product for product in whole.keyed_products if isinstance(product.layout, SlotLayout))
    return sum(path.key * _numbers(product.parameters) * len(product.pairs) for product in slots)


def step_work(whole: RunShape, path: PolynomialSeconds) -> float:
    """Seconds for all passes, all parties together."""
    return sum(passes * _work(product, path) for shape, passes in whole.levels for product in shape.products)


def _work(product: Product, path: PolynomialSeconds) -> float:
    layout = product.layout
    of_pair = _slot_work(layout, path) if isinstance(layout, SlotLayout) else _matrix_work(layout, path)
    return of_pair * len(product.pairs)


def _matrix_work(layout: Layout, path: PolynomialSeconds) -> float:
    requests, replies = layout.requests, layout.replies
    work = requests * path.request + replies * path.reply + requests * replies * path.entry
    return work * _numbers(layout.parameters)


def _slot_work(layout: SlotLayout, path: PolynomialSeconds) -> float:
    return layout.requests / TERMS * (path.turn if layout.is_turn else path.slots) * _numbers(layout.parameters)


def _numbers(parameters: ParameterSet) -> int:
    """How many numbers a polynomial modulo q has."""
    return parameters.degree * len(parameters.primes)


# Memory.


def peak_memory(figures: Figures, sent: int) -> float:
    """The peak memory in bytes, but for the keys: this process, data, ids, and the messages of one pass."""
    in_memory = sum(size for size in data_bytes(figures) if size < store.MAPPED_FROM)
    ids = BYTES_OF_IDS * figures.rows * len(figures.plan.learners)
    largest_pass = sent * figures.rows / sum(level.passes * level.rows for level in figures.levels)
    return _resident() + LIBRARIES + COPIES_OF_DATA * in_memory + ids + COPIES_OF_MESSAGES * largest_pass


def key_memory(whole: RunShape) -> int:
    """The bytes of all keys, which are tested before the first pass; each is kept at its owner and its evaluators."""
    return sum(
        len(product.parties) * (8 * _numbers(product.parameters) + product.parameters.polynomial_bytes)
        for product in whole.keyed_products
    )


def data_bytes(figures: Figures) -> list[float]:
    """The bytes of each party's rows as numbers."""
    return [8.0 * figures.rows * figures.columns(party.name) for party in figures.plan.learners]


def _resident() -> float:
    """The most bytes that this process has held so far; Linux counts in kibibytes, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
