"""Prediction between organisations: what each side hears when one of them has answered enough."""

import csv
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob import party
from plumbob.errors import BudgetExceededError, DataError, PeerAwayError
from plumbob.lab.simulate import Run
from plumbob.party.held_out import quality_in_words
from plumbob.party.home import Home
from plumbob.party.rows import keep_common_rows
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.journal import SqliteJournal, read_contents
from plumbob.protocol.messages import Kind
from plumbob.protocol.prediction import Served
from plumbob.run_folder import JOURNAL, RunFolder
from tests.party.verbs import Command, Organisations
from tests.protocol.support import made_up, plan_for, tables_for, trained
from tests.world import ANSWERED, PATIENCE, SESSIONS, OnFrame, World, as_sent, message_in

PLAN = plan_for((2, 2, 1), epochs=1)
ROWS = made_up(columns=PLAN.columns)


@pytest.fixture(scope="module")
def run() -> Run:
    """A finished one of three parties."""
    return trained(PLAN, ROWS)


def session(folder: Path, limits: dict[str, int], on_frame: OnFrame = as_sent, rows: int = 40) -> dict[str, Any]:
    """One session in which so many rows are asked for; what each party got, or was told."""
    return World(SESSIONS["prediction of three"], folder, on_frame=on_frame, asked=rows, limits=limits).run().results


