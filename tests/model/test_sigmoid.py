"""The four approximations against the paper's own formulas, typed in again, and against the sigmoid."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.plan.sigmoids import AMPLITUDES, HARMONICS, PERIOD, SIGMOIDS

SCORES = np.linspace(-6, 6, 2401)


def paper(name: str, z: Any, y: Any) -> Any:
    """The paper's f, as printed."""
    return {
        "taylor": z - 2 * y,
        "minimax": -0.004 * z**3 + 0.197 * z - 0.5 * y,
        "piecewise": (np.abs(z) < 0.5) * (z - 0.5 * y) + (y * z <= -0.5) * (-y),
        "exact": (1 / (1 + np.exp(-y * z)) - 1) * y,
    }[name]


@pytest.mark.parametrize("name", ["taylor", "minimax", "piecewise", "exact"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_residuals_are_those_of_the_paper(name: str, sign: float) -> None:
    """One form, curve minus label, gives all four printed coefficients; exact is the true gradient's."""
    found = SIGMOIDS[name].residuals(SCORES, np.full_like(SCORES, sign))
    assert np.allclose(found, paper(name, SCORES, sign), atol=1e-12)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_every_approximation_is_near_the_sigmoid(name: str) -> None:
    """The scaled residual of y = -1 approximates S(z) near 0, minimax on all of [-5, 5]."""
    sigmoid = SIGMOIDS[name]
    reach = 5.0 if name == "minimax" else 0.3
    z = SCORES[np.abs(SCORES) <= reach]
    approximated = sigmoid.gradient_scale * sigmoid.residuals(z, -np.ones_like(z))
    error = np.abs(approximated - 1 / (1 + np.exp(-z))).max()
    assert error < {"taylor": 0.001, "minimax": 0.07, "piecewise": 0.23, "exact": 1e-12, "fourier": 0.0045}[name]


@pytest.mark.parametrize("name", SIGMOIDS)
@given(z=st.floats(-50, 50), sign=st.sampled_from([-1.0, 1.0]))
def test_below_the_threshold_the_sign_is_the_label(name: str, z: float, sign: float) -> None:
    """Criterion 4.2: while abs(z) is under the threshold, -sign(f) is the label (Theorem F.2: or f is 0)."""
    sigmoid = SIGMOIDS[name]
    (residual,) = sigmoid.residuals(np.array([z]), np.array([sign]))
    if abs(z) < min(sigmoid.threshold, 30.0):
        assert -np.sign(residual) == sign
    if name == "piecewise" and residual != 0:
        assert -np.sign(residual) == sign


@pytest.mark.parametrize(("name", "beyond"), [("taylor", 2.01), ("minimax", 3.21), ("piecewise", 0.51)])
def test_beyond_the_threshold_the_sign_may_lie(name: str, beyond: float) -> None:
    """The thresholds are not smaller than they must be: just beyond, a sign is wrong or gone."""
    (residual,) = SIGMOIDS[name].residuals(np.array([beyond]), np.array([1.0]))
    assert -np.sign(residual) != 1


def test_extreme_scores_do_not_overflow() -> None:
    """The exact sigmoid takes any score."""
    residuals = SIGMOIDS["exact"].residuals(np.array([-1e300, 1e300]), np.array([1.0, 1.0]))
    assert residuals.tolist() == [-1.0, 0.0]


def test_the_fourier_series_is_what_its_figures_say() -> None:
    """Error .0044 up to 26, bound 1.0015 and slope .2414 for every score, period 64, symmetric about 16."""
    fourier, exact = SIGMOIDS["fourier"], SIGMOIDS["exact"]
    near, every = np.linspace(-26, 26, 200_001), np.linspace(-96, 96, 400_001)
    assert np.abs(fourier.curve(near) - exact.curve(near)).max() == pytest.approx(0.0044, abs=5e-5)
    assert 0.5 + np.abs(fourier.curve(every)).max() == pytest.approx(1.0015, abs=5e-5)
    slopes = np.diff(fourier.curve(every)) / np.diff(every)
    assert np.abs(slopes).max() == pytest.approx(0.2414, abs=5e-5)
    np.testing.assert_allclose(fourier.curve(every + 64.0), fourier.curve(every), atol=1e-12)
    np.testing.assert_allclose(fourier.curve(32.0 - every), fourier.curve(every), atol=1e-12)


def test_the_fourier_series_is_the_least_squares_fit() -> None:
    """The frozen amplitudes are those of odd harmonics up to 15 on [-16, 16]."""
    scores = np.linspace(-16, 16, 20_001)
    sines = np.sin(np.multiply.outer(scores, HARMONICS) * (2 * np.pi / PERIOD))
    fitted, *_ = np.linalg.lstsq(sines, SIGMOIDS["exact"].curve(scores), rcond=None)
    np.testing.assert_allclose(AMPLITUDES, fitted, atol=1e-6)
