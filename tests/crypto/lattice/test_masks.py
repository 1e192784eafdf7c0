"""Opening behind masks lifts shares of any number of parties, and one mask hides the number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp

from plumbob.crypto.lattice import MaskedOpening, Pairs, pairs, sets
from plumbob.crypto.lattice.local import pairs_of
from plumbob.errors import CiphertextRefusedError
from tests.crypto.lattice.support import signed, to_ints

T = sets.SLOTS.slot_modulus


def shared(values: list[int], holders: int, modulus: int, seed: int) -> list[Pairs]:
    """Uniform shares that add up to the values."""
    generator = np.random.default_rng(seed)
    drawn = [[int.from_bytes(generator.bytes(20), "little") % modulus for _ in values] for _ in range(holders - 1)]
    last = [(value - sum(column)) % modulus for value, *column in zip(values, *drawn, strict=True)]
    return [pairs_of(each) for each in [*drawn, last]]


def lifted(opening: MaskedOpening, values: list[int], seed: int) -> list[Pairs]:
    """All parties' shares after an opening."""
    first, *others = shared(values, opening.holders, opening.modulus, seed)
    masks = [opening.masks(bytes([holder, seed % 256]) * 16, len(values)) for holder in range(len(others))]
    sent = [opening.to_bytes(opening.hide(share, mask)) for share, mask in zip(others, masks, strict=True)]
    assert {len(body) for body in sent} == {opening.size(len(values))}
    return [opening.lift(first, [opening.from_bytes(body) for body in sent]), *map(pairs.negate, masks)]


@settings(max_examples=60, deadline=None)
@given(
    holders=st.integers(2, 8),
    modulus=st.sampled_from([T, 2**104]),
    values=st.lists(st.integers(-(2**45), 2**45), min_size=1, max_size=20),
    seed=st.integers(0, 2**20),
)
def test_lifted_shares_add_up_as_whole_numbers(holders: int, modulus: int, values: list[int], seed: int) -> None:
    """Without any modulus: the sum of all parties' new shares is the number, whoever holds how many of the wraps."""
    parts = lifted(MaskedOpening(modulus, 46, holders), values, seed)
    assert [sum(column) for column in zip(*map(signed, parts), strict=True)] == values


@settings(max_examples=60, deadline=None)
@given(
    holders=st.integers(2, 8), dropped=st.integers(1, 40), value=st.integers(-(2**45), 2**45), seed=st.integers(0, 999)
)
def test_whole_shares_are_rounded_off_alone(holders: int, dropped: int, value: int, seed: int) -> None:
    """Each party drops its own low bits, and the sum is right to half a unit for each of them."""
    parts = lifted(MaskedOpening(T, 46, holders), [value], seed)
    total = sum(signed(pairs.round_off(part, dropped))[0] for part in parts)
    assert abs(total - value / 2**dropped) <= holders / 2


def test_local_cuts_are_wrong_with_three_parties() -> None:
    """Why all of this: cutting shares modulo a ring alone fails for about half of the numbers of three parties."""
    values = [12345] * 2000
    shares = shared(values, 3, 2**64, 1)
    first, *others = (to_ints(share) for share in shares)
    cut = [(a >> 8) + sum(-((-b % 2**64) >> 8) for b in rest) for a, *rest in zip(first, *others, strict=True)]
    wrong = sum(abs((value + 2**63) % 2**64 - 2**63 - 48) > 3 for value in cut)
    assert 0.4 < wrong / len(values) < 0.6


def test_one_mask_hides_the_number_from_all_others_together() -> None:
    """What the last party says, less all that the others know, is as uniform for one number as for another."""
    opening, count = MaskedOpening(T, 46, 3), 10_000
    said = []
    for number, seed in ((2**45, 1), (-(2**45), 2)):
        shares = shared([number] * count, 3, T, seed)
        masks = opening.masks(bytes([seed]) * 32, count)
        known = to_ints(pairs.add_modulo(shares[0], shares[1], T))
        hidden = to_ints(opening.hide(shares[2], masks))
        said.append(np.array([float((a + b) % T) for a, b in zip(hidden, known, strict=True)]))
    assert ks_2samp(*said).pvalue > 1e-4
    for each in said:
        counts = np.bincount((each / 2.0 ** (opening.mask_bits - 5)).astype(int), minlength=33)[:32]
        assert chisquare(counts).pvalue > 1e-4
    assert opening.shown_bits <= -55


def test_a_short_mask_would_not_hide_it() -> None:
    """The same look at masks that are only as wide as the number finds it at once: the test above can fail."""
    opening, masks = MaskedOpening(T, 46, 3), []
    for number, seed in ((2**45, 1), (-(2**45), 2)):
        drawn = pairs.reduce(opening.masks(bytes([seed]) * 32, 2000), 46)
        masks.append(np.array([float(value + number) for value in to_ints(drawn)]))
    assert ks_2samp(*masks).pvalue < 1e-9


def test_every_key_gives_other_masks() -> None:
    """Masks depend on the key alone, and stay within their width."""
    opening = MaskedOpening(2**104, 50, 5)
    first, again, other = (opening.masks(key * 32, 500) for key in (b"a", b"a", b"b"))
    assert (first == again).all()
    assert not (first == other).all(axis=1).any()
    assert max(to_ints(first)) < 2**opening.mask_bits
    assert 5 * 2**opening.mask_bits <= 2**103


def test_numbers_out_of_range_are_refused() -> None:
    """A peer's number at or above the modulus is no residue."""
    opening = MaskedOpening(T, 46, 3)
    assert signed(opening.from_bytes((T - 1).to_bytes(14, "little"))) == [T - 1]
    with pytest.raises(CiphertextRefusedError, match="below the modulus"):
        opening.from_bytes(T.to_bytes(14, "little"))


@pytest.mark.parametrize("holders", [3, 5, 8])
def test_a_number_that_fills_the_modulus_shows_no_more_than_that(holders: int) -> None:
    """Masks and number together have the modulus' room: what is left beside one mask bounds what a number tells."""
    opening = MaskedOpening(1 << 40, 10, holders)
    generator = np.random.default_rng(1)
    bound, size = opening.most_bits, 1 << opening.mask_bits
    assert bound >= 1
    # Counted: numbers that fill the modulus, in as many classes as the bound allows, told apart by the sum they give.
    classes = 1 << bound
    numbers = generator.integers(classes, size=20_000)
    masks = sum(generator.integers(size, size=20_000) for _ in range(holders - 1))
    seen = (numbers * (opening.modulus // classes) + masks) % opening.modulus
    told = np.histogram2d(numbers, seen, bins=(classes, 4 * classes))[0] / len(numbers)
    independent = np.outer(told.sum(axis=1), told.sum(axis=0))
    information = float((told[told > 0] * np.log2(told[told > 0] / independent[told > 0])).sum())
    assert 0.5 < information <= bound
