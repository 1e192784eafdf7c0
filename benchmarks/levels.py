"""First a sample of the rows, then all of them: which public rule loses nothing? In the clear, without cryptography.

    PLUMBOB_DATA=... python benchmarks/levels.py [--only made-up judge drafted parties stability chosen-labels]

`levels` is the rule: public, nested samples of the training rows ("levels") for the first passes, and all rows for the
last ones. It depends on rows, columns and parties only. This script trains as `shares` does (whitened at home, public
rate 4/p, momentum .5, Fourier sigmoid), with today's full passes and with the rule, and compares both with pooled
scikit-learn (C = 1). The rule was tuned on `made_up` tables and then judged once on real ones. Results go to
benchmarks/levels.json. PLUMBOB_DATA is needed for the real tables.

Lists there are [AUC less pooled, log loss / pooled, rows processed in full passes], of eigenvalues [median, 99 %,
largest].

RESULTS, five splits of real tables, at most three of made-up ones; AUC less pooled, log loss / pooled, full passes:

    table                                          today (10 sqrt(p) passes)    levels
    credit, 24,000 x 23                            +.0019, x.9961, 14           +.0021, x.9969,  6.5
    hmeq, telco, breast-cancer                     14                           no sample: the same
    credit, 3 parties                              +.0018, x.9960, 17           +.0019, x.9965,  9.3
    credit, 5 parties                              +.0006, x.9968, 22           +.0015, x.9968, 12.1
    credit in bins (24,000 x 152, l2 = 1 / rows)   +.0001, x.9996, 14           no sample: the same
    made up, 160,000 x 40, correlated at .9        -.0006, x1.0010, 14          -.0005, x1.0009,  5.6
    made up, 800,000 x 40, correlated at .8        -.0001, x1.0002, 14          -.0001, x1.0001,  5.2
    made up, 3 parties, strong, 24,000, at .9      -.0041, x1.0105, 17          -.0027, x1.0070,  9.3
    made up, 3 parties, strong, 60,000, at .7      -.0012, x1.0147, 17          -.0007, x1.0085,  8.4
    made up, 5 parties, strong, 60,000, at .7      -.0025, x1.0180, 22          -.0015, x1.0107, 10.5
    made up, 9 parties, 60,000, at .6              -.0016, x1.0027, 30          -.0023, x1.0037, 14.6
    made up, bins, 100,000 x 216, at .8            -.0001, x1.0000, 14          -.0002, x1.0002,  9.2
    made up, bins, 200,000 x 216, at .5            -.0000, x1.0000, 14          -.0001, x1.0001,  6.6

Of these tables none with two, three or five parties lost more than .0003 AUC or .1 % log loss against today; nine
parties lost .0007. The worst of the tables that were used for tuning (two parties, 24,000 x 24, at .8) lost .0007 and
.19 %; six of its kind lost .0002 on average. Bins need the same 200 rows per column: with 50, credit in bins lost
.0006, with 25 .0009 and .25 %. So a drafted plan has a sample from 400 training rows per column on. The rule for two
parties was judged once on real tables. That for more was changed twice after that, by made-up tables only.

Stability: rare flags that all parties share reach at most 1.92 p on 5,000 rows (300 samples each; the limit is 3.1 p)
and 5.3 p on 800. On 5,000 rows a column's mean square exceeds 3 in at most 1.3 of a million samples, however rare.

Chosen labels (label 1 for one person, 0 for all others; credit, the peer's 12 weights): today they correlate with the
person's row at .97 to .99. With levels the sample's own mean hides it: .30 for a person of the first level, none for
others (ten people: .50 and .20 against 1.00). Against a run without that label on the same sample, correlations are .94
and 1.00, and the first level's person moves the weights five times as far as today, others a third as far. So a second
run must never have the same sample, and nobody may know the sample before rows and labels are fixed.
"""

from __future__ import annotations

import argparse
import json
import math
import os

# One core: others may be measuring on the rest.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import hypergeom, rankdata
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from plumbob.plan.levels import ROWS_PER_COLUMN, levels_by_rule

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Schedule = list[tuple[int, int]]
Data = tuple[Matrix, Vector, tuple[int, ...]]
"""All parties' columns, the labels, and how many columns each party has."""

# --- the rule ---


def levels(rows: int, columns: int, parties: int) -> Schedule:
    """The rule, as plans follow it."""
    return [(level.rows, level.passes) for level in levels_by_rule(rows, columns, parties)]


