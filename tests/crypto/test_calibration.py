"""The automatic choice: by measurement where there is a choice, and without a word where there is none."""

import time

import pytest

from plumbob.crypto import calibration, engines, paillier, profiles
from plumbob.crypto.engines import ProductShape
from plumbob.errors import CryptoError

SHAPE = ProductShape(rows=64, columns=8, bits=20)

needs_native = pytest.mark.skipif(not engines.native_is_built(), reason="the native kernel was not built here")


@needs_native
def test_the_faster_engine_is_chosen() -> None:
    """Of the reference and the kernel, both really timed, the kernel wins, in whatever order they are named."""
    for names in (("python", "native"), ("native", "python")):
        assert calibration.fastest(names, 1, SHAPE, profiles.TEST_ONLY) == "native"


@needs_native
def test_a_calibration_is_kept() -> None:
    """The second choice of a process costs nothing."""
    calibration.fastest(("python", "native"), 1, SHAPE, profiles.TEST_ONLY)
    hits = calibration.fastest.cache_info().hits
    calibration.fastest(("python", "native"), 1, SHAPE, profiles.TEST_ONLY)
    assert calibration.fastest.cache_info().hits == hits + 1


@needs_native
def test_an_engine_that_fails_loses() -> None:
    """What looked usable and cannot even start is passed over."""
    assert engines.cuda_is_usable() or calibration.fastest(("cuda", "native"), 1, SHAPE, profiles.TEST_ONLY) == "native"


@needs_native
def test_without_a_choice_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the kernel and the reference are usable, `auto` is the kernel at once."""
    monkeypatch.setattr(engines, "cuda_is_usable", lambda: False)
    monkeypatch.setattr(calibration, "fastest", None)
    assert engines.choose("auto").name.startswith("native")


@needs_native
def test_with_a_choice_the_measurement_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` is whatever was measured to be fastest for steps of the plan's shape."""
    asked = []

    def measured(names: tuple[str, ...], threads: int | None, shape: ProductShape) -> str:
        asked.append((names, shape))
        return "python"

    monkeypatch.setattr(engines, "cuda_is_usable", lambda: True)
    monkeypatch.setattr(calibration, "fastest", measured)
    assert engines.choose("auto", None, SHAPE).name == "python"
    assert asked == [(("native", "cuda"), SHAPE)]


def test_costs_are_those_of_one_operation() -> None:
    """Twice as many rows cost twice as much: what is measured is per row and per entry, whatever the sample was."""
    key = paillier.generate(profiles.TEST_ONLY, engines.choose("auto", 1))
    started = time.perf_counter()
    costs = calibration.measured(key, SHAPE, budget=0.2)
    spent = time.perf_counter() - started
    assert 0 < SHAPE.rows * costs.encryption < spent
    assert 0 < SHAPE.rows * SHAPE.columns * costs.entry < spent
    assert 0 < costs.decryption < spent
    twice = ProductShape(2 * SHAPE.rows, SHAPE.columns, SHAPE.bits)
    fixed = costs.randomisation + costs.decryption
    assert costs.of_direction(twice) - fixed == pytest.approx(2 * (costs.of_direction(SHAPE) - fixed))


@pytest.mark.parametrize("name", ["cuda", "gpu"])
def test_what_is_not_there_is_said(name: str) -> None:
    """A name that does not exist, or a device that is not there, is refused with what to do."""
    if name == "cuda" and engines.cuda_is_usable():
        pytest.skip("there is a GPU here")
    with pytest.raises(CryptoError, match=f"engine '{name}'"):
        engines.choose(name)
