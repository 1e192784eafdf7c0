"""`label-enumeration`: the first sums pick a good labelling of groups."""

import numpy as np

from plumbob.lab import datasets
from plumbob.lab.attacks.label_enumeration import ATTACKS
from tests.lab.attacks.support import read
from tests.protocol.support import plan_for

FULL = {"protocol": "clear", "batches": "full", "epochs": 1}


def test_the_first_sums_say_which_group_has_which_label() -> None:
    """On breast-cancer, whose groups are its classes, it is far beyond the majority, and far from everybody."""
    claim = read(ATTACKS[0], plan_for((10, 20), **FULL), datasets.load("breast-cancer"))
    majority = max(np.mean(claim.signs > 0), np.mean(claim.signs < 0))
    assert majority + 0.15 < claim.rate < 1.0


def test_noise_hides_it() -> None:
    """Sums whose noise is far above everybody's labels pick any labelling."""
    plan = plan_for((10, 20), noise="std", noise_std=1e4, row_norm=1.0, **FULL)
    assert read(ATTACKS[0], plan, datasets.load("breast-cancer")).rate < 0.8