def today(rows: int, _columns: int, parties: int) -> Schedule:
    """The rule before there were levels: every pass uses all rows."""
    return [(rows, min(30, round(10 * math.sqrt(parties))))]


CLIP = 5.0
LARGEST = 127.0
LEAST_GAMMA = 0.01
MOMENTUM = 0.5
PERIOD = 64.0
AMPLITUDES = (
    *(0.626637507625, 0.184700400527, 0.0880374870891, 0.0459467916274),
    *(0.024559693887, 0.0132169068174, 0.00712669757106, 0.00384494410959),
)


# --- training as `shares` does it, in the clear ---


@dataclass(frozen=True)
class Whitened:
    """One party's standardisation and whitening, fitted on its own training rows."""

    middle: Vector
    scale: Vector
    centre: Vector
    matrix: Matrix

    @classmethod
    def fit(cls, X: Matrix, gamma: float) -> Whitened:
        middle, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        inside = np.clip((X - middle) / scale, -CLIP, CLIP)
        centre = inside.mean(axis=0)
        inside -= centre
        values, vectors = np.linalg.eigh(inside.T @ inside / len(X))
        matrix = (vectors / np.sqrt(np.maximum(values, 0.0) + gamma)) @ vectors.T
        return cls(middle, scale, centre, matrix)

    def apply(self, X: Matrix) -> Matrix:
        whitened: Matrix = (np.clip((X - self.middle) / self.scale, -CLIP, CLIP) - self.centre) @ self.matrix
        return np.clip(whitened, -LARGEST, LARGEST)


@dataclass(frozen=True)
class Problem:
    """Training and held-out rows as descent sees them: whitened, the intercept last, rows in the sample's order."""

    Z: Matrix
    y: Vector
    Z_test: Matrix
    y_test: Vector
    penalty: Matrix | None
    parties: int

    @property
    def columns(self) -> int:
        return int(self.Z.shape[1]) - 1


def problem(
    X: Matrix, y: Vector, X_test: Matrix, y_test: Vector, split: Sequence[int], l2: float, seed: int
) -> Problem:
    order = np.random.default_rng(seed).permutation(len(X))
    gamma = max(LEAST_GAMMA, 4.0 * l2 / len(split))
    ends = np.cumsum(split)[:-1]
    fitted = [Whitened.fit(part, gamma) for part in np.split(X, ends, axis=1)]

    def whiten(rows: Matrix) -> Matrix:
        parts = [one.apply(part) for one, part in zip(fitted, np.split(rows, ends, axis=1), strict=True)]
        return np.hstack([*parts, np.ones((len(rows), 1))])

    penalty = None
    if l2:
        penalty = np.zeros((X.shape[1] + 1, X.shape[1] + 1))
        at = 0
        for one, width in zip(fitted, split, strict=True):
            penalty[at : at + width, at : at + width] = l2 * (one.matrix @ one.matrix)
            at += width
    return Problem(whiten(X[order]), y[order], whiten(X_test), y_test, penalty, len(split))


def fourier(scores: Vector) -> Vector:
    """S(z) - 1/2 by eight odd harmonics, each from the two before it."""
    angle = scores * (2.0 * math.pi / PERIOD)
    twice = 2.0 * np.cos(2.0 * angle)
    before, this = -np.sin(angle), np.sin(angle)
    total = AMPLITUDES[0] * this
    for amplitude in AMPLITUDES[1:]:
        before, this = this, twice * this - before
        total += amplitude * this
    return total


def descend(one: Problem, schedule: Schedule) -> Vector:
    rate = 4.0 / one.parties
    weights = np.zeros(one.Z.shape[1])
    velocity = np.zeros_like(weights)
    for rows, passes in schedule:
        Z, shift = one.Z[:rows], one.y[:rows] - 0.5
        for _ in range(passes):
            gradient = Z.T @ (fourier(Z @ weights) - shift) / rows
            if one.penalty is not None:
                gradient += one.penalty @ weights
            velocity = MOMENTUM * velocity + gradient
            weights = weights - rate * velocity
    return weights


def quality(y: Vector, scores: Vector) -> tuple[float, float]:
    """AUC and log loss of scores."""
    positive = y > 0.5
    count = int(positive.sum())
    ranks = rankdata(scores)
    auc = (ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(y) - count))
    return float(auc), float(np.mean(np.logaddexp(0.0, np.where(positive, -scores, scores))))


