"""What several modules about parties use."""

import pytest

from plumbob.party import conversation


@pytest.fixture
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No peer is there: whoever is refused need not look for one."""
    monkeypatch.setattr(conversation, "SECONDS_TO_TELL", 0.1)
