"""Refusals of the first day between organisations: they say what is wrong before anything is made."""

import time
from pathlib import Path

import pytest

from plumbob.errors import PlanError, UnsignedPlanError
from plumbob.party import signature
from plumbob.party.home import Home
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from tests.command_line import CommandLine
from tests.party.test_proposal import homes, proposed
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for

__all__ = ["homes"]  # A fixture.
SECONDS = 60.0


def test_rows_without_a_label_are_said_to_be_left_out(cli: CommandLine, tmp_path: Path) -> None:
    """Before anybody joins: a summary of fewer rows than the file has would surprise its owner."""
    file = tmp_path / "bank.csv"
    file.write_text("id,a,y\n" + "".join(f"p{row},{row / 7},{'' if row < 3 else row % 2}\n" for row in range(40)))
    words = ("party", "init", "bank", "--data", str(file), "--id", "id", "--label", "y", "--home", str(tmp_path / "b"))
    assert cli(*words, "--quiet") == 0
    assert "3 rows have no label and are left out" in cli.out


def test_another_plan_names_the_keys_that_changed(tmp_path: Path) -> None:
    """Whoever trains a plan that was changed after it was signed reads what changed."""
    home = Home.create(tmp_path / "bank", HomeSettings("bank"))
    plan = Plan.for_columns((2, 3)).with_names(["bank", "fund"])
    with pytest.raises(UnsignedPlanError, match=r"was not signed here; read it"):
        signature.own_signature(home, plan)
    signature.sign(home, plan)
    signature.own_signature(home, plan)
    with pytest.raises(UnsignedPlanError, match=r"signed here last differs from it in bins, l2; read it"):
        signature.own_signature(home, plan.replace(bins=4, l2=0.5))


def test_evidence_without_an_auditor_is_refused_when_it_is_proposed(homes: tuple[Path, Path]) -> None:
    """Nobody would be allowed to sign such a plan."""
    bank, _ = proposed(homes, {"evidence": "keep"})
    assert isinstance(bank, PlanError)
    assert "at least one party names its auditor, and none did" in str(bank)
    assert not list(homes[0].parent.glob("*.toml"))


def test_waiting_names_the_address_and_the_last_error(tmp_path: Path) -> None:
    """A wrong address or a closed port is seen while one waits, not after all patience."""
    plan = plan_for((2, 3), protocol="shares")
    organisations = Organisations(plan, tables_for(plan, *made_up()), tmp_path)
    try:
        command = organisations.type("features", "train", str(organisations.plan_file))
        end = time.monotonic() + SECONDS
        file, said = command.place / "stderr", ""
        while "the last attempt: label at 127.0.0.1:" not in " ".join(said.split()):
            assert time.monotonic() < end, said
            time.sleep(0.2)
            said = file.read_text(encoding="utf-8") if file.exists() else ""
    finally:
        organisations.close()
