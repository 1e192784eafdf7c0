"""Runs whose parties keep evidence, and their auditors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbob.data import Table
from plumbob.party import evidence, replay
from plumbob.party.sealing import AuditorKeys
from plumbob.plan import Plan


def accountable(plan: Plan, folder: Path) -> tuple[Plan, dict[str, AuditorKeys]]:
    """The plan with an auditor for each party, whose keys lie in this folder."""
    names = [party.name for party in plan.parties]
    auditors = {name: AuditorKeys.create(folder / f"auditor-{name}", f"auditor-{name}") for name in names}
    fingerprints = {name: one.public.fingerprint for name, one in auditors.items()}
    return plan.replace(evidence="keep", days=30, auditors=fingerprints), auditors


@dataclass(frozen=True)
class Kept:
    """A run whose parties keep evidence."""

    plan: Plan
    tables: Mapping[str, Table]
    folder: Path
    auditors: Mapping[str, AuditorKeys]

    def keys(self, name: str) -> dict[str, bytes]:
        """What the party's auditor hands over for this one run."""
        head = evidence.read_head(self.place(name) / "head.json")
        auditor = self.auditors[name]
        return {file: auditor.file_key(bytes.fromhex(one), head.run_bytes, file) for file, one in head.keys.items()}

    def place(self, name: str) -> Path:
        return self.folder / name / evidence.FOLDER

    def replayed(self, name: str, **options: Any) -> dict[str, Any]:
        return replay.replay(self.folder / name, self.keys(name), **options)
