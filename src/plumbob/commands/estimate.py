"""What a plan will cost: bytes exactly from the widths, minutes from a short measurement of the engine installed here.

An estimate is for all parties on this machine, as `train` runs them; parties on machines of their own share the work.
Every step does the same operations on public shapes, so that a few of each, timed once, give all of them.
"""

import math
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from plumbob.auditor.check import figures_of
from plumbob.auditor.figures import Figures
from plumbob.crypto import Encoded, PrivateKey, Slots, engines, okamoto_uchiyama, paillier, profiles
from plumbob.crypto.engines.interface import Engine
from plumbob.plan import Plan
from plumbob.protocol.messages import HEADER
from plumbob.protocol.shares import RING_BITS, share_bytes
from plumbob.protocol.widths import slots_for

SAMPLE_ROWS, SAMPLE_COLUMNS = 64, 64
"""Larger shapes are timed at this size and scaled: the cost grows linearly with both."""
FEW = 8
"""Replies that are timed."""
TRYING_SECONDS = 0.3
"""For each operation, so that all of them take about two seconds."""
MEBIBYTE = 2**20
CLEAR_STEP_SECONDS = 2e-4
OVERHEAD_SECONDS = 0.01
"""Of a step, for messages and everything else that is not arithmetic."""
LIBRARIES = 30 * MEBIBYTE
"""What training loads beyond what a check has loaded."""
COPIES_OF_DATA = 4
"""Tables, scaled rows, encoded integers and the transcript."""
COPIES_OF_CIPHERTEXTS = 4
"""As limbs, as bytes, on the way, and with the peer."""


@dataclass(frozen=True)
class Product:
    """One use of the primitive in a step: `terms` ciphertexts to the learner, `sums` back, packed into replies."""

    terms: int
    sums: int
    replies: int
    handed_back: int
    """Bytes, 0 where both sides keep what they have."""
    is_own_key: bool = True


@dataclass(frozen=True)
class Costs:
    """Seconds of one operation, on all cores."""

    encryption: float
    foreign_encryption: float
    entry: float
    randomisation: float
    decryption: float


@dataclass(frozen=True)
class Estimate:
    """For one run."""

    engine: str
    steps: int
    setup_seconds: float
    step_seconds: float
    minutes: float
    bytes_sent: int
    """Of all parties together, in training's messages; the handshake adds some kilobytes."""
    megabytes_sent: float
    peak_memory_mib: float
    rows: int


class Trials:
    """What was measured on this machine, kept so that the next plan that needs the same need not wait for it."""

    def __init__(self) -> None:
        self._keys: dict[tuple[object, ...], tuple[PrivateKey, float, float]] = {}
        self._costs: dict[tuple[object, ...], Costs] = {}

    def key(self, plan: Plan, engine: Engine) -> tuple[PrivateKey, float, float]:
        """A key as the plan wants it, with the seconds and the bytes that making it took."""
        kind = (plan.scheme, plan.key_bits, plan.test_only_keys)
        if kind not in self._keys:
            before, started = _resident(), time.perf_counter()
            key = _key(plan, engine)
            self._keys[kind] = key, time.perf_counter() - started, _resident() - before
        return self._keys[kind]

    def costs(self, figures: Figures, key: PrivateKey, products: list[Product]) -> Costs:
        """Of single operations; small shapes are measured apart, because in them the overhead weighs more."""
        plan = figures.plan
        kind = (plan.scheme, plan.key_bits, plan.test_only_keys, plan.arbiter is None, figures.widths.features.bits)
        shape = (*(size.bit_length() for size in _sample_shape(products)),)
        if (*kind, *shape) not in self._costs:
            self._costs[(*kind, *shape)] = _measured(figures, key, products)
        return self._costs[(*kind, *shape)]


