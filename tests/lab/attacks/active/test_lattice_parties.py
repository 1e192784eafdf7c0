"""Parties of `shares` by lattices that break the protocol: what they reach stands in opened numbers, and is counted."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from plumbob.checking.check import figures_of, judge_figures
from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.false_residual import ATTACKS as FALSE_RESIDUAL
from plumbob.lab.attacks.false_residual import arm
from plumbob.lab.attacks.hooks import hooked
from plumbob.lab.audit import audit, redteam
from plumbob.lab.audit.again import RunsAgain
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from plumbob.plan import Plan
from plumbob.protocol.openings import opened_bits, scored_bits
from plumbob.protocol.shares.keys import Keys
from plumbob.protocol.shares.shape import GRADIENTS, RunShape, matrix_kind
from plumbob.protocol.shares.training import SharesParty
from plumbob.record import Finding
from tests.lab.attacks.lattice.garbage import DIGITS, GarbageReplies, layout_of, places_of
from tests.lab.attacks.lattice.support import coefficients
from tests.protocol.support import cut, shares_plan, trained, weights_of

ROWS = 200
TWO, THREE = (10, 10), (4, 4, 4)


@cache
def run_of(split: tuple[int, ...], open: str) -> Run:
    """An honest run, trained once for all tests."""
    plan = shares_plan(split, open=open, epochs=5)
    return trained(plan, cut("breast-cancer", ROWS, plan.columns))


@cache
def audited(split: tuple[int, ...], open: str, attack: str, predicted: int | None = None) -> list[Finding]:
    """What the audit of that run finds, by all parties."""
    return list(audit(run_of(split, open), [attack], predicted=predicted))


def found(split: tuple[int, ...], open: str, attack: str, by: str) -> Finding:
    """The audit's finding about the label party, or by it about the first feature party."""
    against = "features" if by == "label" else "label"
    [finding] = [one for one in audited(split, open, attack) if one.by == by and against in one.against.split("+")]
    return finding


def said(plan: Plan, attack: str, by: str, predicted: int | None = None) -> Finding:
    """What `check` says of the same."""
    against = "features" if by == "label" else "label"
    findings = judge_figures(figures_of(plan, ROWS, predicted=predicted))
    [finding] = [one for one in findings if (one.attack, one.by) == (attack, by) and against in one.against.split("+")]
    return finding


@pytest.mark.parametrize(("split", "by"), [(TWO, "label"), (TWO, "features"), (THREE, "label")], ids=str)
def test_falsified_sines_show_scores_in_opened_weights(split: tuple[int, ...], by: str) -> None:
    """As many people's joint scores as the party has columns, nearly exactly, and `check` says so before."""
    run = run_of(split, "own")
    [attack] = [one for one in FALSE_RESIDUAL if one.target == "scores" and one.by == by]
    # Alone: the coalitions of three parties have tests of their own.
    finding = next(redteam.carried_out(attack, RunsAgain(Truth.of(run), by, 0)))
    assert finding.rate is not None
    assert finding.rate > 0.7
    assert finding.n == len(run.transcripts[by].weights)
    forecast = said(run.model.plan, "false-residual", by)
    # A feature party does not know the label, which lies on top of the score.
    assert (
        (finding.verdict, forecast.verdict) == ("leaks", "leaks") if by == "label" else forecast.verdict == "degrades"
    )
    assert f"{opened_bits(run.model.plan, by)} bits" in forecast.why
    assert forecast.fix == "--open never"


def test_weights_that_stay_shared_carry_nothing_out_to_a_feature_party() -> None:
    """Under `never` nothing comes back to a feature party that falsifies its sines."""
    assert not [one for one in audited(TWO, "never", "false-residual") if one.by == "features"]


