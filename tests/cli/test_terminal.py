"""What others wrote is shown on a terminal as text: neither a plan nor a peer steers it."""

import json
from pathlib import Path

import pytest

from plumbob.report.progress import StepProgress
from plumbob.terminal import wrapped
from tests.terminals import HOSTILE, steers, typed, typed_in_turn

TOML = json.dumps(HOSTILE)
PARTIES = '[parties]\nbank = { role = "label", features = 2 }\nfund = { role = "features", features = 2 }\n'
HOSTILE_PLANS = {
    "unknown key": f"{TOML} = 1\n{PARTIES}",
    "unknown section": f"{PARTIES}[{TOML}]\nx = 1\n",
    "key of a section": f"{PARTIES}[model]\n{TOML} = 1\n",
    "title": f"title = {TOML}\n{PARTIES}",
    "value": f"{PARTIES}[model]\nprotocol = {TOML}\n",
    "party": PARTIES.replace("fund", TOML),
    "role": PARTIES.replace('"features"', TOML),
    "key of a party": PARTIES.replace("features =", f"{TOML} ="),
    "not TOML": f"{HOSTILE}\n",
}


@pytest.mark.parametrize("verb", [["check"], ["plan", "show"]], ids=lambda verb: verb[-1])
def test_a_plan_file_does_not_steer_the_terminal(tmp_path: Path, verb: list[str]) -> None:
    """Wherever in it the sequences are, and whichever verb reads it, people read what is wrong with it."""
    commands = []
    for place, plan in enumerate(HOSTILE_PLANS.values()):
        (tmp_path / f"{place}.toml").write_text(plan)
        commands.append([*verb, str(tmp_path / f"{place}.toml")])
    for name, told in zip(HOSTILE_PLANS, typed_in_turn(commands), strict=True):
        assert "plumbob: " in told, name
        assert not steers(told), name


def test_a_file_name_does_not_steer_the_terminal(tmp_path: Path) -> None:
    """A folder of somebody else's may hold files of any name."""
    told = typed("party", "receipt", str(tmp_path / HOSTILE))
    assert "plumbob: " in told
    assert not steers(told)


def test_progress_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the title of progress nor what is said in between steers the terminal."""
    with StepProgress(HOSTILE, quiet=False) as progress:
        progress.say(HOSTILE)
    told = capsys.readouterr().err
    assert told.strip()
    assert not steers(told)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "  leaks  The bank can read all of it, or some.",
            ["  leaks  The bank can read all of", "         it, or some."],
        ),
        ("Nobody is sent a weight of it.", ["Nobody is sent a weight", "of it."]),
        ("label-sign  processor  labels  100 %", ["label-sign  processor  labels  100 %"]),
        ("epochs = 14   # passes over the rows", ["epochs = 14   # passes over the rows"]),
        ("plumbob party join 'plumbob-invite'", ["plumbob party join 'plumbob-invite'"]),
        ("type there plumbob party train, then", ["type there", "plumbob party train,", "then"]),
    ],
    ids=["verdict", "sentence", "table", "plan", "command", "sentence with a command"],
)
def test_sentences_are_not_cut_inside_words(text: str, lines: list[str]) -> None:
    """They continue under their own beginning; a row of a table, and what may be copied, stays one line."""
    assert wrapped(text, 36 if lines[0].startswith("  ") else 24) == lines
