"""How numeric columns of small and large tables are best encoded: thirteen encodings, and the rule that picks one.

    python benchmarks/encoding_study.py tune [--out FILE]  # made-up tables, and real ones, at five sizes
    python benchmarks/encoding_study.py check [--out FILE]  # made-up tables that no constant of the rule was chosen on
    python benchmarks/encoding_study.py generated [--out FILE]  # what scikit-learn bundles and generates: not chosen on
    PLUMBOB_DATA=csv python benchmarks/encoding_study.py public [--out FILE]  # tables of the repository Rdatasets
    python benchmarks/encoding_study.py clear [--out FILE]  # some of both, trained as `clear` trains
    python benchmarks/encoding_study.py show FILE ...  # tables of what was found: the rule beside the best

An encoding is a plain column (standardised, clipped to +-5, a gap at its mean), quantile bins, or both, with a penalty
of 1 / (C rows) on the mean loss. Slots are as in `plumbob.data`: the most frequent one is left out, gaps have their
own, levels with fewer than 30 rows are grouped, columns are standardised, and a rare one's factor is limited. A plain
column has a column beside it that marks its gaps. The same is written down here once more, in numpy, because a study of
encodings must try some that the package has not. Models are scikit-learn's, on everybody's columns together.

Each figure is the mean over repeated draws of training rows, on rows that took no part: 4,000 more of a made-up
table, all others of a real one (at most 4,000). `benchmarks/encodings.md` has the results.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from plumbob.plan.encodings import encoding_for
from plumbob.plan.settings import BIN_SCALE

Numbers = NDArray[np.float64]
Codes = NDArray[np.intp]

CLIP = 5.0
RARE = 30
TEST_ROWS = 4_000
GAP = -1
# (bins, plain, what bins are multiplied by), and the C of each that is tried.
SHAPES: dict[tuple[int, bool, float], tuple[float, ...]] = {
    (0, True, 1.0): (0.03, 0.1, 0.3, 1.0),
    (5, False, 1.0): (0.1,),
    (10, False, 1.0): (0.1, 1.0),
    (20, False, 1.0): (0.1,),
    (3, True, 1.0): (0.03, 0.1, 0.3),
    (5, True, 1.0): (0.03, 0.1, 0.3),
    (10, True, 1.0): (0.03, 0.1, 0.3, 1.0),
    **{(bins, True, BIN_SCALE): (0.03, 0.1, 0.3, 1.0) for bins in (3, 5, 10)},
}
THIRTEEN = (
    *((0, True, 1.0, C) for C in (0.03, 0.1, 1.0)),
    (5, False, 1.0, 0.1),
    *((10, False, 1.0, C) for C in (0.1, 1.0)),
    (20, False, 1.0, 0.1),
    (3, True, 1.0, 0.1),
    *((5, True, 1.0, C) for C in (0.03, 0.1)),
    *((10, True, 1.0, C) for C in (0.03, 0.1, 1.0)),
)
MOST_CLASSES = 4
"""A label with more different values is a number, and its positive class the larger ones."""
TODAY = (10, False, 1.0, 1.0)
SIZES = (200, 600, 1500, 5000, 20_000)
REPEATS = {200: 4, 600: 3, 1500: 2, 5000: 1, 20_000: 1, 50_000: 1}


# Tables.


@dataclass(frozen=True)
class Rows:
    """Numbers with NaN for a gap, texts as codes from 0 with -1 for a gap, labels 0 or 1."""

    numbers: Numbers
    texts: Codes
    y: Codes

    def take(self, rows: Codes) -> Rows:
        return Rows(self.numbers[rows], self.texts[rows], self.y[rows])

    def halves(self) -> tuple[Rows, Rows]:
        """Two parties: every other column is the second one's."""
        first, second = (Rows(self.numbers[:, start::2], self.texts[:, start::2], self.y) for start in (0, 1))
        return first, second


Draw = Callable[[int, np.random.Generator], tuple[Rows, Rows]]
"""(training rows, other rows): as many of the first as are asked for."""


