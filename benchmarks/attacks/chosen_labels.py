"""`chosen-labels`: a label party gives label 1 to one person and 0 to everybody else, and reads that person's row.

    python -m benchmarks.attacks.chosen_labels                # everything, a few minutes
    python -m benchmarks.attacks.chosen_labels real noise     # some parts

Whitened columns are centred. While everybody else has one label, their residuals are nearly equal and cancel; what is
left of the gradient is the chosen person's row. So the peer's weights point at it. The scores of a few rows whose
columns the attacker knows (its own staff, a made-up customer) reveal the weights: one row for each column of the peer,
and one for the intercept. The attacker sets its own columns to their mean in the rows it has scored, so that its own
weights add nothing. The chosen person is never scored, and every message is an honest one about these labels.

Also here: ten chosen people at once, how many known rows and known columns it takes, what passes, l2 and most_rows do,
a feature party that chooses its rows under `open = "own"`, and that `noise = "rows"` stops all of them.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.attacks.study import (
    AS_SHARES,
    GAMMA,
    PASSES,
    SCORE_UNIT,
    Array,
    Whitener,
    against_chance,
    cosine,
    expected_growth,
    fitted,
    labels_of,
    made_up,
    one_hot,
    print_table,
    solved,
    trained,
)

NEVER: dict[str, Any] = {"protocol": "shares", "open": "never"}
OWN: dict[str, Any] = {"protocol": "shares", "open": "own"}
NOISY_CLEAR = AS_SHARES | {"noise": "rows", "epochs": 0}


class Read(NamedTuple):
    """What one run told about the chosen people."""

    cosine: float
    """Between the weights that were found and the chosen people's row (or mean row), in whitened columns."""
    error: float
    """Root mean square of the row's error, in deviations of its column, with the length from `expected_growth`."""


# The attack, through the public class.


def read_row(
    X: Array, own: int, chosen: Sequence[int], known: Sequence[int], is_scored: bool = True, **keys: Any
) -> Read:
    """One real run. The attacker knows the peer's columns of the `known` rows, and the peer's mean and covariance.

    Without `is_scored` it is given the weights themselves: more than any number of exact scores would tell it.
    """
    model = fitted(X, one_hot(len(X), chosen), (own, X.shape[1] - own), **keys)
    theirs = X[:, own:]
    whitener = Whitener.fit(theirs)
    if is_scored:
        asked = X[list(known)].copy()
        asked[:, :own] = X[:, :own].mean(axis=0)
        weights, _ = solved(whitener(theirs[list(known)]), model.decision_function(asked))
    else:
        weights = whitener.weights_from_input_units(np.ravel(model.coef_)[own:])
    return judged(weights, whitener, theirs, chosen)


def judged(weights: Array, whitener: Whitener, theirs: Array, chosen: Sequence[int]) -> Read:
    truth = whitener(theirs[list(chosen)]).mean(axis=0)
    believed = weights / expected_growth(len(theirs), len(chosen)) / len(chosen)
    believed_row = whitener.row_from_whitened(believed)
    true_row = theirs[list(chosen)].mean(axis=0)
    return Read(cosine(weights, truth), float(np.sqrt(np.mean(((believed_row - true_row) / whitener.deviation) ** 2))))


def known_rows(count: int, columns: int, spare: int = 0) -> range:
    """As many rows as the peer has columns, and one; chosen people come first in every table here."""
    return range(count - columns - 1 - spare, count)


# Where it works.


def real(runs: int = 5) -> None:
    """The real protocol and `clear`, by training rows."""

    def lines() -> Iterator[Sequence[Any]]:
        for rows, columns, shared in ((300, 5, 0.0), (3000, 5, 0.0), (20000, 5, 0.0), (3000, 12, 0.6)):
            for name, keys in (("shares, never", NEVER), ("clear", AS_SHARES)):
                read = [
                    read_row(made_up(rows, 1 + columns, seed, shared), 1, [0], known_rows(rows, columns), **keys)
                    for seed in range(runs)
                ]
                cosines = [one.cosine for one in read]
                error = float(np.mean([one.error for one in read]))
                yield rows, columns, shared, name, float(np.median(cosines)), min(cosines), error

    print_table(
        f"One chosen person, scores of (columns + 1) known rows, {runs} runs each",
        ("rows", "peer's columns", "shared variance", "protocol", "median correlation", "least", "error, deviations"),
        lines(),
    )


