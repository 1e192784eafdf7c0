"""`plumbob paper` as a user calls it."""

import json
from pathlib import Path

import pytest

from tests.command_line import call
from tests.lab.paper.support import needs_data

QUICK = ("paper", "credit", "--quick", "--preset", "figures", "--json")


@needs_data
def test_quickly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON object on standard output, progress on standard error, all promised files; a second call is the same."""
    out = tmp_path / "credit"
    assert call(*QUICK, "--out", str(out)) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "seed 1 (1 of 4)" in printed.err
    assert {claim["verdict"] for claim in found["claims"]} == {"agrees", "not run"}
    assert json.loads((out / "claims.json").read_text()) == found["claims"]
    for name in ("index.html", "claims.csv", "curves.csv", *found["figures"]):
        assert (out / name).stat().st_size > 0
    assert call(*QUICK, "--quiet", "--out", str(out)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["claims"] == found["claims"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["imagenet"], "there are mnist, credit, attacks"),
        (["mnist", "--preset", "other"], "there are figures, text and both"),
        (["attacks", "--preset", "text"], "--preset is for mnist and credit"),
        (["mnist", "--quick", "--data-dir", "/nowhere"], "there is no such file"),
    ],
)
def test_wrong_words(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    complaint: str,
) -> None:
    """What was expected is said, and nothing is left behind."""
    assert call("paper", *words, "--out", str(tmp_path / "out")) == 1
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))