THEMES = ("linear", "monotone", "u", "thresholds", "heavy", "mixed")
OTHER_THEMES = ("trees", "network", "classes", "waves")
EFFECTS: dict[str, tuple[Callable[[Numbers, float], Numbers], ...]] = {
    "linear": (lambda g, t: g,),
    "monotone": (lambda g, t: np.tanh(2 * (g - t)), lambda g, t: np.exp(0.8 * g), lambda g, t: np.maximum(g - t, 0)),
    "u": (lambda g, t: (g - t) ** 2, lambda g, t: np.abs(g - t)),
    "thresholds": (lambda g, t: (g > t).astype(np.float64), lambda g, t: (np.abs(g - t) < 0.7).astype(np.float64)),
    "waves": (lambda g, t: np.sin(2.5 * g + 3 * t), lambda g, t: np.cos(1.5 * g) * g),
}
EFFECTS["heavy"] = (*EFFECTS["linear"], *EFFECTS["monotone"], *EFFECTS["thresholds"])
EFFECTS["mixed"] = (*EFFECTS["heavy"], *EFFECTS["u"])


def made_up(theme: str, seed: int) -> Draw:
    """A table of this theme: how many columns of which kind there are, and what they say, follow from the seed."""
    fixed = np.random.default_rng([zlib.crc32(theme.encode()), seed])
    shape = _drawn_shape(theme, fixed)
    raw = _scores(theme, shape, 20_000, np.random.default_rng(fixed.integers(1 << 60)))
    scale = fixed.uniform(0.7, 2.5) / raw[1].std()
    positive = fixed.choice([0.5, 0.3, 0.15, 0.06])
    offset = _offset(raw[1] * scale, positive)

    def draw(rows: int, generator: np.random.Generator) -> tuple[Rows, Rows]:
        (numbers, texts), score = _scores(theme, shape, rows + TEST_ROWS, generator)
        chance = 1 / (1 + np.exp(-(score * scale + offset)))
        whole = Rows(numbers, texts, (generator.random(len(chance)) < chance).astype(np.intp))
        order = np.arange(len(chance))
        return whole.take(order[:rows]), whole.take(order[rows:])

    return draw


def _offset(score: Numbers, positive: float) -> float:
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-(score + middle)))).mean() < positive else (low, middle)
    return low


@dataclass(frozen=True)
class Shape:
    """What is fixed about a made-up table."""

    forms: tuple[str, ...]
    loading: Numbers
    thresholds: Numbers
    effects: tuple[int, ...]
    strengths: Numbers
    gaps: Numbers
    gap_effects: Numbers
    levels: tuple[Numbers, ...]
    level_effects: tuple[Numbers, ...]
    teacher: int


def _drawn_shape(theme: str, fixed: np.random.Generator) -> Shape:
    columns = round(math.exp(fixed.uniform(math.log(5), math.log(60))))
    texts = round(columns * fixed.choice([0.0, 0.2, 0.5]))
    numeric = max(columns - texts, 2)
    usual = ["normal", "normal", "uniform", "lognormal", "count", "zeros", "flag"]
    pool = {"heavy": ["lognormal", "cauchy", "zeros"], "linear": ["normal", "normal", "uniform", "flag"]}
    signal = fixed.random(numeric) > fixed.choice([0.0, 0.3, 0.7])
    signal[0] = True
    has_gaps = fixed.random(numeric) < fixed.choice([0.0, 0.0, 0.4])
    shares = [fixed.dirichlet(np.full(fixed.integers(2, 25), 0.7)) for _ in range(texts)]
    return Shape(
        forms=tuple(fixed.choice(pool.get(theme, usual), numeric)),
        loading=fixed.uniform(-1, 1, numeric) * fixed.choice([0.0, 0.5, 0.9]),
        thresholds=fixed.normal(0, 0.7, numeric),
        effects=tuple(fixed.integers(0, 1 << 16, numeric)),
        # Some columns say much and most say little.
        strengths=signal * fixed.normal(size=numeric) * fixed.exponential(1, numeric),
        gaps=has_gaps * fixed.uniform(0.02, 0.3, numeric),
        gap_effects=fixed.normal(0, 0.7, numeric) * (fixed.random(numeric) < 0.5),
        levels=tuple(shares),
        level_effects=tuple(fixed.normal(0, fixed.choice([0.0, 0.5, 1.0]), len(share)) for share in shares),
        teacher=int(fixed.integers(1 << 60)),
    )


