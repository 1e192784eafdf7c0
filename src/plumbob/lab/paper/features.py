"""Section 3 and the appendices on features: each theorem as a small experiment, and how far one gets beyond them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plumbob.arrays import Matrix
from plumbob.lab import bounds
from plumbob.lab.attacks.feature_chain import recover_chained_feature
from plumbob.lab.attacks.feature_geometry import recover_geometry, with_known_rows
from plumbob.lab.attacks.feature_single import recover_single_feature
from plumbob.lab.attacks.interface import Claim
from plumbob.lab.paper.frames import ExperimentOutcome, Frame, PaperClaim, judge
from plumbob.lab.paper.runs import ColumnErrors, Effort, column_errors, made_up, trained, views_of

BATCH = 16
EXACT = 1e-6
BY_LABEL_PARTY = "With one column at the feature party the label party learns every value up to one sign."
BY_FEATURE_PARTY = "A feature party that has the labels learns the label party's only column in the same way."


def merging(effort: Effort) -> ExperimentOutcome:
    """Lemma 3.4, Theorem 3.5, Remark 4.9: ratios merge over epochs, then every value of one column."""
    counts = (8, 32) if effort.is_quick else (4, 8, 16, 32, 64, 128)
    chance = min(bounds.merge_probability(count, BATCH) for count in counts)
    epochs = Frame(
        "merging",
        "Epochs until the ratios of one column join into one group",
        "batches per epoch",
        "epochs",
        f"Lemma 3.4 promises it with a probability of at least {chance:.9g}.",
        logarithmic="x",
    )
    errors = Frame(
        "merging-error",
        "Largest error of a value of that column, in standard deviations",
        "batches per epoch",
        "error",
        logarithmic="xy",
    )
    for count in counts:
        found = [_single(effort, count * BATCH, seed) for seed in effort.all_seeds]
        epochs.add("promised, at most", count, bounds.epochs_to_merge(count), is_reference=True)
        epochs.add("measured", count, [one.conditions["epochs until merged"] for one in found])
        errors.add("largest error", count, [one.largest for one in found])
    reading = f"credit, column 0 at the other party, batches of {BATCH}"
    reverse = max(_reverse(effort, seed).largest for seed in effort.all_seeds)
    return ExperimentOutcome(
        [epochs, errors],
        [
            _merging_claim(epochs, reading),
            _exact_claim("exact-values", "Theorem 3.5", BY_LABEL_PARTY, reading, max(errors["largest error"].values)),
            _exact_claim("reverse", "Remark 4.9", BY_FEATURE_PARTY, "credit, column 0 at the label party", reverse),
        ],
    )


def _merging_claim(epochs: Frame, reading: str) -> PaperClaim:
    promised, measured = epochs["promised, at most"].means, epochs["measured"]
    most = [max(point.values) for point in measured.points]
    return PaperClaim(
        "merging",
        "Lemma 3.4",
        "Ratios of the whole column are known after floor(log2(m)) + 1 epochs.",
        reading,
        "not one epoch more, for every number of batches and seed",
        f"{max(most):g} epochs at most, where {min(promised):g} to {max(promised):g} are promised",
        judge(all(epochs <= limit for epochs, limit in zip(most, promised, strict=True))),
        {"most_epochs": max(most)},
    )


def _exact_claim(name: str, reference: str, says: str, reading: str, error: float) -> PaperClaim:
    needed = f"every error below {EXACT:g} standard deviations"
    measured = f"largest error {error:.1e}"
    return PaperClaim(name, reference, says, reading, needed, measured, judge(error < EXACT), {"largest_error": error})


def _single(effort: Effort, rows: int, seed: int, **more: Any) -> ColumnErrors:
    keys: dict[str, Any] = {"batch_size": BATCH, "learning_rate": 0.01, "epochs": 4, "seed": seed, **more}
    views = views_of((22, 1), effort.credit(rows, 0), **keys)
    return column_errors(recover_single_feature, views["label"], views["features"].X[:, 0])


def _reverse(effort: Effort, seed: int) -> ColumnErrors:
    keys: dict[str, Any] = {"batch_size": BATCH, "learning_rate": 0.01, "epochs": 3, "seed": seed, "intercept": False}
    views = views_of((1, 22), effort.credit(1024, 0, is_first=True), **keys)
    return column_errors(recover_single_feature, views["features"], views["label"].X[:, 0])


def other_curves(effort: Effort) -> ExperimentOutcome:
    """Theorems E.2 and F.1: the same values under minimax and piecewise."""
    sizes = (512,) if effort.is_quick else (512, 1024, 2048)
    frame = Frame("other-curves", "Rows whose value is determined", "rows", "share", "Three epochs.", is_share=True)
    minimax = _claim_of_curve(effort, frame, sizes, "minimax", "Theorem E.2", row_norm=1.0)
    piecewise = _claim_of_curve(effort, frame, sizes, "piecewise", "Theorem F.1")
    return ExperimentOutcome([frame], [minimax, piecewise])


def _claim_of_curve(
    effort: Effort, frame: Frame, sizes: Sequence[int], sigmoid: str, reference: str, **keys: Any
) -> PaperClaim:
    errors = []
    for rows in sizes:
        found = [_single(effort, rows, seed, sigmoid=sigmoid, epochs=3, **keys) for seed in effort.all_seeds]
        frame.add(sigmoid, rows, [one.determined for one in found])
        errors += [one.largest for one in found]
    determined = frame[sigmoid]
    return PaperClaim(
        f"{sigmoid}-values",
        reference,
        f"Under the {sigmoid} approximation one column is learnt as well, as soon as its rows can be joined.",
        "credit, column 0" + (", rows clipped to norm 1" if keys else ""),
        f"every determined value to {EXACT:g} standard deviations, and at least 80 % determined",
        f"largest error {max(errors):.1e}, {determined.last:.3f} of the rows determined",
        judge(max(errors) < EXACT and min(determined.means) >= 0.8),
        {"largest_error": max(errors), "determined": determined.last},
    )


def hardness(effort: Effort) -> ExperimentOutcome:
    """Theorem 3.6: columns turned by any angle give the label party the same sums."""
    X, y = made_up(400, 8, 1)
    sums = _sums(X, y)
    frame = Frame(
        "hardness",
        "Columns of the feature party turned by an angle",
        "angle in degrees",
        "largest change",
        logarithmic="y",
    )
    for angle in (15, 45, 90) if effort.is_quick else (5, 15, 30, 45, 60, 75, 90):
        turned = _turn(X, np.deg2rad(angle))
        frame.add("in what the label party sees", angle, np.abs(_sums(turned, y) - sums).max() / np.abs(sums).max())
        frame.add("in the columns", angle, np.abs(turned - X).max())
    seen, hidden = (max(curve.means) for curve in frame.curves.values())
    claim = PaperClaim(
        "hardness",
        "Theorem 3.6",
        "With two or more columns, infinitely many choices of them give the label party the same values.",
        "made-up rows, 4 columns each, turned in a plane",
        "sums the same to 1e-8 at every angle, columns different",
        f"sums change by at most {seen:.1e} of their size, columns by up to {hidden:.2f}",
        judge(seen < 1e-8 and hidden > 0.5),
        {"seen": seen, "hidden": hidden},
    )
    return ExperimentOutcome([frame], [claim])


def _turn(X: Matrix, angle: float) -> Matrix:
    """The columns with the feature party's, the last two, turned in their plane."""
    turned = X.copy()
    plane = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    turned[:, -2:] = X[:, -2:] @ plane
    return turned


