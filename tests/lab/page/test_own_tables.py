"""The user's own tables: read as the command line reads them, complained of in its words, and gone with the lab."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from plumbob.errors import DataError, PlumbobError
from plumbob.lab.page import own_tables
from plumbob.lab.page.own_tables import OwnTables, TableReading, TablesRead
from plumbob.lab.simulate import files
from plumbob.lab.simulate.files import load_tables
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from tests.lab.page.conftest import OpenLab

NAMES = ["bank", "processor"]
IDS = (("id",), ("id",))
READING = TableReading(ids=IDS, by_rule=False, label="default")
BINNED = {"bins": 3, "rare": 5, "missing": "refuse", "categorical": "refuse"}


def bank(rows: int = 90, first: str = "id,age,city,default") -> str:
    """Text, gaps, a level that only one row has, and a label."""
    cities = ["A", "B", "C"]
    lines = [f"p{row},{'' if row % 9 == 0 else 20 + row},{cities[row % 3]},{row % 2}" for row in range(1, rows)]
    return "\n".join([first, *lines, f"p{rows},50,rare,1"]) + "\n"


def processor(rows: int = 80) -> str:
    """A table of numbers only, about fewer people."""
    return "\n".join(["id,balance", *(f"p{row},{row % 7}.5" for row in range(1, rows + 1))]) + "\n"


def kept(tables: OwnTables, place: int, name: str, text: str | bytes) -> None:
    """Handed in piece by piece, as a browser sends it."""
    content = text if isinstance(text, bytes) else text.encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 1000):
            yield content[start : start + 1000]

    asyncio.run(tables.keep(place, name, pieces()))


@pytest.fixture
def tables() -> Any:
    """Both parties' tables."""
    found = OwnTables()
    kept(found, 0, "bank.csv", bank())
    kept(found, 1, "processor.csv", processor())
    yield found
    found.close()


def said_on_the_command_line(tables: OwnTables, reading: TableReading, **keys: Any) -> str:
    """What `audit` says to the same files, without the folder."""
    plan = Plan.for_columns((1, 1), protocol="clear", batches="full", **keys)
    given = [f"label={tables.files[0]}", f"features={tables.files[1]}"]
    ids = reading.id_columns(["label", "features"])
    with pytest.raises(PlumbobError) as error:
        load_tables(plan, given, ids, reading.label or None, reading=reading.choices)
    words = str(error.value).replace("label:", "bank:").replace("features:", "processor:")
    words = words.replace(", label 90, features 80", ", bank 90, processor 80")
    return words.replace(f"{tables.files[0].parent}/", "").replace(f"{tables.files[1].parent}/", "")


def test_they_give_what_the_command_line_would_read(tables: OwnTables) -> None:
    """Bins, a slot for gaps, rare levels in a group, rows in common: widths and rows with which `audit` runs."""
    read = tables.read(NAMES, READING, BINNED)
    assert read.mistake == ""
    assert read.rows == 80
    assert "80 rows in common" in read.remark
    plan = Plan.for_columns(read.widths, rows=read.rows, protocol="clear", batches="full", **BINNED)
    named = [f"label={tables.files[0]}", f"features={tables.files[1]}"]
    loaded = load_tables(plan, named, "id", READING.label, reading=READING.choices)
    assert len(loaded.tables["label"]) == 80
    city = next(column for column in read.summaries[0]["columns"] if column["name"] == "city")
    assert city["remark"] == "1 rare level grouped"


def test_an_id_of_two_columns_at_each_party(tables: OwnTables) -> None:
    """Rows go by both, whatever each party calls them, and neither is counted among the columns."""
    kept(tables, 0, "bank.csv", bank().replace("p", "p,x", 90).replace("id,", "name,born,", 1))
    kept(tables, 1, "processor.csv", processor().replace("p", "p,x").replace("id,", "surname,birthday,", 1))
    both = (("name", "born"), ("surname", "birthday"))
    read = tables.read(NAMES, replace(READING, ids=both), BINNED)
    assert (read.mistake, read.rows) == ("", 80)
    assert [column["name"] for column in read.summaries[1]["columns"]] == ["balance"]


