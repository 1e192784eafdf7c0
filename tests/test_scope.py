"""What `shares` cannot run is refused before any data moves, by every verb that makes or judges a plan."""

import re
from pathlib import Path

import pytest

from plumbob.errors import PlanError
from plumbob.plan import Plan
from plumbob.protocol.shares.shape import RunShape
from tests.command_line import CommandLine
from tests.party.test_proposal import homes, proposed
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for

PAGE = Path(__file__).parent.parent / "docs" / "operations.md"
README = Path(__file__).parent.parent / "README.md"
TOO_MANY = 120_000_000  # Rows for two parties with two columns each, or fewer.
REFUSAL = r"train on at most [\d,]+ rows"

__all__ = ["homes"]  # A fixture.


@pytest.mark.parametrize(
    ("flags", "most"),
    [
        (["--features", "411,411", "--rows", "60000000"], "3,620,207"),
        (["--features", "200,200", "--rows", "3000000", "--l2", "0.001"], "1,919,999"),
        (["--features", "30,30", "--rows", "48000000"], "47,790,410"),
    ],
    ids=str,
)
def test_check_and_plan_new_say_how_many_rows_a_plan_trains_on(cli: CommandLine, flags: list[str], most: str) -> None:
    """More are refused with that number; that number is not refused."""
    for verb in (["check"], ["check", "--estimate"], ["plan", "new"]):
        assert cli(*verb, *flags) == 1
        assert f"train on at most {most} rows" in cli.err
    fewer = [most.replace(",", "") if word == flags[3] else word for word in flags]
    assert cli("check", *fewer) == 4
    assert cli("plan", "new", *fewer) == 0


def test_check_refuses_more_held_out_rows_than_may_be_scored(cli: CommandLine) -> None:
    """Training ends with their scores, so it could not end."""
    assert cli("check", "--features", "3,4", "--rows", "1000", "--test-share", "0.2", "--most-rows", "199") == 1
    assert "199 rows may be scored, and 200 are held out" in cli.err
    assert cli("check", "--features", "3,4", "--rows", "1000", "--test-share", "0.2", "--most-rows", "200") == 4


def test_sign_refuses_what_cannot_run(tmp_path: Path) -> None:
    """Nobody signs a plan that training would refuse after the alignment."""
    plan = Plan.for_columns((2, 3), rows=TOO_MANY)
    organisations = Organisations(plan, tables_for(plan, *made_up(columns=plan.columns)), tmp_path, aligned=False)
    try:
        command = organisations.type("label", "sign", str(organisations.plan_file), "--accept-cheating", "--yes")
        assert command.wait() == 1
        assert re.search(REFUSAL, " ".join(command.complained.split()))
        assert not list(organisations.home("label").glob("signed/*"))
    finally:
        organisations.close()


def test_propose_refuses_what_cannot_run(homes: tuple[Path, Path]) -> None:
    """Neither side writes such a plan."""
    bank, _ = proposed(homes, {"rows": TOO_MANY})
    assert isinstance(bank, PlanError)
    assert re.search(REFUSAL, str(bank))
    assert not list(homes[0].parent.glob("*.toml"))


def _columns(parties: int, in_all: int) -> tuple[int, ...]:
    return (in_all // parties,) * parties


def test_the_page_of_limits_is_right() -> None:
    """Every figure of both tables is at most what the proof allows, and more than nine tenths of it."""
    tables = re.findall(r"\n(\| (?:columns in all|parties).*?)\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    compared = 0
    for head, _, *lines in (table.splitlines() for table in tables):
        for line in lines:
            name, *figures = (cell.strip() for cell in line.strip("|").split("|"))
            keys = {"l2": 0.001} if "l2" in name else {}
            for count, figure in zip(head.strip("| ").split("|")[1:], figures, strict=True):
                columns = _columns(2, int(count)) if "columns" in head else (10,) * int(count)
                most = RunShape(Plan.for_columns(columns, **keys), 10).most_rows_proved
                assert 0.9 * most < float(figure) * 1e6 <= most, (columns, keys)
                compared += 1
    assert compared == 19


def test_the_readme_names_both_ends() -> None:
    """Its rows and columns go together, as the page's do."""
    text = " ".join(README.read_text(encoding="utf-8").split())
    found = re.search(
        r"with (\d+) columns in all train on up to (\d+) million rows; with (\d+) columns, the most, on up to ([\d.]+)"
        r" million, or ([\d.]+) million with `l2`",
        text,
    )
    assert found is not None
    few, at_few, many, at_many, at_many_with_l2 = map(float, found.groups())
    for columns, l2, millions in ((few, 0.0, at_few), (many, 0.0, at_many), (many, 0.001, at_many_with_l2)):
        most = RunShape(Plan.for_columns(_columns(2, int(columns)), l2=l2), 10).most_rows_proved
        assert 0.9 * most < millions * 1e6 <= most
