"""The attack that CONTRIBUTING.md adds runs; what docs/attacks.md lists, exists."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plumbob
from plumbob.checking import rules
from plumbob.lab.attacks import ATTACKS, Attack, Claim, NotApplicable, View
from plumbob.lab.transcript import Transcript
from tests.protocol.support import plan_for, trained

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "attack"
PAGE = ROOT / "CONTRIBUTING.md"
BY_RULE_ALONE = {"keys", "masked-shares"}
WITH_CODE_OF_THE_AUDITOR = {"arbiter-key"}
# Where the copy is read instead of the installed package.
EVERYBODY_KNOWS_IT = """
import sys
sys.meta_path = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
sys.path.insert(0, sys.argv[1])
import plumbob
from plumbob.checking.check import check
from plumbob.checking.filing import with_findings
from plumbob.data import split_array
from plumbob.lab.audit import audit
from plumbob.lab.simulate import train
from plumbob.plan import Plan
from plumbob.report.run import page_of

assert plumbob.__file__.startswith(sys.argv[1]), plumbob.__file__
name, plan = "label-direction", Plan.for_columns((10, 20), protocol="clear", seed=1)
run = train(plan, dict(zip(("label", "features"), split_array(*plumbob.datasets.load("breast-cancer"), (10, 20)))))
[predicted] = [one for one in check(plan, 455) if one.attack == name]
assert (predicted.verdict, predicted.reference) == ("degrades", "an example")
findings = audit(run, [name])
assert [(one.attack, one.rate > 0.5) for one in findings] == [(name, True)]
assert f">{name}<" in page_of(with_findings(run.record, findings))
"""


def code_of_the_example() -> list[str]:
    """The example's two files, and how the page tries it out."""
    [tried] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [(EXAMPLE / "rule.py").read_text(encoding="utf-8"), (EXAMPLE / "code.py").read_text(encoding="utf-8"), tried]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The documented attack is callable on a view, says where it does not apply, and beats the class prior."""
    names: dict[str, Any] = {}
    for block in code_of_the_example():
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102  # The page is ours.
    attack, claim = names["ATTACKS"][0], names["claim"]
    assert isinstance(attack, Attack)
    assert isinstance(claim, Claim)
    assert names["rate"] > max(names["y"].mean(), 1 - names["y"].mean())
    assert "by the class prior" in capsys.readouterr().out
    assert isinstance(attack(View.of(transcript_of_shares())), NotApplicable)


def test_two_files_are_all_that_an_attack_needs(tmp_path: Path) -> None:
    """In a copy of the package with the example's two files, check, the lab, the red team and the report have it."""
    copy = tmp_path / "plumbob"
    shutil.copytree(Path(plumbob.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("plumbob.crypto._kernel", "plumbob.lab.exchange.engines._paillier"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        shutil.copy(spec.origin, copy.parent.joinpath(*name.split(".")).parent)
    shutil.copy(EXAMPLE / "rule.py", copy / "checking" / "rules" / "label_direction.py")
    shutil.copy(EXAMPLE / "code.py", copy / "lab" / "attacks" / "label_direction.py")
    command = [sys.executable, "-c", EVERYBODY_KNOWS_IT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)  # Ours.
    assert done.returncode == 0, done.stderr


def test_rules_and_code_name_the_same_attacks() -> None:
    """Every attack has a rule, and every rule has code, unless it is calculated or the auditor has it."""
    coded = {(one.name, one.by) for one in ATTACKS}
    others = BY_RULE_ALONE | WITH_CODE_OF_THE_AUDITOR
    ruled = {
        (name, rule.by)
        for rule in rules.RULES
        for name in rule.attacks
        # A party that answers sees no score, and so has no code.
        if name not in others and (name, rule.by) != ("prediction-equations", "features")
    }
    assert ruled <= coded
    assert {name for name, _ in coded} == {name for name, _ in ruled}


def test_a_finding_quotes_its_own_attack() -> None:
    """Of a rule that several attacks show, each has its own theorem or section."""
    for attack in ATTACKS:
        shown = [rule for rule in rules.RULES if (rule.by, rule.target) == (attack.by, attack.target)]
        assert attack.reference in [rule.attacks.get(attack.name) for rule in shown]
    [found] = [attack for attack in ATTACKS if attack.name == "label-sign"]
    assert found.reference.startswith("Criterion 4.2")


def transcript_of_shares() -> Transcript:
    """The transcript of a feature party that saw no sums."""
    return trained(plan_for((2, 3), protocol="shares", epochs=1)).transcripts["features"]


def test_every_attack_has_a_line() -> None:
    """What a plan is judged on, the page describes."""
    catalogue = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([^`]+)`", catalogue, re.MULTILINE))
    assert set(rules.names()) - {"keys"} <= listed
