"""What tests of the command line share."""

import pytest

from plumbob.cli import root


@pytest.fixture(autouse=True)
def verbs_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that runs a verb: Typer's runner would do it again for every call."""
    monkeypatch.setattr("typer.testing._get_command", lambda app: root.command())