def pooled(X: Matrix, y: Vector, X_test: Matrix, y_test: Vector) -> tuple[float, float]:
    """scikit-learn with C = 1 on standardised columns of all parties."""
    middle, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    model = LogisticRegression(C=1.0, max_iter=2000, solver="newton-cholesky").fit((X - middle) / scale, y)
    return quality(y_test, model.decision_function((X_test - middle) / scale))


def processed(schedule: Schedule, rows: int) -> float:
    return sum(level * passes for level, passes in schedule) / rows


# --- tables that are made up ---


def made_up(
    rows: int, widths: Sequence[int], correlation: float, kind: str, seed: int
) -> tuple[Matrix, Vector, tuple[int, ...]]:
    """Columns j of any two parties correlate; (X, y, columns of each party).

    `plain`: normal. `strong`: the same with large effects. `heavy`: log-normal amounts and long tails on both sides.
    `rare`: each party also has a flag per level of a category whose rarest levels have a few rows. `bins`: as drafted
    plans have them, ten bins per number.
    """
    draw = np.random.default_rng(seed)
    most = max(widths)
    shared = draw.normal(size=(rows, most))
    numbers = [
        math.sqrt(correlation) * shared[:, :width] + math.sqrt(1 - correlation) * draw.normal(size=(rows, width))
        for width in widths
    ]
    score = np.zeros(rows)
    parts = []
    for base in numbers:
        effects = draw.normal(size=base.shape[1]) * (0.4 if kind == "strong" else 1.2 / math.sqrt(sum(widths)))
        score += base @ effects + 0.15 * (np.abs(base) @ np.abs(effects))
        if kind == "heavy":
            heavy = np.where(np.arange(base.shape[1]) % 2 == 0, np.exp(1.5 * base), np.sinh(1.2 * base))
            parts.append(heavy)
        elif kind == "rare":
            levels = 12
            chances = 1.0 / np.arange(1, levels + 1) ** 3.5
            chances /= chances.sum()
            level = draw.choice(levels, size=rows, p=chances)
            score += (draw.normal(size=levels) * 1.0)[level]
            flags = (level[:, None] == np.arange(1, levels)).astype(float)
            parts.append(np.hstack([base, flags]))
        elif kind == "bins":
            parts.append(np.hstack([binned(base[:, place]) for place in range(base.shape[1])]))
        else:
            parts.append(base)
    score -= np.quantile(score, 0.5) + 1.2
    y = (draw.random(rows) < 1 / (1 + np.exp(-score))).astype(float)
    return np.hstack(parts), y, tuple(part.shape[1] for part in parts)


def binned(values: Vector, bins: int = 10) -> Matrix:
    """One column for each quantile bin but one, the first."""
    known = values[~np.isnan(values)]
    cuts = np.unique(np.quantile(known, np.arange(1, bins) / bins))
    places = np.searchsorted(cuts, values, side="left")
    parts = [(places == place) & ~np.isnan(values) for place in range(1, len(cuts) + 1)]
    if len(known) < len(values):
        parts.append(np.isnan(values))
    kept = [part for part in parts if part.any()]
    return np.column_stack(kept).astype(float)


# --- real tables ---

FILES = {
    "credit": ("credit/UCI_Credit_Card.csv.gz", "default.payment.next.month", 1, "ID"),
    "hmeq": ("hmeq/hmeq.csv", "BAD", 1, None),
    "telco": ("telco/telco.csv", "Churn", "Yes", "customerID"),
}
REAL = (*FILES, "breast-cancer")


