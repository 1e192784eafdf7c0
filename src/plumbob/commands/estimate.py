"""The cost of a plan: bytes exactly from the schedule, minutes from a short measurement here.

An estimate is for all parties on this machine, as `train` runs them; parties on machines of their own share the work.
The times of single operations are measured (`crypto.calibration`).
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from plumbob.checking.check import figures_of
from plumbob.checking.figures import Figures
from plumbob.counting import counted, seconds, size
from plumbob.crypto import SYSTEM_RANDOMNESS, PrivateKey, engines, lattice, paillier, profiles
from plumbob.crypto.calibration import Costs, measured
from plumbob.crypto.engines import Engine, ProductShape
from plumbob.crypto.lattice import KeyContext, KeyProof, KeyTest, Layout, OwnerKey, SlotLayout, TestedKey
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.data import store
from plumbob.party.evidence import evidence_bytes
from plumbob.plan import Plan, in_words
from plumbob.protocol.paillier.schedule import slots_for
from plumbob.protocol.schedules import training_schedule
from plumbob.protocol.shares.shape import TERMS, LatticeShape

MEBIBYTE = 2**20
CLEAR_STEP_SECONDS = 2e-4
CLEAR_ENTRY_SECONDS = 1.5e-8
OVERHEAD_SECONDS = 0.01
"""Seconds of a step for messages and everything else that is not arithmetic."""
BYTE_SECONDS = 5e-9
"""Seconds per byte that lattices send: hashed at both ends and copied, with the work on its rows at home."""
LIBRARIES = 30 * MEBIBYTE
"""Memory that training loads beyond what a check has loaded."""
COPIES_OF_DATA = 3
"""How often tables are in memory: as read, aligned, and scaled."""
BYTES_OF_IDS = 200
"""Bytes per row, at each party, while tables are aligned."""
COPIES_OF_CIPHERTEXTS = 4
"""How often ciphertexts are in memory: as limbs, as bytes, on the way, and with the peer."""


@dataclass(frozen=True)
class ProductCost:
    """One use of the primitive in a step: `terms` ciphertexts to the learner, `sums` back, packed into replies."""

    terms: int
    sums: int
    replies: int


@dataclass(frozen=True)
class Estimate:
    """The cost of one run of a plan on this machine."""

    engine: str
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


class Trials:
    """Measurements on this machine, kept so that the next plan that needs the same need not wait."""

    def __init__(self) -> None:
        self._keys: dict[tuple[object, ...], tuple[PrivateKey, float, float]] = {}
        self._costs: dict[tuple[object, ...], Costs] = {}
        self._matrices: dict[tuple[object, ...], MatrixSeconds] = {}
        self._slots: dict[tuple[object, ...], SlotSeconds] = {}

    def key(self, plan: Plan, engine: Engine) -> tuple[PrivateKey, float, float]:
        """A key as the plan wants it, with the seconds and the bytes that making it took."""
        kind = (engine.name, plan.key_bits, plan.test_only_keys)
        if kind not in self._keys:
            before, started = _resident(), time.perf_counter()
            key = _key(plan, engine)
            self._keys[kind] = key, time.perf_counter() - started, _resident() - before
        return self._keys[kind]

    def costs(self, key: PrivateKey, shape: ProductShape) -> Costs:
        """The costs of single operations, measured again at each doubling of a shape: overhead then weighs less."""
        kind = (id(key), shape.rows.bit_length(), shape.columns.bit_length(), shape.bits)
        if kind not in self._costs:
            self._costs[kind] = measured(key, shape)
        return self._costs[kind]

    def matrix(self, parameters: lattice.ParameterSet, engine: lattice.LatticeEngine) -> "MatrixSeconds":
        """The seconds of a product with a matrix."""
        kind = (engine.name, parameters)
        if kind not in self._matrices:
            self._matrices[kind] = _measured_matrix(parameters, engine)
        return self._matrices[kind]

    def slots(self, parameters: lattice.ParameterSet, engine: lattice.LatticeEngine, is_turn: bool) -> "SlotSeconds":
        """The seconds of a product in slots."""
        kind = (engine.name, parameters, is_turn)
        if kind not in self._slots:
            self._slots[kind] = _measured_slots(parameters, engine, is_turn)
        return self._slots[kind]


def estimate(plan: Plan, rows: int | None = None, jobs: int | None = None, trials: Trials | None = None) -> Estimate:
    """Estimate by measuring on this machine now, unless earlier `trials` have it."""
    figures = figures_of(plan, rows)
    if not plan.kind.is_encrypted:
        entries = plan.columns * sum(level.passes * level.rows for level in figures.levels)
        return _estimate(
            figures, "none", 0.0, CLEAR_STEP_SECONDS * figures.steps + CLEAR_ENTRY_SECONDS * entries, 0, 0.0
        )
    trials = trials or Trials()
    if plan.kind.has_lattices:
        native = lattice.choose("auto", jobs)
        cost, sent = lattice_cost(figures, native, trials), bytes_sent(figures)
        steps = cost.step_seconds + BYTE_SECONDS * sent
        return _estimate(figures, native.name, cost.setup_seconds, steps, sent, float(cost.key_memory))
    engine = engines.choose("auto", jobs or engines.cores())
    key, setup, memory = trials.key(plan, engine)
    products = list(products_of(figures))
    costs = trials.costs(key, _shape(figures, products))
    # Each party has a key of its own and tables for every peer's; an arbiter's is everybody's.
    keys = 1 if plan.arbiter is not None else len(plan.learners)
    holders = len(plan.parties)
    seconds = step_seconds(figures, products, costs) * figures.steps
    return _estimate(figures, engine.name, keys * setup, seconds, bytes_sent(figures), memory * (keys * holders - 1))


def _estimate(figures: Figures, engine: str, setup: float, steps: float, sent: int, tables: float) -> Estimate:
    return Estimate(
        engine=engine,
        steps=figures.steps,
        setup_seconds=setup,
        step_seconds=steps / figures.steps,
        minutes=(setup + steps) / 60.0,
        bytes_sent=sent,
        megabytes_sent=sent / 1e6,
        peak_memory_mib=(peak_memory(figures) + tables) / MEBIBYTE,
        temporary_files_mib=sum(size for size in data_bytes(figures) if size >= store.MAPPED_FROM)
        * COPIES_OF_DATA
        / MEBIBYTE,
        evidence_mib=most_evidence(figures) / MEBIBYTE,
        rows=figures.rows,
        passes=in_words(figures.levels),
    )


def estimate_lines(cost: Estimate, plan: Plan) -> list[str]:
    """The estimate as lines for a terminal."""
    return [
        f"estimate for {counted(cost.rows, 'training row')}, all parties on this machine, engine {cost.engine}:",
        f"  about {cost.minutes:.1f} minutes ({counted(cost.steps, *plan.step_nouns)} of {seconds(cost.step_seconds)})",
        f"  {cost.passes}",
        f"  {size(cost.bytes_sent)} sent, all parties together",
        f"  about {size(cost.peak_memory_mib * 2**20)} of memory at its peak{_files_beside(cost)}",
        *([f"  up to {size(cost.evidence_mib * 2**20)} of evidence at each party"] if cost.evidence_mib else []),
    ]


def _files_beside(cost: Estimate) -> str:
    return f", and {size(cost.temporary_files_mib * 2**20)} of temporary files" if cost.temporary_files_mib else ""


def most_evidence(figures: Figures) -> int:
    """The bytes of evidence at the party that keeps the most."""
    plan = figures.plan
    if not plan.keeps_evidence:
        return 0
    return max(evidence_bytes(plan.replace(test_share=0.0), party.name, figures.rows) for party in plan.learners)


# Shapes.


def bytes_sent(figures: Figures) -> int:
    """The bytes that all parties send by the schedule, headers included, without held-out rows."""
    return training_schedule(figures.plan.replace(test_share=0.0), figures.rows).total_bytes


def products_of(figures: Figures) -> Iterator[ProductCost]:
    """Every use of the primitive in a usual step."""
    plan = figures.plan
    for learner in plan.learners:
        columns = figures.columns(learner.name)
        if not columns:
            continue
        slots = slots_for(plan, figures.widths, columns, figures.rows)
        helpers = 1 if plan.kind.has_arbiter else len(plan.learners) - 1
        for _ in range(helpers):
            yield ProductCost(figures.batch, columns, slots.replies)


# Time.


def step_seconds(figures: Figures, products: list[ProductCost], costs: Costs) -> float:
    """Seconds of all parties' work in one step, one after the other on all cores."""
    per_reply = costs.randomisation + costs.decryption
    seconds = OVERHEAD_SECONDS + sum(
        product.terms * product.sums * costs.entry + product.replies * per_reply for product in products
    )
    if figures.plan.kind.has_arbiter:
        # Everybody encrypts under a key of which only the arbiter has the secret. Then the label party randomises the
        # joint residuals for each of the others, on its part of the cores, while they wait.
        learners = len(figures.plan.learners)
        joint = (learners - 1) * learners * costs.randomisation
        return seconds + figures.batch * (learners * costs.foreign_encryption + joint)
    # One encryption serves all learners.
    return seconds + len(figures.plan.learners) * figures.batch * costs.encryption