def _scores(
    theme: str, shape: Shape, rows: int, generator: np.random.Generator
) -> tuple[tuple[Numbers, Codes], Numbers]:
    """((numbers, texts), score) of new rows; the score is not scaled yet."""
    common = generator.normal(size=(rows, 1))
    own = generator.normal(size=(rows, len(shape.forms)))
    hidden = shape.loading * common + np.sqrt(1 - shape.loading**2) * own
    score = np.zeros(rows)
    if theme in EFFECTS:
        for place, strength in enumerate(shape.strengths):
            effect = EFFECTS[theme][shape.effects[place] % len(EFFECTS[theme])](
                hidden[:, place], shape.thresholds[place]
            )
            score += strength * (effect - effect.mean()) / (effect.std() + 1e-9)
    else:
        score = TEACHERS[theme](hidden * (shape.strengths != 0), np.random.default_rng(shape.teacher))
        score = (score - score.mean()) / score.std() * 2.0
    numbers = np.column_stack([_formed(form, hidden[:, place]) for place, form in enumerate(shape.forms)])
    is_gap = generator.random(numbers.shape) < shape.gaps
    score = score + is_gap @ shape.gap_effects
    texts = np.zeros((rows, len(shape.levels)), dtype=np.intp)
    for place, (share, effect) in enumerate(zip(shape.levels, shape.level_effects, strict=True)):
        texts[:, place] = generator.choice(len(share), rows, p=share)
        score = score + effect[texts[:, place]]
    return (np.where(is_gap, np.nan, numbers), texts), score


def _formed(form: str, hidden: Numbers) -> Numbers:
    """A column as a table has it; always rising with what is hidden."""
    if form == "uniform":
        return np.asarray(np.round(100 / (1 + np.exp(-1.7 * hidden)), 1))
    if form == "lognormal":
        return np.asarray(np.round(np.exp(6 + 1.3 * hidden), 2))
    if form == "cauchy":
        return np.asarray(np.tan(np.pi * (np.clip(1 / (1 + np.exp(-1.7 * hidden)), 1e-4, 1 - 1e-4) - 0.5)))
    if form == "count":
        return np.asarray(np.floor(np.exp(0.8 * hidden + 0.7)))
    if form == "zeros":
        return np.asarray(np.where(hidden > 0.2, np.round(np.exp(3 + hidden), 1), 0.0))
    if form == "flag":
        return np.asarray(1.0 * (hidden > 0.5))
    return hidden


def _trees(hidden: Numbers, fixed: np.random.Generator) -> Numbers:
    """Sums of small trees, so that columns work together."""
    score = np.zeros(len(hidden))
    for _ in range(20):
        columns = fixed.integers(0, hidden.shape[1], 3)
        cuts = fixed.normal(0, 0.8, 3)
        leaf = ((hidden[:, columns] > cuts) * np.array([1, 2, 4])).sum(axis=1)
        score += fixed.normal(size=8)[leaf]
    return score


def _network(hidden: Numbers, fixed: np.random.Generator) -> Numbers:
    inner = np.tanh(hidden @ fixed.normal(size=(hidden.shape[1], 12)) / 2 + fixed.normal(size=12))
    return np.asarray(inner @ fixed.normal(size=12))


def _classes(hidden: Numbers, fixed: np.random.Generator) -> Numbers:
    """The log of a ratio of two densities: each class has centres and spreads of its own."""
    spread = np.exp(fixed.normal(0, 0.35, hidden.shape[1]))
    centre = fixed.normal(0, 0.5, hidden.shape[1])
    return np.asarray((hidden**2 - ((hidden - centre) / spread) ** 2).sum(axis=1) / 2)


TEACHERS: dict[str, Callable[[Numbers, np.random.Generator], Numbers]] = {
    "trees": _trees,
    "network": _network,
    "classes": _classes,
}


def real(name: str) -> Draw:
    """Rows of a real table, drawn without replacement."""
    return _drawn_from(REAL[name][0]())


def _drawn_from(whole: Rows) -> Draw:
    def draw(rows: int, generator: np.random.Generator) -> tuple[Rows, Rows]:
        order = generator.permutation(len(whole.y))
        return whole.take(order[:rows]), whole.take(order[rows : rows + TEST_ROWS])

    return draw


