"""How many harmonics does the sigmoid need? Quality in the clear, bytes and CPU seconds, for three series.

    PLUMBOB_DATA=... python benchmarks/series.py [--only fit quality cost]

Each series is the least-squares fit of K odd harmonics of a period P to the sigmoid, up to a quarter of P. `8/64` is
the one that `shares` uses. Training is that of benchmarks/levels.py, with the passes of the public rule.

RESULTS. AUC less that of 8/64, log loss beside it; most standard errors over the splits are below .00005. The limits
are a loss of .0003 AUC and .2 % log loss.

    table, parties                          8/64              5/40                6/51.2
    error up to a quarter of the period     .0044             .0043               .0059
    reach, slope                            .50154, .2414     .50195, .2416       .50228, .2390
    credit, 2                               .7207 / .4666     +.0000, +.00 %      -.0001, +.00 %
    credit, 3                               .7205 / .4663     +.0000, +.00 %      -.0001, +.00 %
    credit, 5                               .7203 / .4664     +.0000, +.00 %      -.0001, +.00 %
    hmeq, telco, with bins too; 2, 3, 5     largest loss      -.0000, +.00 %      -.0001, +.01 %
    made up, not separable; 2, 3, 5         largest loss      -.0000, +.00 %      -.0000, +.01 %
    breast-cancer, 2 (14 passes)            .9953 / .0885     -.0000, +.01 %      +.0000, +.09 %
    breast-cancer, 3 (28)                   .9963 / .0789     -.0011, +2.46 %     -.0000, -.02 %
    breast-cancer, 5 (30)                   .9961 / .0794     -.0008, +4.39 %     +.0000, -.77 %
    separable, 3,000, correlated at .9, 3   .9935 / .1278     -.0006, -3.24 %     -.0000, -.04 %
    separable, 3,000, correlated at .9, 5   .9928 / .1323     -.0005, -4.45 %     -.0000, -.07 %
    separable, 30,000, correlated at .9, 5  .9925 / .1287     -.0004, -2.79 %     -.0000, -.15 %
    separable, 200,000, correlated, 2       .9947 / .1234     -.0002, -1.20 %     -.0000, -.02 %

**Five harmonics of period 40 fit the sigmoid as well as eight of 64, but do not train as well among three and more
parties.** Beyond half a period a residual has the wrong sign and its row runs on: with the 28 to 30 passes of three and
more parties, training rows of these tables reach scores of 22 to 32 with 8/64 and 26 to 54 with 5/40. Fewer passes do
not help: with 14 to 30 of 5/40, breast-cancer among three never comes within both limits of 28 passes with 8/64, and
between two it already loses .0004 AUC and 2.9 % log loss at 24 passes (eight splits). Nor do other series of five
harmonics; 25 were tried, periods 43 to 52 with five ways to weight the fit. With periods 43 and 45 breast-cancer among
five loses .0006 and .0005; with 48, 50 and 52 credit loses .0003, .0004 and .0005, and breast-cancer between two .3 %
log loss with 48. A fit that is closer at small scores makes that up to 1.3 %. Standard errors on breast-cancer are
.0003 with three parties and .0004 with five, over 20 splits.

**Six harmonics of period 51.2 = 256 / 5 stay within the limits on all of these tables.** They also need no factor on
weights: a score's shares modulo 256 in units of 2**-24, times 5 modulo 2**32, are shares of its angle, because 256
is five whole turns. Weights are then shared modulo 2**53 in place of 2**51, products still have 32 bits, and
a score may be opened modulo anything up to 256. Packed, they cost hardly more than five, because 5,000 rows take as
many polynomials with twelve terms as with ten.

    credit, 27,000 rows   8 harmonics          6                    5
    2 parties             177 MB, 2.55 CPU s   145 MB, 2.28 CPU s   137 MB, 2.27 CPU s
    3 parties             1,040 MB, 15.4 s     861 MB, 13.3 s       819 MB, 12.9 s
    5 parties             4,621 MB             3,758 MB             3,553 MB

Bytes are those of the schedule, without repeated tests of keys. CPU seconds are medians of three interleaved rounds on
a busy machine, so only their ratios count; five parties were not timed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

import levels
import numpy as np
from levels import Data, Matrix, Vector, descend, made_up, problem, quality, real
from sklearn.model_selection import train_test_split

from plumbob import datasets
from plumbob.data import split_array
from plumbob.lab.simulate import train
from plumbob.plan import Plan, sigmoids
from plumbob.protocol.schedules import training_schedule
from plumbob.protocol.shares import series, shape

SERIES = {"8/64": (8, 64.0), "5/40": (5, 40.0), "6/51.2": (6, 51.2)}
SEPARABLE = "separable"


def fitted(harmonics: int, period: float) -> Vector:
    scores = np.linspace(-period / 4, period / 4, 40_001)
    found: Vector = np.linalg.lstsq(sines(scores, harmonics, period), 0.5 * np.tanh(scores / 2), rcond=None)[0]
    return found


def sines(scores: Vector, harmonics: int, period: float) -> Matrix:
    waves: Matrix = np.sin(np.multiply.outer(scores, np.arange(1, 2 * harmonics, 2)) * (2 * math.pi / period))
    return waves


def show_fits() -> None:
    for name, (harmonics, period) in SERIES.items():
        scores = np.linspace(0, period / 4, 200_001)
        values = sines(scores, harmonics, period) @ fitted(harmonics, period)
        error, steepest = np.abs(values - 0.5 * np.tanh(scores / 2)).max(), (np.diff(values) / np.diff(scores)).max()
        beyond = scores[values > 0.5][0]
        print(f"{name:7} error {error:.4f}, reach {values.max():.5f} from {beyond:.2f} on, slope {steepest:.4f}")


# --- quality ---


def tables() -> Iterator[tuple[str, Data, int, bool]]:
    """Name, table, how many splits, and whether there is a penalty of 1 / rows."""
    for parties in (2, 3, 5):
        for name in levels.REAL:
            yield f"{name}, {parties}", real(name, parties), 20 if name == "breast-cancer" else 4, False
        widths = (24 // parties,) * parties
        for rows, correlation, kind in (
            *((3_000, correlation, kind) for correlation in (0.0, 0.9) for kind in ("strong", "heavy", SEPARABLE)),
            *((30_000, correlation, kind) for correlation in (0.0, 0.9) for kind in ("strong", "rare", SEPARABLE)),
        ):
            splits = 4 if rows < 10_000 else 2
            name = f"{kind} {rows}, at {correlation}, {parties}"
            yield name, table(rows, widths, correlation, kind, parties), splits, False
    for name in ("hmeq", "telco", "credit"):
        yield f"{name} in bins, 2", real(name, 2, is_drafted=True), 2, True
    yield "separable 200000, at 0.9, 2", table(200_000, (12, 12), 0.9, SEPARABLE, 2), 1, False


def table(rows: int, widths: tuple[int, ...], correlation: float, kind: str, seed: int) -> Data:
    """`separable`: log-odds with a deviation of 60."""
    if kind != SEPARABLE:
        return made_up(rows, widths, correlation, kind, seed)
    X, _, split = made_up(rows, widths, correlation, "strong", seed)
    draw = np.random.default_rng(seed + 99)
    scores = X @ draw.normal(size=X.shape[1])
    chances = 1 / (1 + np.exp(-60 * scores / scores.std()))
    return X, (draw.random(rows) < chances).astype(float), split


def show_quality() -> None:
    """AUC less that of the first series, in 10**-4, log loss beside it, and the largest score of a training row."""
    for name, data, splits, is_penalised in tables():
        found = np.array([[*compared(data, seed, is_penalised)] for seed in range(splits)])
        first, *others = found.mean(axis=0)
        said = [f"{name:34} {first[0]:.4f} / {first[1]:.4f} ({first[2]:.0f})"]
        for place, (series_name, (auc, loss, largest)) in enumerate(zip(list(SERIES)[1:], others, strict=True), 1):
            spread = (found[:, place, 0] - found[:, 0, 0]).std() / math.sqrt(splits)
            said.append(
                f"{series_name} {1e4 * (auc - first[0]):+5.1f} ({1e4 * spread:.1f}) "
                f"{100 * (loss / first[1] - 1):+6.2f} % ({largest:.0f})"
            )
        print("   ".join(said), flush=True)


def compared(data: Data, seed: int, is_penalised: bool) -> Iterator[tuple[float, float, float]]:
    X, y, split = data
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    one = problem(X_train, y_train, X_test, y_test, split, 1 / len(y_train) if is_penalised else 0.0, seed)
    passes = levels.levels(len(y_train), one.columns, one.parties)
    for harmonics, period in SERIES.values():
        with patch.multiple(levels, PERIOD=period, AMPLITUDES=tuple(fitted(harmonics, period))):
            weights = descend(one, passes)
        yield *quality(y_test, one.Z_test @ weights), float(np.abs(one.Z @ weights).max())


# --- cost ---


def show_cost(rounds: int = 3) -> None:
    """Of whole runs on credit. A series costs what its number of harmonics costs, so that others are just left out."""
    X, y = datasets.load("credit", "train")
    for parties in (2, 3, 5):
        plan = Plan.for_columns(levels.dealt(X.shape[1], parties), open="own")
        for harmonics in (8, 6, 5):
            with shortened(harmonics):
                sent = sum(due.size for due in training_schedule(plan, len(X)).messages()) / 1e6
            print(f"{parties} parties, {harmonics} harmonics: {sent:,.0f} MB", flush=True)
    for parties in (2, 3):
        plan = Plan.for_columns(levels.dealt(X.shape[1], parties), open="own")
        names, widths = zip(*((party.name, party.features) for party in plan.learners), strict=True)
        split = dict(zip(names, split_array(X, y, widths), strict=True))
        spent: dict[int, list[float]] = {8: [], 6: [], 5: []}
        for _, (harmonics, seconds) in product(range(rounds), spent.items()):
            with shortened(harmonics):
                started = time.process_time()
                train(plan, split)
            seconds.append(time.process_time() - started)
        for harmonics, seconds in spent.items():
            print(f"{parties} parties, {harmonics} harmonics: {statistics.median(seconds):.2f} CPU s", flush=True)


@contextmanager
def shortened(harmonics: int) -> Iterator[None]:
    """Within: `shares` works with the first harmonics only."""
    amplitudes = sigmoids.AMPLITUDES[:harmonics]
    short: dict[str, Any] = {
        "HARMONICS": sigmoids.HARMONICS[:harmonics],
        "AMPLITUDES": amplitudes,
        "TERMS": 2 * harmonics,
    }
    with patch.multiple(shape, **short), patch.multiple(series, **short):
        yield


PARTS = {"fit": show_fits, "quality": show_quality, "cost": show_cost}


def main() -> None:
    parser = argparse.ArgumentParser(description="How many harmonics does the sigmoid need?")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    for name in parser.parse_args().only:
        PARTS[name]()


if __name__ == "__main__":
    main()
