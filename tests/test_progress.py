"""How far a run is, in lines where there is no terminal."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from plumbob.data import batches
from plumbob.report.progress import StepProgress
from plumbob.terminal import StatusLine
from tests.protocol.support import shares_plan


def test_what_a_step_works_on_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Training has epochs or samples of rows, an alignment has neither."""
    for title, told in (("exchange", "epoch 2"), ("align", "")):
        with StepProgress(title, quiet=False) as progress:
            progress(SimpleNamespace(step=3, epoch=0, told=told, done=1.0), 3)
    assert capsys.readouterr().err.splitlines() == ["exchange: step 3 of 3, epoch 2", "align: step 3 of 3"]


def test_time_left_follows_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """After twelve of sixteen passes, which were over a sample, more than half of the work is left."""
    clock = iter(range(0, 1000, 12))
    monkeypatch.setattr("plumbob.report.progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    run = list(batches(b"seed", 27_000, shares_plan((11, 12), epochs=0)))
    with StepProgress("shares", quiet=False, noun="pass") as progress:
        for batch in run:
            progress(batch, len(run))
    lines = capsys.readouterr().err.splitlines()
    first, last = run[0].done, run[11].done
    left = 132 / (last - first) * (1 - last)
    assert lines[11] == f"shares: pass 12 of 16, on 5,000 of 27,000 rows, about {left:.0f} s left"
    assert lines[-1] == "shares: pass 16 of 16, on all 27,000 rows"


def test_one_line_that_the_next_overwrites() -> None:
    """On a terminal nothing scrolls and nothing stays; elsewhere a line is printed now and then."""
    screen, file = StringIO(), StringIO()
    for shown, is_terminal in ((screen, True), (file, False)):
        line = StatusLine(Console(file=shown, force_terminal=is_terminal, width=40, _environ={}))
        for place in (1, 2):
            line(f"exchange: attack {place} of 21: label-sign by processor")
        line.clear()
    assert screen.getvalue().split("\r\x1b[2K") == [
        "",
        "exchange: attack 1 of 21: label-sign by",
        "exchange: attack 2 of 21: label-sign by",
        "",
    ]
    assert file.getvalue() == "exchange: attack 1 of 21: label-sign by processor\n"
