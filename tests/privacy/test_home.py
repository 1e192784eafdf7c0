"""Scaling and whitening that are paid for: what one row can change, and what is learned all the same."""

import math
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import chisquare

from plumbob.data.whitening import Whitening
from plumbob.errors import PrivacyError
from plumbob.plan import Plan
from plumbob.privacy import home
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.home import GRID, REACH, Range
from plumbob.privacy.rows import squared_norm_units
from plumbob.protocol.row_cost import home_rho
from plumbob.protocol.row_noise import HomeTreatment

HALF = Fraction(1, 2)
VALUE = st.one_of(st.floats(-1e6, 1e6), st.just(math.nan), st.integers(-3, 3).map(float))


def chances(values: NDArray[np.float64], share: Fraction, rho: float) -> NDArray[np.float64]:
    """The exponential mechanism's distribution, by its definition."""
    weights = np.exp(-float(home.slope_for(rho)) * home.rank_distances(values, share))
    chance: NDArray[np.float64] = weights / weights.sum()
    return chance


def renyi(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    """The Renyi divergence of two distributions."""
    return float(logsumexp(order * np.log(p) + (1 - order) * np.log(q)) / (order - 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUE, min_size=1, max_size=30), VALUE, st.sampled_from([home.LOW_SHARE, HALF, 1 - home.LOW_SHARE]))
def test_one_row_changes_a_rank_distance_by_one_at_most(values: list[float], other: float, share: Fraction) -> None:
    """Lemma 8: whatever one value becomes, a gap included, no distance moves by more than 1."""
    before = home.rank_distances(np.array(values), share)
    after = home.rank_distances(np.array([other, *values[1:]]), share)
    assert np.abs(before - after).max() <= 1


def test_one_distance_is_always_zero() -> None:
    """Some value of the grid is the quantile itself, so that drawing one ends; without values all of them are."""
    for values in ([1e9], [0.3, 7e-9, -4.0], [9.0] * 5, [math.nan, 2.0]):
        assert home.rank_distances(np.array(values), HALF).min() == 0
    assert not home.rank_distances(np.array([math.nan]), HALF).any()


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5])
def test_a_quantile_costs_what_is_claimed(rho: float) -> None:
    """Lemma 8 at its worst: a row that moves from one end to the other; no Renyi order exceeds rho times the order."""
    values = np.repeat([GRID[0], GRID[0], GRID[-1], GRID[-1]], 20)
    values[-1] = 0.0
    moved = values.copy()
    moved[0] = GRID[-1]
    p, q = chances(values, HALF, rho), chances(moved, HALF, rho)
    spent = [max(renyi(p, q, order), renyi(q, p, order)) / (rho * order) for order in (1.01, 1.5, 2.0, 5.0, 30.0)]
    assert max(spent) <= 1.0
    assert max(spent) > 0.9


def test_quantiles_are_drawn_with_the_mechanism_s_probabilities() -> None:
    """A chi-squared test of the drawn values against the definition."""
    values = np.random.default_rng(0).normal(size=40)
    source, count = np.random.default_rng(1).bytes, 2000
    drawn = Counter(home.noisy_quantile(values, HALF, 0.05, source) for _ in range(count))
    due = chances(values, HALF, 0.05) * count
    order = np.argsort(-due)
    kept = order[due[order] >= 5]
    found = [drawn[float(GRID[place])] for place in kept]
    rest_found, rest_due = count - sum(found), count - due[kept].sum()
    expected = np.array([*due[kept], rest_due])
    assert chisquare([*found, rest_found], expected * count / expected.sum()).pvalue > 1e-3


def test_a_generous_quantile_is_the_quantile() -> None:
    """With much budget the range is that of the rows, to the grid's precision."""
    values = np.random.default_rng(2).normal(size=5000) * 300 + 1000
    found = home.noisy_range(values, 1.0, os.urandom)
    low, high = np.quantile(values, [0.1, 0.9])
    assert found.low == pytest.approx(low, rel=0.13)
    assert found.high == pytest.approx(high, rel=0.13)


