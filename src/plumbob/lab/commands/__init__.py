"""The work of the verbs that need the lab: all parties on this machine, attacks, the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbob.plan import Plan

if TYPE_CHECKING:
    from plumbob.data import ColumnChoices
    from plumbob.lab.simulate.id_columns import IdColumns


@dataclass(frozen=True)
class TrainingHere:
    """A training with all parties on this machine, as `train` and `audit` are asked for it."""

    plan: Plan | None
    """None for one that fits the data,"""
    keys: Mapping[str, Any]
    """with these keys."""
    sources: Sequence[str]
    """A data set's name, or PARTY=FILE for each party."""
    ids: "IdColumns"
    label: str | None
    reading: "ColumnChoices"
    test: Sequence[str]
    data_dir: Path | None
    out: Path
    jobs: int | None = None
    accept_leaks: bool = False
    is_new: bool = False

    @property
    def source(self) -> str:
        """A data set's name, or a word that it was files."""
        return "files" if "=" in "".join(self.sources) else "".join(self.sources)