def _sums(X: Matrix, y: Any) -> Matrix:
    keys: dict[str, Any] = {"scale": "none", "feature_bits": 40, "epochs": 4, "batch_size": 16, "learning_rate": 0.1}
    sums: Matrix = trained((4, 4), X, y, **keys).transcripts["label"].sums
    return sums


INNER_PRODUCTS, KNOWN_ROWS = "inner products, relative", "values, once columns + 2 rows are known"


def geometry(effort: Effort) -> ExperimentOutcome:
    """Beyond the paper: the rotation of Theorem 3.6 is all that stays open, and a few known rows fix it."""
    widths = (2,) if effort.is_quick else (2, 3, 4, 6, 8)
    frame = Frame(
        "geometry",
        "The feature party's rows from the history of its scores",
        "columns",
        "error",
        "Batches of 16, 20 epochs, 160 rows. A rotation of the columns is all that stays open.",
        logarithmic="y",
    )
    for columns in widths:
        found = [_geometry(columns, seed) for seed in effort.all_seeds[:2]]
        frame.add(INNER_PRODUCTS, columns, [apart for apart, _ in found])
        frame.add(KNOWN_ROWS, columns, [error for _, error in found])
    apart, worst = max(frame[INNER_PRODUCTS].means), max(frame[KNOWN_ROWS].means)
    claim = PaperClaim(
        "geometry",
        "Theorem 3.6, second sentence",
        "As a consequence the label party cannot determine the precise value of the feature party's columns.",
        f"made-up rows, {widths[0]} to {widths[-1]} columns, columns + 2 rows known to the label party",
        "errors above 0.01 standard deviations",
        f"inner products to {apart:.1e}; with the known rows every value to {worst:.1e}",
        judge(worst > 0.01),
        {"values": worst, "inner_products": apart},
    )
    return ExperimentOutcome([frame], [claim])


def _geometry(columns: int, seed: int) -> tuple[float, float]:
    """The relative error of the inner products, and the largest error of a value with known rows."""
    views = views_of((16, columns), made_up(160, 16 + columns, seed), batch_size=16, epochs=20, seed=seed)
    truth, claim = views["features"].X, recover_geometry(views["label"])
    if not isinstance(claim, Claim):
        return 1.0, 1.0
    gram = truth @ truth.T
    known = np.random.default_rng(0).choice(len(truth), columns + 2, replace=False)
    turned = with_known_rows(claim, known, truth[known])
    apart = float(np.linalg.norm(claim.values @ claim.values.T - gram) / np.linalg.norm(gram))
    return apart, float(np.abs(turned.values - truth).max())


def batch_of_one(effort: Effort) -> ExperimentOutcome:
    """Beyond the paper, against section 3: batches of one row tell the column's values as well."""
    sizes = (60,) if effort.is_quick else (50, 100, 200, 300)
    frame = Frame(
        "batch-of-one",
        "Batches of one row, one column: largest error of a value, in standard deviations",
        "rows",
        "error",
        logarithmic="y",
    )
    keys: dict[str, Any] = {"batch_size": 1, "epochs": 3, "learning_rate": 0.05, "start": "xavier"}
    for rows in sizes:
        errors = []
        for seed in effort.all_seeds[:3]:
            views = views_of((3, 1), made_up(rows, 4, seed), seed=seed, **keys)
            found = column_errors(recover_chained_feature, views["label"], views["features"].X[:, 0])
            errors.append(found.largest)
        frame.add("largest error", rows, errors)
    worst = max(frame["largest error"].means)
    claim = PaperClaim(
        "batch-of-one",
        "section 3, after Lemma 3.3",
        "With batches of one row the label party can obtain no information about the column.",
        f"made-up rows, {sizes[0]} to {sizes[-1]}, three epochs",
        "errors above 0.01 standard deviations",
        f"largest error {worst:.1e}",
        judge(worst > 0.01),
        {"largest_error": worst},
    )
    return ExperimentOutcome([frame], [claim])
