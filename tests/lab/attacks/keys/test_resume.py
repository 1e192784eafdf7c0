"""`key-resume`: a feature party reads one noisy step, breaks off, and asks the label party to start again, many times.

A build that draws anew after a restart releases the same residuals under fresh noise each time, and the mean over the
restarts has hardly any: 61 % of the labels become 99 %. Stopped by the journal: what was drawn is drawn once, the same
bytes are sent again, and a peer that forgot its side of the run is not let in.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.data import Batch, Table
from plumbob.errors import DataError, PeerAwayError, PlumbobError, RemoteProtocolError
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.net import Data
from plumbob.party import training
from plumbob.party.session import Session, peers_of, topic_of
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep, TrainingParty, party_at
from plumbob.run_folder import JOURNAL
from tests.lab.exchange.quick_keys import use_quick_keys
from tests.protocol.support import outcomes, plan_for, tables_for
from tests.world import PATIENCE, Switchboard

ROWS, NOISE, RESTARTS = 40, 7.0, 64
PLAN = plan_for(
    (1, ROWS),
    protocol="exchange",
    batches="full",
    epochs=2,
    scale="none",
    row_norm=1.0,
    noise="std",
    noise_std=NOISE,
)
GENERATOR = np.random.default_rng(5)
X, Y = GENERATOR.normal(size=(ROWS, ROWS + 1)), GENERATOR.integers(0, 2, ROWS)
SIGNS = 2 * Y - 1


class Restarter(ExchangeParty):
    """A party with as many columns as rows: its sums are the other's residuals, at first labels and noise."""

    readings: list[Vector]

    def collect(self, batch: Batch, masks: object) -> Vector:
        sums = super().collect(batch, masks)  # type: ignore[arg-type]  # Handed on as they come.
        residuals = np.empty(ROWS)
        residuals[batch.rows] = np.linalg.solve(self.shard.X[batch.rows].T, sums)
        self.readings.append(residuals)
        raise DataError("something went wrong here; please start again")


def restarted(
    count: int, folder: Path, journals: Callable[[int], dict[str, SqliteJournal]], patch: pytest.MonkeyPatch
) -> tuple[NDArray[np.float64], list[PlumbobError]]:
    """Start both parties this often; what was read each time, and how it ended at the label party."""
    readings: list[Vector] = []
    ends: list[PlumbobError] = []
    use_quick_keys(patch)
    instead = {"features": type("Reading", (Restarter,), {"readings": readings})}
    while len(ends) < count:
        ended = on_network(folder, instead, journals(len(ends)))
        # A busy machine can keep the two from meeting in time: that is no start.
        if not all(isinstance(end, PeerAwayError) for end in ended.values()):
            ends.append(ended["label"])
    return np.array(readings), ends


def on_network(
    folder: Path, instead: Mapping[str, type[TrainingParty]], journals: Mapping[str, SqliteJournal]
) -> dict[str, Any]:
    """What each party ended with, a record or an error, over links that outlive their connections."""
    board, tables = Switchboard(), tables_for(PLAN, X, Y)

    def party_instead(participant: Participant, table: Table | None, progress: AfterStep | None = None) -> Any:
        return party_at(participant, table, progress, instead.get(participant.name))

    def start(name: str) -> Callable[[], Any]:
        (folder / name).mkdir(mode=0o700, exist_ok=True)

        def work() -> Any:
            place = Session(
                name=name,
                topic=topic_of(PLAN, "train"),
                peers=peers_of(PLAN, name),
                folder=folder / name,
                connector_for=board.connector(name),
                plan=PLAN,
                table=tables[name],
                patience=PATIENCE,
                lingering=0.2,
            )
            try:
                return training.train(place, journals[name])
            finally:
                journals[name].close()

        return work

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "party_at", party_instead)
        return outcomes({party.name: start(party.name) for party in PLAN.parties})


def rate(residuals: Vector) -> float:
    """The share of labels that the signs of residuals give."""
    return float(np.mean(-np.sign(residuals) == SIGNS))


def journal(folder: Path) -> SqliteJournal:
    """A journal in its own folder."""
    folder.mkdir(exist_ok=True)
    return SqliteJournal(folder / JOURNAL)


class DeafJournal(SqliteJournal):
    """The attacker's: it keeps what it said itself, and at every start asks for all that it heard once more."""

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        """Keep nothing, as if nothing had come."""


def test_fresh_noise_after_each_restart_is_averaged_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that forgets what it drew gives 61 % of the labels in one start, and 99 % in 64."""
    readings, _ = restarted(
        RESTARTS,
        tmp_path,
        lambda number: {name: journal(tmp_path / f"{name}-{number}") for name in ("label", "features")},
        monkeypatch,
    )
    assert len(readings) == RESTARTS
    alone = NormalDist().cdf(2 / NOISE)
    # Six standard deviations of a mean of so many guesses: three would fail once in some hundred runs.
    chance = 6 * np.sqrt(alone * (1 - alone) / readings.size)
    assert np.mean([rate(one) for one in readings]) == pytest.approx(alone, abs=chance)
    assert rate(readings.mean(axis=0)) >= 0.95


def test_a_peer_that_forgot_is_not_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped label party goes on with the run that it is in: one reading, and no second one."""
    readings, ends = restarted(
        3,
        tmp_path,
        lambda number: {"label": journal(tmp_path / "label"), "features": journal(tmp_path / f"features-{number}")},
        monkeypatch,
    )
    assert len(readings) == 1
    assert all(isinstance(end, RemoteProtocolError) for end in ends)
    assert all("began a new run" in str(end) for end in ends[1:])


def test_a_peer_that_asks_again_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To who repeats its own words and confirms nothing, the shipped label party repeats its own, noise included."""

    def journals(number: int) -> dict[str, SqliteJournal]:
        (tmp_path / "features").mkdir(exist_ok=True)
        return {"label": journal(tmp_path / "label"), "features": DeafJournal(tmp_path / "features" / JOURNAL)}

    readings, _ = restarted(8, tmp_path, journals, monkeypatch)
    assert len(readings) == 8
    assert all(one.tobytes() == readings[0].tobytes() for one in readings)
    # Eight readings with noise of their own reach .95, as the test of copies shows; one alone is right by chance.
    assert rate(readings.mean(axis=0)) == rate(readings[0]) < 0.95
