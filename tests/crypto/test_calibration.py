"""What operations cost, and which engines there are."""

import time

import pytest

from plumbob.crypto import calibration, engines, paillier, profiles
from plumbob.crypto.engines import ProductShape
from plumbob.errors import CryptoError

SHAPE = ProductShape(rows=64, columns=8, bits=20)


def test_costs_are_those_of_one_operation() -> None:
    """Twice as many rows cost twice as much: what is measured is per row and per entry, whatever the sample was."""
    key = paillier.generate(profiles.TEST_ONLY, engines.choose("auto", 1))
    started = time.perf_counter()
    costs = calibration.measured(key, SHAPE, budget=0.2)
    spent = time.perf_counter() - started
    assert 0 < SHAPE.rows * costs.encryption < spent
    assert 0 < SHAPE.rows * SHAPE.columns * costs.entry < spent
    assert 0 < costs.decryption < spent


def test_what_is_not_there_is_said() -> None:
    """A name that does not exist is refused with those that do, one that was removed with what to write instead."""
    with pytest.raises(CryptoError, match="expected one of auto, native, python, ray"):
        engines.choose("gpu")
    with pytest.raises(CryptoError, match="leave --engine out"):
        engines.choose("cuda")