def test_repeated_ids_and_rows_without_a_label(tables: OwnTables) -> None:
    """They are refused until the page says what to do with them, and then counted; so with three parties."""
    kept(tables, 0, "bank.csv", bank() + "p5,33,A,1\np500,33,A,\n")
    kept(tables, 2, "insurer.csv", processor(70).replace("balance", "claims"))
    three = replace(READING, ids=(*IDS, ("id",)))
    names = [*NAMES, "insurer"]
    assert "1 of 92 rows has no label" in tables.read(names, three, BINNED).mistake
    labelled = replace(three, unlabelled="drop")
    assert "--duplicates first, last or repeat" in tables.read(names, labelled, BINNED).mistake
    read = tables.read(names, replace(labelled, duplicates="last"), BINNED)
    assert (read.mistake, read.rows, len(read.widths)) == ("", 70, 3)
    assert "bank: 1 row has no label and is left out" in read.remark
    assert "bank: 1 row beyond the first of an id: its last row is used" in read.remark
    assert "70 rows in common (bank 90, processor 80, insurer 70)" in read.remark


@pytest.mark.parametrize(
    ("keys", "words"),
    [({}, "Drafted for 64 training rows, 2 numeric columns"), ({"noise": "rows"}, "columns are not cut into bins")],
    ids=["size", "noise"],
)
def test_the_public_rule_chooses_the_encoding(tables: OwnTables, keys: dict[str, Any], words: str) -> None:
    """The rule goes by the size of the tables, as in `train`, whatever bins the controls hold; and says why."""
    usual = {**BINNED, "bins": 7, "test_share": 0.2, "noise": "none", "scale": "whitened"}
    read = tables.read(NAMES, replace(READING, by_rule=True), {**usual, **keys})
    assert (read.mistake, read.rows) == ("", 80)
    assert words in read.drafted
    given = tables.given(NAMES)
    plan, _ = files.drafted_plan(NAMES, {"rare": 5, **keys}, given, "id", "default", READING.choices, files.Testing())
    assert {name: getattr(plan, name) for name in read.keys} == read.keys
    assert tuple(party.features for party in plan.learners) == read.widths


def test_only_names_and_counts_leave_a_table(tables: OwnTables) -> None:
    """The page is told nothing that is in a cell."""
    assert "rare" not in str(tables.listed())
    summaries = tables.read(NAMES, READING, BINNED).summaries
    assert "p17" not in str(summaries)
    values = [value for summary in summaries for column in summary["columns"] for value in column.values()]
    assert "A" not in values


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"label": "defaults"}, BINNED),
        ({"ids": (("ids",), ("ids",))}, BINNED),
        ({"by_place": True}, BINNED),
        ({"label": "age"}, BINNED),
        ({"drop": ("no such",)}, BINNED),
        ({"types": {"city": "number"}}, BINNED),
        ({"types": {"city": "colour"}}, BINNED),
        ({"positive": "7"}, BINNED),
        ({}, {**BINNED, "bins": 0}),
        ({}, {**BINNED, "bins": 0, "categorical": "one-hot"}),
    ],
    ids=["label", "id", "lengths", "classes", "drop", "type", "no-type", "positive", "text", "gaps"],
)
def test_mistakes_are_said_in_the_command_lines_words(
    tables: OwnTables, changes: dict[str, Any], keys: dict[str, Any]
) -> None:
    """The same sentence as `audit` has, with the user's own file name and no folder of the lab's."""
    reading = replace(READING, **changes)
    try:
        expected = said_on_the_command_line(tables, reading, **keys)
    except PlumbobError as error:
        expected = str(error)
    assert tables.read(NAMES, reading, keys).mistake == expected


def test_gaps_that_are_refused_can_still_be_seen(tables: OwnTables) -> None:
    """A table that cannot be used as it is shows where: its columns are counted all the same."""
    read = tables.read(NAMES, READING, {**BINNED, "bins": 0, "categorical": "one-hot"})
    assert read.mistake.startswith("bank:")
    assert {column["name"]: column["gaps"] for column in read.summaries[0]["columns"]} == {"age": 9, "city": 0}


