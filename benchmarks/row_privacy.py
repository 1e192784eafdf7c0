"""What a promise about whole rows costs: quality in four real settings, the forecast beside runs, time and bytes.

    python benchmarks/row_privacy.py [--seeds 10]             # credit, telco and hmeq, from the folder in PLUMBOB_DATA
    python benchmarks/row_privacy.py --forecast KIND          # beside runs it was not fitted on: made-up, various, real
    python benchmarks/row_privacy.py --spread                 # how much tables with the same public numbers differ
    python benchmarks/row_privacy.py --time [--pairs 5]       # runs over shares with and without noise, interleaved

Everything is charged: noisy ranges, noisy moments, all passes. Passes and the rows' length follow the public rule. For
quality, the arrays go through the same functions as in training (`privacy.home`, `privacy.rows`, `privacy.descent`),
without the messages. The constants of the rule and of the forecast were chosen on made-up tables of other seeds.
"""

import argparse
import math
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from plumbob.arrays import Matrix, Vector
from plumbob.data import Table, read_table, split_array
from plumbob.data.tables import ColumnChoices
from plumbob.data.whitening import Whitening
from plumbob.lab.simulate import train
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.privacy import discrete_gaussian, home, rows
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.row_forecast import expected_auc_loss, likely_auc_loss
from plumbob.privacy.rows import RowRule, row_rule

Labels = NDArray[np.int8]
DELTA = 1e-6
FEATURE_BITS, RESIDUAL_BITS = 13, 20
CLOSE, EXACT, BEARABLE = 0.01, 0.003, 0.03
FEWEST_DRAWS, MOST_DRAWS, KNOWN_WELL = 10, 40, 0.002
SETTINGS = (("credit", 1.0), ("credit", 4.0), ("telco", 4.0), ("hmeq", 1.0))


@dataclass(frozen=True)
class Data:
    """Training and held-out rows, how the columns are split, and which of them are categories."""

    X: Matrix
    y: Labels
    X_test: Matrix
    y_test: Labels
    split: tuple[int, int]
    is_category: NDArray[np.bool_]


def trained(data: Data, epsilon: float, seed: int, rule: RowRule, *, is_noisy: bool = True) -> tuple[float, float]:
    """(AUC, log loss) on the held-out rows; without noise, the same scaling from a budget without end."""
    draw = np.random.default_rng(seed).bytes
    norms = rows.norms_of(rule.row_norm, data.split)
    rho = rule.rho_at_home if is_noisy else 1e6
    parts, tests, end = [], [], 0
    for width, norm in zip(data.split, norms, strict=True):
        own = slice(end, end + width)
        end += width
        part, test = _at_home(data, own, rho, draw)
        parts.append(rows.clipped_units(part, norm, FEATURE_BITS))
        tests.append(test)
    units = np.hstack([*parts, np.full((len(data.y), 1), 1 << FEATURE_BITS)])
    sensitivity = rows.Sensitivity.of(norms, FEATURE_BITS, RESIDUAL_BITS)
    cost = rows.calibrated(epsilon, DELTA, sensitivity.units, rule.passes, [rule.rho_at_home] * 2)
    weights = _descended(units, data.y, cost, [draw, draw] if is_noisy else [])
    scores = np.hstack([*tests, np.ones((len(data.y_test), 1))]) @ weights
    return float(roc_auc_score(data.y_test, scores)), float(log_loss(data.y_test, 1 / (1 + np.exp(-scores))))


def _descended(units: rows.Units, labels: Labels, cost: rows.RowCost, draws: list[Draw]) -> Vector:
    """The passes of `noise = "rows"` in one place, in whole numbers; a draw per party, pass and column."""
    columns = units.shape[1]
    noise = np.zeros((cost.passes, columns))
    for draw in draws:
        drawn = discrete_gaussian.sample_many(cost.std, noise.size, draw)
        noise += np.array(drawn, dtype=np.float64).reshape(noise.shape)
    weights, step = np.zeros(columns), np.zeros(columns)
    for number in range(cost.passes):
        exact = SIGMOIDS["fourier"].curve((units @ weights) / 2.0**FEATURE_BITS) - (labels - 0.5)
        sums = np.trunc(exact * 2.0**RESIDUAL_BITS) @ units + noise[number]
        step = 0.5 * step - rows.public_rate(2) * sums / (len(units) * 2.0 ** (FEATURE_BITS + RESIDUAL_BITS))
        weights = weights + step
    return weights


