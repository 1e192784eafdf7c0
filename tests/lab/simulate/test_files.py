"""From names and files to aligned tables; what does not fit the plan is refused with the party's name and no value."""

from pathlib import Path

import numpy as np
import pytest

from plumbob.errors import DataError
from plumbob.lab.simulate import train
from plumbob.lab.simulate.files import load_new_rows, load_tables
from plumbob.plan import Plan

ROWS = 40


def plan_of(*features: int, **keys: object) -> Plan:
    """A bank with the label, a fund and, with a third number, a shop."""
    parties = {"bank": {"role": "label", "features": features[0]}}
    parties |= {
        name: {"role": "features", "features": n} for name, n in zip(("fund", "shop"), features[1:], strict=False)
    }
    base = Plan.from_dict({"parties": parties})
    return base.replace(**{"protocol": "clear", "batch_size": 8, "epochs": 2, "seed": 5, **keys})


def write(path: Path, header: str, rows: list[str]) -> str:
    """Write a CSV file and return its path."""
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def bank_rows(ids: list[int]) -> list[str]:
    """Rows of an id, two numbers and the label."""
    return [f"c{row},{row * 0.5},{(row * 7) % 11},{'yes' if row % 3 == 0 else 'no'}" for row in ids]


def fund_rows(ids: list[int]) -> list[str]:
    """Rows of an id and two numbers."""
    return [f"c{row},{(row * 5) % 13},{-row}" for row in ids]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A bank and a fund that share most of their customers, in different orders."""
    bank = write(tmp_path / "bank.csv", "id,income,age,default", bank_rows(list(range(ROWS))))
    fund = write(tmp_path / "fund.csv", "id,shares,debt", fund_rows(list(range(ROWS + 5, 2, -1))))
    return [f"bank={bank}", f"fund={fund}"]


def test_data_set_is_cut_from_the_left() -> None:
    """The label party has the first columns and the labels, with their names; the test part comes along."""
    loaded = load_tables(Plan.for_columns((10, 15, 5), protocol="clear"), ["breast-cancer"])
    assert [len(table.columns) for table in loaded.tables.values()] == [10, 15, 5]
    assert loaded.tables["label"].columns[0].name == "mean radius"
    assert [table.labels is None for table in loaded.tables.values()] == [False, True, True]
    assert (len(loaded.tables["label"]), len(loaded.test["label"])) == (455, 114)
    assert loaded.left_out == ""


def test_files_are_aligned_by_id(files: list[str]) -> None:
    """Row i is the same person everywhere, and only the label party's table has labels."""
    loaded = load_tables(plan_of(2, 2), files, "id", "default")
    bank, fund = loaded.tables["bank"], loaded.tables["fund"]
    assert bank.ids == fund.ids
    assert len(bank) == ROWS - 3
    assert loaded.left_out == "37 rows in common (bank 40, fund 43); the others are left out"
    assert bank.classes == ("no", "yes")
    assert fund.labels is None
    assert [column.name for column in fund.columns] == ["shares", "debt"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no data"),
        (["breast-cancer", "credit"], "expected one data set"),
        (["no-such-set"], "no data set 'no-such-set'"),
        (["bank=a.csv"], "no file for fund"),
        (["bank=a.csv", "bank=b.csv"], "a second file for bank"),
        (["bank=a.csv", "found=b.csv"], "no party 'found'"),
        (["bank=a.csv", "fund"], "expected PARTY=FILE"),
        (["bank=", "fund=b.csv"], "expected PARTY=FILE"),
        (["bank=nowhere.csv", "fund=b.csv"], "bank: nowhere.csv: there is no such file; check name and folder"),
    ],
)
def test_wrong_words_are_refused(given: list[str], message: str) -> None:
    """What --data says must name a data set, or one file for each party."""
    with pytest.raises(DataError, match=message):
        load_tables(plan_of(2, 2), given, "id", "default")