def test_ties_stay_on_the_grid() -> None:
    """A column with two values that the grid does not have still gets a range around them."""
    values = np.repeat([9.0, 23.0], 3000)
    found = home.noisy_range(values, 0.01, os.urandom)
    assert found.low == pytest.approx(9.0, rel=0.13)
    assert found.high == pytest.approx(23.0, rel=0.13)


def frobenius(one: list[int], other: list[int]) -> float:
    """The Frobenius norm of the difference of two rows' outer products, in whole numbers."""
    entries = range(len(one))
    return math.sqrt(sum((one[i] * one[j] - other[i] * other[j]) ** 2 for i in entries for j in entries))


def test_two_rows_reach_the_moments_sensitivity() -> None:
    """Lemma 9 is tight: two rows at a right angle, the 1 included, move the sum by sqrt(2) (norm**2 + 1)."""
    one = 1 << home.MOMENT_BITS
    norm = 2.0
    rows = [[2 * one, 0, one], [-one // 2, math.isqrt(4 * one * one - (one // 2) ** 2), one]]
    claimed = math.sqrt(2) * (norm**2 + 1) * one * one
    assert frobenius(*rows) <= claimed
    assert frobenius(*rows) == pytest.approx(claimed, rel=1e-4)
    # rho = sensitivity**2 / (2 std**2), and sensitivity**2 is 2 (norm**2 + 1)**2.
    spent = Fraction((5 * one * one) ** 2, home.moment_std(norm, 0.01) ** 2)
    assert Fraction(0.01) * (1 - Fraction(1, 10**6)) < spent <= Fraction(0.01)


def test_the_noise_is_counted_as_the_frobenius_norm_counts() -> None:
    """Off the diagonal an entry stands twice and has 1/sqrt(2) of the deviation; the number of rows has none."""
    std = 1000
    source = np.random.default_rng(5).bytes
    drawn = np.array([home._symmetric_noise(4, std, source) for _ in range(600)])
    assert (drawn == drawn.transpose(0, 2, 1)).all()
    assert not drawn[:, 3, 3].any()
    for place in ((0, 0), (2, 2)):
        assert drawn[:, place[0], place[1]].std() == pytest.approx(std, rel=0.1)
    for place in ((0, 1), (1, 3)):
        assert drawn[:, place[0], place[1]].std() == pytest.approx(std / math.sqrt(2), rel=0.1)


def correlated(count: int, seed: int) -> NDArray[np.float64]:
    """Rows whose columns are close to each other, far from 0, and of different sizes."""
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(count, 1))
    return (common + 0.3 * generator.normal(size=(count, 4))) * [1.0, 50.0, 0.02, 7.0] + [3.0, -400.0, 0.0, 1.0]


def scaled(X: NDArray[np.float64], rho: float, draw: Draw) -> NDArray[np.float64]:
    """Rows in the units of their paid ranges, limited."""
    ranges = [paid.range for paid in home.fit_columns(list(X.T), [0] * X.shape[1], rho, draw)]
    middles, halves = np.array([[item.middle, item.half] for item in ranges]).T
    limited: NDArray[np.float64] = np.clip((X - middles) / halves, -REACH, REACH)
    return limited


def whitened(X: NDArray[np.float64], rho: float, draw: Draw, least_gamma: float = 0.01) -> NDArray[np.float64]:
    """Rows as training sees them, before they are clipped to R_k."""
    Z = scaled(X, rho / 2, draw)
    fitted = home.fit_whitening(Z, rho / 2, draw, least_gamma)
    return Whitening(fitted.mean, fitted.matrix, REACH, fitted.norm).apply(Z)


def test_with_much_budget_rows_are_white() -> None:
    """The covariance of whitened rows is the unit matrix up to gamma."""
    white = whitened(correlated(20_000, 0), 100.0, os.urandom, least_gamma=1e-6)
    assert np.cov(white.T) == pytest.approx(np.eye(4), abs=0.05)
    assert white.mean(axis=0) == pytest.approx(np.zeros(4), abs=0.05)


@pytest.mark.parametrize("rho", [0.0005, 0.002, 0.05])
def test_noise_does_not_break_the_gram_bound(rho: float) -> None:
    """Lemma 7: with gamma at the noise's size, whitened rows keep a covariance of about 1 at most: the rate holds."""
    for seed in range(3):
        X = correlated(3000, seed)
        white = whitened(X, rho, np.random.default_rng(seed).bytes)
        centred = white - white.mean(axis=0)
        assert np.linalg.eigvalsh(centred.T @ centred / len(X)).max() < 1.1


def test_a_column_of_one_value_is_no_division_by_zero() -> None:
    """Where both quantiles fall together, the half range is 1."""
    assert np.isfinite(whitened(np.zeros((400, 2)), 10.0, os.urandom)).all()


@pytest.mark.parametrize(("rows", "rho"), [(5000, 4e-4), (3000, 1e-3), (30_000, 1e-3)])
def test_a_range_stays_where_the_values_are(rows: int, rho: float) -> None:
    """However few rows and how little budget there are, no end of a range lies beyond all values many times over."""
    generator = np.random.default_rng(rows)
    values = generator.normal(100.0, 10.0, rows)
    found = [home.noisy_range(values, rho, generator.bytes) for _ in range(20)]
    assert sum(60 < item.low < 100 < item.high < 140 for item in found) >= 15


@pytest.mark.parametrize(("rows", "rho"), [(1000, 2e-3), (1000, 4e-3), (2000, 1e-3), (5000, 5e-4)])
def test_a_quantile_far_beyond_all_values_is_rare(rows: int, rho: float) -> None:
    """One in a hundred at most, wherever a share below a quarter is enough: a column with such a range is lost."""
    values, share = np.random.default_rng(rows).standard_normal(rows), home.range_share(rows, rho)
    assert share < home.LARGEST_SHARE
    assert chances(values, share, rho)[np.abs(GRID) > 2 * np.abs(values).max()].sum() < 0.01


def test_quantiles_move_inward_where_noise_could_reach_the_ends() -> None:
    """A tenth with many rows, a quarter with few, and never less or more; the choice depends on public numbers."""
    assert home.range_share(10**6, 1e-3) == home.LOW_SHARE
    assert home.range_share(100, 1e-6) == home.LARGEST_SHARE
    assert home.LOW_SHARE < home.range_share(4000, 5e-5) < home.LARGEST_SHARE


# Cuts.

ENDS = home.even_ends(Range(0.0, 10.0), REACH)


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUE, min_size=1, max_size=30), VALUE, st.integers(0, 2**32))
def test_one_row_moves_the_counts_by_the_square_root_of_two(values: list[float], other: float, seed: int) -> None:
    """Lemma 11: with the same noise, neighbours' counts differ by 1 in two cells at most, gaps included."""
    neighbours = np.array(values), np.array([other, *values[1:]])
    before, after = (home.noisy_counts(one, ENDS, 0.1, np.random.default_rng(seed).bytes) for one in neighbours)
    assert ((before - after) ** 2).sum() <= 2