def test_what_is_missing_is_asked_for() -> None:
    """First the files, then the label's column, then which rows belong together."""
    found = OwnTables()
    assert (
        found.read(NAMES, TableReading(), BINNED).mistake == "bank, processor: choose a table (a CSV or Parquet file)"
    )
    kept(found, 0, "bank.csv", bank())
    assert found.read(NAMES, TableReading(), BINNED).mistake == "processor: choose a table (a CSV or Parquet file)"
    kept(found, 1, "processor.csv", processor())
    assert found.read(NAMES, TableReading(), BINNED).mistake == "bank: choose the column that holds the label"
    labelled = TableReading(label="default")
    assert found.read(NAMES, labelled, BINNED).mistake.startswith("choose what identifies a row")
    one_sided = replace(labelled, ids=(("id",), ()))
    assert found.read(NAMES, one_sided, BINNED).mistake == "processor: choose the column that identifies a row"
    unequal = replace(labelled, ids=(("id", "age"), ("id",)))
    assert found.read(NAMES, unequal, BINNED).mistake.endswith("in the same order; got bank 2, processor 1")
    found.close()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bank.xlsx", b"PK\x03\x04\n", "expected a name that ends in .csv"),
        ("bank.csv", b"", "the file is empty"),
        ("bank.csv", b"\xff\xfea\0b\0", "UTF-16"),
        ("bank.csv", b"1.5,2.5\n1,2\n", "expected the columns' names in the first line"),
        ("bank.parquet", b"no parquet", "could not be read as a table"),
        ("..", b"a,b\n1,2\n", "expected a file's name"),
        ("x" * 200 + ".csv", b"a,b\n1,2\n", "expected a file's name"),
    ],
)
def test_what_is_no_table_is_refused(name: str, content: bytes, words: str) -> None:
    """What is no table is refused at once, in words, and nothing of it stays on the disk."""
    found = OwnTables()
    with pytest.raises(DataError, match=words) as error:
        kept(found, 0, name, content)
    assert "plumbob-lab-" not in str(error.value)
    assert found.files == {}
    assert found._folder is None or list(found._folder.iterdir()) == []
    found.close()


def test_a_name_is_no_way_to_another_folder() -> None:
    """Only the last part of a file's name counts."""
    found = OwnTables()
    kept(found, 0, "../../etc/bank.csv", bank())
    assert found._folder is not None
    assert found.files[0].name == "bank.csv"
    assert found._folder in found.files[0].parents
    found.close()


def test_a_file_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal of a file that is too long names the limit, and what to use for it."""
    monkeypatch.setattr(own_tables, "LARGEST_FILE", 500)
    found = OwnTables()
    with pytest.raises(DataError, match="use `plumbob audit`"):
        kept(found, 0, "bank.csv", bank())
    found.close()


def test_copies_are_the_owners_alone_and_go_with_the_lab(tables: OwnTables) -> None:
    """Nobody else on this machine can read them, and closing leaves none."""
    folder = tables._folder
    assert folder is not None
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    tables.close()
    assert not folder.exists()


def test_a_table_is_read_once_for_many_plans(tables: OwnTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of epochs reads nothing; another number of bins, or another file, does."""
    asked: list[object] = []
    answer = tables._answer

    def counted(*given: Any) -> TablesRead:
        asked.append(given)
        return answer(*given)

    monkeypatch.setattr(tables, "_answer", counted)
    for keys in ({**BINNED, "epochs": 1}, {**BINNED, "epochs": 2}, {**BINNED, "bins": 4}):
        tables.read(NAMES, READING, keys)
    assert len(asked) == 2
    kept(tables, 1, "processor.csv", processor(70))
    assert tables.read(NAMES, READING, BINNED).rows == 70


# Over the network, as the page sends them.