def groups(runs: int = 5) -> None:
    """Label 1 for several chosen people: the sum of their rows."""
    lines: list[Sequence[Any]] = []
    for size in (1, 3, 10, 30):
        read = [
            read_row(made_up(3000, 6, seed), 1, range(size), known_rows(3000, 5), **AS_SHARES) for seed in range(runs)
        ]
        lines.append(
            (size, float(np.median([one.cosine for one in read])), float(np.mean([one.error for one in read])))
        )
    real_one = read_row(made_up(3000, 6, 0), 1, range(10), known_rows(3000, 5), **NEVER)
    lines.append(("10, shares never", real_one.cosine, real_one.error))
    print_table(
        "Several chosen people, 3,000 rows, 5 columns: correlation with their mean row",
        ("people", "median correlation", "error of the mean, deviations"),
        lines,
    )


# What decides, in numpy: one known row more or less, unknown columns, settings.


def weights_after(X: Array, own: int, chosen: Sequence[int], passes: int = PASSES) -> tuple[Array, float]:
    """(the peer's weights, the intercept) of a run in numpy."""
    blocks = [Whitener.fit(X[:, :own])(X[:, :own]), Whitener.fit(X[:, own:])(X[:, own:])]
    weights, intercept = trained(blocks, one_hot(len(X), chosen), passes)
    return weights[own:], intercept


def by_known_rows(columns: int, known: int, runs: int = 40, rows: int = 2000) -> float:
    """Mean correlation with so many known rows that were scored, held-out ones included."""
    found = []
    for seed in range(runs):
        X = made_up(rows, 1 + columns, seed)
        weights, intercept = weights_after(X, 1, [0])
        Z = Whitener.fit(X[:, 1:])(X[:, 1:])
        asked = Z[rows - known :]
        scores = np.rint((asked @ weights + intercept) / SCORE_UNIT) * SCORE_UNIT
        found.append(cosine(solved(asked, scores)[0], Z[0]))
    return float(np.mean(found))


def by_known_columns(columns: int, seen: int, known: int, runs: int = 10, rows: int = 4000) -> float:
    """Mean correlation, over the columns it knows, if it knows only so many of the peer's columns in each known row."""
    found = []
    for seed in range(runs):
        X = made_up(rows, 1 + columns, seed)
        weights, intercept = weights_after(X, 1, [0])
        Z = Whitener.fit(X[:, 1:])(X[:, 1:])
        asked = Z[rows - known :]
        scores = asked @ weights + intercept
        found.append(cosine(solved(asked[:, :seen], scores)[0], Z[0, :seen]))
    return float(np.mean(found))


