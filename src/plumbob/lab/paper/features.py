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
from plumbob.lab.paper.findings import Curve, ExperimentOutcome, Figure, MeanPoint, PaperClaim, judged
from plumbob.lab.paper.readings import Effort
from plumbob.lab.paper.runs import column_errors, made_up, trained, views_of

BATCH = 16
ERROR = "largest error of a determined row, in standard deviations"
EXACT = 1e-6


def merging(effort: Effort) -> ExperimentOutcome:
    """Lemma 3.4, Theorem 3.5, Remark 4.9: ratios merge over epochs, then every value of one column."""
    counts = (8, 32) if effort.is_quick else (4, 8, 16, 32, 64, 128)
    promised = [bounds.epochs_to_merge(count) for count in counts]
    chance = min(bounds.merge_probability(count, BATCH) for count in counts)
    found = [[_single(effort, count * BATCH, seed) for seed in effort.all_seeds] for count in counts]
    taken = [[one["conditions"]["epochs until merged"] for one in ones] for ones in found]
    errors = [[_error(one) for one in ones] for ones in found]
    figures = (
        Figure(
            "merging",
            "Epochs until the ratios of one column join into one group",
            "batches per epoch",
            "epochs",
            (Curve.of("promised, at most", counts, promised, True), Curve.of("measured", counts, taken)),
            f"Lemma 3.4 promises it with a probability of at least {chance:.9g}.",
            has_logarithmic_x=True,
        ),
        Figure(
            "merging-error",
            "Largest error of a value of that column, in standard deviations",
            "batches per epoch",
            "error",
            (Curve.of("largest error", counts, errors),),
            is_logarithmic=True,
            has_logarithmic_x=True,
        ),
    )
    reading = f"credit, column 0 at the other party, batches of {BATCH}"
    reverse = max(_error(_reverse(effort, seed)) for seed in effort.all_seeds)
    return ExperimentOutcome(
        figures,
        (
            _merging_claim(taken, promised, reading),
            _exact_claim("exact-values", "Theorem 3.5", BY_LABEL_PARTY, reading, max(max(one) for one in errors)),
            _exact_claim("reverse", "Remark 4.9", BY_FEATURE_PARTY, "credit, column 0 at the label party", reverse),
        ),
    )


BY_LABEL_PARTY = "With one column at the feature party the label party learns every value up to one sign."
BY_FEATURE_PARTY = "A feature party that has the labels learns the label party's only column in the same way."


def _merging_claim(taken: Sequence[Sequence[float]], promised: Sequence[int], reading: str) -> PaperClaim:
    most = max(max(one) for one in taken)
    return PaperClaim(
        "merging",
        "Lemma 3.4",
        "Ratios of the whole column are known after floor(log2(m)) + 1 epochs.",
        reading,
        "not one epoch more, for every number of batches and seed",
        f"{most:g} epochs at most, where {min(promised)} to {max(promised)} are promised",
        judged(all(max(one) <= limit for one, limit in zip(taken, promised, strict=True))),
        {"most_epochs": most},
    )


def _exact_claim(name: str, reference: str, says: str, reading: str, error: float) -> PaperClaim:
    needed = f"every error below {EXACT:g} standard deviations"
    values = {"largest_error": error}
    return PaperClaim(
        name, reference, says, reading, needed, f"largest error {error:.1e}", judged(error < EXACT), values
    )


def _single(effort: Effort, rows: int, seed: int, **keys: Any) -> dict[str, Any]:
    views = views_of(
        (22, 1),
        effort.credit(rows, 0),
        **({"batch_size": BATCH, "learning_rate": 0.01, "epochs": 4, "seed": seed} | keys),
    )
    return column_errors(recover_single_feature, views["label"], views["features"].X[:, 0])


def _reverse(effort: Effort, seed: int) -> dict[str, Any]:
    keys: dict[str, Any] = {"batch_size": BATCH, "learning_rate": 0.01, "epochs": 3, "seed": seed, "intercept": False}
    views = views_of((1, 22), effort.credit(1024, 0, is_first=True), **keys)
    return column_errors(recover_single_feature, views["features"], views["label"].X[:, 0])


def _error(found: dict[str, Any]) -> float:
    """The largest error; where nothing is determined, a whole standard deviation."""
    value = found.get(ERROR)
    return 1.0 if value is None else float(value)