def _shape(figures: Figures, products: list[ProductCost]) -> ProductShape:
    rows, columns = (max(getattr(product, side) for product in products) for side in ("terms", "sums"))
    return ProductShape(rows, columns, figures.widths.features.bits)


def _key(plan: Plan, engine: Engine) -> PrivateKey:
    test_only = plan.test_only_keys
    profile = profiles.insecure_for_tests(plan.key_bits) if test_only else profiles.for_key_bits(plan.key_bits)
    key = paillier.generate(profile, engine)
    # Both make their tables on first use.
    key.encrypt([0])
    key.public.randomisers(1)
    return key


# Memory.


def peak_memory(figures: Figures) -> float:
    """The peak memory in bytes: this process with keys and tables, plus data, sums and one step's ciphertexts."""
    plan = figures.plan
    in_memory = sum(size for size in data_bytes(figures) if size < store.MAPPED_FROM)
    data = COPIES_OF_DATA * in_memory + BYTES_OF_IDS * figures.rows * len(plan.learners)
    sums = 8.0 * figures.steps * (plan.columns + 1)
    size = plan.key_bits / 4 if plan.kind.is_encrypted else 0.0
    ciphertexts = len(plan.learners) * figures.longest_batch * size
    return _resident() + LIBRARIES + data + sums + COPIES_OF_CIPHERTEXTS * ciphertexts


