"""From two raw files to a finished run with its quality: init, join, propose, align, sign and train, on both sides.

Every command runs as a process in a folder of its own side, over real sockets. Nobody types a number of rows, columns,
bins or passes, and nobody edits a file.
"""

import csv
import gzip
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from plumbob.record import FINISHED, RunRecord
from plumbob.run_folder import RunFolder
from tests.party.processes import context
from tests.party.verbs import Circumstances, Command, run_command
from tests.world import free_port

LONGEST = 600.0  # Seconds: real tables on a busy machine.
PLAN = "joint.toml"
pytestmark = pytest.mark.timeout(1200)


@dataclass
class Side:
    """One organisation: its folder, its file, and what it says about it."""

    name: str
    folder: Path
    file: str
    words: Sequence[str]
    label: str = ""
    listen: str = ""
    commands: list[Command] = field(default_factory=list)

    def type(self, *words: str) -> Command:
        """Type `plumbob party WORDS` in this side's folder."""
        place = self.folder / f"{len(self.commands)}-{words[0]}"
        place.mkdir(parents=True)
        told = ["plumbob", "party", *words]
        process = context.Process(target=run_in, args=(self.folder, told, place), daemon=True)
        process.start()
        self.commands.append(Command(process, place))
        return self.commands[-1]

    def init(self) -> Command:
        where = ["--listen", self.listen] if self.listen else []
        label = ["--label", self.label] if self.label else []
        return self.type("init", self.name, "--data", self.file, *where, *label, *self.words)


def run_in(folder: Path, words: list[str], place: Path) -> None:
    """What a command's process does."""
    os.chdir(folder)
    run_command(words, place, Circumstances())


def finished(*commands: Command) -> list[str]:
    """What each printed, once all have ended well."""
    for command in commands:
        command.process.join(LONGEST)
    for command in commands:
        assert command.process.exitcode == 0, command.complained + command.printed
    return [command.printed for command in commands]


def token_of(printed: str) -> str:
    """The invitation, which stands alone on its line."""
    (line,) = [line for line in printed.splitlines() if line.startswith("plumbob-invite-")]
    assert " " not in line
    return line


def six_commands(bank: Side, fund: Side) -> RunRecord:
    """The record at the label party, after all six on both sides."""
    sides = bank, fund
    tokens = [token_of(printed) for printed in finished(*(side.init() for side in sides))]
    finished(*(side.type("join", token) for side, token in zip(sides, reversed(tokens), strict=True)))
    finished(*(side.type("propose") for side in sides))
    assert (bank.folder / PLAN).read_text() == (fund.folder / PLAN).read_text()
    for words in (("align", PLAN), ("sign", PLAN, "--accept-cheating"), ("train", PLAN)):
        printed = finished(*(side.type(*words) for side in sides))
    assert "AUC" in printed[0]
    # The scores belong to one party, which is told what they speak for.
    assert ["a score speaks for the class" in shown for shown in printed] == [True, False]
    assert all(len(side.commands) == 6 for side in sides)
    (folder,) = (bank.folder / "party/runs").iterdir()
    record = RunFolder(folder).record()
    assert record.status == FINISHED
    return record


def made_up(rows: int = 420) -> list[dict[str, float]]:
    """People whose risk both sides see a part of."""
    generator = np.random.default_rng(11)
    people = []
    for _ in range(rows):
        bank, fund = generator.normal(size=2)
        late = float(bank + 1.6 * fund + generator.normal() > 1)
        people.append({"bank": float(bank), "fund": float(fund), "late": late, "chance": float(generator.random())})
    return people