def _at_home(data: Data, own: slice, rho: float, draw: Draw) -> tuple[Matrix, Matrix]:
    known = [home.CATEGORY if is_category else None for is_category in data.is_category[own]]
    fitted = home.fit_whitening(data.X[:, own], known, rho, draw)
    whitening = Whitening(fitted.mean, fitted.matrix, fitted.scaling.reach, fitted.norm)
    training, tests = (fitted.scaling.scaled(X[:, own]) for X in (data.X, data.X_test))
    return whitening.apply(training), (tests - fitted.mean) @ fitted.matrix


def pooled(data: Data, columns: slice = slice(None)) -> tuple[float, float]:
    """scikit-learn on standardised columns, gaps filled with the mean."""
    X, X_test = data.X[:, columns], data.X_test[:, columns]
    means = np.nanmean(X, axis=0)
    X, X_test = (np.where(np.isnan(part), means, part) for part in (X, X_test))
    deviations = X.std(axis=0)
    deviations[deviations == 0] = 1.0
    model = LogisticRegression(max_iter=2000).fit((X - means) / deviations, data.y)
    chances = model.predict_proba((X_test - means) / deviations)[:, 1]
    return float(roc_auc_score(data.y_test, chances)), float(log_loss(data.y_test, chances))


# Tables.


def load(name: str) -> Data:
    """A real table: texts one-hot, the first half of the columns at the label party, some rows held out."""
    folder = Path(os.environ["PLUMBOB_DATA"])
    file, identity, label = {
        "credit": ("credit/UCI_Credit_Card.csv.gz", "ID", "default.payment.next.month"),
        "telco": ("telco/telco.csv", "customerID", "Churn"),
        "hmeq": ("hmeq/hmeq.csv", None, "BAD"),
    }[name]
    table = read_table(folder / file, id_column=identity, label_column=label, choices=ColumnChoices(gaps=(" ",)))
    X, is_category, own = _encoded(table)
    assert table.labels is not None
    held_out = 0.1 if name == "credit" else 0.2
    order = np.random.default_rng(0).permutation(len(X))
    test, training = np.split(order, [int(len(X) * held_out)])
    y = table.labels.astype(np.int8)
    return Data(X[training], y[training], X[test], y[test], (own, X.shape[1] - own), is_category)


def _encoded(table: Table) -> tuple[Matrix, NDArray[np.bool_], int]:
    """(numbers, which columns are categories, how many belong to the label party)."""
    numbers: list[NDArray[np.float64]] = []
    is_category: list[bool] = []
    own = 0
    for place, column in enumerate(table.columns):
        if place == len(table.columns) // 2:
            own = len(numbers)
        if not column.is_text:
            numbers.append(column.values.astype(np.float64))
            is_category.append(False)
            continue
        for level in sorted({value for value in column.values if value is not None}):
            is_level = np.array([np.nan if value is None else float(value == level) for value in column.values])
            numbers.append(is_level)
            is_category.append(True)
    return np.column_stack(numbers), np.array(is_category), own