def _bundled(load: Callable[[], Any], positive: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> Rows:
    found = load()
    return Rows(
        found.data.astype(np.float64),
        np.zeros((len(found.data), 0), dtype=np.intp),
        positive(found.target).astype(np.intp),
    )


def _file(name: str, label: str, positive: object, dropped: str) -> Rows:
    frame = pd.read_csv(Path(os.environ["PLUMBOB_DATA"]) / name, na_values=[" "]).drop(columns=dropped.split())
    frame = frame[frame[label].notna()]
    labels = frame.pop(label)
    y = (labels >= positive if labels.nunique() > MOST_CLASSES else labels == positive).to_numpy(np.intp)
    is_number = [pd.api.types.is_numeric_dtype(frame[column]) for column in frame]
    texts = [pd.factorize(frame[column])[0] for column, number in zip(frame, is_number, strict=True) if not number]
    return Rows(
        frame.loc[:, is_number].to_numpy(np.float64),
        np.array(texts, dtype=np.intp).reshape(len(texts), len(y)).T,
        y,
    )


CREDIT = ("credit/UCI_Credit_Card.csv.gz", "default.payment.next.month", 1, "ID")
REAL: dict[str, tuple[Callable[[], Rows], tuple[int, ...]]] = {
    "credit": (lambda: _file(*CREDIT), SIZES),
    "hmeq": (lambda: _file("hmeq/hmeq.csv", "BAD", 1, ""), (200, 600, 1500, 3000, 4700)),
    "telco": (lambda: _file("telco/telco.csv", "Churn", "Yes", "customerID"), (200, 600, 1500, 3000, 5600)),
    "breast-cancer": (
        lambda: _bundled(datasets.load_breast_cancer, lambda target: target == 1),
        (100, 200, 300, 400, 455),
    ),
    "wine": (lambda: _bundled(datasets.load_wine, lambda target: target == 1), (60, 80, 100, 120, 140)),
    "digits-8": (lambda: _bundled(datasets.load_digits, lambda target: target == 8), (200, 400, 600, 1000, 1400)),
    "diabetes": (lambda: _bundled(datasets.load_diabetes, lambda target: target > 140), (100, 200, 300)),
    "iris": (lambda: _bundled(datasets.load_iris, lambda target: target == 1), (60, 90, 110)),
    "digits-odd": (lambda: _bundled(datasets.load_digits, lambda target: target % 2 == 1), (200, 400, 600, 1000, 1400)),
}


PUBLIC: dict[str, tuple[str, object, str]] = {
    "AER/PSID1976": ("participation", "yes", "hours wage repwage tax"),
    "AER/CollegeDistance": ("education", 14, ""),
    "AER/HealthInsurance": ("insurance", "no", ""),
    "AER/SmokeBan": ("smoker", "yes", ""),
    "COUNT/medpar": ("died", 1, "provnum"),
    "ISLR/Auto": ("mpg", 22.8, "name"),
    "ISLR/College": ("Private", "Yes", ""),
    "ISLR/Hitters": ("Salary", 426, ""),
    "ISLR/Weekly": ("Direction", "Up", "Today"),
    "MASS/Boston": ("medv", 21.3, ""),
    "bayesrules/climbers_sub": (
        "success",
        True,
        "expedition_id member_id peak_name highpoint_metres death_cause death_height_metres injury_type"
        " injury_height_metres count",
    ),
    "bayesrules/penguins_bayes": ("sex", "male", ""),
    "carData/Chile": ("vote", "Y", ""),
    "carData/KosteckiDillon": ("headache", "yes", "id"),
    "causaldata/nhefs": ("death", 1, "seqn yrdth modth dadth"),
    "openintro/acs12": ("disability", "yes", ""),
    "openintro/email": ("spam", 1, "time"),
    "survival/nwtco": ("rel", 1, "seqno edrel in.subcohort"),
    "survival/pbc": ("status", 2, "id time"),
    "survival/retinopathy": ("status", 1, "id futime"),
    "wooldridge/beauty": ("wage", 5.31, "lwage"),
    "wooldridge/jtrain3": ("train", 1, "trre74 trre75 trun74 trun75 travgre"),
    "wooldridge/k401ksubs": ("e401k", 1, "p401k"),
    "wooldridge/twoyear": ("BA", 1, "id AA univ totcoll jc"),
}
"""By the file's name in the folder: the label, its positive class or, of many numbers, the least one, and what else
gives it away."""
PUBLIC_SIZES = (150, 400, 1000)
LEAST_LEFT = 100


def public(name: str) -> Draw:
    label, positive, dropped = PUBLIC[name]
    return _drawn_from(_file(f"{name}.csv", label, positive, f"rownames {dropped}"))


def generated(name: str) -> Draw:
    """Rows that scikit-learn generates: the shape follows from the name, the rows from the generator."""
    make = GENERATED[name]

    def draw(rows: int, generator: np.random.Generator) -> tuple[Rows, Rows]:
        X, target = make(rows + TEST_ROWS, int(generator.integers(1 << 31)))
        y = (target > np.median(target)).astype(np.intp) if target.dtype.kind == "f" else (target > 0).astype(np.intp)
        whole = Rows(X.astype(np.float64), np.zeros((len(X), 0), dtype=np.intp), y)
        order = generator.permutation(len(X))
        return whole.take(order[:rows]), whole.take(order[rows:])

    return draw


def _classification(columns: int, informative: int, separation: float, flipped: float) -> Callable[[int, int], Any]:
    """The classes' centres are drawn with the rows, so each repeat is another table."""
    return lambda rows, seed: datasets.make_classification(
        rows, columns, n_informative=informative, n_redundant=columns // 5, class_sep=separation, flip_y=flipped,
        random_state=seed,
    )  # fmt: skip


GENERATED: dict[str, Callable[[int, int], Any]] = {
    "classification-10": _classification(10, 4, 0.7, 0.1),
    "classification-25": _classification(25, 6, 0.5, 0.1),
    "classification-50": _classification(50, 10, 0.8, 0.2),
    "hastie": lambda rows, seed: datasets.make_hastie_10_2(rows, random_state=seed),
    "quantiles": lambda rows, seed: datasets.make_gaussian_quantiles(
        n_samples=rows, n_features=6, n_classes=2, random_state=seed
    ),
    "friedman-1": lambda rows, seed: datasets.make_friedman1(rows, 15, noise=4.0, random_state=seed),
    "friedman-2": lambda rows, seed: datasets.make_friedman2(rows, noise=400.0, random_state=seed),
    "friedman-3": lambda rows, seed: datasets.make_friedman3(rows, noise=0.3, random_state=seed),
    "sparse": lambda rows, seed: datasets.make_sparse_uncorrelated(rows, 20, random_state=seed),
    "moons": lambda rows, seed: datasets.make_moons(rows, noise=0.4, random_state=seed),
}


# Encodings.


def encoded(
    training: Rows, others: Rows, bins: int, plain: bool, scale: float
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Both sets of rows in the units that a model sees, but not centred: the intercept, which is free, does that."""
    blocks: list[tuple[Any, Any]] = []
    for place in range(training.numbers.shape[1]):
        blocks += _number_blocks(training.numbers[:, place], others.numbers[:, place], bins, plain, scale)
    for place in range(training.texts.shape[1]):
        blocks.append(_level_block(training.texts[:, place], others.texts[:, place]))
    first, second = zip(*blocks, strict=True)
    return sparse.hstack(first).tocsr(), sparse.hstack(second).tocsr()


def _number_blocks(
    training: Numbers, others: Numbers, bins: int, plain: bool, scale: float
) -> Iterator[tuple[Any, Any]]:
    has_gaps = bool(np.isnan(training).any())
    cuts = cut_points(training, bins) if bins else np.zeros(0)
    if plain:
        yield _plain_block(training, others)
        # Two values are told apart by the plain column.
        cuts = cuts if len(np.unique(training[~np.isnan(training)])) > 2 else np.zeros(0)
    slots = len(cuts) + 1 + has_gaps
    if slots > 1:
        places = [_bin_places(values, cuts, has_gaps) for values in (training, others)]
        first, second = _slot_block(places[0], places[1], slots)
        scales = np.full(slots - 1, scale)
        if has_gaps and np.isnan(training).sum() <= (~np.isnan(training)).sum() / (len(cuts) + 1):
            # A gap's column is the last one, unless it is the most frequent slot, which has none.
            scales[-1] = 1.0
        yield sparse.csr_matrix(first.multiply(scales)), sparse.csr_matrix(second.multiply(scales))


def _plain_block(training: Numbers, others: Numbers) -> tuple[Any, Any]:
    known = training[~np.isnan(training)]
    mean = known.mean() if len(known) else 0.0
    deviation = np.where(np.isnan(training), mean, training).std()
    factor = 1 / deviation if deviation > 1e-12 * (1 + abs(mean)) else 0.0

    def scaled(values: Numbers) -> Any:
        return sparse.csr_matrix(np.clip(np.where(np.isnan(values), 0.0, values - mean) * factor, -CLIP, CLIP)[:, None])

    return scaled(training), scaled(others)


def _bin_places(values: Numbers, cuts: Numbers, has_gaps: bool) -> Codes:
    """A gap where training had none has no slot."""
    return np.where(np.isnan(values), len(cuts) + 1 if has_gaps else GAP, np.searchsorted(cuts, values, side="left"))


def cut_points(values: Numbers, bins: int) -> Numbers:
    """As `plumbob.data.fitting`: each bin takes its share of the rows that are left; the middle is cut, not rounded."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(distinct) <= bins:
        return np.asarray((distinct[:-1] + distinct[1:]) / 2)
    running, ends, first, done = np.cumsum(counts), [], 0, 0
    for left in range(bins, 1, -1):
        wanted = done + (running[-1] - done) / left
        end = max(int(np.searchsorted(running, wanted)), first)
        is_last = end >= len(running) - 1
        if end > first and (is_last or wanted - running[end - 1] <= running[end] - wanted):
            end -= 1
        if end >= len(running) - 1:
            break
        ends.append(end)
        first, done = end + 1, int(running[end])
    return np.array([(distinct[end] + distinct[end + 1]) / 2 for end in ends])


def _level_block(training: Codes, others: Codes) -> tuple[Any, Any]:
    levels, counts = np.unique(training[training != GAP], return_counts=True)
    kept = levels[counts >= RARE]
    has_rare, has_gaps = len(kept) < len(levels), bool((training == GAP).any())

    def places(codes: Codes) -> Codes:
        found = np.full(len(codes), len(kept) if has_rare else GAP)
        for place, level in enumerate(kept):
            found[codes == level] = place
        found[codes == GAP] = len(kept) + has_rare if has_gaps else GAP
        return found

    return _slot_block(places(training), places(others), len(kept) + has_rare + has_gaps)


def _slot_block(training: Codes, others: Codes, slots: int) -> tuple[Any, Any]:
    """One column for each slot but the most frequent one. A row without a slot counts as one of that."""
    shares = np.bincount(training[training >= 0], minlength=slots) / len(training)
    with np.errstate(divide="ignore"):
        factors = np.minimum(1 / np.sqrt(shares * (1 - shares)), CLIP / np.maximum(shares, 1 - shares))
    factors[(shares == 0) | (shares == 1)] = 0.0
    columns = np.arange(slots) - (np.arange(slots) > shares.argmax())
    factors[shares.argmax()] = 0.0

    def block(places: Codes) -> Any:
        rows = np.flatnonzero(places >= 0)
        kept = rows[factors[places[rows]] > 0]
        shape = (len(places), max(slots - 1, 0))
        return sparse.csr_matrix((factors[places[kept]], (kept, columns[places[kept]])), shape=shape)

    return block(training), block(others)


def counted_columns(training: Rows) -> tuple[int, int]:
    """(numeric columns, levels), as the rule counts them: a number with two values is a level, and so is a gap."""
    values = [np.unique(column[~np.isnan(column)]) for column in training.numbers.T]
    numeric = sum(len(distinct) > 2 for distinct in values)
    flags = sum(len(distinct) == 2 for distinct in values)
    gaps = int(np.isnan(training.numbers).any(axis=0).sum())
    levels = sum(_level_block(codes, codes[:1])[0].shape[1] for codes in training.texts.T)
    return numeric, flags + gaps + levels


# Models.


def pooled(training: Rows, others: Rows) -> dict[str, tuple[float, float]]:
    """(AUC, log loss) of every encoding, by its name."""
    found = {}
    for shape, penalties in SHAPES.items():
        X, X_others = encoded(training, others, *shape)
        model = LogisticRegression(solver="newton-cholesky", warm_start=True, tol=1e-4)
        for C in penalties:
            model.set_params(C=C).fit(X, training.y)
            found[name_of(*shape, C)] = judged(others.y, model.decision_function(X_others))
    return found


def judged(y: Codes, odds: Numbers) -> tuple[float, float]:
    chance = 1 / (1 + np.exp(-np.clip(odds, -35, 35)))
    return float(roc_auc_score(y, odds)), float(log_loss(y, chance))


def name_of(bins: int, plain: bool, scale: float, C: float) -> str:
    in_bins = [f"{bins} bins" if scale == 1.0 else f"{bins} bins x {scale:g}"] if bins else []
    shape = " + ".join([*(["plain"] if plain else []), *in_bins])
    return f"{shape}, C = {C:g}"


def as_clear(training: Rows, others: Rows) -> dict[str, tuple[float, float]]:
    """The same, with two parties and the settings of a drafted plan; today's has no penalty."""
    found = {}
    for shape, penalties in SHAPES.items():
        pairs = [encoded(own, new, *shape) for own, new in zip(training.halves(), others.halves(), strict=True)]
        blocks = [(first.toarray(), second.toarray()) for first, second in pairs]
        for C in (*penalties, *((math.inf,) if shape == (10, False, 1.0) else ())):
            found[name_of(*shape, C)] = judged(others.y, descended(blocks, training.y, 1 / (C * len(training.y))))
    return found


PASSES, MOMENTUM, LEAST_GAMMA = 14, 0.5, 0.01
AMPLITUDES = np.array(
    [
        *(0.626637507625, 0.184700400527, 0.0880374870891, 0.0459467916274),
        *(0.024559693887, 0.0132169068174, 0.00712669757106, 0.00384494410959),
    ]
)


def descended(blocks: list[tuple[Numbers, Numbers]], y: Codes, l2: float) -> Numbers:
    """Log-odds of the other rows after full-batch descent on whitened columns with the public rate."""
    parties = len(blocks)
    whitened, others, pulls = [], [], []
    for training, new in blocks:
        centre = training.mean(axis=0)
        matrix = inverse_root(
            np.cov(training.T, bias=True).reshape(len(centre), -1), max(LEAST_GAMMA, 4 * l2 / parties)
        )
        whitened.append((training - centre) @ matrix)
        others.append((new - centre) @ matrix)
        pulls.append(l2 * matrix @ matrix)
    X = np.hstack([*whitened, np.ones((len(y), 1))])
    edges = np.cumsum([0, *(len(pull) for pull in pulls)])
    weights, velocity = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for _ in range(PASSES):
        gradient = (fourier(X @ weights) - (y - 0.5)) @ X / len(y)
        for pull, start, end in zip(pulls, edges[:-1], edges[1:], strict=True):
            gradient[start:end] += pull @ weights[start:end]
        velocity = MOMENTUM * velocity + gradient
        weights = weights - 4 / parties * velocity
    return np.asarray(np.hstack([*others, np.ones((len(others[0]), 1))]) @ weights)


def inverse_root(covariance: Numbers, gamma: float) -> Numbers:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors / np.sqrt(np.maximum(values, 0.0) + gamma)) @ vectors.T)


