"""Paillier without its randomness gives what Paillier gives, ciphertexts aside."""

from typing import Any

import numpy as np
import pytest

from plumbob.lab.attacks import Attack
from plumbob.lab.attacks.label_chosen_rows import CHOSEN_ROWS
from plumbob.lab.attacks.packing import ATTACKS as PACKING
from plumbob.lab.audit import again, redteam
from plumbob.lab.audit.truth import Truth
from plumbob.lab.exchange import engines, paillier
from plumbob.lab.exchange.profiles import insecure_for_tests
from plumbob.lab.simulate.unhidden import UnhiddenEngine, messages
from tests.lab.exchange.support import decrypt_signed
from tests.protocol.support import made_up, plan_for, trained, weights_of

PLAN = plan_for((3, 4), protocol="exchange", epochs=2, batch_size=10)
DATA = made_up(columns=7)
ATTACKS = [CHOSEN_ROWS, *PACKING]


def test_sums_multiples_and_packing_are_those_of_the_plaintexts() -> None:
    """What is decrypted in the end is the same number, and no ciphertext was hidden on the way."""
    key = paillier.generate(insecure_for_tests(512), UnhiddenEngine(engines.choose("python")))
    values = [5, -7, 11]
    vector = key.encrypt(values)
    assert messages(key.public.ring, vector.limbs) is not None
    assert decrypt_signed(key, vector + key.public.encrypt([1, 2, 3])) == [6, -5, 14]
    assert decrypt_signed(key, vector.randomised()) == values
    packed = key.public.engine.pack(key.public.ring, key.public.encrypt([1, 2, 3]).limbs, 3, 8)
    assert messages(key.public.ring, packed) == [1 + (2 << 8) + (3 << 16)]


def test_training_gives_the_same_weights() -> None:
    """Bit for bit, with every message and every check of the protocol."""
    hidden, unhidden = trained(PLAN, DATA), trained(PLAN, DATA, paillier=UnhiddenEngine())
    np.testing.assert_array_equal(weights_of(hidden), weights_of(unhidden))


@pytest.mark.parametrize(
    ("attack", "replies"),
    list(zip(ATTACKS, ("packed", "packed", "paper"), strict=True)),
    ids=[f"{one.name} by {one.by}" for one in ATTACKS],
)
def test_an_active_attack_reaches_the_same(attack: Attack, replies: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdict and rate do not depend on whether the attack's own run was hidden."""
    plan = PLAN.replace(replies=replies)
    truth = Truth.of(trained(plan, DATA))
    by = "label" if attack.by == "label" else "features"
    unhidden = list(redteam.carried_out(attack, again.RunsAgain(truth, by, 0)))
    monkeypatch.setattr(again, "UnhiddenEngine", lambda: None)
    hidden = list(redteam.carried_out(attack, again.RunsAgain(truth, by, 0)))
    assert [(one.verdict, one.target, one.n) for one in unhidden] == [
        (one.verdict, one.target, one.n) for one in hidden
    ]
    rates = [[np.nan if one.rate is None else one.rate for one in found] for found in (unhidden, hidden)]
    np.testing.assert_allclose(rates[0], rates[1], atol=1e-9)


@pytest.mark.parametrize(
    ("rows", "keys", "epochs"),
    [
        (27_000, {"protocol": "exchange", "epochs": 10}, 10),
        (1_000_000, {"protocol": "exchange", "epochs": 10}, 7),
        (10**9, {"protocol": "exchange", "epochs": 10}, 1),
    ],
)
def test_an_active_attack_stays_within_its_budget(rows: int, keys: dict[str, Any], epochs: int) -> None:
    """Rows x columns x epochs are limited, at least one epoch is acted out, and what was left out is said."""
    plan = plan_for((3, 4), **keys)
    assert again.epochs_within(plan, rows) == epochs
    assert ("all 10" in again.budget_note(plan, rows)) is (epochs == 10)


def test_a_shortened_attack_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its finding names the epochs that it had, so that nobody takes it for the whole attack."""
    truth = Truth.of(trained(PLAN, DATA))
    monkeypatch.setattr(again, "CELLS", truth.rows * 7)
    [finding] = redteam.carried_out(PACKING[0], again.RunsAgain(truth, "features", 0))
    assert finding.why.endswith("Its budget allowed 1 of 2 epochs; with more it may reach more.")