def made_up(n_rows: int, columns: int, seed: int) -> Data:
    """Correlated columns, some of them heavy-tailed, some of them 0 or 1."""
    generator = np.random.default_rng(seed)
    count = n_rows + max(3000, n_rows // 4)
    mixing = generator.normal(size=(columns, columns)) * np.exp(-0.15 * np.arange(columns)) * 1.5 + 0.7 * np.eye(
        columns
    )
    X = generator.normal(size=(count, columns)) @ mixing.T
    X /= X.std(axis=0)
    kind = generator.integers(0, 3, columns)
    signal = X @ (generator.normal(size=columns) * (generator.random(columns) < 0.5))
    signal *= generator.uniform(0.7, 1.6) / max(float(signal.std()), 1e-9)
    offset = np.quantile(signal, 1 - generator.uniform(0.1, 0.5))
    y = (generator.random(count) < 1 / (1 + np.exp(-1.5 * (signal - offset)))).astype(np.int8)
    X[:, kind == 1] = 1000 * np.exp(X[:, kind == 1])
    X[:, kind == 2] = X[:, kind == 2] > generator.normal(size=int((kind == 2).sum())) * 0.7
    half = columns // 2
    return Data(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], (half, columns - half), kind == 2)


def various(n_rows: int, columns: int, seed: int) -> Data:
    """The same with less in common: correlation, kinds of columns, signal, balance and the parties' shares differ."""
    generator = np.random.default_rng(seed)
    count = n_rows + max(4000, n_rows // 4)
    decay, own = np.exp(generator.uniform(np.log(0.03), np.log(0.6))), generator.uniform(0.2, 1.5)
    mixing = generator.normal(size=(columns, columns)) * np.exp(-decay * np.arange(columns)) * 1.5
    X = generator.normal(size=(count, columns)) @ (mixing + own * np.eye(columns)).T
    X /= X.std(axis=0)
    kind = generator.choice(3, columns, p=generator.dirichlet([1.5, 1.5, 1.5]))
    signal = X @ (generator.normal(size=columns) * (generator.random(columns) < generator.uniform(0.15, 1)))
    signal *= generator.uniform(0.8, 2.6) / max(float(signal.std()), 1e-9)
    offset = np.quantile(signal, 1 - generator.uniform(0.05, 0.5))
    y = (generator.random(count) < 1 / (1 + np.exp(-(signal - offset)))).astype(np.int8)
    X[:, kind == 1] = 1000 * np.exp(generator.uniform(0.3, 1.2) * X[:, kind == 1])
    X[:, kind == 2] = X[:, kind == 2] > generator.normal(size=int((kind == 2).sum())) * 0.9
    first = max(1, min(columns - 1, int(columns * generator.uniform(0.25, 0.75))))
    return Data(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], (first, columns - first), kind == 2)


def part_of(data: Data, share: float) -> Data:
    """Fewer rows to train on; the held-out ones stay."""
    chosen = np.random.default_rng(1).permutation(len(data.y))[: int(len(data.y) * share)]
    return replace(data, X=data.X[chosen], y=data.y[chosen])


def as_tables(data: Data) -> tuple[Table, ...]:
    """The training rows as both parties hold them, gaps filled with the mean."""
    X = np.where(np.isnan(data.X), np.nanmean(data.X, axis=0), data.X)
    return split_array(X, data.y, data.split)


# What is printed.


def compare_tables(seeds: int) -> None:
    """Each setting's mean over the seeds, beside pooled and local-only models without noise."""
    for name, epsilon in SETTINGS:
        data = load(name)
        rule = row_rule(len(data.y), data.split, epsilon, DELTA)
        found = np.array([trained(data, epsilon, seed, rule) for seed in range(seeds)])
        (auc, loss), (best_auc, best_loss) = found.mean(axis=0), pooled(data)
        local = pooled(data, slice(0, data.split[0]))[0]
        forecast = expected_auc_loss(len(data.y), data.split, epsilon, DELTA, rule.passes, rule.row_norm)
        print(
            f"{name} {len(data.y)} x {data.split} epsilon {epsilon:g}: {rule.passes} passes, "
            f"AUC {auc:.4f} ({found[:, 0].min():.4f} to {found[:, 0].max():.4f}), log loss {loss:.4f}; pooled "
            f"{best_auc:.4f} / {best_loss:.4f} ({auc - best_auc:+.4f}, x{loss / best_loss:.4f}), local-only "
            f"{local:.4f}; forecast loss {forecast:.4f}",
            flush=True,
        )


