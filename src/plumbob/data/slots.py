"""What is decided about the columns of a table before training: how they become numbers, and how many each gives.

Slots are found on all rows of a party's own file (`fitting.find_slots`) and travel with the table when rows are
taken from it, so that the number of columns is the same before and after the parties have found their common rows.
"""

from dataclasses import dataclass, field

DEFAULT_RARE = 30


@dataclass(frozen=True)
class EncodingChoices:
    """What the plan says about how columns become numbers."""

    missing: str = "refuse"
    categorical: str = "refuse"
    bins: int = 0
    rare: int = DEFAULT_RARE
    is_public: bool = False
    """Bins lie where the party stated them, and there is one for gaps, whatever the rows hold."""
    plain: bool = False
    """With bins: each column of numbers also as it is."""

    @property
    def marks_gaps(self) -> bool:
        return not self.bins and self.missing == "indicator"

    @property
    def refuses_gaps(self) -> bool:
        return not self.bins and self.missing == "refuse"

    @property
    def refuses_texts(self) -> bool:
        return not self.bins and self.categorical == "refuse"


@dataclass(frozen=True, repr=False)
class ColumnSlots:
    """How many slots a column has: its bins, or the levels that enough rows hold, and whether it has gaps."""

    bins: int = 0
    levels: tuple[str, ...] | None = None
    has_rare: bool = False
    has_gaps: bool = False
    is_monotone: bool = False
    """The bins share one rising column."""
    is_marked: bool = False
    """A number as it is, with a column beside it that marks its gaps."""
    has_plain: bool = False
    """The number as it is stands before its bins."""

    @property
    def count(self) -> int:
        """Bins or levels, with those of the rare ones and of the gaps."""
        return (self.bins if self.levels is None else len(self.levels) + self.has_rare) + self.has_gaps

    @property
    def width(self) -> int:
        """Encoded columns: one slot, the reference, has none."""
        if self.is_marked:
            return 2
        if self.is_monotone:
            return min(self.bins - 1, 1) + self.has_gaps
        return max(self.count - 1, 0) + self.has_plain


@dataclass(frozen=True, repr=False)
class TableSlots:
    """Of a whole table, by column; a column that is taken as it is has none."""

    by_name: dict[str, ColumnSlots] = field(default_factory=dict)
    choices: EncodingChoices = EncodingChoices()
