"""`score-control`: how many decisions a feature party can turn round with values of its choice, inside the clip.

    PLUMBOB_DATA=... python -m benchmarks.attacks.score_control      # credit too
    python -m benchmarks.attacks.score_control                       # breast-cancer and made-up columns

Values beyond five deviations are clipped, but five deviations in every column at once are more than any honest person
has. A feature party that knows its weights (`open = "own"`) gives each column the sign of its weight; where it changes
all columns the signs are all that it uses, and it may know those under `never` too (more debt, more defaults). Who
knows nothing gives each value a random side. No bound on values stops it; fewer and more usual values do so in part.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import plumbob
from benchmarks.attacks.study import AS_SHARES, CLIP, Array, fitted, labels_of, made_up, print_table
from plumbob import datasets


class Flipped(NamedTuple):
    """Shares of the decisions that were turned round."""

    raised: float
    """Of the rows that were refused, by the highest values."""
    lowered: float
    """Of the rows that were accepted, by the lowest."""


class Setting(NamedTuple):
    """What the feature party may write, and what it knows."""

    knows: str
    """Weights or nothing."""
    within: str
    """The clip, the range in which 98 of 100 honest values lie, or one deviation."""
    columns: int = 0
    """How many of its columns it changes, those with most weight first; 0 = all."""


SETTINGS = (
    Setting("weights", "clip"),
    Setting("weights", "usual range"),
    Setting("weights", "one deviation"),
    Setting("weights", "clip", 1),
    Setting("weights", "usual range", 1),
    Setting("nothing", "clip"),
    Setting("nothing", "usual range"),
)


def flipped(
    model: plumbob.VerticalLogisticRegression, X: Array, own: int, setting: Setting, threshold: float = 0.0
) -> Flipped:
    """Decisions of these rows, before and after the feature party replaced its columns."""
    before = model.decision_function(X) > threshold
    after = [model.decision_function(changed(model, X, own, setting, up)) > threshold for up in (1.0, -1.0)]
    return Flipped(_mean(after[0][~before]), _mean(~after[1][before]))


def changed(model: plumbob.VerticalLogisticRegression, X: Array, own: int, setting: Setting, up: float) -> Array:
    """The rows with the feature party's columns at their ends, those that raise (1) or lower (-1) scores."""
    theirs = X[:, own:]
    effect = np.ravel(model.coef_)[own:] * theirs.std(axis=0)
    signs = np.sign(effect) * up
    if setting.knows == "nothing":
        signs = np.random.default_rng(1).choice([-1.0, 1.0], theirs.shape)
    places = np.argsort(-np.abs(effect))[: setting.columns or None]
    ends = _ends(theirs, setting.within, signs)
    replaced: Array = X.copy()
    replaced[:, own + places] = ends[:, places]
    return replaced


def _ends(theirs: Array, within: str, signs: Array) -> Array:
    mean, deviation = theirs.mean(axis=0), theirs.std(axis=0)
    if within == "usual range":
        low, high = np.quantile(theirs, [0.01, 0.99], axis=0)
        return np.broadcast_to(np.where(signs > 0, high, low), theirs.shape)
    if within == "one deviation":
        moved: Array = theirs + signs * deviation
        return moved
    return np.broadcast_to(mean + CLIP * signs * deviation, theirs.shape)


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def data() -> Iterator[tuple[str, Array, Any, int]]:
    """(name, columns, labels, how many columns are the label party's)."""
    X, y = datasets.load("breast-cancer")
    yield "breast-cancer, 10 + 20", X, y, 10
    yield "breast-cancer, 27 + 3", X, y, 27
    X = made_up(3000, 12, 1)
    yield "made up, 9 + 3", X, labels_of(X, 1), 9
    if os.environ.get("PLUMBOB_DATA"):
        X, y = datasets.load("credit")
        yield "credit, 11 + 12", X, y, 11
        yield "credit, 20 + 3", X, y, 20


def main() -> None:
    lines: list[Sequence[Any]] = []
    for name, X, y, own in data():
        for noise in ({}, {"noise": "rows", "epochs": 0}):
            if noise and len(X) < 1000:
                continue
            model = fitted(X, y, (own, X.shape[1] - own), **(AS_SHARES | noise))
            # With noise only what changes: the clip.
            for setting in SETTINGS[:2] if noise else SETTINGS:
                at_half, at_share = (
                    flipped(model, X, own, setting, threshold)
                    for threshold in (0.0, float(np.quantile(model.decision_function(X), 1.0 - np.mean(y))))
                )
                shown = (setting.knows, setting.within, setting.columns or "all")
                lines.append((name + (", noise rows" if noise else ""), *shown, *at_half, *at_share))
    print_table(
        "Decisions turned round: accepted above a score of 0, or by rank as many as there are positives",
        ("data", "knows", "within", "columns", "0: raised", "0: lowered", "rank: raised", "rank: lowered"),
        lines,
    )


if __name__ == "__main__":
    main()