def test_scores_carry_chosen_rows_out_to_the_label_party() -> None:
    """Under `never` both tools say how many bits of rows that are never scored leave, by the widths of this plan."""
    attack, plan = "false-residual", run_of(TWO, "never").model.plan
    most = RunShape(plan, ROWS).input_bits * (TWO[1] + 1)
    [measured] = [one for one in audited(TWO, "never", attack) if (one.by, one.target) == ("label", "features")]
    assert {measured.verdict, said(plan, attack, "label").verdict} == {"leaks"}
    assert f"{scored_bits(plan, 1)} bits each" in said(plan, attack, "label").why
    assert f"at most {most:,} in all about rows that are never scored" in said(plan, attack, "label").why
    assert said(plan, attack, "label", predicted=0).verdict == "blocked"


@pytest.mark.parametrize("by", ["label", "features"])
def test_garbage_carries_a_piece_of_a_key_out(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    """What it reads are coefficients of its peer's real key, fewer bits than were opened; the model is another one."""
    monkeypatch.setattr(Keys, "forget", lambda keys, number: None)
    honest = run_of(TWO, "own")
    plan = honest.model.plan
    hook, peer = GarbageReplies(), "label" if by == "features" else "features"
    run = trained(plan, cut("breast-cancer", ROWS, plan.columns), instead={by: hooked(SharesParty, hook)})
    attacker = run.parties[by]
    assert isinstance(attacker, SharesParty)
    victim: Any = run.parties[peer]
    [key] = (
        key
        for product, key in victim.keys.own.items()
        if (product.kind, product.owner, product.evaluators) == (matrix_kind(GRADIENTS), peer, (by,))
    )
    layout = layout_of(attacker)
    secret = np.array(coefficients(layout.parameters, key.secret), dtype=np.int64)
    assert hook.read(attacker).tolist() == secret[places_of(layout)].tolist()
    assert len(set(places_of(layout))) == DIGITS * len(run.transcripts[by].weights)
    assert not np.allclose(weights_of(run), weights_of(honest), atol=1e-3)


def test_other_protocols_have_no_lattice_products() -> None:
    """Other protocols have no lattice products, so there is nothing to falsify."""
    plan = Plan.for_columns(TWO, protocol="exchange", batch_size=16)
    assert isinstance(arm(plan, "features"), NotApplicable)


def test_many_labels_stand_in_one_opened_weight() -> None:
    """From zero weights a party that takes other columns in the first pass reads several labels per column."""
    run = run_of((3, 2), "own")
    finding, forecast = (
        found((3, 2), "own", "label-chosen-rows", "features"),
        said(run.model.plan, "label-chosen-rows", "features"),
    )
    assert (finding.verdict, forecast.verdict) == ("leaks", "leaks")
    assert finding.rate == 1.0
    assert finding.n is not None
    assert finding.n > 2 * len(run.transcripts["features"].weights)
    assert f"can choose {finding.n} of {ROWS}" in forecast.why


def test_a_shifted_share_shows_a_column_with_every_score() -> None:
    """Under `never`, scores that are asked for later show one column, 22 bits each; `check --predicted` says so."""
    run = run_of(TWO, "never")
    plan, asked = run.model.plan, 150
    [acted] = audited(TWO, "never", "altered-shares", asked)
    assert (acted.verdict, acted.stage, acted.n) == ("leaks", "prediction", asked)
    assert acted.rate is not None
    assert acted.rate > 0.6
    assert f"{scored_bits(plan, asked)} bits" in acted.why
    assert said(plan, "altered-shares", "label", asked).verdict == "leaks"
    assert not [one for one in judge_figures(figures_of(plan, ROWS, predicted=0)) if one.attack == "altered-shares"]
    assert not [
        one
        for one in judge_figures(figures_of(plan.replace(open="own"), ROWS, predicted=asked))
        if one.attack == "altered-shares"
    ]


def test_held_out_rows_are_scored_rows() -> None:
    """A plan that scores held-out rows is judged on them, also where nobody asks for more."""
    plan = shares_plan(TWO, open="never", test_share=0.2)
    assert said(plan, "altered-shares", "label", 0).verdict == "leaks"
    assert not [
        one
        for one in judge_figures(figures_of(plan.replace(test_share=0.0), ROWS, predicted=0))
        if one.attack == "chosen-labels"
    ]