def estimate(plan: Plan, rows: int | None = None, jobs: int | None = None, trials: Trials | None = None) -> Estimate:
    """Measured on this machine: now, unless earlier `trials` have it."""
    figures = figures_of(plan, rows)
    engine = engines.choose("auto", jobs or engines.cores())
    if plan.protocol == "clear":
        return _estimate(figures, "none", 0.0, CLEAR_STEP_SECONDS, 0, 0.0)
    trials = trials or Trials()
    key, setup, memory = trials.key(plan, engine)
    products = list(products_of(figures, key, figures.batch))
    costs = trials.costs(figures, key, products)
    # Each party has a key of its own and tables for every peer's; an arbiter's is everybody's.
    keys = 1 if plan.arbiter is not None else len(plan.learners)
    holders = len(plan.parties)
    seconds = step_seconds(figures, products, costs)
    return _estimate(
        figures, engine.name, keys * setup, seconds, bytes_sent(figures, key), memory * (keys * holders - 1)
    )


def _estimate(figures: Figures, engine: str, setup: float, step: float, sent: int, tables: float) -> Estimate:
    return Estimate(
        engine=engine,
        steps=figures.steps,
        setup_seconds=setup,
        step_seconds=step,
        minutes=(setup + step * figures.steps) / 60.0,
        bytes_sent=sent,
        megabytes_sent=sent / 1e6,
        peak_memory_mib=(peak_memory(figures) + tables) / MEBIBYTE,
        rows=figures.rows,
    )


def estimate_lines(cost: Estimate) -> list[str]:
    """For people."""
    return [
        f"estimate for {cost.rows} training rows, all parties on this machine, engine {cost.engine}:",
        f"  about {cost.minutes:.1f} minutes ({cost.steps} steps of {cost.step_seconds:.3g} s)",
        f"  {cost.megabytes_sent:.1f} MB sent, all parties together",
        f"  about {cost.peak_memory_mib:.0f} MiB of memory at its peak",
    ]


# Shapes.


def products_of(figures: Figures, key: PrivateKey, rows: int) -> Iterator[Product]:
    """Every use of the primitive in a step with so many rows."""
    plan = figures.plan
    for learner in plan.learners:
        columns = figures.columns(learner.name)
        if not columns:
            continue
        if plan.protocol == "shares":
            yield from _shared_products(figures, key, columns, rows)
            continue
        slots = slots_for(plan, figures.widths, key.public, columns, figures.rows)
        terms = rows * figures.widths.terms
        helpers = 1 if plan.protocol == "arbiter" else len(plan.learners) - 1
        for _ in range(helpers):
            yield Product(terms, columns, slots.replies, slots.opened_bytes, plan.protocol == "exchange")


def _shared_products(figures: Figures, key: PrivateKey, columns: int, rows: int) -> Iterator[Product]:
    """The peer's share of own weights times own rows, then its share of the residuals times own columns."""
    longest = max(figures.longest_batch, *(figures.columns(party.name) for party in figures.plan.learners))
    bits = RING_BITS + figures.widths.features.bits + longest.bit_length() + 2
    make = Slots.single if figures.plan.replies == "single" else Slots.packed
    for terms, sums in ((columns, rows), (rows, columns)):
        yield Product(terms, sums, make(key.public, sums, bits).replies, 0)


def bytes_sent(figures: Figures, key: PrivateKey) -> int:
    """By all parties in all steps, headers included."""
    steps = figures.steps // figures.plan.epochs
    usual = _bytes_of_step(figures, key, figures.batch)
    last = _bytes_of_step(figures, key, figures.longest_batch)
    sent = (usual * (steps - 1) + last) * figures.plan.epochs
    if figures.plan.protocol == "shares":
        columns = [figures.columns(party.name) for party in figures.plan.learners]
        rounds = 2 if figures.plan.open == "own" else 1
        sent += rounds * sum(HEADER.size + share_bytes(count) for count in columns)
    return sent


def _bytes_of_step(figures: Figures, key: PrivateKey, rows: int) -> int:
    plan, size = figures.plan, key.public.ciphertext_bytes
    if plan.protocol == "arbiter":
        # Scores to the label party and joint residuals back, for each feature party; then everybody's sums.
        vectors = 2 * len(plan.feature_parties) * (HEADER.size + rows * size)
        return vectors + sum(
            2 * HEADER.size + product.replies * size + product.handed_back
            for product in products_of(figures, key, rows)
        )
    total = 0
    for product in products_of(figures, key, rows):
        back = HEADER.size + product.handed_back if product.handed_back else 0
        total += 2 * HEADER.size + (product.terms + product.replies) * size + back
    return total


