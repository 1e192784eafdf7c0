"""The red team runs every attack from every party that can make it, and keeps one finding for each."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import plumbob
from plumbob.checking.figures import Figures
from plumbob.checking.study import whole_units
from plumbob.commands.check import exit_code
from plumbob.crypto import Encoded
from plumbob.errors import DataError
from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.hooks import Hook
from plumbob.lab.attacks.label_chosen_rows import CHOSEN_ROWS, OpenedWeights
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.packing import ATTACKS as PACKING
from plumbob.lab.audit import redteam
from plumbob.lab.audit.again import plan_again, tables_again
from plumbob.lab.audit.redteam import prefer_those_in_doubt
from plumbob.lab.audit.truth import Truth
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.lab.simulate import train
from plumbob.protocol.messages import Kind
from plumbob.record import Finding
from tests.lab.audit.support import attack, label_claim, signs, small_run
from tests.protocol.support import cut, plan_for, trained, weights_of
from tests.protocol.test_lattice_shares import lattice_plan

NOTHING = NotApplicable("nothing to work on")


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attacks that need no time, and no active one; what `check` expects beside them is another test's matter."""
    monkeypatch.setattr(redteam, "all_findings", lambda figures: iter(()))
    monkeypatch.setattr(redteam, "STAGED", ())
    monkeypatch.setattr(redteam, "PASSIVE", (attack(NOTHING), attack(NOTHING, "feature-toy", "label")))
    monkeypatch.setattr(redteam, "ACTIVE", ())


def test_every_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feature party's attack is made by each of them, the label party's by that one."""
    said: list[str] = []
    found = redteam.audit(small_run((2, 2, 2)), progress=said.append)
    assert {(one.attack, one.by, one.against) for one in found} == {
        ("label-toy", "features", "label"),
        ("label-toy", "features-2", "label"),
        ("feature-toy", "label", "features"),
        ("feature-toy", "label", "features-2"),
    }
    attackers = ("feature-toy by label", "label-toy by features", "label-toy by features-2")
    assert [line for line in said if "," not in line] == [
        f"attack {place} of 3: {title}" for place, title in enumerate(attackers, 1)
    ]


def test_only() -> None:
    """`only` picks attacks by name; a name that is none is refused with those that are."""
    run = small_run()
    assert {one.attack for one in plumbob.audit(run, only=["label-toy"])} == {"label-toy"}
    assert {one.attack for one in plumbob.audit(run, only="label-toy")} == {"label-toy"}
    assert plumbob.audit(run, only=[]) == []
    with pytest.raises(
        DataError,
        match=r'there is no attack label-tyo; choose from label-toy, feature-toy, .* "label-toy"',
    ):
        plumbob.audit(run, only=["label-tyo"])


def test_worst_first_and_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways of one attack are one finding, the one that got further; leaks come before the rest."""
    run = small_run(rows=200)
    truth = Truth.of(run)
    ways = (attack(NOTHING), attack(label_claim(signs(truth))), attack(label_claim(-signs(truth))))
    monkeypatch.setattr(redteam, "PASSIVE", (attack(NOTHING, "feature-toy", "label"), *ways))
    found = plumbob.audit(run)
    assert [(one.attack, one.verdict) for one in found] == [("label-toy", "leaks"), ("feature-toy", "not applicable")]


# Active attacks.


def test_active_attacks_get_a_run_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With whole plaintexts handed back, packing reads every label in a run on the same rows."""
    monkeypatch.setattr(redteam, "ACTIVE", (PACKING[0],))
    run = small_run(protocol="exchange", replies="paper", key_bits=1024)
    (found,) = plumbob.audit(run, only=["packing"])
    assert (found.rate, found.by, found.against, found.target) == (1, "features", "label", "labels")
    assert (found.verdict, found.fix) == ("leaks", "--replies packed")


class Chatterbox(Hook):
    """Sends a message that nobody waits for."""

    def residuals(self, me: ExchangeParty, step: int, released: Encoded) -> Encoded:
        for channel in me.participant.channels.values():
            channel.send(Kind.OPENED_SUMS, 1, b"hello")
        return released


def test_a_refused_attack_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the honest peer ends the run, the finding says so."""
    noisy = plumbob.attacks.ActiveAttack("packing", "features", lambda plan, name: Chatterbox(), "section 0")
    monkeypatch.setattr(redteam, "ACTIVE", (noisy,))
    (found,) = plumbob.audit(small_run(protocol="exchange"), only=["packing"])
    assert found.verdict == "blocked"
    assert "The honest peer ended the run" in found.why


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(
            {},
            marks=pytest.mark.xfail(
                reason="columns are scaled by a party's whole file, and the rows rebuilt are those that were trained on"
            ),
        ),
        {"row_norm": 1.0},
        {"scale": "none", "intercept": False},
    ],
    ids=str,
)
def test_the_run_again_is_the_same_run(keys: dict[str, Any]) -> None:
    """Rows rebuilt from transcripts train to the same weights, in the same batches."""
    run = small_run(rows=64, test_share=0.25, epochs=1, **keys)
    truth = Truth.of(run)
    second = train(plan_again(truth), tables_again(truth))
    np.testing.assert_allclose(weights_of(second), weights_of(run), atol=1e-5)