def fourier(scores: Numbers) -> Numbers:
    """The stand-in for the sigmoid less one half; scikit-learn's is exact."""
    total = np.zeros_like(scores)
    for harmonic, amplitude in zip(range(1, 16, 2), AMPLITUDES, strict=True):
        total += amplitude * np.sin(harmonic * (2 * math.pi / 64) * scores)
    return total


# The study.


@dataclass(frozen=True)
class Task:
    """One table at one size."""

    group: str
    table: str
    seed: int
    rows: int
    is_clear: bool = False


def tasks(which: str) -> list[Task]:
    if which == "tune":
        made = _tasks("made up", THEMES, range(3))
        large = [Task("made up", theme, 1, 50_000) for theme in ("linear", "mixed")]
        files = [Task("real", name, 0, rows) for name in ("credit", "hmeq", "telco") for rows in REAL[name][1]]
        return [*made, *large, *files]
    if which == "generated":
        made = [Task("generated", name, 700, rows) for name in GENERATED for rows in (200, 600, 1500, 5000)]
        bundled = [name for name in REAL if name not in ("credit", "hmeq", "telco")]
        return [*made, *(Task("real", name, 0, rows) for name in bundled for rows in REAL[name][1])]
    if which == "public":
        return [Task("public", name, 1, rows) for name in PUBLIC for rows in PUBLIC_SIZES]
    if which == "check":
        return [*_tasks("held back", THEMES, range(300, 302)), *_tasks("other kinds", OTHER_THEMES, range(400, 403))]
    sizes = (200, 600, 1500, 5000)
    some = [("held back", theme, 100) for theme in THEMES] + [("other kinds", theme, 200) for theme in OTHER_THEMES]
    tables = [("real", name, 0) for name in ("credit", "hmeq", "telco", "breast-cancer")]
    chosen = [Task(*table, rows, is_clear=True) for table in [*some, *tables] for rows in sizes]
    return [one for one in chosen if one.group != "real" or one.rows in REAL[one.table][1]]