@pytest.mark.parametrize("rho", [1e-4, 0.003, 0.5, 7.0])
def test_counts_cost_what_is_claimed(rho: float) -> None:
    """Lemma 11 at its worst, a row that moves to another cell: sensitivity**2 / (2 std**2), never more than rho."""
    moved = home.noisy_counts(np.array([1.0, 9.0]), ENDS, rho, np.random.default_rng(0).bytes)
    moved -= home.noisy_counts(np.array([1.0, 1.0]), ENDS, rho, np.random.default_rng(0).bytes)
    spent = Fraction(int((moved**2).sum()), 2 * home.count_std(rho) ** 2)
    assert 0 < spent <= Fraction(rho)
    assert spent > Fraction(rho) / 2 or rho > 0.1


@pytest.mark.parametrize(
    ("values", "cuts", "expected"),
    [
        (np.linspace(0, 10, 6001), 5, [1.67, 3.33, 5.0, 6.67, 8.33]),
        (np.repeat([2015.0, 2017.0, 2019.0, 2021.0], 2000), 3, [2015.5, 2018.0, 2020.0]),
        (np.repeat([0.0, 1.0, 3.0, 40.0], [9000, 600, 600, 600]), 3, [0.0, 1.0, 3.0]),
    ],
    ids=["even", "years", "mostly 0"],
)
def test_with_much_budget_bins_hold_their_shares(values: NDArray[np.float64], cuts: int, expected: list[float]) -> None:
    """Each bin takes its share of the values above the last cut, whatever the column's size or shape."""
    (found,) = home.fit_columns([values], [cuts], 20.0, os.urandom)
    places = np.searchsorted(found.cuts, values)
    due = np.searchsorted(expected, values)
    assert (places == due).mean() > 0.95


