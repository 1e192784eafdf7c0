"""The kernel and its oracle in turn."""

import pytest

from plumbob.crypto.lattice import LatticeEngine
from tests.crypto.lattice.reference import ReferenceEngine


@pytest.fixture(scope="session", params=["python", "native"])
def lattice_engine(request: pytest.FixtureRequest) -> LatticeEngine:
    """The oracle and the kernel, on one thread."""
    return LatticeEngine(threads=1) if request.param == "native" else ReferenceEngine()