def test_parties_that_join_are_judged_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody acts out a coalition: an audit of three parties has what `check` says of two together."""
    monkeypatch.undo()
    plan = lattice_plan((4, 5, 5), epochs=3)
    run = trained(plan, cut("breast-cancer", 100, 14))
    found = {str(one) for one in plumbob.audit(run, ["label-sign"]) if "+" in one.by}
    assert found
    assert found <= {str(one) for one in plumbob.check(plan, 100)}


# Weights opened by `shares`.


def judged(verdict: str, name: str = "label-counts", **keys: object) -> Finding:
    """A finding with this verdict, as it is judged under a plan with `shares`."""
    plan = plumbob.Plan.for_columns((2, 3), **keys)
    found = Finding(name, "features", "label", "labels", verdict, "Because.", "section 0", "")
    return redteam._on_opened_weights(plan, found)


def test_opened_weights_are_judged_by_what_was_reached() -> None:
    """In `shares` two attacks work on the opened weights, and the verdict is theirs."""
    for verdict in ("leaks", "degrades", "blocked", "not applicable"):
        assert judged(verdict, open="own").verdict == verdict
    assert "3 equations" in judged("leaks", open="own").why


# All 16 people of a random start are those in doubt, so that few are enough.
@pytest.mark.parametrize(("start", "most"), [("zero", 150), ("xavier", 16)])
def test_chosen_rows_leak_from_opened_weights(start: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack reads the labels that the plan's numbers forecast, and they are judged like all others."""
    monkeypatch.setattr(redteam, "ACTIVE", (CHOSEN_ROWS,))
    plan = plan_for((4, 16), protocol="shares", open="own", batches="full", epochs=1, start=start, key_bits=1024)
    run = trained(plan, cut("breast-cancer", 150, 20))
    (found,) = plumbob.audit(run, only=["label-chosen-rows"])
    assert (found.verdict, found.n, found.fix) == ("leaks", most, "--open never")
    assert found.n == Figures.of(plan, 150).labels_in_opened_weights("features")
    assert found.rate is not None
    assert found.rate > 0.95


def test_weights_that_stay_shared_are_none() -> None:
    """`open = "never"` blocks both, and so does randomised response where it holds; other protocols keep verdicts."""
    assert judged("not applicable", open="never").verdict == "blocked"
    assert judged("blocked", label_flip_epsilon=1.0, open="own").verdict == "blocked"
    assert judged("leaks", protocol="exchange").verdict == "leaks"


# A real one.


def test_label_sign_is_found_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """On real rows the paper's attack leaks through encryption, has nothing to solve in `shares`, drowns in noise."""
    monkeypatch.setattr(redteam, "PASSIVE", (LABEL_SIGN,))
    data = cut("breast-cancer", 150, 20)

    def verdict(**keys: Any) -> str:
        plan = plan_for((4, 16), learning_rate=0.01, row_norm=1.0, intercept=False, epochs=1, **keys)
        (found,) = plumbob.audit(trained(plan, data), predicted=0)
        return found.verdict

    assert verdict(protocol="exchange") == "leaks"
    assert verdict(protocol="shares") == "not applicable"
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
    monkeypatch.setattr(redteam, "CELLS", cells)
    monkeypatch.setattr(redteam, "ACTIVE", (CHOSEN_ROWS,))
    plan = plan_for((2, 3), protocol="exchange", epochs=2, batches="full")
    findings = redteam.audit(trained(plan), only=["label-chosen-rows"])
    assert redteam.cut_short(plan, 40, findings) == short
    assert exit_code({"findings": [], "attacks_cut_short": short}, is_strict=False) == code


def test_those_in_doubt_are_chosen() -> None:
    """Of whom a party can choose, those whom its own part of an honest run tells least about come first."""
    run = trained(plan_for((2, 3), protocol="shares", open="own", start="small", epochs=2))
    truth = Truth.of(run)
    doubting = OpenedWeights()
    prefer_those_in_doubt(doubting, truth, "features")
    view = truth.views["features"]
    scores = view.X @ view.weights
    threshold = np.sort(scores)[-int(truth.is_positive.sum())]
    distances = np.abs(scores - threshold)[list(doubting.preferred)]
    assert (np.diff(distances) >= 0).all()
