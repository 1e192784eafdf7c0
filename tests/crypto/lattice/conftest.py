"""The kernel and its oracle in turn."""

import pytest

from plumbob.crypto.lattice.kernel import Engine
from tests.crypto.lattice.reference import ReferenceEngine


@pytest.fixture(scope="session", params=["python", "native"])
def lattice_engine(request: pytest.FixtureRequest) -> Engine:
    """The oracle and the kernel, on one thread."""
    return Engine(threads=1) if request.param == "native" else ReferenceEngine()
