"""An attack that a view gives nothing to work on says why, and claims nothing."""

from functools import cache
from typing import Any

import pytest

from plumbob.lab.attacks.feature_chain import recover_chained_feature as chain
from plumbob.lab.attacks.feature_geometry import recover_geometry as geometry
from plumbob.lab.attacks.feature_single import recover_single_feature as single
from plumbob.lab.attacks.interface import View
from plumbob.lab.attacks.label_average import LABEL_AVERAGE
from plumbob.lab.attacks.label_counts import LABEL_COUNTS
from plumbob.lab.attacks.label_enumeration import ATTACKS as ENUMERATION
from plumbob.lab.attacks.label_only import LABEL_ONLY
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.lab.attacks.peer_scores import recover_scores
from tests.lab.attacks.support import AnyAttack, gaussian, refused, views_of

FROM_XAVIER = {"start": "xavier"}


@cache
def views(split: tuple[int, ...], keys: tuple[tuple[str, Any], ...]) -> dict[str, View]:
    """Everybody's views, trained once for all attacks."""
    return views_of(split, gaussian(64, sum(split)), **dict(keys))


@pytest.mark.parametrize("attack", [LABEL_SIGN, LABEL_AVERAGE, LABEL_ONLY, LABEL_STACKED, *ENUMERATION])
def test_shares_show_a_feature_party_no_sums(attack: AnyAttack) -> None:
    """In `shares` no attack on labels through sums has anything to solve."""
    assert refused(attack(views((8, 1), (("protocol", "shares"), ("epochs", 2)))["features"]), "shares")


@pytest.mark.parametrize("attack", [single, chain, geometry, recover_scores])
def test_shares_show_the_label_party_no_sums(attack: AnyAttack) -> None:
    """In `shares` no attack on features or scores has anything to solve."""
    assert refused(attack(views((8, 1), (("protocol", "shares"), ("epochs", 2)))["label"]), "shares")


@pytest.mark.parametrize(
    ("attack", "by", "split", "keys", "reason"),
    [
        (LABEL_SIGN, "label", (2, 4), {}, "label party"),
        (LABEL_AVERAGE, "features", (2, 4), {}, "no noise"),
        (LABEL_ONLY, "features", (2, 4), FROM_XAVIER, "start is not zero"),
        (LABEL_ONLY, "features", (0, 6), FROM_XAVIER, "intercept"),
        (
            *(LABEL_ONLY, "features", (0, 6), {"intercept": False, "class_weight": "balanced"}),
            "weights multiply each residual",
        ),
        (LABEL_COUNTS, "features", (2, 4), {"protocol": "shares", "open": "never", "epochs": 1}, "never opened"),
        (LABEL_COUNTS, "features", (2, 4), FROM_XAVIER, "start"),
        (LABEL_COUNTS, "features", (2, 4), {"batches": "full"}, "two values"),
        (*ENUMERATION, "features", (2, 4), FROM_XAVIER, "start is not zero"),
        (single, "label", (8, 1), {"epochs": 2, "batch_size": 32}, "determined"),
        (single, "label", (7, 2), {"epochs": 2, "batch_size": 1}, "2 columns"),
        (single, "label", (8, 1), {"epochs": 2, "batch_size": 1}, "feature-chain"),
        (chain, "label", (8, 1), {"epochs": 1, "batch_size": 1}, "one epoch"),
        (chain, "label", (7, 2), {"epochs": 2, "batch_size": 1}, "2 columns"),
        (chain, "label", (8, 1), {"epochs": 2, "batch_size": 32}, "determined"),
        (geometry, "label", (8, 2), {"epochs": 2, "batch_size": 32}, "determined"),
        (geometry, "label", (8, 2), {"epochs": 2, "batch_size": 8}, "too few"),
    ],
)
def test_the_reason_is_said(
    attack: AnyAttack, by: str, split: tuple[int, ...], keys: dict[str, Any], reason: str
) -> None:
    """Whatever is missing: labels to find, noise, a start at zero, an only column, determined rows, epochs."""
    assert refused(attack(views(split, tuple(sorted(keys.items())))[by]), reason)
