"""`plumbob` as somebody types it, in this process."""

import json
import sys
from typing import Any
from unittest import mock

import pytest

from plumbob import cli


def call(*words: str) -> int:
    """The exit code of `plumbob WORDS`."""
    with mock.patch.object(sys, "argv", ["plumbob", *words]), pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code if isinstance(left.value.code, int) else 0


class CommandLine:
    """Called with words, it gives the exit code; what was printed since the last look can be read."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *first: str) -> None:
        self._capsys, self._first = capsys, first

    def __call__(self, *words: str) -> int:
        return call(*self._first, *words)

    def answer(self, *words: str, code: int = 0) -> dict[str, Any]:
        """The JSON object of a verb, which is all that it prints."""
        self.read()
        assert self(*words, "--json", "--quiet") == code
        printed = self.read()
        assert printed.err == ""
        found: dict[str, Any] = json.loads(printed.out)
        return found

    def read(self) -> Any:
        return self._capsys.readouterr()

    @property
    def out(self) -> str:
        return str(self.read().out)

    @property
    def err(self) -> str:
        return str(self.read().err)
