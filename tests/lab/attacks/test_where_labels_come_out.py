"""Where each attack on labels wins, and what stops it: a row for each case, with the rate that it reaches or misses."""

from ast import literal_eval
from typing import Any

import numpy as np
import pytest

from plumbob.lab import datasets
from plumbob.lab.attacks import ATTACKS
from tests.lab.attacks.support import gaussian, read
from tests.protocol.support import plan_for

PASSIVE = {attack.name: attack for attack in ATTACKS if attack.by == "features" and attack.is_passive}
EVERY, NONE, SOME = (1.0, 1.0), (0.0, 0.0), (0.0, 1.0)
WINS: dict[str, tuple[Any, ...]] = {
    # The attack, columns, rows and keys; the least and the largest rate, and share of rows that is determined.
    "an encrypted exchange changes no label": (
        *("label-sign", (3, 6), 30, "protocol=exchange batch_size=5 epochs=1", EVERY, EVERY),
    ),
    "nor does one of three": ("label-sign", (2, 5, 5), 30, "protocol=exchange batch_size=5 epochs=1", EVERY, EVERY),
    "what one batch determines is known in the next": (
        *("label-only", (0, 6), 37, "intercept=False batch_size=8 epochs=3", EVERY, EVERY),
    ),
    "epochs * columns reach the batch size, five times beyond the paper's condition": (
        *("label-stacked", (12, 12), 640, "learning_rate=.001 intercept=False batch_size=64 epochs=7", EVERY, NONE),
    ),
    "minimax differs in a label's weight alone": (
        *("label-stacked", (12, 12), 640, "sigmoid=minimax learning_rate=.001 intercept=False batch_size=64 epochs=8"),
        *((0.99, 1.0), NONE),
    ),
    "so does the exact sigmoid": (
        *("label-stacked", (12, 12), 640, "sigmoid=exact learning_rate=.001 intercept=False batch_size=64 epochs=8"),
        *((0.99, 1.0), NONE),
    ),
    "encrypted sums stack like exact ones": (
        *("label-stacked", (2, 6), 48, "protocol=exchange batch_size=12 epochs=3 learning_rate=.01", (0.95, 1.0), NONE),
    ),
    "groups of breast cancer are its classes: beyond the majority, and not everybody": (
        *("label-enumeration", (10, 20), 0, "batches=full epochs=1", (0.78, 0.99), NONE),
    ),
}
STOPPED: dict[str, tuple[Any, ...]] = {
    "noise, in one epoch": (
        *("label-sign", (4, 6), 2000, "noise_std=40.0 row_norm=1.0 learning_rate=1e-6 batch_size=5 epochs=1"),
        *((0.0, 0.56), NONE),
    ),
    "batches far beyond the rank": ("label-sign", (4, 6), 1000, "batch_size=200 epochs=1", (0.0, 0.8), NONE),
    "noise for the epochs that are run": (
        *("label-average", (4, 8), 2000, "noise_std=80.0 row_norm=1.0 learning_rate=1e-6 batch_size=6 epochs=4"),
        *((0.0, 0.56), NONE),
    ),
    "noise leaves no labels that fit": (
        *("label-only", (0, 8), 1200),
        "noise_std=40.0 row_norm=1.0 learning_rate=1e-6 intercept=False batch_size=24 epochs=1",
        *((0.0, 0.62), NONE),
    ),
    "one equation for five unknowns": (
        *("label-stacked", (12, 12), 640, "learning_rate=.001 intercept=False batch_size=64 epochs=1", (0.0, 0.85)),
        NONE,
    ),
    "the same batches again": (
        *("label-stacked", (12, 12), 640),
        *("batches=fixed learning_rate=.001 intercept=False batch_size=64 epochs=7", (0.0, 0.9), NONE),
    ),
    "noise that outlasts the average over the epochs": (
        *("label-stacked", (12, 12), 640),
        "noise_std=60.0 row_norm=1.0 learning_rate=1e-6 intercept=False batch_size=64 epochs=7",
        *((0.0, 0.62), NONE),
    ),
    "noise far above everybody's labels": (
        *("label-enumeration", (10, 20), 0, "noise_std=1e4 row_norm=1.0 batches=full epochs=1", (0.0, 0.8), NONE),
    ),
}


def keys_of(words: str) -> dict[str, Any]:
    """The plan's keys from words like `batch_size=5`; in the clear, and with plain noise, unless they say otherwise."""
    pairs = (word.split("=") for word in words.split())
    keys = {name: literal_eval(value) if value[0] in ".0123456789FT" else value for name, value in pairs}
    return {"protocol": "clear"} | ({"noise": "std"} if "noise_std" in keys else {}) | keys


@pytest.mark.parametrize("why", [*WINS, *STOPPED])
def test_rates(why: str) -> None:
    """An attack reaches what it must where it works, and no more than it may where something stops it."""
    name, split, rows, words, rates, determined = (WINS | STOPPED)[why]
    data = gaussian(rows, sum(split)) if rows else datasets.load("breast-cancer")
    found = read(PASSIVE[name], plan_for(split, **keys_of(words)), data)
    assert rates[0] <= found.rate <= rates[1]
    assert determined[0] <= np.mean(found.is_determined) <= determined[1]