def _tasks(group: str, themes: Iterable[str], seeds: range) -> list[Task]:
    """The largest size only once for a theme: it takes as long as all others."""
    every = [Task(group, theme, seed, rows) for theme in themes for seed in seeds for rows in SIZES]
    return [task for task in every if task.rows < 20_000 or task.seed == seeds[0]]


def done(task: Task) -> dict[str, Any]:
    """The task with the mean of every encoding over its repeats."""
    # Columns without variation, and rows that can be told apart entirely, are no news here.
    warnings.simplefilter("ignore")
    draw = _draw_of(task)
    repeats = REPEATS.get(task.rows, 4 if task.rows <= 600 else 2)
    results, counts = [], []
    for repeat in range(repeats):
        training, others = draw(task.rows, np.random.default_rng([task.seed, task.rows, repeat]))
        is_small = len(others.y) < LEAST_LEFT or len(training.y) < task.rows
        if is_small or len(np.unique(training.y)) < 2 or len(np.unique(others.y)) < 2:
            continue
        counts.append(counted_columns(training))
        results.append(as_clear(training, others) if task.is_clear else pooled(training, others))
    if not results:
        return {}
    means = {name: np.mean([result[name] for result in results], axis=0).tolist() for name in results[0]}
    numeric, levels = (round(float(number)) for number in np.mean(counts, axis=0))
    return {**vars(task), "numeric": numeric, "levels": levels, "results": means}