def test_label_must_be_named(files: list[str]) -> None:
    """Without --label nobody knows which column of the label party's file it is."""
    with pytest.raises(DataError, match="--label"):
        load_tables(plan_of(2, 2), files, "id")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            plan_of(3, 2),
            r"bank: the plan says 3 columns, its data give 2 \('income', 'age'\); .*--id and --label do not",
        ),
        (plan_of(2, 1), r"fund: the plan says 1 columns, its data give 2 \('shares', 'debt'\); .*the plan's features"),
        (plan_of(2, 2, batch_size=38), "batch_size 38 is more than the 37 training rows"),
        (plan_of(2, 2, batch_size=30, test_share=0.5), "batch_size 30 is more than the 19 training rows"),
        (plan_of(2, 2, rows=40), "the plan says 40 aligned rows, the data have 37"),
    ],
)
def test_what_does_not_fit_the_plan(files: list[str], plan: Plan, message: str) -> None:
    """Columns and rows are counted before anything is trained."""
    with pytest.raises(DataError, match=message):
        load_tables(plan, files, "id", "default")


def test_more_columns_than_the_plan_says(tmp_path: Path) -> None:
    """The error names them; of many columns a handful is named."""
    bank = write(tmp_path / "bank.csv", "id,income,age,default", [f"{row},1,{row},{row % 2}" for row in range(20)])
    fund = write(tmp_path / "fund.csv", "id,a,b,c,d,e,f,g", [f"{row},1,2,3,4,5,6,7" for row in range(20)])
    given = [f"bank={bank}", f"fund={fund}"]
    with pytest.raises(DataError, match=r"bank: .* give 2 \('income', 'age'\); the columns of --id and --label do not"):
        load_tables(plan_of(1, 7), given, "id", "default")
    with pytest.raises(DataError, match=r"fund: .* give 7 \('a', 'b', 'c', 'd', 'e', 'f' and 1 more\); .*--id"):
        load_tables(plan_of(2, 6), given, "id", "default")


def test_data_set_of_another_width() -> None:
    """A known data set's columns must be the plan's."""
    with pytest.raises(DataError, match=r"breast-cancer has 30 columns, the plan's parties have 15 \+ 14"):
        load_tables(Plan.for_columns((15, 14), protocol="clear"), ["breast-cancer"])


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("inf", "fund: column 'shares': 1 of 40 numbers is infinite"),
        ("", r"fund: the plan says 2 columns, its data give 3 after encoding"),
        ("secret-4711", "fund: column 'shares': 1 of 40 cells is not a number"),
    ],
    ids=["infinity", "missing", "text"],
)
def test_bad_cells(tmp_path: Path, files: list[str], cell: str, message: str) -> None:
    """Named by party, column and count, never by value."""
    rows = [f"c0,{cell},1", *fund_rows(list(range(1, ROWS)))]
    fund = write(tmp_path / "fund.csv", "id,shares,debt", rows)
    with pytest.raises(DataError, match=message) as refused:
        load_tables(plan_of(2, 2), [files[0], f"fund={fund}"], "id", "default")
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    ("party", "header", "rows", "message"),
    [
        ("fund", "id,shares,debt", fund_rows([1, 2, 3, 3, 3]), "fund: 2 of 5 rows repeat the id"),
        (
            *("fund", "id,shares,debt", fund_rows([0, 1, 2, 3, 4, 900, 901])),
            r"only 5 rows in common \(bank 40, fund 7\), and training needs 10",
        ),
        ("fund", "id,shares,debt", fund_rows([900, 901]), "no id in common"),
        ("fund", "id,shares,default", fund_rows(list(range(ROWS))), r"fund: .*only the label party may hold it"),
        (
            *("bank", "id,income,age,default", [f"c{row},1,{row},no" for row in range(ROWS)]),
            "bank: expected two classes of labels in 40 rows, got 1",
        ),
    ],
    ids=["repeated ids", "hardly anybody in common", "nobody in common", "a label at both", "one class"],
)
def test_tables_that_cannot_be_joined(
    tmp_path: Path, files: list[str], party: str, header: str, rows: list[str], message: str
) -> None:
    """An id names one row, enough rows are common, and only the label party holds a label, which has two classes."""
    given = dict(word.split("=") for word in files) | {party: write(tmp_path / "other.csv", header, rows)}
    with pytest.raises(DataError, match=message):
        load_tables(plan_of(2, 2), [f"{name}={file}" for name, file in given.items()], "id", "default")