def handed_in(lab: OpenLab, place: int, name: str, content: bytes, **headers: str) -> Any:
    """Hand in one party's file."""
    usual = {"Content_Type": "application/octet-stream", "X_File_Name": name}
    return lab.post(f"tables/{place}", content, **{**usual, **headers})


def own_draft(lab: OpenLab, **keys: Any) -> dict[str, Any]:
    """A draft on the tables that were handed in."""
    return {**lab.draft(**{**BINNED, **keys}), "data": "own", "reading": msgspec.to_builtins(READING)}


def test_a_plan_on_own_tables(lab: OpenLab) -> None:
    """Handed in and checked: rows and columns of the plan are those of the tables."""
    assert handed_in(lab, 0, "my%20bank.csv", bank().encode()).json["tables"][0]["name"] == "my bank.csv"
    assert handed_in(lab, 1, "processor.csv", processor().encode()).status == 201
    assert [one["columns"] for one in lab.get("start").json["tables"]] == [
        ["id", "age", "city", "default"],
        ["id", "balance"],
    ]
    draft = own_draft(lab)
    answer = lab.post("check", draft).json
    assert answer["tables"]["rows"] == 80
    assert answer["findings"]
    plan = Plan.from_toml(lab.post("plan", draft).body.decode())
    assert [party.features for party in plan.learners] == answer["tables"]["widths"]


def test_a_run_whose_rows_are_paired_by_place(lab: OpenLab) -> None:
    """Rows are paired by place only if that is chosen; then the answer, the run's record and its page say so.

    The run's folder is what `audit` would leave.
    """
    handed_in(lab, 0, "bank.csv", bank(80).encode())
    handed_in(lab, 1, "processor.csv", processor().encode())
    silent = {**msgspec.to_builtins(READING), "ids": []}
    draft = {**own_draft(lab), "reading": silent}
    answer = lab.post("check", draft).json
    assert "by their place" in answer["mistakes"][0]["text"]
    assert lab.post("runs", {"draft": draft, "is_calculated": True}).status == 400
    draft["reading"] = {**silent, "by_place": True, "drop": ["id"]}
    assert "paired by their place" in lab.post("check", draft).json["tables"]["remark"]
    name = lab.post("runs", {"draft": draft, "is_calculated": True}).json["name"]
    assert lab.events(name)[-1][1] == "done", lab.events(name)[-1]
    record = RunFolder(lab.out / name).record()
    assert record.is_finished
    assert record.by_place
    assert "Rows were paired by their place" in (lab.out / name / "report.html").read_text()


def test_a_mistake_in_a_table_is_an_answer(lab: OpenLab) -> None:
    """Beside it, what could be counted of the tables."""
    handed_in(lab, 0, "bank.csv", bank().encode())
    handed_in(lab, 1, "processor.csv", processor().encode())
    answer = lab.post("check", own_draft(lab, bins=0)).json
    assert answer["mistakes"][0]["text"].startswith("bank:")
    assert len(answer["tables"]["summaries"]) == 2


def test_strange_tables_are_refused_in_words(lab: OpenLab) -> None:
    """Another kind of body, another place, no name, too many bytes: never a traceback."""
    good = bank().encode()
    assert handed_in(lab, 0, "bank.csv", good, Content_Type="application/json").status == 415
    assert handed_in(lab, 0, "bank.csv", good, Content_Type="text/plain").status == 415
    assert handed_in(lab, 0, "bank.csv", good, Origin="http://127.0.0.1:1").status == 403
    assert handed_in(lab, 0, "bank.csv", good, Cookie="").status == 403
    assert handed_in(lab, 8, "bank.csv", good).status == 400
    assert handed_in(lab, 0, "", good).status == 400
    assert handed_in(lab, 0, "bank.csv", b"").json["error"].startswith("bank.csv: the file is empty")
    too_long = str(own_tables.LARGEST_FILE + 2)
    assert handed_in(lab, 0, "bank.csv", good, Content_Length=too_long).status == 413
    # What may be long is a table, and nothing else.
    assert lab.post("check", b" " * 70_000, Content_Type="application/octet-stream").status == 415