def _draw_of(task: Task) -> Draw:
    if task.group in ("real", "public"):
        return (real if task.group == "real" else public)(task.table)
    return generated(task.table) if task.group == "generated" else made_up(task.table, task.seed)


def run(which: str, out: Path, processes: int) -> None:
    waiting = sorted(tasks(which), key=lambda task: task.rows)
    with out.open("w") as file, multiprocessing.Pool(processes) as pool:
        for line in filter(None, pool.imap_unordered(done, waiting)):
            file.write(json.dumps(line) + "\n")
            file.flush()


# What was found.


SIZE_CLASSES = (
    (300, "to 300"),
    (600, "to 600"),
    (2000, "to 2,000"),
    (6000, "to 6,000"),
    (10**9, "above"),
)
NEARLY_SEPARABLE = ("breast-cancer", "wine", "digits-8", "digits-odd")


def show(files: Iterable[Path]) -> None:
    """One row for each group of tables and size: the rule, today's encoding, and the best single one afterwards."""
    classes: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        for line in map(json.loads, file.read_text().splitlines()):
            group = "real, nearly separable" if line["table"] in NEARLY_SEPARABLE else line["group"]
            size = next(place for place, (most, _) in enumerate(SIZE_CLASSES) if line["rows"] <= most)
            classes[group, size].append(line)
            classes[group, len(SIZE_CLASSES)].append(line)
    print("AUC missing to the best of thirteen, and log loss as a multiple of the best: mean (worst) of each.\n")
    print("| tables | rows | number | the rule | 10 bins, C = 1 | the best for all of them, chosen afterwards |")
    print("|---|---|---|---|---|---|")
    for (group, size), lines in sorted(classes.items()):
        named = [*(name for _, name in SIZE_CLASSES), "all"][size]
        afterwards = min(lines[0]["results"], key=lambda name: _regret([behind(line, name) for line in lines]))
        cells = [
            _cell([behind(line, _chosen(line)) for line in lines]),
            _cell([behind(line, name_of(*TODAY)) for line in lines]),
            f"{_cell([behind(line, afterwards) for line in lines])}: {afterwards}",
        ]
        print(f"| {group} | {named} | {len(lines)} | {' | '.join(cells)} |")


