"""How far a run is, in lines where there is no terminal."""

from types import SimpleNamespace

import pytest

from plumbob.report.progress import StepProgress


def test_epochs_are_told_where_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    """Training has epochs, an alignment has none."""
    for title, epoch in (("shares", 2), ("align", 0)):
        with StepProgress(title, quiet=False) as progress:
            progress(SimpleNamespace(step=3, epoch=epoch), 3)
    training, alignment = capsys.readouterr().err.splitlines()
    assert training.startswith("shares: step 3 of 3, epoch 2, about")
    assert alignment.startswith("align: step 3 of 3, about")
