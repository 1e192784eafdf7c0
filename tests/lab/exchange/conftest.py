"""Keys are made once per run and engine: short ones where the length does not matter, 2048 bits where it does."""

import pytest

from plumbob.lab.exchange import engines, paillier, profiles
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.paillier import PrivateKey
from tests.crypto.support import seeded


@pytest.fixture(scope="session", params=["python", "native"])
def engine(request: pytest.FixtureRequest) -> PaillierEngine:
    """Each engine in turn."""
    name: str = request.param
    if name == "native" and not engines.kernel_serves():
        pytest.skip("this processor has no path of the kernel")
    return engines.choose(name, threads=1)


@pytest.fixture(scope="session")
def key(engine: PaillierEngine) -> PrivateKey:
    """A short key with reproducible randomness."""
    return paillier.generate(profiles.TEST_ONLY, engine, seeded("paillier"))


@pytest.fixture(scope="session")
def standard_key(engine: PaillierEngine) -> PrivateKey:
    """A key of the default length."""
    return paillier.generate(profiles.STANDARD, engine, seeded("standard"))
