"""The red team runs every attack from every party that can make it, and keeps one finding for each."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import plumbob
from plumbob.checking.check import judge_figures
from plumbob.checking.figures import Figures
from plumbob.checking.study import whole_units
from plumbob.cli.check import code_of
from plumbob.crypto import Encoded
from plumbob.errors import DataError
from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.hooks import Hook, attack_with_hook
from plumbob.lab.attacks.label_chosen_rows import CHOSEN_ROWS, OpenedWeights
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.packing import ATTACKS as PACKING
from plumbob.lab.audit import again, redteam
from plumbob.lab.audit.again import plan_again, train_again
from plumbob.lab.audit.truth import Truth
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.protocol.messages import Kind
from tests.lab.audit.support import attack, label_claim, signs, small_run
from tests.protocol.support import cut, plan_for, trained, weights_of

NOTHING = NotApplicable("nothing to work on")


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attacks that need no time, and no active one; what `check` expects beside them is another test's matter."""
    monkeypatch.setattr(redteam, "all_findings", lambda figures: iter(()))
    monkeypatch.setattr(redteam, "ATTACKS", (attack(NOTHING), attack(NOTHING, "feature-toy", "label")))


def test_every_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feature party's attack is made by each of them, the label party's by that one."""
    said: list[str] = []
    redteam.audit(small_run((2, 2, 2)), progress=said.append)
    attackers = ("feature-toy by label", "label-toy by features", "label-toy by features-2")
    assert [line for line in said if "," not in line] == [
        f"attack {place} of 3: {title}" for place, title in enumerate(attackers, 1)
    ]


def test_only() -> None:
    """`only` picks attacks by name; a name that is none is refused with those that are."""
    run, said = small_run(), list[str]()
    for only in (["label-toy"], "label-toy"):
        plumbob.audit(run, only=only, progress=said.append)
    assert {line.split()[4] for line in said} == {"label-toy"}
    assert plumbob.audit(run, only=[]) == []
    with pytest.raises(
        DataError,
        match=r'there is no attack label-tyo; choose from label-toy, feature-toy, .* "label-toy"',
    ):
        plumbob.audit(run, only=["label-tyo"])


def test_worst_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaks come before the rest."""
    run = small_run(rows=200)
    toys = (attack(NOTHING, "feature-toy", "label"), attack(label_claim(signs(Truth.of(run)))))
    monkeypatch.setattr(redteam, "ATTACKS", toys)
    found = plumbob.audit(run)
    assert [(one.attack, one.verdict) for one in found] == [("label-toy", "leaks")]


# Active attacks.


def test_active_attacks_get_a_run_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With whole plaintexts handed back, packing reads every label in a run on the same rows."""
    monkeypatch.setattr(redteam, "ATTACKS", (PACKING[0],))
    run = small_run(protocol="exchange", replies="paper", key_bits=1024)
    (found,) = plumbob.audit(run, only=["packing"])
    assert (found.rate, found.by, found.against, found.target) == (1, "features", "label", "labels")
    assert found.verdict == "leaks"


class Chatterbox(Hook):
    """Sends a message that nobody waits for."""

    def residuals(self, me: ExchangeParty, step: int, released: Encoded) -> Encoded:
        for channel in me.participant.channels.values():
            channel.send(Kind.OPENED_SUMS, 1, b"hello")
        return released


def test_a_refused_attack_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the honest peer ends the run, the finding says so."""
    noisy = attack_with_hook("packing", "features", lambda plan, name: Chatterbox())
    monkeypatch.setattr(redteam, "ATTACKS", (noisy,))
    (found,) = plumbob.audit(small_run(protocol="exchange"), only=["packing"])
    assert found.verdict == "blocked"
    assert "The honest peer ended the run" in found.why


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"scale": "whitened"},
        {"row_norm": 1.0},
        {"scale": "none", "intercept": False},
        {"protocol": "shares", "open": "own"},
    ],
    ids=str,
)
def test_the_run_again_is_the_same_run(keys: dict[str, Any]) -> None:
    """Rows rebuilt from transcripts train to the same weights, in the same batches."""
    run = small_run(rows=64, test_share=0.25, epochs=1, **keys)
    truth = Truth.of(run)
    second = train_again(truth, plan_again(truth))
    np.testing.assert_allclose(weights_of(second), weights_of(run), atol=1e-5)


