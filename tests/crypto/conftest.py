"""Keys are made once per run and engine: short ones where the length does not matter, 2048 bits where it does."""

import pytest

from plumbob.crypto import PrivateKey, engines, okamoto_uchiyama, paillier, profiles
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.okamoto_uchiyama import OkamotoUchiyamaPrivateKey
from plumbob.crypto.paillier import PrivateKey
from tests.crypto.support import seeded

# Okamoto-Uchiyama has a third of the key for plaintexts, and a mask and a gap in it: 768 bits would hold one slot.
OKAMOTO_UCHIYAMA_TEST = profiles.insecure_for_tests(1536)


@pytest.fixture(scope="session", params=["python", "native"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    name: str = request.param
    if name == "native" and not engines.native_is_built():
        pytest.skip("the native kernel was not built here")
    return engines.choose(name, threads=1)


@pytest.fixture(scope="session")
def paillier_key(engine: Engine) -> PrivateKey:
    """A short Paillier key with reproducible randomness."""
    return paillier.generate(profiles.TEST_ONLY, engine, seeded("paillier"))


@pytest.fixture(scope="session")
def okamoto_uchiyama_key(engine: Engine) -> OkamotoUchiyamaPrivateKey:
    """A short Okamoto-Uchiyama key with reproducible randomness."""
    return okamoto_uchiyama.generate(OKAMOTO_UCHIYAMA_TEST, engine, seeded("okamoto-uchiyama"))


@pytest.fixture(scope="session", params=["paillier", "okamoto_uchiyama"])
def key(
    request: pytest.FixtureRequest,
    paillier_key: PrivateKey,
    okamoto_uchiyama_key: OkamotoUchiyamaPrivateKey,
) -> PrivateKey:
    """A short key of each scheme in turn."""
    return paillier_key if request.param == "paillier" else okamoto_uchiyama_key


@pytest.fixture(scope="session")
def standard_key(engine: Engine) -> PrivateKey:
    """A Paillier key of the default length."""
    return paillier.generate(profiles.STANDARD, engine, seeded("standard"))
