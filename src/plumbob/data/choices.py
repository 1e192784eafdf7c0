"""What a party says about the columns of its own file."""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from plumbob.data.ids import DUPLICATES
from plumbob.errors import DataError

TYPES = ("number", "category", "boolean", "date")
UNLABELLED = ("refuse", "drop")


@dataclass(frozen=True)
class ColumnChoices:
    """What a party says about its own file; empty where it says nothing."""

    columns: tuple[str, ...] | None = None
    """The features, in this order; None for all columns."""
    drop: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    """By column: number, number:, (the decimal sign), category, boolean, date, date:FORMAT, or ordered low<mid<high."""
    gaps: tuple[str, ...] = ()
    """Cells that mean a gap, besides empty ones, NA and the like."""
    stepped: tuple[str, ...] = ()
    """Columns whose bins are told apart step by step."""
    monotone: tuple[str, ...] = ()
    """Columns whose bins become one rising column: the score then only rises along them, or only falls."""
    ranges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By column, stated without looking at any row: the lowest and the highest value, with any cuts between them."""
    positive: str | None = None
    """The label's class that is predicted; None for the second one in sorted order."""
    duplicates: str = DUPLICATES[0]
    """What becomes of an id that is on several rows: `ids.DUPLICATES`."""
    unlabelled: str = UNLABELLED[0]
    """What becomes of a row without a label."""
    weight: str | None = None
    """The column that says how much a row counts, from 0 to 1, at the label party; it is no feature."""

    def __post_init__(self) -> None:
        if self.unlabelled not in UNLABELLED:
            raise DataError(f"--unlabelled {self.unlabelled}: expected {' or '.join(UNLABELLED)}")
        if self.duplicates not in DUPLICATES:
            raise DataError(f"--duplicates {self.duplicates}: expected {', '.join(DUPLICATES)}")
        for name, kind in self.types.items():
            if kind.partition(":")[0] not in TYPES and "<" not in kind:
                raise DataError(
                    f"--as {name}={kind}: expected {', '.join(TYPES)}, date:FORMAT, or levels in order such as"
                    " low<mid<high"
                )
        for name, ends in self.ranges.items():
            if len(ends) < 2 or any(not low < high for low, high in pairwise(ends)):
                raise DataError(f"--range {name}: expected two or more rising numbers, such as {name}=0:100")
        if both := sorted({*self.stepped} & {*self.monotone}):
            raise DataError(f"--steps and --monotone both name {', '.join(map(repr, both))}; choose one of them")

    def about(self, names: Collection[str]) -> "ColumnChoices":
        """The choices about these columns only: those of one file among several."""
        return replace(
            self,
            columns=None if self.columns is None else tuple(name for name in self.columns if name in names),
            drop=tuple(name for name in self.drop if name in names),
            types={name: kind for name, kind in self.types.items() if name in names},
            stepped=tuple(name for name in self.stepped if name in names),
            monotone=tuple(name for name in self.monotone if name in names),
            ranges={name: ends for name, ends in self.ranges.items() if name in names},
            weight=self.weight if self.weight in names else None,
        )


def type_flag(name: str, kind: str) -> str:
    """The flag that gives a column its type, as a shell takes it: names may hold blanks and quotes."""
    quoted = shlex.quote(word := f"{name}={kind}")
    # A sign at the end would be taken for one of the sentence.
    return f"--as {quoted}" if quoted != word or word[-1].isalnum() else f"--as '{word}'"