def slow(*kinds: Kind) -> OnFrame:
    """A network on which these messages take a while."""

    def wait(sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        message = message_in(frame)
        if message is not None and message.kind in kinds:
            time.sleep(0.5)
        return [frame]

    return wait


@pytest.mark.parametrize("kind", [Kind.QUERY_VERDICT, Kind.QUERY_DECISION])
def test_everybody_hears_of_a_limit_behind_everything_else(kind: Kind, tmp_path: Path) -> None:
    """However slow the network is, nobody is told only that somebody has gone: the decision comes first."""
    ends = session(tmp_path, {"features": 39}, slow(kind))
    for end in ends.values():
        assert isinstance(end, BudgetExceededError)
        assert "features itself allows 39 scored rows, 0 are used, 39 are left" in str(end)


def test_a_limit_lasts(tmp_path: Path) -> None:
    """What was answered counts in every later session, with or without a limit; without its file, nothing does."""
    assert session(tmp_path, {}, rows=30)["features"] == Served(1, 30)
    assert session(tmp_path, {"features": 35}, rows=5)["features"] == Served(1, 5)
    refused = session(tmp_path, {"features": 35}, rows=1)
    assert "features itself allows 35 scored rows, 35 are used, 0 are left" in str(refused["features"])
    assert isinstance(refused["label"], BudgetExceededError)
    count = tmp_path / "features" / ANSWERED
    assert count.read_bytes() == b'{"rows":35}'
    assert count.stat().st_mode & 0o077 == 0
    count.unlink()
    assert session(tmp_path, {"features": 35}, rows=30)["features"] == Served(1, 30)
    count.write_bytes(b"")
    assert "expected how many rows were answered" in str(session(tmp_path, {"features": 35})["features"])


@pytest.fixture
def organisations(run: Run, tmp_path: Path) -> Iterator[Organisations]:
    """Organisations with a finished run; their processes end with the test."""
    made = Organisations(PLAN, tables_for(PLAN, *ROWS), tmp_path)
    for name, part in run.model.parts.items():
        own = made.run_folder(name) / "parties" / name
        for place in (made.home(name) / "runs", made.run_folder(name), own.parent, own):
            place.mkdir(mode=0o700)
        part.save(own / "part.json")
        RunFolder(made.run_folder(name)).save_record(run.record)
    yield made
    made.close()


def change(file: Path, old: str, new: str) -> None:
    """Change one line of somebody's settings."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def predicted(organisations: Organisations, *limit: str, asked: Iterable[str] = ()) -> dict[str, Command]:
    """Run `party predict` at all parties, with a limit at one, until all have ended."""
    out = ["--out", str(organisations.folder / "scores.csv"), "--wait", str(PATIENCE)]
    words = {"label": [*out, *asked], "features": limit}
    commands = {
        name: organisations.type(name, "predict", str(organisations.plan_file), *words.get(name, ()))
        for name in organisations.names
    }
    for command in commands.values():
        command.wait()
    return commands


def test_a_limit_between_processes(organisations: Organisations, run: Run) -> None:
    """Everybody ends with 1 over real TLS and says who refused and why; the third counts nothing."""
    commands = predicted(organisations, "--most-rows", "39")
    assert [commands[name].process.exitcode for name in organisations.names] == [1, 1, 1]
    counted = "features itself allows 39 scored rows, 0 are used, 39 are left"
    assert f"40 rows asked for; features refused: {counted}" in commands["label"].complained
    assert f"label asked for 40 rows; {counted}" in commands["features"].complained
    assert "raise yours: --most-rows, or most_rows in party.toml" in commands["features"].complained
    assert "delete" not in commands["features"].complained
    assert f"label asked for 40 rows; features refused: {counted}" in commands["features-2"].complained
    assert not (organisations.folder / "scores.csv").exists()
    change(organisations.home("features") / "party.toml", "most_rows = 0", "most_rows = 40")
    commands = predicted(organisations)
    assert [commands[name].process.exitcode for name in organisations.names] == [0, 0, 0]
    lines = (organisations.folder / "scores.csv").read_text(encoding="utf-8").splitlines()[1:]
    scores = [float(line.split(",")[1]) for line in lines]
    for name in ("features", "features-2"):
        assert "40 rows of this plan in all" in commands[name].printed
    assert np.allclose(scores, run.model.scores(organisations.tables), atol=1e-6)
    assert "40 are used, 0 are left" in predicted(organisations, asked=["--ids", "0"])["features"].complained


def test_ids_that_nobody_aligned_are_named_and_never_scored(organisations: Organisations) -> None:
    """They stand in the file without a score; where no other id is asked for, no peer is met."""
    commands = predicted(organisations, asked=["--ids", "0", "--ids", "P4711"])
    assert [command.process.exitcode for command in commands.values()] == [0, 0, 0], commands["label"].complained
    header, scored, absent = (organisations.folder / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert header == "id,score,probability of 1,predicted,held_out"
    assert scored.startswith("0,")
    assert absent == "P4711,,,,"
    assert "1 id has no score: it is not among the aligned rows" in commands["label"].printed
    alone = asked_of(organisations, "--ids", "P4711")
    assert alone.process.exitcode == 1
    assert "the id that was asked for is not among the 40 aligned rows; for new rows" in alone.complained
    assert "P4711" not in alone.complained


def test_a_mistake_leaves_no_session(organisations: Organisations, tmp_path: Path) -> None:
    """It is told before anybody is met."""
    home = organisations.home("label")
    with pytest.raises(DataError, match="the id that was asked for is not among the 40 aligned rows"):
        party.predict(home, organisations.plan_file, ids=["nobody"], out=tmp_path / "scores.csv")
    assert [run["run"] for run in told(home)] == [PLAN.hash()[:12]]


def test_what_a_killed_session_leaves_is_told(organisations: Organisations) -> None:
    """Its journal keeps secrets until the next session or until it is given up; `party status` says how."""
    home = organisations.home("features")
    waiting = organisations.type("features", "predict", str(organisations.plan_file))
    place = home / "runs" / f"predict-{PLAN.hash()[:12]}"
    end = time.monotonic() + PATIENCE
    while not any(read_contents(file).facts.get("identity") for file in place.rglob(JOURNAL)):
        assert time.monotonic() < end
        time.sleep(0.02)
    waiting.process.kill()
    waiting.wait()
    [left] = place.glob(f"*/{JOURNAL}")
    with closing(SqliteJournal(left)) as journal:
        journal.draws()
        journal.flush()
    status = next(run for run in told(home) if run["run"] == place.name)
    assert status["keeps_secrets"] is True
    party.forget(home, str(place), give_up=True)
    assert [run["run"] for run in told(home)] == [PLAN.hash()[:12]]


def test_new_rows_that_were_not_aligned(organisations: Organisations) -> None:
    """Whoever predicts a new file at once reads what to type first, with the name and the file."""
    new = organisations.folder / "new.csv"
    header, row, *_ = (organisations.folder / "label.csv").read_text(encoding="utf-8").splitlines()
    new.write_text(f"{header}\nnew{row}\n", encoding="utf-8")
    home, plan = organisations.home("label"), organisations.plan_file
    with pytest.raises(DataError) as absent:
        party.predict(home, plan, data=new)
    assert "40 of 40 agreed ids are not in this table of 1 rows; for new rows type, on all sides: " in str(absent.value)
    assert "plumbob party align PLAN --name NAME --data FILE, then predict with the same --name" in str(absent.value)
    with pytest.raises(
        DataError, match=r"under the name dec; type, on all sides: .* align PLAN --name dec --data FILE"
    ):
        party.predict(home, plan, name="dec", data=new)


LABEL_CELLS = {"without the label": None, "with an empty label": "", "with one class": "0"}


@pytest.mark.parametrize("cell", LABEL_CELLS.values(), ids=LABEL_CELLS)
def test_new_rows_need_no_label(cell: str | None, organisations: Organisations, run: Run) -> None:
    """Rows under a name are aligned by their ids alone, and predicted, whatever their file says of the label."""
    new = organisations.folder / "new.csv"
    header, *rows = [line.split(",") for line in (organisations.folder / "label.csv").read_text().splitlines()]
    label = [] if cell is None else [[header[-1]], *[[cell]] * 12]
    lines = [[*row[:-1], *end] for row, end in zip([header, *rows[:12]], label or [[]] * 13, strict=True)]
    new.write_text("".join(f"{','.join(line)}\n" for line in lines), encoding="utf-8")
    plan, named = str(organisations.plan_file), ["--name", "newer"]
    words = {"label": [*named, "--data", str(new)], "features": named, "features-2": named}
    commands = [organisations.type(name, "align", plan, "--jobs", "1", *words[name]) for name in organisations.names]
    assert [command.wait() for command in commands] == [0, 0, 0], commands[0].complained
    assert "12 rows in common" in commands[0].printed
    words["label"] += ["--out", str(organisations.folder / "scores.csv"), "--wait", str(PATIENCE)]
    commands = [organisations.type(name, "predict", plan, *words[name]) for name in organisations.names]
    assert [command.wait() for command in commands] == [0, 0, 0], commands[0].complained
    scored = (organisations.folder / "scores.csv").read_text(encoding="utf-8").splitlines()[1:]
    scores = {line.split(",")[0]: float(line.split(",")[1]) for line in scored}
    expected = dict(zip(organisations.tables["label"].ids, run.model.scores(organisations.tables), strict=True))
    assert set(scores) == {row[0] for row in rows[:12]}
    assert all(abs(scores[identity] - expected[identity]) < 1e-6 for identity in scores)


def test_a_row_that_a_peer_has_lost_is_never_scored(organisations: Organisations) -> None:
    """The party that lost it says how many; aligned again, the file of scores says which row has no score."""
    table = organisations.tables["features-2"]
    lost, out = table.ids[3], organisations.folder / "scores.csv"
    organisations.write_table("features-2", table.take([row for row in range(len(table)) if row != 3]))
    refused = organisations.type("features-2", "predict", str(organisations.plan_file))
    assert refused.wait() == 1
    assert "1 aligned row is no longer in this table; nothing was scored" in refused.complained
    assert repr(lost) not in refused.complained
    plan = str(organisations.plan_file)
    commands = [organisations.type(name, "align", plan, "--jobs", "1") for name in organisations.names]
    assert [command.wait() for command in commands] == [0, 0, 0], commands[0].complained
    assert [command.process.exitcode for command in predicted(organisations).values()] == [0, 0, 0]
    with out.open(newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(organisations.tables["label"].ids)
    assert [name for name, row in rows.items() if not row["score"]] == [lost]


def keep_list(organisations: Organisations, name: str, rows: int) -> None:
    """Keep a list as if the first rows had been aligned under this name."""
    ids = organisations.tables["label"].ids[:rows]
    for own in organisations.names:
        home = Home.open(organisations.home(own))
        keep_common_rows(home, PLAN, Alignment(ids, "", rows, dict.fromkeys(organisations.names, rows)), name)


def asked_of(organisations: Organisations, *words: str) -> Command:
    """Run `party predict` at the label party alone, until it has ended."""
    out = ["--out", str(organisations.folder / "scores.csv"), "--wait", str(PATIENCE)]
    command = organisations.type("label", "predict", str(organisations.plan_file), *out, *words)
    command.wait()
    return command


def test_a_service_of_one_list(organisations: Organisations) -> None:
    """It refuses more rows than its limit and continues; whoever asks for another list hears which one is served."""
    for name, rows in (("june", 5), ("july", 7)):
        keep_list(organisations, name, rows)
    plan = str(organisations.plan_file)
    services = [
        organisations.type("features", "serve", plan, "--name", "june", "--sessions", "2", "--most-rows", "5"),
        organisations.type("features-2", "serve", plan, "--name", "june", "--sessions", "2"),
    ]
    other = organisations.type(
        "label", "predict", plan, "--out", str(organisations.folder / "scores.csv"), "--wait", "3", "--name", "july"
    )
    other.wait()
    assert other.process.exitcode == 1
    mistake = "is there to predict --name june, we are here to predict --name july; do the same on both"
    assert mistake in other.complained
    assert asked_of(organisations, "--name", "june").process.exitcode == 0
    assert len((organisations.folder / "scores.csv").read_text(encoding="utf-8").splitlines()) == 1 + 5 + 35
    beyond = asked_of(organisations, "--name", "june", "--ids", "0")
    words = "features itself allows 5 scored rows, 5 are used, 0 are left"
    assert f"1 row asked for; features refused: {words}" in beyond.complained
    assert [service.wait() for service in services] == [0, 0], services[0].complained
    for service, whose in zip(services, ("", "features refused: "), strict=True):
        assert "answered 5 rows in 1 session, refused 1 request" in service.printed
        assert "not answered here, though aligned: july" in service.complained
        assert service.complained.count(f"refused: label asked for 1 row; {whose}{words}") == 1


def test_a_peer_that_is_away(organisations: Organisations) -> None:
    """The label party hears soon which ones, and what to do; nothing is scored."""
    home, out = organisations.home("label"), organisations.folder / "scores.csv"
    with pytest.raises(PeerAwayError, match=r"features: .* And features-2: .* Nothing was scored\. Let the peer type"):
        party.predict(home, organisations.plan_file, out=out, wait=0.1)
    assert not out.exists()


def told(home: Path) -> list[dict[str, Any]]:
    """What `party status` says of every run."""
    runs: Any = party.status(home)["runs"]
    found: list[dict[str, Any]] = runs
    return found


@pytest.mark.parametrize(("joint", "alone", "is_said"), [(0.7, 0.6, False), (0.6, 0.6, True), (0.6, 0.7, True)])
def test_a_model_that_gains_nothing_says_so(joint: float, alone: float, is_said: bool) -> None:
    """Whoever reads two figures with intervals hears in words that the peers' columns are not shown to help."""
    models = {"joint": {"auc": joint, "log_loss": 0.5}, "local-only": {"auc": alone, "log_loss": 0.5}}
    assert ("The joint model is not better" in quality_in_words("held-out rows", models)) == is_said
