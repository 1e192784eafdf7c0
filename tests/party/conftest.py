"""What several modules about parties use."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """Companies and organisations whose processes are ended with the test."""
    made: list[Any] = []
    yield made
    for one in made:
        one.close()