@dataclass
class Score:
    """How often the forecast was right so far."""

    settings: int = 0
    close: int = 0
    likely: int = 0
    worth_training: int = 0
    close_where_worth: int = 0

    def add(self, forecast: float, loss: float) -> None:
        low, high = likely_auc_loss(forecast)
        is_close = abs(forecast - loss) <= CLOSE
        self.settings += 1
        self.close += is_close
        self.likely += low - EXACT <= loss <= high
        self.worth_training += forecast <= BEARABLE
        self.close_where_worth += is_close and forecast <= BEARABLE

    def __str__(self) -> str:
        return (
            f"within .01 in {self.close} of {self.settings}; with a forecast up to .03, in {self.close_where_worth} of "
            f"{self.worth_training}; inside the range in {self.likely}"
        )


def compare_forecasts(tables: int, kind: str) -> None:
    """The expected loss beside the measured one, on made-up tables of one of two kinds or on parts of the real ones."""
    score = Score()
    for data, epsilon in _real_settings() if kind == "real" else _made_up_settings(tables, kind):
        _compare(kind, data, epsilon, score)
    print(f"{kind}: {score}", flush=True)


def _made_up_settings(tables: int, kind: str) -> Iterator[tuple[Data, float]]:
    make, first = (made_up, 640_000) if kind == "made-up" else (various, 650_000)
    generator = np.random.default_rng(first)
    for number in range(tables):
        n_rows, columns, epsilon = _drawn_setting(generator)
        yield make(n_rows, columns, first + 1 + number), epsilon


def _real_settings() -> Iterator[tuple[Data, float]]:
    for name, share in (("credit", 1.0), ("credit", 0.3), ("credit", 0.1), ("telco", 1.0), ("hmeq", 1.0)):
        data = part_of(load(name), share)
        for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
            yield data, epsilon


def _drawn_setting(generator: np.random.Generator) -> tuple[int, int, float]:
    n_rows = int(np.exp(generator.uniform(np.log(1500), np.log(40_000))))
    return n_rows, int(generator.integers(6, 60)), float(np.exp(generator.uniform(np.log(0.5), np.log(8))))


def _compare(name: str, data: Data, epsilon: float, score: Score) -> None:
    rule = row_rule(len(data.y), data.split, epsilon, DELTA)
    without, losses = measured_losses(data, epsilon, rule)
    forecast = expected_auc_loss(len(data.y), data.split, epsilon, DELTA, rule.passes, rule.row_norm)
    score.add(forecast, float(losses.mean()))
    print(
        f"{name} {len(data.y):6d} x {data.split} epsilon {epsilon:.2f}, {rule.passes} passes: AUC without noise "
        f"{without:.4f}, loss {losses.mean():+.4f} +- {_error(losses):.4f}, forecast {forecast:.4f}; {score.close} of "
        f"{score.settings}",
        flush=True,
    )


def measured_losses(data: Data, epsilon: float, rule: RowRule) -> tuple[float, Vector]:
    """(AUC without noise, what noise cost in each draw): ten draws, or up to 40 until their mean is known well."""
    without = trained(data, epsilon, 0, rule, is_noisy=False)[0]
    losses = list[float]()
    while len(losses) < FEWEST_DRAWS or (len(losses) < MOST_DRAWS and _error(np.array(losses)) > KNOWN_WELL):
        losses.append(without - trained(data, epsilon, len(losses), rule)[0])
    return without, np.array(losses)


def _error(losses: Vector) -> float:
    return float(losses.std() / math.sqrt(len(losses) - 1))


