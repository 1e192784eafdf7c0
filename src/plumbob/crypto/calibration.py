"""What the operations of a step cost on this machine: measured on a sample, for estimates.

Every step does the same operations on public shapes, so that a few of each, timed once, give all of them.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from plumbob.crypto.engines import ProductShape
from plumbob.crypto.fixed_point import Encoded, Encoding
from plumbob.crypto.paillier import PrivateKey

Result = TypeVar("Result")

BUDGET = 2.0
"""Seconds for a whole calibration, keys and tables not counted."""
TRIES = 3
SHARE_OF_TRY = 1.0 / (5 * TRIES * 8)
"""A try's share of the budget: five operations, several tries each, samples that double until a try lasts this long."""
LEAST_SAMPLE = 8
MOST_ROWS, MOST_COLUMNS = 4096, 64
"""Larger products are timed at this size and scaled, slightly too high: columns share tables."""


@dataclass(frozen=True)
class Costs:
    """Seconds for one operation, on all threads of the engine."""

    encryption: float
    foreign_encryption: float
    entry: float
    randomisation: float
    decryption: float


def measured(key: PrivateKey, shape: ProductShape, budget: float = BUDGET) -> Costs:
    """Measure each operation with the key's engine, on a sample of the plan's shape."""
    public, enough = key.public, budget * SHARE_OF_TRY
    rows, columns = min(shape.rows, MOST_ROWS), min(shape.columns, MOST_COLUMNS)
    generator, limit = np.random.default_rng(0), 1 << (shape.bits - 1)
    matrix = generator.integers(1 - limit, limit, (rows, columns))
    encoding = Encoding(shape.bits - 1, 0)
    values = [int(value) for value in generator.integers(-1000, 1000, rows)]
    # Both make their tables on first use.
    key.encrypt([0])
    public.randomisers(1)
    encryption, sent = _time(lambda count: key.encrypt(values[:count]), rows, enough)
    foreign, _ = _time(lambda count: public.encrypt(values[:count]), len(sent), enough)
    product, _ = _time(lambda count: sent[:count] @ Encoded(matrix[:count], encoding), len(sent), enough)
    masks = public.random_mask(len(sent), 64)
    randomisation, replies = _time(lambda count: (sent[:count] + masks[:count]).randomised(), len(sent), enough)
    decryption, _ = _time(lambda count: key.decrypt(replies[:count]), len(replies), enough)
    return Costs(encryption, foreign, product / columns, randomisation, decryption)


def _time(work: Callable[[int], Result], most: int, enough: float) -> tuple[float, Result]:
    """(seconds for one, the last result): the sample grows until it is the real size or a try lasts long enough."""
    sample = min(most, LEAST_SAMPLE)
    while True:
        best, result = _best(partial(work, sample))
        if best >= enough or sample >= most:
            return best / sample, result
        sample = min(most, 2 * sample)


def _best(work: Callable[[], Result]) -> tuple[float, Result]:
    """The fastest of some tries: other work on this machine only ever makes one slower."""
    best = math.inf
    for _ in range(TRIES):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return best, result