def test_categories_count_after_encoding(tmp_path: Path, files: list[str]) -> None:
    """A text is as many columns as it has levels but one; a new level is counted at prediction, or refused there."""
    rows = [f"c{row},{('gold', 'silver', 'iron')[row % 3]},{row}" for row in range(ROWS)]
    given = [files[0], "fund=" + write(tmp_path / "fund.csv", "id,rank,debt", rows)]
    plan = plan_of(2, 3, rare=0)
    loaded = load_tables(plan, given, "id", "default")
    model = train(plan, loaded.tables).model
    with pytest.raises(DataError, match=r"says 2 columns, its data give 3 after encoding \('rank', 'debt'\);"):
        load_tables(plan_of(2, 2, rare=0), given, "id", "default")
    given[1] = "fund=" + write(tmp_path / "new.csv", "id,rank,debt", ["c1,platinum,3", "c2,gold,4"])
    assert load_new_rows(model, given, "id").unseen == {"bank": {}, "fund": {"rank": 1}}
    with pytest.raises(DataError, match=r"fund: .*training never saw in 2 rows: 'rank' \(1\)") as refused:
        load_new_rows(model, given, "id", is_strict=True)
    assert "platinum" not in str(refused.value)


@pytest.mark.parametrize("protocol", ["clear", "shares"])
def test_new_rows_with_gaps(tmp_path: Path, files: list[str], protocol: str) -> None:
    """Whose they are is said, also where the weights stay shared."""
    plan = plan_of(2, 2, epochs=1, batch_size=37).replace(protocol=protocol)
    model = train(plan, load_tables(plan, files, "id", "default").tables).model
    for party, header, column in (("bank", "id,income,age", "income"), ("fund", "id,shares,debt", "shares")):
        new = f"{party}=" + write(tmp_path / "new.csv", header, ["c7,,1", "c8,2,3"])
        given = [new if word.startswith(party) else word for word in files]
        assert load_new_rows(model, given, "id").unseen[party] == {column: 1}
        with pytest.raises(DataError, match=rf"{party}: levels or gaps .* in 2 rows: '{column}' \(1\)"):
            load_new_rows(model, given, "id", is_strict=True)


def test_new_rows_need_no_label(tmp_path: Path, files: list[str]) -> None:
    """Prediction reads the model's columns only, whatever else and in whatever order the file holds."""
    plan = plan_of(2, 2)
    loaded = load_tables(plan, files, "id", "default")
    model = train(plan, loaded.tables).model
    expected = dict(zip(loaded.tables["bank"].ids, model.scores(loaded.tables), strict=True))
    bank = write(
        tmp_path / "new.csv",
        "born,age,id,income",
        [f"2001-01-01,{(row * 7) % 11},c{row},{row * 0.5}" for row in (9, 8)],
    )
    new = load_new_rows(model, [f"bank={bank}", files[1]], "id")
    assert new.tables["bank"].ids == ("c8", "c9")
    assert new.left_out.startswith("2 rows in common (bank 2, fund ")
    np.testing.assert_allclose(model.scores(new.tables), [expected["c8"], expected["c9"]])
    with pytest.raises(DataError, match="bank: no column 'income'"):
        load_new_rows(model, [files[1].replace("fund=", "bank="), files[1]], "id")
