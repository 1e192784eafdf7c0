"""`plumbob party`: two organisations in processes of their own, from nothing to a sound connection."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plumbob.plan import Plan
from tests.command_line import CommandLine

PATIENCE = 60


def plumbob(*words: str, home: Path | None = None) -> "subprocess.Popen[str]":
    """The command line in a process of its own, with nothing to type into."""
    environment = {**os.environ, **({"PLUMBOB_HOME": str(home)} if home else {})}
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("plumbob")), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The verbs of a party."""
    return CommandLine(capsys, "party")


@pytest.fixture
def joined(cli: CommandLine, tmp_path: Path) -> tuple[Path, Path]:
    """Two homes, made and joined by the command line alone."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        at = f"127.0.0.1:{sock.getsockname()[1]}"
    homes = tmp_path / "bank", tmp_path / "fund"
    files = tmp_path / "bank.csv", tmp_path / "fund.csv"
    files[0].write_text("id,a,b,c,paid\n1,1,2,3,yes\n2,3,2,1,no\n")
    files[1].write_text("client,d,e\n2,1,2\n1,3,4\n")
    bank = ["--home", str(homes[0]), "--listen", at, "--data", str(files[0]), "--label", "paid"]
    assert cli("init", "bank", *bank) == 0
    fund = ["--home", str(homes[1]), "--data", str(files[1]), "--id", "client"]
    assert cli("init", "fund", *fund) == 0
    tokens = [cli.answer("invite", "--home", str(home))["token"] for home in homes]
    for home, token in zip(homes, reversed(tokens), strict=True):
        assert cli("join", token, "--home", str(home)) == 0
    return homes


def test_two_processes_find_each_other_ready(joined: tuple[Path, Path], tmp_path: Path) -> None:
    """Both doctors end with 0, each in its own process, one with JSON and nothing else on standard output."""
    plan = tmp_path / "plan.toml"
    parties = {"bank": {"role": "label", "features": 3}, "fund": {"role": "features", "features": 2}}
    plan.write_text(Plan.from_dict({"parties": parties}).to_toml())
    here = plumbob("party", "doctor", str(plan), "--json", home=joined[0])
    there = plumbob("party", "doctor", str(plan), "--home", str(joined[1]), "--quiet")
    for process in (here, there):
        process.wait(PATIENCE)
    shown, lines, errors = here.communicate()[0], *there.communicate()
    assert (here.returncode, there.returncode) == (0, 0)
    result = json.loads(shown)
    assert result["ready"] is True
    assert {check["name"] for check in result["checks"]} >= {
        "certificate",
        "table",
        "port",
        "connection",
        "clock",
        "size",
    }
    *checks, last = lines.splitlines()
    assert all(line.startswith("ok ") for line in checks)
    assert last == f"ready; next, on all sides at once: plumbob party align {plan}"
    assert result["next"] == last.removeprefix("ready; ")
    assert errors == ""


def waiting_alignment(home: Path, plan: Path) -> "subprocess.Popen[str]":
    """An alignment that waits for a peer who never comes."""
    process = plumbob("party", "align", str(plan), home=home)
    assert process.stderr is not None
    while "waiting for" not in process.stderr.readline():
        assert process.poll() is None
    return process


def test_ctrl_c_says_what_to_type_and_a_killed_session_can_be_given_up(
    cli: CommandLine, joined: tuple[Path, Path], tmp_path: Path
) -> None:
    """Nothing ends without a word; what a killed alignment leaves is listed with the command that deletes it."""
    plan, home = tmp_path / "plan.toml", joined[0]
    parties = {"bank": {"role": "label", "features": 3}, "fund": {"role": "features", "features": 2}}
    plan.write_text(Plan.from_dict({"parties": parties}).to_toml())
    process = waiting_alignment(home, plan)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[1].endswith("to go on, type the same command again\n")
    assert process.returncode == 130
    assert not list((home / "runs").iterdir())
    process = waiting_alignment(home, plan)
    process.kill()
    process.communicate(timeout=PATIENCE)
    while (left := cli.answer("status", "--home", str(home))["runs"][0])["alive"]:
        time.sleep(0.2)
    typed = left["status"].rpartition("plumbob party ")[2].split()
    assert typed == ["forget", left["run"], "--give-up"]
    assert cli(*typed, "--home", str(home)) == 0
    assert cli.answer("status", "--home", str(home))["runs"] == []


def test_a_lonely_doctor_ends_with_1(cli: CommandLine, joined: tuple[Path, Path]) -> None:
    """What is not ready is told in time, as lines or as JSON, and the exit code says so."""
    assert cli.answer("doctor", "--home", str(joined[1]), "--wait", "0.2", code=1)["ready"] is False
    assert cli("doctor", "--home", str(joined[0]), "--wait", "0.2", "--peer", "fund") == 1
    lines = cli.out.splitlines()
    assert any("problem  connection fund: fund did not call within 0.2 s" in line for line in lines)
    assert lines[-1].startswith("not ready; next, connection fund: let fund type plumbob party doctor")


def test_fingerprints_are_shown_for_reading_aloud(cli: CommandLine, joined: tuple[Path, Path]) -> None:
    """Joining shows the peer's and our own; the invitation stands alone on its first line."""
    bank = cli.answer("invite", "--home", str(joined[0]))
    fund = cli.answer("join", bank["token"], "--home", str(joined[1]))
    assert fund["peer"]["fingerprint"] == bank["fingerprint"]
    assert fund["own"]["fingerprint"] == cli.answer("invite", "--home", str(joined[1]))["fingerprint"]
    assert cli("invite", "--home", str(joined[0])) == 0
    lines = cli.out.splitlines()
    assert lines[0] == bank["token"]
    assert " ".join(line.strip() for line in lines[2:4]) == bank["fingerprint"]
    assert lines[4] == f"peers dial {bank['address']}"


