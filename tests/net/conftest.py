"""Parties that the tests of this room share; making their keys once is enough."""

import pytest

from plumbob.net.identity import Identity
from tests.net.support import identities


@pytest.fixture(scope="session")
def parties(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    """Three organisations; `mallory` is pinned by nobody."""
    made = identities(tmp_path_factory.mktemp("identities"), "bank", "fund", "mallory")
    return {identity.name: identity for identity in made}


@pytest.fixture
def bank(parties: dict[str, Identity]) -> Identity:
    """A party that others pin."""
    return parties["bank"]


@pytest.fixture
def fund(parties: dict[str, Identity]) -> Identity:
    """The bank's peer."""
    return parties["fund"]


@pytest.fixture
def mallory(parties: dict[str, Identity]) -> Identity:
    """A party that nobody pins."""
    return parties["mallory"]
