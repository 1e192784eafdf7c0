"""Where a plan comes from: its own file, another system's job, or flags alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from plumbob.errors import PlanError


@dataclass(frozen=True)
class Origin:
    """At most one of the three files is there."""

    plan: Path | None = None
    fate: Path | None = None
    secretflow: Path | None = None
    version: str | None = None
    """Of the other system, where somebody says it."""

    @property
    def job(self) -> tuple[Path, Literal["FATE", "SecretFlow"]] | None:
        if sum(source is not None for source in (self.plan, self.fate, self.secretflow)) > 1:
            raise PlanError("expected one of a plan, --from-fate and --from-secretflow, got several")
        if self.fate is not None:
            return self.fate, "FATE"
        return None if self.secretflow is None else (self.secretflow, "SecretFlow")