def test_refusals_end_with_1_and_a_sentence(cli: CommandLine, tmp_path: Path, joined: tuple[Path, Path]) -> None:
    """A home that is there already, one that is not, a torn token, a new identity of a pinned name."""
    bank, fund = (str(home) for home in joined)
    token = cli.answer("invite", "--home", fund)["token"]
    assert cli("init", "fund", "--home", str(tmp_path / "new")) == 0
    other = cli.answer("invite", "--home", str(tmp_path / "new"))["token"]
    for words, sentence in [
        (["init", "bank", "--home", bank], "there is an identity already"),
        (["init", "b@nk", "--home", str(tmp_path / "odd")], "name: expected"),
        (["invite", "--home", str(tmp_path / "nowhere")], "to set a party up: plumbob party init NAME"),
        (["join", token[:-5], "--home", bank], "paste it again"),
        (["join", token, "--home", fund], "our own invitation"),
        (["join", other, "--home", bank], "--replace"),
    ]:
        cli.read()
        assert cli(*words) == 1
        message = cli.err
        assert message.startswith("plumbob: ")
        assert sentence in message
    assert cli("join", other, "--replace", "--home", bank) == 0


def test_an_address_that_nobody_could_dial_is_not_invented(cli: CommandLine, tmp_path: Path) -> None:
    """Listening everywhere says nothing about where we are reached: init says so, and the invitation has none."""
    home = str(tmp_path / "bank")
    assert cli("init", "bank", "--home", home, "--listen", "0.0.0.0:7700") == 0
    assert "write `address`" in cli.out
    assert cli.answer("invite", "--home", home)["address"] is None


def test_init_shows_the_label_and_the_class_to_predict(cli: CommandLine, tmp_path: Path) -> None:
    """Whoever has the label sees what the model will predict, and how to predict the other class instead."""
    table = tmp_path / "bank.csv"
    table.write_text(
        "client,age,late\n" + "".join(f"c{row},{20 + row},{'yes' if row < 3 else 'no'}\n" for row in range(12))
    )
    words = ["init", "bank", "--home", str(tmp_path / "bank"), "--data", str(table), "--id", "client"]
    assert cli(*words, "--label", "late") == 0
    shown = cli.out
    assert (
        "label: late; the model predicts yes (25 % of the rows) against no; --positive no predicts no instead" in shown
    )
    assert cli(*words, "--home", str(tmp_path / "other"), "--label", "lat") == 1
    assert "no column 'lat' among the 3 columns of this table; did you mean" in cli.err


def test_what_is_mistyped_at_init_is_said_at_once(cli: CommandLine, tmp_path: Path) -> None:
    """An engine of earlier versions, or a table that does not exist, makes no party."""
    home = tmp_path / "bank"
    assert cli("init", "bank", "--home", str(home), "--engine", "abacus") == 2
    assert "there is one engine, the kernel" in cli.err
    assert not home.exists()
    assert cli("init", "bank", "--home", str(home), "--data", str(tmp_path / "none.csv")) == 1
    assert "none.csv: there is no such file; nothing was set up" in cli.err
    assert not home.exists()