@pytest.mark.parametrize("values", [np.zeros(500), np.full(500, math.nan), np.arange(500.0)], ids=["0", "gaps", "some"])
def test_there_are_as_many_cuts_as_asked_for_and_they_rise(values: NDArray[np.float64]) -> None:
    """Widths are public: no values, and no noise, change how many bins a column has."""
    for cuts, rho in ((1, 0.5), (5, 1e-4), (62, 0.01)):
        (found,) = home.fit_columns([values], [cuts], rho, os.urandom)
        assert len(found.cuts) == cuts
        assert sorted(set(found.cuts)) == list(found.cuts)
    with pytest.raises(PrivacyError, match="at most 63 cuts"):
        home.fit_columns([np.arange(500.0)], [64], 1.0, os.urandom)


def test_a_count_that_is_mostly_0_has_the_range_of_its_cuts() -> None:
    """Both quantiles are 0; scaled to a half range of 1, all else would lie at the limit."""
    values = np.repeat([0.0, 5.0, 20.0, 60.0], [9500, 200, 200, 200])
    (found,) = home.fit_columns([values], [3], 5.0, os.urandom)
    assert 5 < found.range.half < 40


def test_the_parts_of_a_party_s_budget_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accountant's sum: quantiles, counts and moments together spend what the plan's lemma says, and no more."""
    spent: list[Fraction] = []
    quantile, counts, moments = home.noisy_quantile, home.noisy_counts, home.noisy_moments

    def of_quantile(values: NDArray[np.float64], share: Fraction, rho: float, draw: Draw) -> float:
        spent.append((2 * home.slope_for(rho)) ** 2 / 8)
        return quantile(values, share, rho, draw)

    def of_counts(values: NDArray[np.float64], ends: NDArray[np.float64], rho: float, draw: Draw) -> NDArray[np.int64]:
        spent.append(Fraction(1, home.count_std(rho) ** 2))
        return counts(values, ends, rho, draw)

    def of_moments(Z: NDArray[np.float64], norm: float, rho: float, draw: Draw) -> home.Moments:
        longest = Fraction(squared_norm_units(norm, home.MOMENT_BITS) + (1 << 2 * home.MOMENT_BITS))
        spent.append(longest**2 / home.moment_std(norm, rho) ** 2)
        return moments(Z, norm, rho, draw)

    monkeypatch.setattr(home, "noisy_quantile", of_quantile)
    monkeypatch.setattr(home, "noisy_counts", of_counts)
    monkeypatch.setattr(home, "noisy_moments", of_moments)
    plan = Plan.for_columns((14, 3), protocol="clear", noise="rows", epsilon=4.0, bins=6)
    treatment = HomeTreatment(plan.on(2000), "label", os.urandom, 0.0)
    X = correlated(2000, 3)[:, :3]
    treatment.place(list(X.T), [5, 5, 0])
    treatment.whiten(np.hstack([X, np.ones((2000, 11))]), np.ones(14), 3)
    assert len(spent) == 3 * 2 + 2 * 2 + 1
    due = Fraction(home_rho(plan, 0.0))
    assert due * Fraction(98, 100) < sum(spent) <= due


@pytest.mark.parametrize("cuts", [0, 3])
def test_years_are_told_apart_with_little_budget(cuts: int) -> None:
    """The public grid has one value for all of them; scaled, they are neither at the limit nor one number."""
    values = np.repeat(np.arange(1990.0, 2021.0), 800)
    for seed in range(5):
        (found,) = home.fit_columns([values], [cuts], 3e-4, np.random.default_rng(seed).bytes)
        scaled = (values - found.range.middle) / found.range.half
        assert np.abs(scaled).max() < REACH
        assert scaled.std() > 0.03
