"""What docs/attacks.md shows, runs; what it lists, exists."""

import re
from pathlib import Path
from typing import Any

import pytest

from plumbob.checking import catalogue
from plumbob.checking.check import check
from plumbob.checking.explain import explain
from plumbob.lab.attacks import ACTIVE, PASSIVE, Attack, LabelClaim, NotApplicable, View
from plumbob.lab.audit import audit, redteam
from plumbob.lab.audit.filing import with_findings
from plumbob.lab.audit.truth import Truth
from plumbob.lab.page.pictures import picture
from plumbob.protocol.transcript import Transcript
from plumbob.report.run import page_of
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


def test_once_added_everybody_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the two lines that the page asks for, check, the lab, the red team and the report have it."""
    added = shown()
    entry, run = added["LABEL_DIRECTION_ENTRY"], added["run"]
    monkeypatch.setattr(catalogue, "CATALOGUE", (*catalogue.CATALOGUE, entry))
    monkeypatch.setattr(redteam, "PASSIVE", (*PASSIVE, added["LABEL_DIRECTION"]))
    plan = run.model.plan
    [predicted] = [one for one in check(plan, 455) if one.attack == entry.name]
    assert (predicted.verdict, predicted.reference) == ("degrades", entry.reference)
    assert entry.story in explain(plan, entry.name)[0]
    drawn = picture(plan, entry.name, "features", "labels")
    assert (drawn.story, "own columns" in drawn.svg) == (entry.story, True)
    findings = audit(run, [entry.name])
    assert [one.reference for one in findings] == [entry.reference]
    assert f">{entry.name}<" in page_of(with_findings(run.record, Truth.of(run), findings))


def test_the_catalogue_and_the_code_name_the_same_attacks() -> None:
    """None without its entry, and no entry without its code."""
    passive, active = (
        {(attack.name, attack.by) for attack in PASSIVE},
        {(attack.name, attack.by) for attack in ACTIVE},
    )
    assert {(entry.name, entry.by) for entry in catalogue.CATALOGUE} == passive | active


def transcript_of_shares() -> Transcript:
    """Of a feature party that saw no sums."""
    return trained(plan_for((2, 3), protocol="shares", epochs=1)).transcripts["features"]


def test_every_attack_is_in_the_catalogue() -> None:
    """An attack that the red team runs has a heading of its own."""
    listed = set(re.findall(r"^### `([^`]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {*(attack.name for attack in PASSIVE), *(attack.name for attack in ACTIVE)} <= listed
