"""What docs/attacks.md shows, runs; what it lists, exists."""

import re
from pathlib import Path
from typing import Any

import pytest

from plumbob.protocol.transcript import Transcript
from plumbob.workshop.attacks import ACTIVE, PASSIVE, Attack, LabelClaim, NotApplicable, View
from tests.protocol.support import plan_for, trained

PAGE = Path(__file__).parents[3] / "docs" / "attacks.md"


def shown() -> dict[str, Any]:
    """Every Python block of the section on adding an attack, run one after the other."""
    section = PAGE.read_text(encoding="utf-8").split("## Adding an attack")[1]
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102  # The page is ours.
    return names


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The documented attack is callable on a view, says where it does not apply, and beats the class prior."""
    names = shown()
    attack, claim = names["LABEL_DIRECTION"], names["claim"]
    assert isinstance(attack, Attack)
    assert isinstance(claim, LabelClaim)
    assert names["rate"] > max(names["y"].mean(), 1 - names["y"].mean())
    assert "by the class prior" in capsys.readouterr().out
    assert isinstance(attack(View.of(transcript_of_shares())), NotApplicable)


def transcript_of_shares() -> Transcript:
    """Of a feature party that saw no sums."""
    return trained(plan_for((2, 3), protocol="shares", epochs=1)).transcripts["features"]


def test_every_attack_is_in_the_catalogue() -> None:
    """An attack that the red team runs has a heading of its own."""
    listed = set(re.findall(r"^### `([^`]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {*(attack.name for attack in PASSIVE), *(attack.name for attack in ACTIVE)} <= listed
