"""The runs in a folder, for the lab's list: what each was, how good its model is, and its pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plumbob.checking.headlines import headlines
from plumbob.checking.judgement import HeadlineBlock
from plumbob.errors import DataError, PlumbobError
from plumbob.record import RunRecord
from plumbob.report.decision import summary_of
from plumbob.report.run import page_of
from plumbob.run_folder import RECORD, RunFolder


@dataclass(frozen=True)
class ListedRun:
    """One run of the list."""

    name: str
    title: str
    protocol: str
    status: str
    is_finished: bool
    auc: float | None
    honest: HeadlineBlock
    was_attacked: bool


@dataclass(frozen=True)
class Runs:
    """A folder of runs, or the folder of one run."""

    folder: Path

    @property
    def is_one(self) -> bool:
        """Whether the folder is itself a run's."""
        return (self.folder / RECORD).is_file()

    def paths(self) -> dict[str, Path]:
        """The runs' folders by name, at most two levels below; a name leads nowhere else."""
        if self.is_one:
            return {self.folder.resolve().name: self.folder}
        found = sorted([*self.folder.glob(f"*/{RECORD}"), *self.folder.glob(f"*/*/{RECORD}")])
        return {"--".join(file.parent.relative_to(self.folder).parts): file.parent for file in found}

    def record(self, name: str) -> RunRecord:
        """A run's record; DataError where there is no such run."""
        paths = self.paths()
        if name not in paths:
            raise DataError("there is no such run")
        return RunFolder(paths[name]).record()

    def report(self, name: str) -> str:
        """The run's report, as a page."""
        return page_of(self.record(name))

    def summary(self, name: str) -> str:
        """The run's decision sheet, as a page."""
        return summary_of(self.record(name))

    def listed(self) -> Iterator[ListedRun]:
        """All runs; those whose record cannot be read are left out."""
        for name in self.paths():
            try:
                yield _listed(name, self.record(name))
            except PlumbobError:
                continue


def _listed(name: str, record: RunRecord) -> ListedRun:
    quality = next(iter(record.quality.values()), {}).get("joint", {})
    return ListedRun(
        name,
        record.parsed_plan.title,
        record.protocol,
        record.status,
        record.is_finished,
        quality.get("auc"),
        headlines(record.findings or record.predicted).honest,
        bool(record.findings),
    )