def real(name: str, parties: int, is_drafted: bool = False) -> Data:
    """Columns in their order, dealt out evenly; one-hot with gaps as means, or bins as a drafted plan has them."""
    frame, y = frame_of(name)
    if is_drafted:
        columns = [bins_of(frame[column]) for column in frame]
        ends = [len(columns) * place // parties for place in range(parties + 1)]
        parts = [np.hstack(columns[start:end]) for start, end in pairwise(ends)]
        return np.hstack(parts), y, tuple(part.shape[1] for part in parts)
    encoded = pd.get_dummies(frame, drop_first=True, dtype=float)
    X = encoded.fillna(encoded.mean()).to_numpy(np.float64)
    return X, y, dealt(X.shape[1], parties)


def frame_of(name: str) -> tuple[pd.DataFrame, Vector]:
    if name == "breast-cancer":
        found = load_breast_cancer(as_frame=True)
        return found.data, found.target.to_numpy(np.float64)
    file, label, positive, dropped = FILES[name]
    frame = pd.read_csv(Path(os.environ["PLUMBOB_DATA"]) / file, na_values=[" "])
    y = (frame.pop(label) == positive).to_numpy(np.float64)
    return frame.drop(columns=[dropped] if dropped else []), y


def bins_of(column: pd.Series) -> Matrix:
    if pd.api.types.is_numeric_dtype(column):
        return binned(column.to_numpy(np.float64))
    levels_of: Matrix = pd.get_dummies(column, drop_first=True, dummy_na=bool(column.isna().any())).to_numpy(np.float64)
    return levels_of


def dealt(columns: int, parties: int) -> tuple[int, ...]:
    """As evenly as possible; the label party has the fewest."""
    return tuple((columns + place) // parties for place in range(parties))


# --- comparisons ---


def compared(data: Data, seeds: int, is_penalised: bool, schedules: dict[str, Callable[..., Schedule]]) -> Found:
    """Means over splits that hold out a fifth of the rows, or a fifth of each made-up table."""
    X, y, split = data
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
        auc, loss = pooled(X_train, y_train, X_test, y_test)
        found.setdefault("pooled", []).append((auc, loss))
        one = problem(X_train, y_train, X_test, y_test, split, 1 / len(y_train) if is_penalised else 0.0, seed)
        for name, rule in schedules.items():
            schedule = rule(len(y_train), one.columns, one.parties)
            own_auc, own_loss = quality(y_test, one.Z_test @ descend(one, schedule))
            cost = processed(schedule, len(y_train))
            found.setdefault(name, []).append((own_auc - auc, own_loss / loss, cost))
    return {name: [round(float(value), 5) for value in np.mean(rows, axis=0)] for name, rows in found.items()}


RULES: dict[str, Callable[..., Schedule]] = {"today": today, "levels": levels}
Found = dict[str, list[float]]


def show(name: str, data: Data, found: Found) -> None:
    rows, columns = round(0.8 * len(data[1])), data[0].shape[1]
    print(f"{name}: {rows} x {columns}, pooled {found['pooled'][0]:.4f} / {found['pooled'][1]:.4f}")
    for rule, (auc, loss, cost) in ((rule, values) for rule, values in found.items() if rule != "pooled"):
        print(f"    {rule:12} {auc:+.5f}  x{loss:.5f}  {cost:6.2f} full passes", flush=True)


MADE_UP: tuple[tuple[int, tuple[int, ...], float, str], ...] = (
    (24_000, (11, 12), 0.0, "plain"),
    (24_000, (11, 12), 0.5, "heavy"),
    (24_000, (11, 12), 0.9, "plain"),
    (10_000, (12, 13), 0.6, "plain"),
    (36_000, (21, 21), 0.5, "plain"),
    (60_000, (10, 10), 0.5, "rare"),
    (60_000, (20, 20), 0.7, "heavy"),
    (160_000, (20, 20), 0.3, "plain"),
    (160_000, (20, 20), 0.9, "plain"),
    (160_000, (20, 20), 0.5, "rare"),
    (800_000, (20, 20), 0.8, "plain"),
    (24_000, (12, 12), 0.9, "strong"),
    (24_000, (8, 8, 8), 0.9, "plain"),
    (24_000, (8, 8, 8), 0.9, "strong"),
    (60_000, (16, 16, 16), 0.7, "strong"),
    (10_000, (8, 8, 9), 0.6, "plain"),
    (60_000, (14, 14, 14), 0.6, "plain"),
    (160_000, (14, 14, 14), 0.9, "plain"),
    (24_000, (4, 5, 5, 5, 5), 0.9, "plain"),
    (60_000, (8, 8, 8, 8, 8), 0.6, "plain"),
    (60_000, (8, 8, 8, 8, 8), 0.7, "strong"),
    (60_000, (5,) * 9, 0.6, "plain"),
    (160_000, (8, 8, 8, 8, 8), 0.9, "plain"),
    # Where samples cost most: directions in which the parties nearly agree are learned, but slowly.
    (24_000, (11, 12), 0.8, "plain"),
    (24_000, (12, 12), 0.8, "plain"),
    (24_000, (12, 13), 0.8, "plain"),
)
DRAFTED_MADE_UP = (
    (24_000, (7, 7), 0.5),
    (40_000, (10, 10), 0.5),
    (100_000, (12, 12), 0.3),
    (100_000, (12, 12), 0.8),
    (200_000, (12, 12), 0.5),
    (100_000, (8, 8, 8), 0.5),
)


def run_made_up() -> dict[str, Any]:
    """The tables on which the rule was tuned, from other seeds."""
    report = {}
    for place, (rows, widths, correlation, kind) in enumerate(MADE_UP):
        data = made_up(round(rows / 0.8), widths, correlation, kind, 1000 + place)
        name = f"{kind} {rows} x {data[0].shape[1]}, {len(widths)} parties, correlated at {correlation}"
        report[name] = compared(data, 1 if rows > 200_000 else 3, False, RULES)
        show(name, data, report[name])
    return report


def run_judge() -> dict[str, Any]:
    report = {}
    for name in REAL:
        data = real(name, 2)
        report[name] = compared(data, 5, False, RULES)
        show(name, data, report[name])
    return report


def run_parties() -> dict[str, Any]:
    """More parties on real tables, and more full passes where there is no sample."""
    report = {}
    rules = {**RULES, "30 full": lambda rows, *_: [(rows, 30)]}
    for parties in (3, 5):
        for name in REAL:
            data = real(name, parties)
            title = f"{name}, {parties} parties"
            report[title] = compared(data, 5, False, rules)
            show(title, data, report[title])
    return report


def with_rows_per_column(wanted: int) -> Callable[..., Schedule]:
    """The rule with another first level."""

    def rule(rows: int, columns: int, parties: int) -> Schedule:
        return levels(rows, round(columns * wanted / ROWS_PER_COLUMN), parties)

    return rule


def run_drafted() -> dict[str, Any]:
    """Ten bins per number and l2 = 1 / rows: how many rows per column the first level needs."""
    rules = {**RULES, **{f"{wanted} a column": with_rows_per_column(wanted) for wanted in (25, 50, 100)}}
    report = {}
    for place, (rows, widths, correlation) in enumerate(DRAFTED_MADE_UP):
        data = made_up(round(rows / 0.8), widths, correlation, "bins", 2000 + place)
        name = f"bins {rows} x {data[0].shape[1]}, {len(widths)} parties, correlated at {correlation}"
        report[name] = compared(data, 2, True, rules)
        show(name, data, report[name])
    for name in FILES:
        data = real(name, 2, is_drafted=True)
        report[f"{name} drafted"] = compared(data, 5, True, rules)
        show(f"{name} drafted", data, report[f"{name} drafted"])
    return report


# --- stability ---

RARE_COUNTS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 400, 1000)


def run_stability() -> dict[str, Any]:
    """The largest eigenvalue of a sample's Gram matrix, intercept included, in units of the parties (limit 3.1).

    Every party has the same flags, each set for a few rows: the worst case, in which the parties' columns add up.
    """
    report: dict[str, Any] = {"chance that a column's mean square exceeds 3": {}, "largest eigenvalue / parties": {}}
    for rows, sample in ((27_000, 800), (27_000, 5000), (160_000, 5000), (1_000_000, 5000)):
        worst = max((chance_above(rows, count, sample, 3.0), count) for count in rare_counts(rows))
        report["chance that a column's mean square exceeds 3"][f"{sample} of {rows}"] = worst
        print(f"{sample} of {rows}: at most {worst[0]:.1e}, with {worst[1]} such rows", flush=True)
    for rows, parties in ((27_000, 2), (27_000, 5), (160_000, 2)):
        for sample in (800, 5000):
            values = eigenvalues_of_samples(rows, parties, sample, draws=300)
            found = [round(float(np.quantile(values, q)), 3) for q in (0.5, 0.99, 1.0)]
            report["largest eigenvalue / parties"][f"{sample} of {rows}, {parties} parties"] = found
            print(f"{sample} of {rows}, {parties} parties: median, 99 %, largest {found}", flush=True)
    return report


def rare_counts(rows: int) -> list[int]:
    return sorted({round(value) for value in np.geomspace(1, rows / 2, 400)})


def chance_above(rows: int, count: int, sample: int, limit: float) -> float:
    """That a whitened flag of so many rows has a mean square above the limit on a sample, exactly."""
    share = count / rows
    height = min(CLIP, math.sqrt((1 - share) / share)) + min(CLIP, math.sqrt(share / (1 - share)))
    square = height**2 / (height**2 * share * (1 - share) + LEAST_GAMMA)
    # Of k rows in the sample: (k (1 - share)^2 + (sample - k) share^2) square / sample.
    enough = (limit * sample / square - sample * share**2) / (1 - 2 * share) if share < 0.5 else sample
    return float(hypergeom.sf(math.floor(enough), rows, count, sample))


def eigenvalues_of_samples(rows: int, parties: int, sample: int, draws: int) -> Vector:
    draw = np.random.default_rng(rows + sample + parties)
    flags = np.zeros((rows, len(RARE_COUNTS)))
    for place, count in enumerate(RARE_COUNTS):
        flags[draw.choice(rows, count, replace=False), place] = 1.0
    whitened = Whitened.fit(flags, LEAST_GAMMA).apply(flags)
    Z = np.hstack([whitened] * parties + [np.ones((rows, 1))])
    found = []
    for _ in range(draws):
        chosen = Z[draw.choice(rows, sample, replace=False)]
        found.append(np.linalg.eigvalsh(chosen.T @ chosen / sample)[-1] / parties)
    return np.array(found)


# --- labels that the label party chooses ---

CHOSEN = {
    "1 for {}, 0 for others": (0.0, 1.0),
    "50 for {}, 0 for others": (0.0, 50.0),
    "1 for {}, 1/2 for others": (0.5, 1.0),
}
"""By name, the label of all others and of the chosen. Only the first can be had with honest software; the others are
false residuals, in the last of which all others have none at the start."""


def run_chosen_labels() -> dict[str, Any]:
    """Label 1 for one person, or ten, and 0 for all others: how near the peer's joint weights come to their row.

    `weights` is the correlation of the peer's whitened weights with the row (the sum of ten rows); `rank` the share of
    all rows that come nearer; `against no labels` the same for the difference from a run without chosen people on
    the same sample, which takes two runs of one seed; `length` the length of that difference.
    """
    X, y, split = real("credit", 2)
    one = problem(X, y, X[:1], y[:1], split, 0.0, 0)
    report = {}
    schedules = {"today": today(len(X), one.columns, 2), "levels": levels(len(X), one.columns, 2)}
    first = schedules["levels"][0][0]
    draw = np.random.default_rng(5)
    for size, (wording, labels) in product((1, 10), CHOSEN.items()):
        for place, (start, end) in {"the first level": (0, first), "no sample": (first, len(X))}.items():
            groups = [draw.choice(np.arange(start, end), size, replace=False) for _ in range(20)]
            for rule, schedule in schedules.items():
                name = f"{wording.format(f'{size} of {place}')}, {rule}"
                report[name] = nearness(one, split, schedule, groups, labels)
                print(f"{name:60} {report[name]}", flush=True)
    return report


def nearness(
    one: Problem,
    split: Sequence[int],
    schedule: Schedule,
    groups: list[NDArray[np.intp]],
    labels: tuple[float, float],
) -> dict[str, float]:
    peer = slice(split[0], split[0] + split[1])
    rows, (others, chosen) = one.Z[:, peer], labels
    nobody = descend(replace(one, y=np.full(len(one.y), others)), schedule)[peer]
    found = []
    for group in groups:
        y = np.full(len(one.y), others)
        y[group] = chosen
        weights = descend(replace(one, y=y), schedule)[peer]
        target, change = rows[group].sum(axis=0, keepdims=True), weights - nobody
        reached = correlations(target, weights)[0]
        nearer = np.mean(correlations(rows, weights) > reached)
        found.append((reached, nearer, correlations(target, change)[0], np.linalg.norm(change)))
    names = ("weights", "rank", "against no labels", "length")
    return dict(zip(names, [float(f"{value:.4g}") for value in np.mean(found, axis=0)], strict=True))


def correlations(rows: Matrix, weights: Vector) -> Vector:
    """Of each row with the weights, column by column."""
    centred, other = rows - rows.mean(axis=1, keepdims=True), weights - weights.mean()
    found: Vector = centred @ other / (np.linalg.norm(centred, axis=1) * np.linalg.norm(other) + 1e-300)
    return found


RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    "made-up": run_made_up,
    "judge": run_judge,
    "parties": run_parties,
    "drafted": run_drafted,
    "stability": run_stability,
    "chosen-labels": run_chosen_labels,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="a sample of the rows first, then all of them")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--results", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    for name in options.only:
        print(f"== {name}", flush=True)
        found = RUNS[name]()
        known = json.loads(options.results.read_text()) if options.results.exists() else {}
        options.results.write_text(json.dumps({**known, name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
