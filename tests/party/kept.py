"""Runs whose parties keep evidence, and their auditors."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plumbob import party
from plumbob.caller import QUIET
from plumbob.data import Table
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.party import evidence, replay
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.verbs import train as training
from plumbob.plan import Plan
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep
from plumbob.protocol.shares.training import SharesParty
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for
from tests.world import Killed

CASTING = threading.Lock()


def accountable(plan: Plan, folder: Path, **keys: Any) -> tuple[Plan, dict[str, AuditorKeys]]:
    """The plan with an auditor for each party, whose keys lie in this folder, and with these keys."""
    names = [party.name for party in plan.parties]
    auditors = {name: AuditorKeys.create(folder / f"auditor-{name}", f"auditor-{name}") for name in names}
    fingerprints = {name: one.public.fingerprint for name, one in auditors.items()}
    return plan.replace(evidence="keep", days=30, auditors=fingerprints, **keys), auditors


@dataclass(frozen=True)
class Kept:
    """A run whose parties keep evidence."""

    plan: Plan
    tables: Mapping[str, Table]
    folder: Path
    auditors: Mapping[str, AuditorKeys]

    def place(self, name: str) -> Path:
        return self.folder / name / evidence.FOLDER

    def replayed(self, name: str, **options: Any) -> dict[str, Any]:
        return replay.replay(self.folder / name, self.auditors[name], **options)


def trained(
    folder: Path,
    split: tuple[int, ...],
    cheats: Mapping[str, Hook],
    tables: Mapping[str, Table] | None = None,
    **keys: Any,
) -> Kept:
    """Train by everybody's own command, in threads; `cheats` run other software, or have invented their tables."""
    plan, auditors = accountable(Plan.for_columns(split, epochs=2, test_share=0.2), folder, **keys)
    given = tables or tables_for(plan, *made_up(40, plan.columns))
    settings = {name: {"evidence_key": str(folder / f"auditor-{name}" / PUBLIC_FILE)} for name in auditors}
    organisations = Organisations(plan, given, folder, settings=settings)

    def party_instead(participant: Participant, table: Table, progress: AfterStep | None = None) -> Any:
        cheat = cheats.get(participant.name)
        return (SharesParty if cheat is None else hooked(SharesParty, cheat))(participant, table, progress)

    def train(name: str) -> Any:
        while True:
            # A party that dies types the command again.
            with suppress(Killed):
                return party.train(organisations.home(name), plan, caller=QUIET)

    with CASTING, pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(auditors)) as pool:
        patch.setattr(training, "SharesParty", party_instead)
        list(pool.map(train, auditors))
    for name in auditors:
        (folder / "runs").mkdir(exist_ok=True)
        (folder / "runs" / name).symlink_to(organisations.run_folder(name))
    return Kept(plan, given, folder / "runs", auditors)
