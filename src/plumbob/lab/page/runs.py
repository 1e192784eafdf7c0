"""The lab's runs: folders as `plumbob audit` writes them, read for the comparison and for download."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbob.checking.words import ORDER
from plumbob.errors import DataError, PlumbobError
from plumbob.lab.page.choices import chosen, shape_like
from plumbob.record import Finding, RunRecord
from plumbob.report.decision import summary_of
from plumbob.run_folder import RunFolder

NAME = re.compile(r"\d{3,6}-[a-z]+")
OPENED = "opened"
"""The name of the run that the lab was opened on, wherever its folder lies."""


@dataclass
class Runs:
    """The folder that holds the lab's runs, and the one run it was opened on, if any."""

    folder: Path
    opened: Path | None = None

    def names(self) -> list[str]:
        """The names of all runs: the opened one first, then oldest to newest."""
        found = [path.name for path in self.folder.iterdir() if NAME.fullmatch(path.name)] if self._exists else []
        return [*([OPENED] if self.opened is not None else []), *sorted(found)]

    @property
    def _exists(self) -> bool:
        return self.folder.is_dir()

    def path(self, name: str) -> Path:
        """A run's folder; a name that is not in the list leads to no other file."""
        if name not in self.names():
            raise DataError("there is no such run")
        return self.opened if name == OPENED and self.opened is not None else self.folder / name

    def next(self, protocol: str) -> tuple[str, Path]:
        """The name and the folder of a new run."""
        numbers = [int(name.partition("-")[0]) for name in self.names() if name != OPENED]
        name = f"{max(numbers, default=0) + 1:03d}-{protocol}"
        return name, self.folder / name

    def record(self, name: str) -> RunRecord:
        return RunFolder(self.path(name)).record()

    def report(self, name: str) -> str:
        """The page of a run that finished."""
        path = RunFolder(self.path(name)).report_file
        if not path.is_file():
            raise DataError("this run has no report")
        return path.read_text(encoding="utf-8")

    def summary(self, name: str) -> str:
        """A run's decision sheet; an older run has none, and gets it from its record."""
        file = RunFolder(self.path(name)).summary_file
        return file.read_text(encoding="utf-8") if file.is_file() else summary_of(self.record(name))

    def listed(self) -> Iterator[dict[str, Any]]:
        """All runs for the comparison; those that cannot be read are left out."""
        for name in self.names():
            try:
                yield described(name, self.record(name), self.path(name))
            except PlumbobError:
                continue


def described(name: str, record: RunRecord, folder: Path) -> dict[str, Any]:
    """One run for the comparison: what it was, how good its model is, the worst that was found."""
    plan = record.parsed_plan
    rows = plan.rows or record.rows
    quality = next(iter(record.quality.values()), {}).get("joint", {})
    return {
        "name": name,
        "folder": folder.name,
        "title": plan.title,
        "protocol": record.protocol,
        "noise": plan.noise,
        "status": record.status,
        "is_finished": record.is_finished,
        "is_calculated": record.is_calculated,
        "has_report": RunFolder(folder).report_file.is_file(),
        "seconds": record.seconds,
        "bytes": sum(party.bytes_sent for party in record.parties),
        "auc": quality.get("auc"),
        "log_loss": quality.get("log_loss"),
        "labels": worst(record.findings, "labels"),
        "values": worst(record.findings, "features", "scores"),
        "plan": chosen(plan, rows, shape_like(rows, plan.columns)),
    }


def worst(findings: Sequence[Finding], *targets: str) -> dict[str, Any] | None:
    """The worst verdict about these targets, and the furthest that any attack got; None where none was tried."""
    found = [finding for finding in findings if finding.target in targets]
    if not found:
        return None
    furthest = max(found, key=lambda finding: finding.advantage or 0.0)
    return {
        "verdict": min((finding.verdict for finding in found), key=ORDER.index),
        "attack": furthest.attack if furthest.advantage else "",
        "advantage": max(0.0, furthest.advantage or 0.0),
    }