def _chosen(line: dict[str, Any]) -> str:
    """The rule's, with the nearest C that was tried."""
    bins, wanted = encoding_for(line["rows"], line["numeric"], line["levels"])
    shape = (bins, True, BIN_SCALE if bins else 1.0)
    return name_of(*shape, min(SHAPES[shape], key=lambda tried: max(tried / wanted, wanted / tried)))


def _regret(gaps: list[tuple[float, float]]) -> float:
    """Both figures in units of what is aimed at on average."""
    return float(np.mean([auc / 0.004 + (loss - 1) / 0.015 for auc, loss in gaps]))


def _cell(gaps: list[tuple[float, float]]) -> str:
    auc, loss = np.array(gaps).T
    return f"{auc.mean():.4f} ({auc.max():.3f}), x{loss.mean():.3f} ({loss.max():.2f})"


def behind(line: dict[str, Any], name: str) -> tuple[float, float]:
    """(AUC missing, log loss as a multiple) of one encoding beside the best of thirteen, each by its own figure."""
    best = [line["results"][name_of(*encoding)] for encoding in THIRTEEN]
    auc, loss = line["results"][name]
    return max(one[0] for one in best) - auc, loss / min(one[1] for one in best)


def main() -> None:
    parser = argparse.ArgumentParser(description="encodings of numeric columns")
    parser.add_argument("what", choices=["tune", "check", "generated", "public", "clear", "show"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, default=Path("encodings.jsonl"))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.what == "show":
        show(options.files)
        return
    run(options.what, options.out, options.processes)
    show([options.out])


if __name__ == "__main__":
    main()
