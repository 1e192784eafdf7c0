"""The flags of the verbs that train with all parties on this machine: `train` and `audit`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbob.cli.options import (
    AcceptLeaks,
    DataDir,
    DataOption,
    EngineOption,
    IdColumnWords,
    IsByPlace,
    IsNew,
    Jobs,
    LabelColumn,
    PlanWords,
    RunOut,
    SplitBy,
    TestFiles,
)
from plumbob.cli.words import one_plan, refuse_nameless, told_apart
from plumbob.commands.table_flags import TableFlags

if TYPE_CHECKING:
    from plumbob.lab.commands.train import Inputs, TrainingOptions
    from plumbob.plan import Plan


@dataclass(frozen=True)
class TrainingFlags:
    """As they were typed."""

    words: PlanWords = None
    out: RunOut = Path("run")
    data: DataOption = field(default_factory=list)
    id_columns: IdColumnWords = field(default_factory=list)
    is_by_place: IsByPlace = False
    label_column: LabelColumn = None
    data_dir: DataDir = None
    engine: EngineOption = "auto"
    jobs: Jobs = None
    accept_leaks: AcceptLeaks = False
    is_new: IsNew = False
    test: TestFiles = field(default_factory=list)
    split_by: SplitBy = None

    @property
    def paths(self) -> list[str]:
        """The words that are no PARTY=FILE."""
        return told_apart(self.words or [])[0]

    def work(
        self, files: list[str], keys: Mapping[str, Any], table: TableFlags, quiet: bool
    ) -> "tuple[Plan, Inputs, TrainingOptions]":
        """The plan in one of the files, or from flags alone; where the data come from; how the work is done."""
        from plumbob.commands.tables import chosen, pairing_of
        from plumbob.lab.commands.train import Inputs, TrainingOptions, plan_for
        from plumbob.lab.simulate.files import Testing

        refuse_nameless([*self.data, *files])
        data = [*self.data, *told_apart(self.words or [])[1]]
        testing = Testing(self.test, self.split_by)
        ids = pairing_of(self.id_columns, self.is_by_place)
        inputs = Inputs(data, ids, self.label_column, self.data_dir, chosen(table), testing)
        options = TrainingOptions(self.engine, self.jobs, self.accept_leaks, quiet, self.is_new)
        return *plan_for(one_plan(files), keys, inputs), options