def conditions() -> None:
    """How many known rows, which columns of them, and what the plan's settings change."""
    print_table(
        "Known rows that were scored (most_rows limits them), 2,000 training rows, mean correlation of 40 runs",
        ("peer's columns", "known rows", "correlation", "sqrt((known - 1) / columns)"),
        [
            (columns, known, by_known_rows(columns, known), float(np.sqrt(min(1.0, (known - 1) / columns))))
            for columns in (5, 12)
            for known in (columns // 2, columns, columns + 1, 2 * columns)
        ],
    )
    print_table(
        "Known columns in each known row (of 8), mean correlation over those columns, 10 runs",
        ("columns known", "known rows", "correlation"),
        [(seen, known, by_known_columns(8, seen, known)) for seen in (2, 4, 8) for known in (16, 100, 1000)],
    )
    print_table(
        "Settings, 3,000 rows, 5 columns, exact scores, mean correlation of 10 runs", SETTINGS_HEADER, settings()
    )
    print_table(
        "Rows, with scores rounded to 2**-16 and 6 or 60 known rows",
        ("training rows", "growth per row", "6 known", "60 known"),
        [(rows, f"{expected_growth(rows):.1e}", *(rounded(rows, known) for known in (6, 60))) for rows in ROWS],
    )


SETTINGS_HEADER = ("setting", "correlation", "columns correlated", "length of weights")
ROWS = (3_000, 30_000, 300_000, 3_000_000)


def settings(runs: int = 10) -> Iterator[Sequence[Any]]:
    """Real runs in `clear`, the peer's columns independent or correlated; the attacker is given the weights."""
    for name, keys in (
        ("1 pass", {"epochs": 1}),
        ("14 passes", {}),
        ("30 passes", {"epochs": 30}),
        ("300 passes", {"epochs": 300}),
        ("l2 .01", {"l2": 0.01}),
        ("l2 .1", {"l2": 0.1}),
        ("l2 1", {"l2": 1.0}),
        ("class_weight balanced", {"class_weight": "balanced"}),
    ):
        found: dict[float, list[float]] = {}
        for shared in (0.0, 0.6):
            lengths = []
            for seed in range(runs):
                X = made_up(3000, 6, seed, shared)
                model = fitted(X, one_hot(3000, [0]), (1, 5), **(AS_SHARES | keys))
                whitener = Whitener.fit(X[:, 1:], gamma=max(GAMMA, 2.0 * float(keys.get("l2", 0.0))))
                weights = whitener.weights_from_input_units(np.ravel(model.coef_)[1:])
                lengths.append(float(np.linalg.norm(weights)))
                found.setdefault(shared, []).append(cosine(weights, whitener(X[:1, 1:])[0]))
        yield name, float(np.mean(found[0.0])), float(np.mean(found[0.6])), float(np.mean(lengths))


def rounded(rows: int, known: int, columns: int = 5, runs: int = 20) -> float:
    """Mean correlation if the weights were the row times its growth, and scores were rounded: the limit by rows."""
    found = []
    for seed in range(runs):
        Z = made_up(known + 1, columns, seed)
        scores = np.rint((Z[1:] @ Z[0]) * expected_growth(rows) / SCORE_UNIT) * SCORE_UNIT
        found.append(cosine(solved(Z[1:], scores)[0], Z[0]))
    return float(np.mean(found))


# Noise for rows.


def noisy_cosines(epsilon: float, runs: int, rows: int = 3000, columns: int = 5, size: int = 1) -> list[float]:
    """The same attack on runs with noise; the attacker is given the weights themselves."""
    return [
        read_row(
            made_up(rows, 1 + columns, seed),
            1,
            range(size),
            (),
            is_scored=False,
            **(NOISY_CLEAR | {"epsilon": epsilon, "random_state": seed + 1}),
        ).cosine
        for seed in range(runs)
    ]


def noise(runs: int = 200) -> None:
    """Against chance: a random direction has correlations of mean 0 and variance 1 / columns."""
    lines: list[Sequence[Any]] = []
    for epsilon, size in ((0.5, 1), (1.0, 1), (1.0, 10), (4.0, 1), (20.0, 1), (100.0, 1)):
        cosines = noisy_cosines(epsilon, runs, size=size)
        lines.append((f"clear, epsilon {epsilon:g}", size, runs, *against_chance(cosines, 5)))
    cosines = [read_row(made_up(3000, 6, s), 1, [0], (), is_scored=False, **AS_SHARES).cosine for s in range(20)]
    lines.append(("clear, no noise", 1, 20, *against_chance(cosines, 5)))
    keys = NEVER | {"noise": "rows"}
    real_ones = [read_row(made_up(3000, 6, seed), 1, [0], known_rows(3000, 5, 20), **keys).cosine for seed in range(20)]
    lines.append(("shares never, epsilon 1", 1, 20, *against_chance(real_ones, 5)))
    print_table(
        'noise = "rows", 3,000 rows, 5 columns: mean correlation, and how many deviations it lies above chance',
        ("run", "people", "runs", "mean correlation", "deviations above chance"),
        lines,
    )


# A feature party that chooses its rows.


class LabelsRead(NamedTuple):
    right: float
    """Share of the chosen people's labels that the signs of its weights name."""
    scores: float
    """Correlation of its weights with what is left of the label once the label party's own columns explained it."""


def chosen_rows(X: Array, people: int, seed: int, **keys: Any) -> LabelsRead:
    """A feature party gives one person a 1 in each of its columns, and 0 to everybody else; its weights are opened.

    Each column then stands for one person, and its weight is that person's residual, summed up over the passes.
    """
    y = labels_of(X, seed)
    planted = np.zeros((len(X), people))
    planted[np.arange(people), np.arange(people)] = 1.0
    model = fitted(np.column_stack([X, planted]), y, (X.shape[1], people), **keys)
    # Of a 1 among zeros the weight in the columns' own units is the person's push; an average person's is nothing.
    weights = np.ravel(model.coef_)[X.shape[1] :]
    own, intercept = trained([Whitener.fit(X)(X)], y)
    likely = 1.0 / (1.0 + np.exp(-(Whitener.fit(X)(X) @ own + intercept)))
    left = (y - likely)[:people]
    return LabelsRead(float(np.mean((weights > 0) == (y[:people] == 1))), float(np.corrcoef(weights, left)[0, 1]))


def features(runs: int = 5) -> None:
    """Labels by a feature party, under `open = "own"`."""
    lines = []
    for name, keys in (
        ("shares, own", OWN),
        ("clear", AS_SHARES),
        ("clear, noise rows, epsilon 1", NOISY_CLEAR),
    ):
        read = [chosen_rows(made_up(3000, 4, seed), 12, seed, **keys) for seed in range(runs if "own" in name else 20)]
        lines.append((name, len(read), *(float(np.mean(column)) for column in zip(*read, strict=True))))
    print_table(
        "A feature party with 12 columns, each a 1 for one person; 3,000 rows",
        ("run", "runs", "labels right", "correlation with label less the label party's prediction"),
        lines,
    )


PARTS: dict[str, Callable[[], None]] = {
    "real": real,
    "groups": groups,
    "conditions": conditions,
    "noise": noise,
    "features": features,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
