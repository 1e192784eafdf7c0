"""What tests of the command line share."""

import pytest
import typer

from plumbob import cli

PROGRAM = typer.main.get_command(cli.application())


@pytest.fixture(autouse=True)
def verbs_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the verbs together once, as in a process that runs one: Typer's runner would do it for every call."""
    monkeypatch.setattr("typer.testing._get_command", lambda app: PROGRAM)
