"""Nothing that must stay at home is in what the verbs of two organisations print, log, complain of and write.

What passes between them and lies on their disks in the middle of a session is searched in `tests/sessions`; here every
verb is at work, mistakes among them.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plumbob import party
from plumbob.data import Table
from plumbob.errors import PlumbobError
from plumbob.party.home import Home
from plumbob.plan import Plan
from tests.party.verbs import Organisations
from tests.sessions.secrets import Secrets, found, spellings
from tests.world import own_tables, together

NAMES = ("label", "features")
PLAN = Plan.for_columns((2, 3), epochs=2, test_share=0.2, most_rows=100)
OTHER = PLAN.replace(title="another")
ALONE = 5  # Rows that only this side has.
OPEN_TO_ALL = ("run.json", "status.json", "plan.toml", "log.jsonl")


def tables() -> dict[str, Table]:
    """Most rows are common, some only one side has; every name, class and cell is one of its own."""
    return {
        name: replace(table, ids=(*table.ids[:-ALONE], *(f"only-{name}-knows-{row:04}" for row in range(ALONE))))
        for name, table in own_tables(PLAN).items()
    }


class Sides:
    """Both organisations at their verbs, and all that was said at each of them."""

    def __init__(self, folder: Path) -> None:
        self.organisations = Organisations(PLAN, tables(), folder, aligned=False)
        self.said: dict[str, list[str]] = {name: [] for name in NAMES}

    def act(self, verb: Callable[[Home], Mapping[str, Any]], *names: str) -> dict[str, Any]:
        """Each of these, or both at once: what they got, or with what they stopped."""

        def act(name: str) -> Any:
            return verb(Home.open(self.organisations.home(name)))

        ends = together({name: lambda name=name: act(name) for name in names or NAMES})  # type: ignore[misc]  # Bound.
        for name, end in ends.items():
            assert isinstance(end, PlumbobError) or not isinstance(end, BaseException), end
            self.said[name].append(str(end) if isinstance(end, PlumbobError) else f"{end!r} {dict(end)}")
        return ends

    def do(self, verb: Callable[[Home], Mapping[str, Any]]) -> None:
        """Both at once, and well."""
        for end in self.act(verb).values():
            assert not isinstance(end, BaseException), end

    def mistake(self, name: str, words: str, verb: Callable[[Home], Mapping[str, Any]]) -> None:
        """One side alone does something wrong, and is told so."""
        assert words in str(self.act(verb, name)[name])


def make_mistakes(sides: Sides, folder: Path) -> None:
    """Mistakes of many kinds, each of which ends in a sentence."""
    file = folder / "features.csv"
    header, *rows = file.read_text(encoding="utf-8").splitlines()
    twice = folder / "twice.csv"
    twice.write_text("\n".join([header, *rows, rows[-1]]), encoding="utf-8")
    sides.mistake("features", "repeat the id", lambda home: party.align(home, PLAN, data=twice))
    sides.mistake("features", "was not signed here", lambda home: party.train(home, OTHER))
    sides.mistake(
        "label", "not among the", lambda home: party.predict(home, PLAN, ids=["person-9999"], out=folder / "s.csv")
    )
    # A column that became text gives other columns: one side hears how many, the other only that its peer stopped.
    cells = [row.split(",") for row in rows]
    texts = [",".join([person, "not-a-number", *others]) for person, _, *others in cells]
    file.write_text("\n".join([header, *texts]), encoding="utf-8")
    sides.do(lambda home: party.sign(home, OTHER, accept_cheating=True))
    ends = sides.act(lambda home: party.train(home, OTHER))
    assert "the plan says 3 columns, this table gives 2" in str(ends["features"])
    assert "features stopped: 'it cannot use its own table as it is" in str(ends["label"])
    file.write_text("\n".join([header, *rows]), encoding="utf-8")


def test_nothing_secret_leaves_its_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In prints, logs, errors, receipts and the other side's files there is none of it."""
    caplog.set_level(logging.DEBUG)
    secrets = Secrets(NAMES)
    secrets.watch(monkeypatch)
    sides = Sides(tmp_path)
    sides.do(lambda home: party.align(home, PLAN, jobs=1))
    sides.do(lambda home: party.sign(home, PLAN, accept_cheating=True))
    sides.do(lambda home: party.train(home, PLAN))
    sides.do(lambda home: party.predict(home, PLAN, out=tmp_path / "out.csv"))
    make_mistakes(sides, tmp_path)
    sides.do(lambda home: party.status(home))
    secrets.add_tables(sides.organisations.tables)
    files = {name: files_of(sides.organisations.home(name)) for name in NAMES}
    shown = [data for name in NAMES for file, data in files[name].items() if file.name in OPEN_TO_ALL]
    printed = capfd.readouterr()
    everybody = "\n".join([printed.out, printed.err, caplog.text, *sides.said["label"], *sides.said["features"]])
    assert "connected with label" in everybody
    for name, peer in (NAMES, NAMES[::-1]):
        drawn = secrets.drawn[name]
        kept = drawn | secrets.held[name] | secrets.shares[name] | identity_of(sides.organisations.home(name))
        assert len(drawn) > 500
        assert len(secrets.held[name]) > 100
        assert found(b"\n".join([everybody.encode(), *shown]), kept) == []
        theirs = "\n".join(sides.said[peer]).encode()
        assert found(b"\n".join([theirs, *files[peer].values()]), kept | secrets.words[name]) == []
        # Nor does a run leave its rows and labels, but for each column's ends, in its party's own folder.
        runs = [data for file, data in files[name].items() if "runs" in file.parts and file.name != "columns.json"]
        assert runs
        assert found(b"\n".join(runs), secrets.held[name]) == []
        # The search finds what is there.
        assert found((tmp_path / f"{name}.csv").read_bytes(), secrets.held[name])


def files_of(home: Path) -> dict[Path, bytes]:
    """All files of a party's folder."""
    return {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}


def identity_of(home: Path) -> set[bytes]:
    """The number with which this party signs, and the lines of its file that hold it."""
    key = Home.open(home).identity._key
    number = key.private_numbers().private_value.to_bytes(32, "big")
    # The second line of the file ends the secret number; the last one holds the public point only.
    return {*spellings(number), *(home / "key.pem").read_bytes().splitlines()[1:3]}