def european(folder: Path) -> tuple[Side, Side]:
    """Semicolons, blanks around texts, ja and nein, a byte order mark; tabs, true and false, `?` for gaps."""
    bank = ["Kunde;Umsatz;seit;Ort;Ausfall"]
    fund = ["\tKunde\tLimit\taktiv\tgleich"]
    for row, person in enumerate(made_up()):
        umsatz = f"{5000 - 900 * person['bank']:.2f}"
        day = f"{2005 + row % 9}-{row % 12 + 1:02d}-{row % 28 + 1:02d}"
        town = ("Bonn", " Kiel", "Ulm ", "")[row % 4]
        bank.append(f"{row + 1000};{umsatz};{day};{town};{'ja' if person['late'] else 'nein'}")
        limit = "?" if row % 9 == 0 else f"{40 - 10 * person['fund']:.1f}"
        fund.append(f"{row}\t{row + 1000}\t{limit}\t{'True' if person['chance'] > 0.5 else 'False'}\t7")
    sides = bank_and_fund(folder)
    (sides[0].folder / "kunden.csv").write_text("\n".join(bank) + "\n\n", encoding="utf-8-sig")
    (sides[1].folder / "umsatz.txt").write_text("\r\n".join([fund[0], *reversed(fund[1:])]) + "\r\n")
    sides[0].file, sides[0].label, sides[0].words = "kunden.csv", "Ausfall", ["--id", "Kunde", "--category", "Ort"]
    sides[1].file, sides[1].words = "umsatz.txt", ["--id", "Kunde", "--na", "?"]
    return sides


def american(folder: Path) -> tuple[Side, Side]:
    """Amounts with NA, times of day, 0 and 1, postcodes, texts of two lines; vertical bars, levels, lost rows."""
    bank = ["id, Income, Opened, ZIP, Note, Default"]
    fund = ["id|rating|balance|since"]
    for row, person in enumerate(made_up()):
        opened = f"{2001 + row % 20}-{row % 12 + 1:02d}-{row % 28 + 1:02d} 09:{row % 60:02d}"
        amount = f"{52000 - 9000 * person['bank']:.0f}" if row % 13 else "N/A"
        bank.append(f'P-{row:04d},{amount}, {opened}, {row % 7:05d},"called,\nwrote", {person["late"]:.0f}')
        rating = ("poor", "fair", "good")[int(np.searchsorted([-0.5, 0.5], -person["fund"]))]
        balance = "" if row % 5 == 0 else f"{person['fund']:.4e}"
        if row % 10:
            fund.append(f"P-{row:04d} |{rating}|{balance}|2020-01-{row % 28 + 1:02d}")
    fund += [f"Q-{row:04d}|good|1|2020-01-01" for row in range(30)]
    sides = bank_and_fund(folder)
    (sides[0].folder / "loans.csv").write_text("\n".join(bank) + "\n")
    (sides[1].folder / "ratings.csv.gz").write_bytes(gzip.compress("\n".join(fund).encode()))
    drop = ["--drop", "Note"]
    sides[0].file, sides[0].label, sides[0].words = "loans.csv", "Default", drop
    sides[1].file, sides[1].words = "ratings.csv.gz", ["--category", "rating"]
    return sides


def bank_and_fund(folder: Path) -> tuple[Side, Side]:
    """Two sides without a file yet; the bank listens."""
    sides = (
        Side("bank", folder / "bank", "", (), listen=f"127.0.0.1:{free_port()}"),
        Side("fund", folder / "fund", "", ()),
    )
    for side in sides:
        side.folder.mkdir()
    return sides


@pytest.mark.parametrize(
    ("tables", "kept_at_bank", "kept_at_fund"),
    [
        (european, {"category": ["Ort"]}, {"na": ["?"]}),
        (american, {"drop": ["Note"]}, {"category": ["rating"]}),
    ],
)
def test_from_two_raw_files_to_a_finished_run(
    tmp_path: Path,
    tables: Callable[[Path], tuple[Side, Side]],
    kept_at_bank: dict[str, object],
    kept_at_fund: dict[str, object],
) -> None:
    """Six commands per side train a joint model that beats the label party's own columns; choices are kept."""
    bank, fund = tables(tmp_path)
    record = six_commands(bank, fund)
    assert_joint_is_better(record, by=0.05)
    for side, choices in ((bank, kept_at_bank), (fund, kept_at_fund)):
        kept = tomllib.loads((side.folder / "party/party.toml").read_text())
        said = {key: kept[key] for key in ("columns", "drop", "category", "na", "positive", "weight")}
        assert {key: value for key, value in said.items() if value} == choices


def assert_joint_is_better(record: RunRecord, by: float) -> None:
    """Assert that the joint model beats the label party's own columns on the held-out rows."""
    quality = record.quality["held-out rows"]
    joint, alone = quality["joint"]["auc"], quality["local-only"]["auc"]
    assert joint is not None
    assert alone is not None
    assert joint > alone + by