def other_curves(effort: Effort) -> ExperimentOutcome:
    """Theorems E.2 and F.1: the same values under minimax and piecewise."""
    sizes = (512,) if effort.is_quick else (512, 1024, 2048)
    kinds: dict[str, dict[str, Any]] = {
        "minimax": {"sigmoid": "minimax", "row_norm": 1.0, "epochs": 3},
        "piecewise": {"sigmoid": "piecewise", "epochs": 3},
    }
    determined, claims = [], []
    for name, keys in kinds.items():
        found = [[_single(effort, rows, seed, **keys) for seed in effort.all_seeds] for rows in sizes]
        determined.append(Curve.of(name, sizes, [[one["determined"] for one in ones] for ones in found]))
        shares = determined[-1].means
        worst = max(_error(one) for ones in found for one in ones)
        claims.append(
            PaperClaim(
                f"{name}-values",
                "Theorem E.2" if name == "minimax" else "Theorem F.1",
                f"Under the {name} approximation one column is learnt as well, as soon as its rows can be joined.",
                "credit, column 0" + (", rows clipped to norm 1" if name == "minimax" else ""),
                f"every determined value to {EXACT:g} standard deviations, and at least 80 % determined",
                f"largest error {worst:.1e}, {shares[-1]:.3f} of the rows determined",
                judged(worst < EXACT and min(shares) >= 0.8),
                {"largest_error": worst, "determined": shares[-1]},
            )
        )
    figure = Figure(
        "other-curves", "Rows whose value is determined", "rows", "share", tuple(determined), "Three epochs.", True
    )
    return ExperimentOutcome((figure,), tuple(claims))


def hardness(effort: Effort) -> ExperimentOutcome:
    """Theorem 3.6: columns turned by any angle give the label party the same sums."""
    X, y = made_up(400, 8, 1)
    angles = (15, 45, 90) if effort.is_quick else (5, 15, 30, 45, 60, 75, 90)
    sums = _sums(X, y)
    seen, hidden = [], []
    for angle in angles:
        turned = _turn(X, np.deg2rad(angle))
        seen.append(float(np.abs(_sums(turned, y) - sums).max() / np.abs(sums).max()))
        hidden.append(float(np.abs(turned - X).max()))
    figure = Figure(
        "hardness",
        "Columns of the feature party turned by an angle",
        "angle in degrees",
        "largest change",
        (Curve.of("in what the label party sees", angles, seen), Curve.of("in the columns", angles, hidden)),
        is_logarithmic=True,
    )
    claim = PaperClaim(
        "hardness",
        "Theorem 3.6",
        "With two or more columns, infinitely many choices of them give the label party the same values.",
        "made-up rows, 4 columns each, turned in a plane",
        "sums the same to 1e-8 at every angle, columns different",
        f"sums change by at most {max(seen):.1e} of their size, columns by up to {max(hidden):.2f}",
        judged(max(seen) < 1e-8 and max(hidden) > 0.5),
        {"seen": max(seen), "hidden": max(hidden)},
    )
    return ExperimentOutcome((figure,), (claim,))


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


def geometry(effort: Effort) -> ExperimentOutcome:
    """Beyond the paper: the rotation of Theorem 3.6 is all that stays open, and a few known rows fix it."""
    widths = (2,) if effort.is_quick else (2, 3, 4, 6, 8)
    grams, values = [], []
    for columns in widths:
        found = [_geometry(columns, seed) for seed in list(effort.all_seeds)[:2]]
        grams.append(MeanPoint.of(columns, [one[0] for one in found]))
        values.append(MeanPoint.of(columns, [one[1] for one in found]))
    figure = Figure(
        "geometry",
        "The feature party's rows from the history of its scores",
        "columns",
        "error",
        (
            Curve("inner products, relative", tuple(grams)),
            Curve("values, once columns + 2 rows are known", tuple(values)),
        ),
        "Batches of 16, 20 epochs, 160 rows. A rotation of the columns is all that stays open.",
        is_logarithmic=True,
    )
    worst = max(point.mean for point in values)
    claim = PaperClaim(
        "geometry",
        "Theorem 3.6, second sentence",
        "As a consequence the label party cannot determine the precise value of the feature party's columns.",
        f"made-up rows, {widths[0]} to {widths[-1]} columns, columns + 2 rows known to the label party",
        "errors above 0.01 standard deviations",
        f"inner products to {max(point.mean for point in grams):.1e}; with the known rows every value to {worst:.1e}",
        judged(worst > 0.01),
        {"values": worst, "inner_products": max(point.mean for point in grams)},
    )
    return ExperimentOutcome((figure,), (claim,))


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
    points = []
    for rows in sizes:
        errors = []
        for seed in list(effort.all_seeds)[:3]:
            keys: dict[str, Any] = {
                "batch_size": 1,
                "epochs": 3,
                "learning_rate": 0.05,
                "seed": seed,
                "start": "xavier",
            }
            views = views_of((3, 1), made_up(rows, 4, seed), **keys)
            errors.append(_error(column_errors(recover_chained_feature, views["label"], views["features"].X[:, 0])))
        points.append(MeanPoint.of(rows, errors))
    figure = Figure(
        "batch-of-one",
        "Batches of one row, one column: largest error of a value, in standard deviations",
        "rows",
        "error",
        (Curve("largest error", tuple(points)),),
        is_logarithmic=True,
    )
    worst = max(point.mean for point in points)
    claim = PaperClaim(
        "batch-of-one",
        "section 3, after Lemma 3.3",
        "With batches of one row the label party can obtain no information about the column.",
        f"made-up rows, {sizes[0]} to {sizes[-1]}, three epochs",
        "errors above 0.01 standard deviations",
        f"largest error {worst:.1e}",
        judged(worst > 0.01),
        {"largest_error": worst},
    )
    return ExperimentOutcome((figure,), (claim,))