def data_bytes(figures: Figures) -> list[float]:
    """The bytes of each party's rows as numbers."""
    return [8.0 * figures.rows * figures.columns(party.name) for party in figures.plan.learners]


def _resident() -> float:
    """The most bytes that this process has held so far; Linux counts in kibibytes, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


TRIES = 5
"""How often a product is timed."""
MANY = 8
"""How many polynomials the request or reply of a timed product has."""


@dataclass(frozen=True)
class LatticeCost:
    """The cost of one run for all parties together."""

    setup_seconds: float
    step_seconds: float
    """The seconds of all steps together."""
    key_memory: int
    """Bytes of all keys before the first pass, in one process."""


def lattice_cost(figures: Figures, engine: lattice.LatticeEngine, trials: Trials) -> LatticeCost:
    """The cost, from products of a few polynomials."""
    whole = LatticeShape(figures.plan, figures.rows)
    of_matrix = trials.matrix(whole.gradients(figures.plan.feature_parties[0].name)[0].parameters, engine)
    turns = {stage.is_turn for stage in whole.stages}
    of_slots = {turn: trials.slots(whole.profile[2], engine, turn) for turn in turns}
    steps = 0.0
    for shape, passes in whole.levels:
        matrices = sum(map(of_matrix.of, _matrices(shape)))
        staged = sum(layout.requests * of_slots[layout.is_turn].block for layout in _slots(shape)) / TERMS
        steps += passes * (staged + matrices)
    setup = sum(of_slots[layout.is_turn].key for _, shape in whole.keyed_passes for layout in _slots(shape))
    return LatticeCost(setup, steps, key_memory(whole))


def key_memory(whole: LatticeShape) -> int:
    """The bytes of all keys, which are tested before the first pass; each is kept at its owner and its evaluators."""
    ends = []
    for _, shape in whole.keyed_passes:
        ends += [layout.parameters for layout in _matrices(shape)] * 2
        for stage in shape.stages:
            ends += [shape.profile[2]] * len(shape.pieces) * (len(stage.owners) + stage.pairs)
    return sum(8 * len(one.primes) * one.degree + one.polynomial_bytes for one in ends)


def _matrices(shape: LatticeShape) -> list[Layout]:
    """The layouts of every party's matrix with every peer's numbers."""
    of_parties = ([shape.scores(party.name), *shape.gradients(party.name)] for party in shape.plan.learners)
    return list(chain.from_iterable(of_parties)) * (shape.parties - 1)


def _slots(shape: LatticeShape) -> list[SlotLayout]:
    """The layouts of every pair's product in every stage of the sigmoid."""
    return [
        shape.slots(piece, is_turn=stage.is_turn)
        for stage in shape.stages
        for piece in shape.pieces
        for _ in range(stage.pairs)
    ]