def show_spread(tables: int) -> None:
    """Of the loss on tables that have all public numbers in common: no forecast can tell them apart."""
    for n_rows, columns, epsilon in ((20_000, 30, 1.0), (6000, 30, 1.0), (4000, 40, 2.0), (3000, 40, 1.0)):
        for name, make in (("made-up", made_up), ("various", various)):
            found = list[float]()
            for number in range(tables):
                data = make(n_rows, columns, 630_000 + number)
                data = replace(data, split=(columns // 2, columns - columns // 2))
                rule = row_rule(n_rows, data.split, epsilon, DELTA)
                found.append(float(measured_losses(data, epsilon, rule)[1].mean()))
            _print_spread(f"{name} {n_rows} x {columns} epsilon {epsilon:g}", np.sort(found))


def _print_spread(name: str, losses: Vector) -> None:
    best = max(int(((losses >= low) & (losses <= low + 2 * CLOSE)).sum()) for low in losses)
    tenth, middle, ninth = np.quantile(losses, [0.1, 0.5, 0.9])
    print(
        f"{name}: loss {tenth:.4f}, {middle:.4f}, {ninth:.4f} (first tenth, median, last tenth); the best figure for "
        f"all is within .01 in {best} of {len(losses)}",
        flush=True,
    )


@contextmanager
def quick_draws() -> Iterator[None]:
    """The same distributions by numpy, many times faster: for quality, not for privacy."""

    def noisy_quantile(values: Vector, share: Fraction, rho: float, draw: Draw) -> float:
        distances = home.rank_distances(values, share)
        chances = np.exp(-float(home.slope_for(rho)) * (distances - distances.min()))
        return float(_generator(draw).choice(home.GRID, p=chances / chances.sum()))

    def sample_many(std: int, count: int, draw: Draw) -> Vector:
        drawn: Vector = np.rint(_generator(draw).normal(size=count) * std)
        return drawn

    with (
        mock.patch.object(home, "noisy_quantile", noisy_quantile),
        mock.patch.object(discrete_gaussian, "sample_many", sample_many),
    ):
        yield


def _generator(draw: Draw) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(draw(16), "little"))


def compare_time(pairs: int) -> None:
    """CPU seconds and bytes of whole runs over shares, one with noise after one without."""
    for name, passes in (("credit", 20), ("hmeq", 6)):
        data = load(name)
        plan = Plan.for_columns(data.split, protocol="shares", epochs=passes, open="own")
        tables = dict(zip((party.name for party in plan.learners), as_tables(data), strict=True))
        noisy = plan.replace(noise="rows", epsilon=1.0, delta=DELTA)
        found = [(_spent(plan, tables), _spent(noisy, tables)) for _ in range(pairs)]
        without, with_noise = (np.array([pair[one] for pair in found]) for one in (0, 1))
        print(
            f"{name}, {passes} passes, {pairs} pairs: CPU {median(without[:, 0]):.2f} s without noise, "
            f"{median(with_noise[:, 0]):.2f} s with it (median of the ratios "
            f"{median(with_noise[:, 0] / without[:, 0]):.3f}); bytes {without[0, 1]:,.0f} and {with_noise[0, 1]:,.0f} "
            f"({with_noise[0, 1] / without[0, 1] - 1:+.2%})",
            flush=True,
        )


def _spent(plan: Plan, tables: dict[str, Table]) -> tuple[float, int]:
    """(CPU seconds of all threads, bytes sent by all parties)."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    run = train(plan, tables, jobs=1)
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, sum(party.bytes_sent for party in run.record.parties)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="draws of noise per setting")
    parser.add_argument("--forecast", choices=("made-up", "various", "real"), help="compare the forecast with runs")
    parser.add_argument(
        "--spread", action="store_true", help="show how much tables with the same public numbers differ"
    )
    parser.add_argument(
        "--tables", type=int, default=80, help="made-up tables of each kind for --forecast and --spread"
    )
    parser.add_argument("--time", action="store_true", help="compare runs over shares with and without noise")
    parser.add_argument("--pairs", type=int, default=5, help="of runs, for --time")
    chosen = parser.parse_args()
    if chosen.time:
        compare_time(chosen.pairs)
    elif chosen.forecast or chosen.spread:
        with quick_draws():
            compare_forecasts(chosen.tables, chosen.forecast) if chosen.forecast else show_spread(chosen.tables)
    else:
        compare_tables(chosen.seeds)


if __name__ == "__main__":
    main()
