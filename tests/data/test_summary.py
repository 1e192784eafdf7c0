"""What a party is shown of its own table: how each column was read, and which ones are worth nothing."""

from pathlib import Path

import pytest

from plumbob.data import ColumnChoices, read_table
from plumbob.data.summary import summarise
from plumbob.data.tables import EncodingChoices
from plumbob.errors import DataError

ROWS = 60
CHOICES = EncodingChoices(bins=10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Days, a mark for gaps, amounts, flags, an order and postcodes."""
    lines = ["id,born,joined,cost,active,size,postcode"]
    for row in range(ROWS):
        joined = "-" if row % 20 == 0 else f"2019-03-{row % 28 + 1:02d}"
        size = ("low", "high")[row % 2]
        active = ("TRUE", "FALSE")[row % 2]
        lines.append(f"p{row},1988-11-{row % 28 + 1:02d},{joined},{row + 1100},{active},{size},{row % 25:05d}")
    path = tmp_path / "members.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


READING = ColumnChoices(gaps=("-",))


def test_a_column_that_is_refused_is_named(file: Path) -> None:
    """The refusal has the count and the flags that cure it."""
    with pytest.raises(DataError, match=r"column 'joined': 3 of 60 cells are not days, .*--category joined"):
        read_table(file, "id")


def test_a_wrong_reading_would_be_seen(file: Path) -> None:
    """The owner sees what each column was taken for, with its lowest and highest value as read."""
    summary = summarise(read_table(file, "id", choices=READING), CHOICES, has_ends=True)
    shown = {column.name: (column.kind, column.lowest, column.highest) for column in summary.columns}
    assert shown == {
        "born": ("date", "1988-11-01", "1988-11-28"),
        "joined": ("date", "2019-03-01", "2019-03-28"),
        "cost": ("number", "1100", "1159"),
        "active": ("yes/no", "", ""),
        "size": ("text", "", ""),
        "postcode": ("text", "", ""),
    }
    head, _, _, cost, *_ = summary.lines()
    assert head.split()[-2:] == ["lowest", "highest"]
    assert cost.split()[-2:] == ["1100", "1159"]


def test_values_are_shown_only_where_they_are_asked_for(file: Path) -> None:
    """A summary that may end up in a plan's file holds no value of the table."""
    summary = summarise(read_table(file, "id", choices=READING), CHOICES)
    assert {(column.lowest, column.highest) for column in summary.columns} == {("", "")}
    assert "lowest" not in summary.lines()[0]
    assert "1159" not in "".join(summary.lines())


def test_a_column_of_rare_levels_is_named(file: Path) -> None:
    """Where nearly all levels are grouped, one sentence says so and what to do; a column with large levels has none."""
    table = read_table(file, "id", choices=READING)
    *_, total, advice = summarise(table, CHOICES).lines()
    assert total == "60 rows, 6 columns, 33 after encoding"
    assert advice.startswith("postcode: 25 of 25 levels have too few rows and are grouped into one")
    assert "leave it out with --drop postcode, or shorten it in your file" in advice
    assert not summarise(table, EncodingChoices(bins=10, rare=2)).columns[-1].advice


def test_a_few_rare_levels_are_no_reason_for_advice(tmp_path: Path) -> None:
    """Levels that are kept still say something, however many rare ones there are beside them."""
    lines = ["id,town", *(f"p{row},{'Bonn' if row % 3 else f'village {row % 20}'}" for row in range(ROWS))]
    path = tmp_path / "towns.csv"
    path.write_text("\n".join(lines) + "\n")
    (town,) = summarise(read_table(path, "id"), CHOICES).columns
    assert (town.rare_levels, town.rare_rows, town.advice) == (20, 20, "")