def test_parties_that_join_are_judged_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody acts out a coalition: an audit of three parties has what `check` says of two together."""
    monkeypatch.undo()
    plan = plan_for((4, 3, 3), protocol="clear", batches="full", epochs=1)
    run = trained(plan, cut("breast-cancer", 100, 10))
    found = {one.can for one in plumbob.audit(run, ["label-sign"]) if "+" in one.by}
    assert found
    assert found <= {one.can for one in plumbob.check(plan, 100) if "+" in one.by}


def test_what_nobody_acts_out_is_in_every_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short keys are a finding of `check` and of an audit of the same run."""
    monkeypatch.undo()
    plan = plan_for((2, 3), protocol="exchange", batches="full", epochs=1, key_bits=1024)
    found = plumbob.audit(trained(plan, cut("breast-cancer", 60, 5)), ["label-sign", "keys"])
    assert {one.verdict for one in found if one.attack == "keys"} == {"leaks"}
    assert "keys" in {one.attack for one in plumbob.check(plan, 60)}


# Weights opened by `shares`.


def test_chosen_rows_leak_from_opened_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack reads the labels that the plan's numbers forecast, and they are judged like all others."""
    monkeypatch.setattr(redteam, "ATTACKS", (CHOSEN_ROWS,))
    plan = plan_for((4, 16), protocol="shares", open="own", epochs=1)
    run = trained(plan, cut("breast-cancer", 150, 20))
    (found,) = plumbob.audit(run, only=["label-chosen-rows"])
    assert (found.verdict, found.n) == ("leaks", 150)
    assert found.n == Figures.of(plan, 150).labels_in_opened_weights("features")
    assert found.rate is not None
    assert found.rate > 0.95


# A real one.


def test_label_sign_is_found_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """On real rows the paper's attack leaks through encryption, has nothing to solve in `shares`, drowns in noise."""
    monkeypatch.setattr(redteam, "ATTACKS", (LABEL_SIGN,))
    data = cut("breast-cancer", 150, 20)

    def verdict(**keys: Any) -> str:
        slow = {"learning_rate": 0.01, "row_norm": 1.0, "intercept": False}
        plan = plan_for((4, 16), epochs=1, **(keys if keys["protocol"] == "shares" else slow | keys))
        found = plumbob.audit(trained(plan, data), predicted=0)
        return found[0].verdict if found else "no finding"

    assert verdict(protocol="exchange") == "leaks"
    assert verdict(protocol="shares") == "no finding"
    # Of real noise one draw in some forty happens to point to the labels: an interval of 95 % allows that.
    monkeypatch.setattr(GradientParty, "_noise", always_the_same)
    assert verdict(protocol="exchange", noise="std", noise_std=20.0) == "blocked"


def always_the_same(party: GradientParty, count: int) -> NDArray[np.int64]:
    """Noise of the agreed size that depends on the party and the step alone."""
    generator = np.random.default_rng([party.columns, party.noise_draws])
    party.noise_draws += count
    size = whole_units(party.noise_std, party.plan.residual_bits)
    return np.rint(generator.normal(scale=size, size=count)).astype(np.int64)


@pytest.mark.parametrize(("cells", "code", "short"), [(10, 4, ["label-chosen-rows"]), (10**9, 0, [])], ids=str)
def test_an_attack_that_was_cut_short_settles_nothing(
    monkeypatch: pytest.MonkeyPatch, cells: int, code: int, short: list[str]
) -> None:
    """Exit code 4 where the budget did not reach for all epochs of the plan, and 0 where it did."""
    monkeypatch.setattr(again, "CELLS", cells)
    monkeypatch.setattr(redteam, "ATTACKS", (CHOSEN_ROWS,))
    plan = plan_for((2, 3), protocol="exchange", epochs=2, batches="full")
    findings = redteam.audit(trained(plan), only=["label-chosen-rows"])
    assert redteam.cut_short(plan, 40, findings) == short
    assert code_of({"findings": [], "attacks_cut_short": short}, is_strict=False) == code


def test_an_attack_that_was_cut_short_is_no_all_clear() -> None:
    """What an attack reached in too little time does not take back what the plan's numbers say."""
    figures = Figures.of(plan_for((2, 3), protocol="exchange", replies="paper", batch_size=4), 40)
    [said] = [one for one in judge_figures(figures) if one.attack == "packing" and one.target == "labels"]
    reached = replace(said, verdict="blocked", why="It got nowhere.")
    found = {cut: redteam.as_measured(figures, [said], [reached], cut)[0] for cut in ((), ("packing",))}
    assert [one.verdict for one in found.values()] == ["blocked", said.verdict] == ["blocked", "leaks"]
    assert "the plan's verdict stays" in found["packing",].why


def test_those_in_doubt_are_chosen() -> None:
    """Of whom a party can choose, those whom its own part of an honest run tells least about come first."""
    run = trained(plan_for((2, 3), protocol="shares", open="own", epochs=2))
    truth = Truth.of(run)
    doubting = OpenedWeights()
    view = truth.views["features"]
    doubting.prepare(view, int(truth.is_positive.sum()))
    scores = view.X @ view.weights
    threshold = np.sort(scores)[-int(truth.is_positive.sum())]
    distances = np.abs(scores - threshold)[list(doubting.preferred)]
    assert (np.diff(distances) >= 0).all()