def real(folder: Path, name: str, **sides: tuple[Sequence[str], Sequence[str]]) -> tuple[Side, Side]:
    """A table that circulates, cut into two organisations' files by columns; the rest stays as it is."""
    data = os.environ.get("PLUMBOB_DATA")
    source = Path(data or "") / name / f"{name}.csv"
    if not data or not source.exists():
        pytest.skip(f"PLUMBOB_DATA names no folder with {name}/{name}.csv")
    with source.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = bank_and_fund(folder)
    for side in found:
        columns, side.words = sides[side.name]
        side.file = f"{name}.csv"
        with (side.folder / side.file).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["client", *columns])
            writer.writerows([place, *(row[column] for column in columns)] for place, row in enumerate(rows))
        side.words = ["--id", "client", *side.words]
    return found


HMEQ = ["LOAN", "MORTDUE", "VALUE", "REASON", "JOB"], ["YOJ", "DEROG", "DELINQ", "CLAGE", "NINQ", "CLNO", "DEBTINC"]
TELCO = (
    ["gender", "SeniorCitizen", "Partner", "Dependents", "tenure", "Contract", "PaperlessBilling"],
    [
        *("PhoneService", "MultipleLines", "InternetService", "OnlineSecurity", "OnlineBackup", "DeviceProtection"),
        *("TechSupport", "StreamingTV", "StreamingMovies", "PaymentMethod", "MonthlyCharges", "TotalCharges"),
    ],
)


def test_hmeq(tmp_path: Path) -> None:
    """A table full of gaps needs no word about them."""
    bank, fund = real(tmp_path, "hmeq", bank=([*HMEQ[0], "BAD"], []), fund=(HMEQ[1], []))
    bank.label = "BAD"
    assert_joint_is_better(six_commands(bank, fund), by=0.15)


def test_telco(tmp_path: Path) -> None:
    """The side whose column has blanks is told so, with the flag that it needs, and starts again with that flag."""
    bank, fund = real(tmp_path, "telco", bank=([*TELCO[0], "Churn"], []), fund=(TELCO[1], []))
    bank.label = "Churn"
    refused = fund.init()
    assert refused.wait() == 1
    flag = re.search(r'--na "( )"', refused.complained)
    assert flag is not None
    assert not (fund.folder / "party").exists()
    fund.commands.clear()
    (fund.folder / "0-init").rename(fund.folder / "refused")
    fund.words = [*fund.words, "--na", flag[1]]
    assert_joint_is_better(six_commands(bank, fund), by=0.01)


def joined(bank: Side, fund: Side) -> tuple[Side, Side]:
    """Both sides, ready to propose."""
    sides = bank, fund
    tokens = [token_of(printed) for printed in finished(*(side.init() for side in sides))]
    finished(*(side.type("join", token) for side, token in zip(sides, reversed(tokens), strict=True)))
    return sides


def test_a_model_is_judged_on_rows_of_ones_own(tmp_path: Path) -> None:
    """One flag of `predict` judges the model on files of the parties' own."""
    bank, fund = european(tmp_path)
    header, *rows = (bank.folder / bank.file).read_text(encoding="utf-8-sig").strip().splitlines()
    names, *others = (fund.folder / fund.file).read_text().strip("\r\n").splitlines()
    kept, later = rows[:-60], rows[-60:]
    (bank.folder / bank.file).write_text("\n".join([header, *kept]) + "\n")
    (bank.folder / "later.csv").write_text("\n".join([header, *later]) + "\n")
    (fund.folder / "later.txt").write_text("\n".join([names, *others]) + "\n")
    sides = joined(bank, fund)
    finished(*(side.type("propose") for side in sides))
    finished(*(side.type("align", PLAN) for side in sides))
    finished(*(side.type("sign", PLAN, "--accept-cheating") for side in sides))
    finished(*(side.type("train", PLAN) for side in sides))
    printed = finished(
        bank.type("predict", PLAN, "--test", "later.csv"), fund.type("predict", PLAN, "--test", "later.txt")
    )
    assert "on the 60 test rows: " in printed[0]
    assert "auc 0." in printed[0]