class SlotSeconds(NamedTuple):
    """Seconds for one block of rows, and for one key with its test."""

    block: float
    key: float


def _measured_slots(parameters: lattice.ParameterSet, engine: lattice.LatticeEngine, is_turn: bool) -> SlotSeconds:
    layout = SlotLayout(parameters, parameters.degree, TERMS, is_turn)
    started = time.perf_counter()
    key, tested = _tested(engine, layout, "slots")
    key_seconds = time.perf_counter() - started
    ones = np.ones((TERMS, layout.rows), dtype=np.int32)

    def multiply() -> None:
        owner = lattice.SlotOwner(key, 1, layout)
        draw = SYSTEM_RANDOMNESS.draw(SEED_BYTES)
        evaluator = lattice.SlotEvaluator(engine, layout, tested, 1, draw, lattice.Register())
        owner.open(evaluator.reply(owner.request(ones), ones).reply)

    return SlotSeconds(fastest(multiply), key_seconds)


class MatrixSeconds(NamedTuple):
    """Seconds of a product with a matrix: per polynomial of the request, of the reply, and of the matrix."""

    request: float
    reply: float
    entry: float
    size: int
    """The size of the polynomials that this was measured with."""

    def of(self, layout: Layout) -> float:
        """Seconds of one product."""
        requests, replies = layout.requests, layout.replies
        counted = requests * self.request + replies * self.reply + requests * replies * self.entry
        return counted * _size(layout.parameters) / self.size


def _measured_matrix(parameters: lattice.ParameterSet, engine: lattice.LatticeEngine) -> MatrixSeconds:
    """Measure three products: with many polynomials in the request, in the reply, and in both."""
    long, wide, both = (_product_seconds(parameters, engine, *one) for one in ((MANY, 1), (1, MANY), (MANY, MANY)))
    # Linear equations: `MANY` of the one, one of the other, and as many entries as both have together.
    reply_and_entries, request_and_entries = (both - long) / (MANY - 1), (both - wide) / (MANY - 1)
    request, reply = max(0.0, long - reply_and_entries) / MANY, max(0.0, wide - request_and_entries) / MANY
    return MatrixSeconds(request, reply, max(0.0, reply_and_entries - reply) / MANY, _size(parameters))


def _size(parameters: lattice.ParameterSet) -> int:
    """How many numbers a polynomial modulo q has."""
    return parameters.degree * len(parameters.primes)


def _product_seconds(
    parameters: lattice.ParameterSet, engine: lattice.LatticeEngine, requests: int, replies: int
) -> float:
    layout = Layout(parameters, "gradients", requests * parameters.degree, replies, 1, 128, 104)
    key, tested = _tested(engine, layout, "gradients")
    entries, values = np.ones((layout.rows, layout.columns), np.int32), np.ones((layout.inputs, 2), np.uint64)

    def multiply() -> None:
        owner = lattice.Owner(key, 1, layout)
        matrix = lattice.PrivateMatrix(engine, layout, entries)
        evaluator = lattice.Evaluator(matrix, tested, 1, SYSTEM_RANDOMNESS.draw(SEED_BYTES), lattice.Register())
        owner.open(evaluator.reply(owner.request(values)).reply)

    return fastest(multiply)


def fastest(work: Callable[[], None]) -> float:
    """Seconds of the fastest try: the first one fills caches, and other programs on the machine only ever add."""
    seconds = []
    for _ in range(TRIES):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _tested(engine: lattice.LatticeEngine, layout: Layout | SlotLayout, kind: str) -> tuple[OwnerKey, TestedKey]:
    context = KeyContext(b"estimate", "owner", "evaluator", kind, 1)
    key = OwnerKey(engine, layout.parameters, context, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
    public = key.public_bytes()
    while True:
        test = KeyTest(engine, layout.parameters, context, public, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
        proof = KeyProof(key, public, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
        nonce = proof.reveal(test.reveal(proof.commit(test.challenge())))
        if nonce is not None:
            return key, test.finish(nonce)
