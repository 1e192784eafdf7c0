"""Paillier keys that are made once for all tests of this room: what they test does not depend on them."""

from collections.abc import Iterator

import pytest

from tests.lab.exchange.quick_keys import use_quick_keys


@pytest.fixture(scope="module", autouse=True)
def quick_keys() -> Iterator[None]:
    """No run makes a key of its own, except where a test asks for one."""
    with pytest.MonkeyPatch.context() as patch:
        use_quick_keys(patch)
        yield
