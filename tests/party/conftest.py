"""What several modules about parties use."""

from collections.abc import Iterator
from typing import Any

import pytest

from plumbob.party import conversation


@pytest.fixture
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No peer is there: whoever is refused need not look for one."""
    monkeypatch.setattr(conversation, "SECONDS_TO_TELL", 0.1)


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """Companies and organisations whose processes are ended with the test."""
    made: list[Any] = []
    yield made
    for one in made:
        one.close()
