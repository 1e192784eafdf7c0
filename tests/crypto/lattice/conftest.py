"""Each lattice engine in turn."""

import pytest

from plumbob.crypto.kernel import native_is_built
from plumbob.crypto.lattice import LatticeEngine, choose


@pytest.fixture(scope="session", params=["python", "native"])
def lattice_engine(request: pytest.FixtureRequest) -> LatticeEngine:
    """Each lattice engine in turn, on one thread."""
    name: str = request.param
    if name == "native" and not native_is_built():
        pytest.skip("the native kernel was not built here")
    return choose(name, threads=1)
