"""`label-enumeration`: the first sums pick a good labelling of groups; a random start leaves nothing to fit."""

import numpy as np

from plumbob import datasets
from plumbob.lab.attacks.label_enumeration import ATTACKS
from tests.lab.attacks.label_support import claimed, rate, refused, seen
from tests.protocol.support import plan_for

SPLIT = (10, 20)


def test_the_first_sums_say_which_group_has_which_label() -> None:
    """On breast-cancer, whose groups are its classes: far beyond the majority, and far from everybody."""
    view, signs = seen(plan_for(SPLIT, protocol="clear", batches="full", epochs=1), datasets.load("breast-cancer"))
    majority = max(np.mean(signs > 0), np.mean(signs < 0))
    assert majority + 0.15 < rate(claimed(ATTACKS[0](view)), signs) < 1.0


def test_noise_hides_it() -> None:
    """Sums whose noise is far above everybody's labels pick any labelling."""
    keys = {"noise": "std", "noise_std": 1e4, "row_norm": 1.0}
    plan = plan_for(SPLIT, protocol="clear", batches="full", epochs=1, **keys)
    rates = [rate(claimed(ATTACKS[0](view)), signs) for view, signs in [seen(plan, datasets.load("breast-cancer"))]]
    assert max(rates) < 0.8


def test_a_random_start_is_refused() -> None:
    """Its first sums hold other parties' scores."""
    plan = plan_for(SPLIT, protocol="clear", batches="full", epochs=1, start="xavier")
    view, _ = seen(plan, datasets.load("breast-cancer"))
    assert refused(ATTACKS[0](view), "start is not zero")