# Time.


def step_seconds(figures: Figures, products: list[Product], costs: Costs) -> float:
    """All parties' work of one step, one after the other on all cores."""
    per_reply = costs.randomisation + costs.decryption
    seconds = OVERHEAD_SECONDS + sum(
        product.terms * product.sums * costs.entry + product.replies * per_reply for product in products
    )
    if figures.plan.protocol == "arbiter":
        # Everybody encrypts under a key of which only the arbiter has the secret. Then the label party randomises the
        # joint residuals for each of the others, on its part of the cores, while they wait.
        learners = len(figures.plan.learners)
        joint = (learners - 1) * learners * costs.randomisation
        return seconds + figures.batch * (learners * costs.foreign_encryption + joint)
    if figures.plan.protocol == "shares":
        return seconds + sum(product.terms for product in products) * costs.encryption
    # One encryption serves all learners.
    return seconds + len(figures.plan.learners) * figures.batch * figures.widths.terms * costs.encryption


def _measured(figures: Figures, key: PrivateKey, products: list[Product]) -> Costs:
    """Each on a small sample."""
    public, features = key.public, figures.widths.features
    generator = np.random.default_rng(0)
    rows, columns = _sample_shape(products)
    limit = 1 << (features.bits - 1)
    X = Encoded(generator.integers(1 - limit, limit, (rows, columns)), features)
    values = [int(value) for value in generator.integers(-1000, 1000, rows)]
    sent = key.encrypt(values)
    few = sent[: min(rows, FEW)]
    count = len(few)
    reply = (few + public.random_mask(count, 64)).randomised()
    foreign = _seconds(lambda: public.encrypt(values)) / rows if figures.plan.protocol == "arbiter" else 0.0
    return Costs(
        encryption=_seconds(lambda: key.encrypt(values)) / rows,
        foreign_encryption=foreign,
        entry=_seconds(lambda: sent @ X) / (rows * columns),
        randomisation=_seconds(lambda: (few + public.random_mask(count, 64)).randomised()) / count,
        decryption=_seconds(lambda: key.decrypt(reply)) / count,
    )


def _sample_shape(products: list[Product]) -> tuple[int, int]:
    rows = max(product.terms for product in products)
    return min(rows, SAMPLE_ROWS), min(max(product.sums for product in products), SAMPLE_COLUMNS)


def _seconds(work: Callable[[], object]) -> float:
    """The best of some tries: others at work on this machine only ever make it slower."""
    best, ends = math.inf, time.perf_counter() + TRYING_SECONDS
    while best == math.inf or time.perf_counter() < ends:
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def _key(plan: Plan, engine: Engine) -> PrivateKey:
    test_only = plan.test_only_keys
    profile = profiles.insecure_for_tests(plan.key_bits) if test_only else profiles.for_key_bits(plan.key_bits)
    make = okamoto_uchiyama.generate if plan.scheme == "okamoto-uchiyama" else paillier.generate
    key: PrivateKey = make(profile, engine)
    # Both make their tables on first use.
    key.encrypt([0])
    key.public.randomisers(1)
    return key


# Memory.


def peak_memory(figures: Figures) -> float:
    """Bytes: this process as it stands, with keys and tables made, plus data, sums and one step's ciphertexts."""
    plan = figures.plan
    data = COPIES_OF_DATA * 8.0 * figures.rows * (plan.columns + 1)
    sums = 8.0 * figures.steps * (plan.columns + 1)
    size = plan.key_bits / 4 if plan.scheme == "paillier" else plan.key_bits / 8
    ciphertexts = 0.0 if plan.protocol == "clear" else len(plan.learners) * figures.longest_batch * size
    return _resident() + LIBRARIES + data + sums + COPIES_OF_CIPHERTEXTS * ciphertexts


def _resident() -> float:
    """The most bytes that this process has held so far; Linux counts in kibibytes, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
