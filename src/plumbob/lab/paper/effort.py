"""How much of the paper is run, with which data, and who is told how far it is."""

from collections.abc import Callable
from dataclasses import dataclass

from plumbob.lab.paper.runs import Samples, credit


@dataclass(frozen=True)
class Effort:
    """Handed to every experiment."""

    seeds: int = 5
    is_quick: bool = False
    tell: Callable[[str], None] = lambda _: None
    data_dir: str | None = None
    """Where the larger data sets are; None: as the environment says."""

    @property
    def all_seeds(self) -> range:
        return range(1, (1 if self.is_quick else self.seeds) + 1)

    def credit(self, rows: int | None = None, column: int | None = None, is_first: bool = False) -> Samples:
        """Real rows; with `column`, that one stands alone at the end, or at the beginning."""
        return credit(rows, column, is_first, self.data_dir)
