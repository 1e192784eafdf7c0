"""Pairs of plans on the two sides of each boundary of the rules: where a verdict changes, both sides are frozen.

Where numbers allow it, the first plan of a pair lies exactly on the boundary, so that a "less than" in the place of an
"at most" is noticed. The numbers follow from the rules' thresholds, and stand here as numbers: a threshold that moves
is noticed, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plumbob.plan import Plan

EXCHANGE: dict[str, Any] = {"protocol": "exchange"}
BLURRED: dict[str, Any] = EXCHANGE | {"noise": "std", "row_norm": 1.0, "epochs": 5, "batch_size": 8}
STARTED: dict[str, Any] = EXCHANGE | {"noise": "std", "row_norm": 1.0, "epochs": 5, "start": "xavier"}
NOISY: dict[str, Any] = EXCHANGE | {"noise": "std", "noise_std": 3.0, "row_norm": 1.0}


@dataclass(frozen=True)
class Boundary:
    """Two plans that differ in one number, and the finding whose verdict differs for that."""

    attack: str
    """The attack whose finding changes, as it is called today; the verdict on its target changes for its reader."""
    split: tuple[int, ...]
    rows: int
    keys: dict[str, Any]
    varied: str
    """What differs: a key of the plan, "rows", or "split"."""
    sides: tuple[Any, Any]

    @property
    def plans(self) -> Iterator[tuple[str, Plan, int]]:
        """Both plans, with their names and aligned rows."""
        for side in self.sides:
            split = side if self.varied == "split" else self.split
            rows = side if self.varied == "rows" else self.rows
            keys = self.keys | ({} if self.varied in ("split", "rows") else {self.varied: side})
            told = " ".join(f"{key}={value}" for key, value in keys.items())
            name = f"boundary of {self.attack}: n={rows} split={split} {told}"
            yield name.rstrip(), Plan.for_columns(split, **keys), rows


TWO = (11, 12)
BOUNDARIES = (
    # What scores show: as many as there are columns, or one more; a share of the unknown weights; a peer's only column.
    Boundary("chosen-labels", TWO, 3200, {}, "most_rows", (12, 13)),
    Boundary("chosen-labels", TWO, 3200, {"noise": "rows", "delta": 1e-6}, "epsilon", (4.0, 4.01)),
    Boundary("false-residual", (2, 7), 3200, {"noise": "rows", "delta": 1e-6}, "most_rows", (7, 8)),
    Boundary("prediction-equations", (9, 10), 3200, {}, "most_rows", (1, 2)),
    Boundary("prediction-equations", (11, 19), 3200, EXCHANGE, "most_rows", (1, 2)),
    Boundary("prediction-equations", (11, 1), 3200, {}, "most_rows", (24, 23)),
    Boundary("prediction-equations", TWO, 3200, EXCHANGE, "split", ((11, 1), (11, 2))),
    # Opened weights: people that are few, noise and flips that are enough.
    Boundary("false-residual", TWO, 3200, {"open": "own"}, "split", ((2, 12), (1, 12))),
    # One column: a second and a third visit, room in the longest batch, noise.
    Boundary("feature-single", (9, 1), 600, EXCHANGE | {"batch_size": 5}, "epochs", (3, 2)),
    Boundary("feature-single", (1, 22), 602, EXCHANGE | {"epochs": 5, "batch_size": 20}, "rows", (602, 603)),
    Boundary("feature-single", (9, 1), 1000, EXCHANGE | {"epochs": 1}, "batch_size", (200, 199)),
    Boundary("feature-chain", (11, 1), 600, EXCHANGE | {"batch_size": 1}, "epochs", (2, 1)),
    # Scores and rotations.
    Boundary("feature-geometry", (20, 6), 600, EXCHANGE | {"batch_size": 5, "epochs": 56}, "split", ((20, 6), (20, 7))),
    Boundary("feature-geometry", (20, 3), 600, EXCHANGE | {"batch_size": 5}, "epochs", (24, 23)),
    Boundary("feature-geometry", (20, 3), 600, EXCHANGE | {"batch_size": 5}, "epochs", (4, 3)),
    Boundary("feature-geometry", (20, 3), 601, EXCHANGE | {"batch_size": 20, "epochs": 30}, "rows", (601, 602)),
    Boundary("feature-geometry", (8, 3), 100, EXCHANGE | {"batch_size": 9, "epochs": 5}, "rows", (100, 101)),
    Boundary("feature-geometry", (9, 3), 28, EXCHANGE | {"batch_size": 9, "epochs": 5}, "rows", (28, 29)),
    Boundary("feature-geometry", TWO, 3200, NOISY | {"batch_size": 8, "epochs": 4}, "noise_std", (6.0, 6.01)),
    # Labels: equations, of few columns and of many; noise that is left; a start that few steps mend.
    Boundary("label-stacked", (11, 7), 200, EXCHANGE | {"batches": "full", "epochs": 1}, "rows", (200, 201)),
    Boundary("label-stacked", TWO, 342, EXCHANGE | {"batches": "full", "epochs": 1}, "rows", (342, 343)),
    Boundary("label-stacked", (11, 2), 16, EXCHANGE | {"batches": "full", "epochs": 1}, "rows", (16, 17)),
    Boundary("label-stacked", (11, 2), 50, EXCHANGE | {"batch_size": 16, "epochs": 1}, "rows", (50, 51)),
    Boundary("label-average", TWO, 2000, BLURRED, "noise_std", (7.155, 7.156)),
    Boundary("label-stacked", TWO, 2000, EXCHANGE | {"batches": "full", "start": "xavier"}, "epochs", (27, 28)),
    Boundary("label-average", TWO, 2000, STARTED | {"batches": "full"}, "noise_std", (6.66, 6.67)),
    # Labels that noise hides: single ones, what columns say in general, and in how many batches.
    Boundary("label-average", TWO, 2000, STARTED | {"batch_size": 8}, "noise_std", (100.85, 100.86)),
    Boundary("label-average", TWO, 2000, STARTED | {"batch_size": 200}, "noise_std", (33.33, 33.34)),
    Boundary("label-average", TWO, 2000, STARTED | {"noise_std": 40.0}, "batch_size", (250, 251)),
    Boundary("own-weights", TWO, 284, {"open": "own"}, "rows", (284, 285)),
    Boundary("arbiter-key", TWO, 2000, BLURRED | {"protocol": "arbiter"}, "noise_std", (8.23, 8.24)),
    Boundary("label-enumeration", TWO, 2000, EXCHANGE, "start", ("zero", "xavier")),
    # Room in replies: for a batch, for the longest one, or for all but a last one that is rare.
    Boundary("packing", TWO, 600, EXCHANGE | {"epochs": 1}, "batch_size", (30, 31)),
    Boundary("packing", TWO, 200, EXCHANGE | {"epochs": 1, "batch_size": 19}, "rows", (200, 201)),
    Boundary("packing", (7, 8), 220, EXCHANGE | {"epochs": 2, "batch_size": 18}, "rows", (220, 221)),
    Boundary("packing", (7, 8), 220, EXCHANGE | {"batch_size": 18}, "epochs", (2, 1)),
    Boundary("packing", TWO, 20000, EXCHANGE | {"replies": "paper"}, "batch_size", (696, 697)),
    Boundary("packing", TWO, 20000, EXCHANGE | {"replies": "paper"}, "batch_size", (1254, 1255)),
    Boundary("packing", TWO, 2000, BLURRED, "noise_std", (8.23, 8.24)),
    # Steering: columns enough, people enough, whole batches.
    Boundary("steering", (11, 5), 600, EXCHANGE | {"batch_size": 64}, "epochs", (4, 3)),
    Boundary("steering", (11, 5), 600, EXCHANGE | {"batch_size": 64, "row_norm": 1.0}, "epochs", (6, 5)),
    Boundary("steering", (11, 5), 600, EXCHANGE | {"batch_size": 64, "epochs": 9}, "split", ((2, 5), (1, 5))),
    Boundary("steering", (1, 5), 600, EXCHANGE | {"epochs": 9}, "batch_size", (2, 3)),
    Boundary("steering", (11, 5), 600, {"protocol": "arbiter", "batches": "full"}, "epochs", (6, 5)),
)
ATTACK_OF = {name: boundary.attack for boundary in BOUNDARIES for name, _, _ in boundary.plans}
"""The attack that each plan of a pair is about, by the plan's name."""
