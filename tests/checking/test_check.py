"""What `check` says about plans, and that real attacks agree with it."""

import cProfile
import re
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

import plumbob
from plumbob.checking.advice import as_parameters, merged
from plumbob.checking.check import check, figures_of, judge_figures
from plumbob.checking.figures import Figures
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.data import split_array
from plumbob.errors import PlanError
from plumbob.lab import datasets
from plumbob.lab.audit import audit
from plumbob.lab.simulate import train
from plumbob.plan import Plan, in_words

NO_FINDING = "no finding"
ON_OPENED_WEIGHTS = {"label-counts", "label-chosen-rows"}
CLIPPED: dict[str, Any] = {"row_norm": 1.0}


def plan_of(split: tuple[int, ...] = (11, 12), **keys: Any) -> Plan:
    """Undefended on many rows, unless told otherwise."""
    return Plan.for_columns(split, **({"protocol": "exchange", "rows": 27_000} | keys))


def verdicts(plan: Plan, **keys: Any) -> dict[tuple[str, str, str], str]:
    """The worst verdicts by attack, attacker and target."""
    found = reversed(judge_figures(figures_of(plan, **keys)))
    return {(name, one.by, one.target): one.verdict for one in found for name in one.attacks}


def labels(plan: Plan, attack: str, **keys: Any) -> str:
    """The verdict on one attack of the feature party on labels."""
    return verdicts(plan, **keys)[attack, "features", "labels"]


CHEATING = {
    *("label-chosen-rows", "packing", "altered-shares", "masked-shares", "steering", "chosen-labels"),
    *("chosen-column", "false-residual"),
}


@pytest.mark.parametrize("protocol", ["clear", "exchange", "arbiter", "shares"])
def test_a_finding_says_whether_somebody_cheats(protocol: str) -> None:
    """Own data of one's choice and other software are cheating; everything else honest parties can do."""
    findings = check(plan_of((7, 8, 8), protocol=protocol))
    assert {one.attack for one in findings if one.assumes == "cheating"} == {
        one.attack for one in findings if one.attack in CHEATING
    }
    # In `clear` everything is calculated in one place, and nobody could cheat.
    assert {one.assumes for one in findings} == ({"honest"} if protocol == "clear" else {"honest", "cheating"})


UNFIXED = ("chosen-column", "prediction-equations")
"""No key but fewer scored people stops what scores are for."""


@pytest.mark.parametrize("protocol", ["clear", "exchange", "arbiter", "shares"])
def test_findings_are_whole(protocol: str) -> None:
    """One finding for each attack, attacker, victim and target, with numbers, a reference and, if needed, a fix.

    Values and labels are an input: no setting stops a party that chooses them for people who are scored.
    """
    findings = check(plan_of(protocol=protocol))
    keys = Counter((one.attack, one.by, one.against, one.target) for one in findings)
    assert set(keys.values()) == {1}
    for one in findings:
        assert one.verdict in (LEAKS, DEGRADES, BLOCKED)
        assert one.why.endswith(".")
        assert one.reference
        assert bool(one.fix) is (one.verdict in (LEAKS, DEGRADES) and one.attack not in UNFIXED)
        assert one.rate is None
        assert "safe" not in one.why


def test_it_is_quick() -> None:
    """The plan's numbers alone decide: a hundred times as many epochs make hardly more work."""
    check(plan_of(batch_size=8, epochs=40))
    few, many = (calls_of(plan_of(batch_size=8, epochs=epochs)) for epochs in (40, 4000))
    assert many < 1.5 * few


def calls_of(plan: Plan) -> int:
    """How many functions a check calls."""
    profile = cProfile.Profile()
    profile.runcall(check, plan)
    return sum(entry.callcount for entry in profile.getstats())


def test_several_feature_parties_are_judged_apart() -> None:
    """Each by its own columns, and their features each as a target of the label party."""
    findings = check(plan_of((11, 1, 8), batch_size=16))
    named = {one.by: one.can for one in findings if one.attack == "label-chosen-rows"}
    assert {by: re.findall(r"\d+", can) for by, can in named.items()} == {"features": ["1"], "features-2": ["8"]}
    by_label = [one for one in findings if one.by == "label"]
    assert {one.against for one in by_label if one.target == "scores"} == {"features+features-2"}


def test_a_plan_may_be_a_plan_a_file_or_a_dictionary(tmp_path: Path) -> None:
    """`check` takes a plan, a file or a dictionary; rows may be given separately."""
    plan = plan_of(rows=0)
    path = tmp_path / "joint.toml"
    path.write_text(plan.to_toml())
    tree = {
        "parties": {"label": {"role": "label", "features": 11}, "features": {"role": "features", "features": 12}},
        "study": {"protocol": "exchange"},
    }
    expected = check(plan, rows=5000)
    assert plumbob.check(path, rows=5000) == plumbob.check(str(path), rows=5000) == expected
    assert plumbob.check(tree, rows=5000) == expected
    assert check(plan) != expected


@pytest.mark.parametrize("keys", [{"rows": 0}, {"rows": 100}])
def test_impossible_questions_are_refused(keys: dict[str, Any]) -> None:
    """No rows, or fewer rows than a batch has."""
    with pytest.raises(PlanError):
        check(plan_of(rows=0), **keys)


# One attack at a time: who makes it on what, the plan, and the verdict.

ALONE: dict[str, Any] = {"intercept": False, "start": "xavier"}
FEW_NOISY: dict[str, Any] = {"rows": 2000, "noise": "sound", "epsilon": 0.2, "batch_size": 64, **CLIPPED}
STARTED_NOISY: dict[str, Any] = {**FEW_NOISY, "start": "xavier"}
AS_IN_EXCHANGE: dict[str, Any] = {"sigmoid": "taylor", "batches": "reshuffled", "learning_rate": 0.1}
BALANCED: dict[str, Any] = {"class_weight": "balanced"}
LABELS, SCORES, COLUMNS = ("features", "labels"), ("label", "scores"), ("label", "features")
TWO = (11, 12)
JUDGED: dict[str, list[tuple[str, tuple[str, str], tuple[int, ...], dict[str, Any], str]]] = {
    "equations per label in all visits together, with batches that really differ": [
        ("label-sign", LABELS, TWO, {"batch_size": 12, "epochs": 1}, LEAKS),
        ("label-stacked", LABELS, TWO, {"batch_size": 256, "epochs": 40}, LEAKS),
        ("label-stacked", LABELS, TWO, {"batch_size": 256, "epochs": 1}, LEAKS),
        ("label-stacked", LABELS, TWO, {"batch_size": 512, "epochs": 1}, DEGRADES),
        ("label-stacked", LABELS, TWO, {"batch_size": 512, "epochs": 40, "batches": "fixed"}, DEGRADES),
        ("label-stacked", LABELS, TWO, {"batches": "full", "epochs": 40}, DEGRADES),
        ("label-stacked", LABELS, (11, 2), {"batch_size": 32, "epochs": 1}, DEGRADES),
    ],
    "Theorem 4.1 and beyond: a label party without columns is decoded, whatever the start": [
        ("label-only", LABELS, (0, 12), {"batch_size": 20, **ALONE}, LEAKS),
        ("label-only", LABELS, (1, 12), {"batch_size": 8, **ALONE}, NO_FINDING),
    ],
    "strong noise drowns single labels; what columns say in general comes through, of groups in the first step": [
        *((name, LABELS, TWO, STARTED_NOISY, BLOCKED) for name in ("label-sign", "label-stacked", "label-average")),
        ("label-average", LABELS, TWO, FEW_NOISY, DEGRADES),
        ("label-average", LABELS, TWO, {**STARTED_NOISY, "protocol": "clear", **AS_IN_EXCHANGE}, BLOCKED),
        ("label-average", LABELS, TWO, {**STARTED_NOISY, "protocol": "clear", **AS_IN_EXCHANGE, **BALANCED}, DEGRADES),
        ("label-stacked", LABELS, TWO, {**FEW_NOISY, "rows": 10_000_000, "delta": 1e-8}, DEGRADES),
        ("label-average", LABELS, TWO, {"noise": "std", "noise_std": 0.2, "batch_size": 8, **CLIPPED}, LEAKS),
        ("label-average", LABELS, TWO, {}, NO_FINDING),
    ],
    "randomised response bounds every attack": [
        ("label-sign", LABELS, TWO, {"batch_size": 8, "label_flip_epsilon": 6.0}, LEAKS),
        ("label-sign", LABELS, TWO, {"batch_size": 8, "label_flip_epsilon": 0.5}, DEGRADES),
        # Few rows are read, but those as well as flips allow.
        ("packing", LABELS, (11, 2), {"batch_size": 512, "label_flip_epsilon": 1.0}, DEGRADES),
    ],
    "chosen rows are read at any batch size; `clear` has no party that could choose": [
        ("label-chosen-rows", LABELS, TWO, {"batch_size": 1024}, LEAKS),
        ("label-chosen-rows", LABELS, TWO, {"batch_size": 1024, "start": "xavier"}, DEGRADES),
        ("label-chosen-rows", LABELS, TWO, {"protocol": "clear"}, NO_FINDING),
    ],
    "Section 5.2: whole plaintexts are packed": [
        ("packing", LABELS, TWO, {"replies": "paper"}, LEAKS),
        ("packing", LABELS, TWO, {}, DEGRADES),
    ],
    "Corollary 3.2: determined residuals show scores; the label party's noise alone does not help features": [
        ("feature-geometry", SCORES, TWO, {"batch_size": 8}, LEAKS),
        ("feature-geometry", SCORES, TWO, {"batch_size": 16}, DEGRADES),
        ("feature-geometry", SCORES, TWO, {"batch_size": 256}, DEGRADES),
        ("feature-geometry", SCORES, TWO, {"batch_size": 256, "epochs": 1}, BLOCKED),
        ("feature-geometry", SCORES, TWO, {"batch_size": 8, "noise": "sound", **CLIPPED}, LEAKS),
        ("feature-geometry", SCORES, TWO, {"batch_size": 8, "noise": "std", "noise_std": 10.0, **CLIPPED}, BLOCKED),
    ],
    "Theorem 3.5, Remark 4.9, and batches of one row, which the paper calls safe: one column, value by value": [
        ("feature-single", COLUMNS, (22, 1), {"batch_size": 8}, LEAKS),
        ("feature-chain", COLUMNS, (22, 1), {"batch_size": 8}, LEAKS),
        ("feature-single", ("features", "features"), (1, 22), {"batch_size": 8}, LEAKS),
        ("feature-single", COLUMNS, (22, 1), {"batch_size": 1}, NO_FINDING),
        ("feature-chain", COLUMNS, (22, 1), {"batch_size": 1}, LEAKS),
    ],
}


@pytest.mark.parametrize("rule", JUDGED)
def test_verdicts(rule: str) -> None:
    """Each of the rules, on plans around the place where the verdict changes."""
    for attack, (by, target), split, keys, verdict in JUDGED[rule]:
        assert verdicts(plan_of(split, **keys)).get((attack, by, target), NO_FINDING) == verdict, (attack, split, keys)


def test_runs_on_the_same_rows_add_up() -> None:
    """What one run only begins, several finish."""
    assert labels(plan_of(batch_size=256, epochs=1), "label-stacked", runs=8) == LEAKS


def test_packing_has_a_fix_of_its_own() -> None:
    """Replies cut to an honest sum have no room to hide values."""
    assert {one.fix for one in check(plan_of(replies="paper")) if one.attack == "packing"} == {"--set replies=packed"}


# Shares.


def test_shares_that_never_open_leave_honest_parties_nothing_to_work_on() -> None:
    """Nothing is seen in training, and weights that stay shared say nothing."""
    found = check(plan_of(protocol="shares", open="never"))
    assert not [one for one in found if one.stage == "training" and one.assumes == "honest"]


@pytest.mark.parametrize(
    ("keys", "scored", "labels", "column"),
    [
        # As many scored people as peer columns leave one weight open; one more closes it, however many are trained on.
        ({}, 12, DEGRADES, DEGRADES),
        ({}, 13, LEAKS, DEGRADES),
        ({"rows": 10_000_000}, 13, LEAKS, DEGRADES),
        ({"open": "own"}, 12, DEGRADES, DEGRADES),
        ({"open": "own"}, 13, LEAKS, DEGRADES),
        ({"protocol": "exchange"}, 13, LEAKS, DEGRADES),
        ({"row_weights": True}, 13, LEAKS, DEGRADES),
        ({"noise": "rows", "epsilon": 4.0}, 27_000, BLOCKED, DEGRADES),
        ({"noise": "rows", "epsilon": 4.01}, 27_000, DEGRADES, DEGRADES),
        ({"noise": "rows", "epsilon": 4.0}, 0, NO_FINDING, NO_FINDING),
        ({}, 0, NO_FINDING, NO_FINDING),
    ],
    ids=str,
)
def test_what_labels_of_its_choice_reach_depends_on_the_scored_rows_and_a_ranking_on_nothing(
    keys: dict[str, Any], scored: int, labels: str, column: str
) -> None:
    """One person's row comes out of more scores than there are peer columns; a ranking comes out of any."""
    found = verdicts(plan_of(**{"protocol": "shares", **keys}), predicted=scored)
    assert found.get(("chosen-labels", "label", "features"), NO_FINDING) == labels
    assert found.get(("chosen-column", "label", "features"), NO_FINDING) == column


def test_opened_weights_leak_chosen_labels() -> None:
    """A party that chooses its rows reads them from its weights, so `own` leaks and `never` is the way out."""
    findings = check(plan_of(protocol="shares", open="own"))
    found = {name: one for one in findings for name in one.attacks}
    assert {name: found[name].verdict for name in ON_OPENED_WEIGHTS} == {
        "label-chosen-rows": LEAKS,
        "label-counts": DEGRADES,
    }
    assert {found[name].fix for name in ON_OPENED_WEIGHTS} == {"--open never"}
    # Falsified sines are read from opened weights, too.
    assert {one.by: one.verdict for one in findings if one.attack == "false-residual"} == {
        "label": LEAKS,
        "features": DEGRADES,
    }
    others = {one.verdict for one in findings if one.stage == "training" and one.assumes == "honest"}
    assert others == {DEGRADES}


def test_noise_for_rows_blocks_nobody_who_exceeds_its_norm() -> None:
    """A small epsilon hides labels, not what columns say in general; chosen rows go beyond the bound unnoticed."""
    plan = Plan.for_columns((8, 22), rows=455, open="own", noise="rows", epsilon=0.05)
    assert labels(plan, "label-counts") == DEGRADES
    assert labels(plan, "label-chosen-rows") == DEGRADES
    assert ("label-chosen-rows", "features", "labels") not in verdicts(plan.replace(open="never"))


@pytest.mark.parametrize(("keys", "readable"), [({"epochs": 1}, 374), ({}, 374), ({"rows": 16}, 16)], ids=str)
def test_the_forecast_counts_what_opened_weights_carry(keys: dict[str, Any], readable: int) -> None:
    """From zero weights a weight is a binary number of labels; never too many."""
    plan = plan_of((8, 22), **{"protocol": "shares", "open": "own", "rows": 455, **keys})
    assert Figures.of(plan).labels_in_opened_weights("features") == readable


# Coalitions.


def test_coalitions_are_judged_too() -> None:
    """Two feature parties together fix what neither fixes alone; of two parties there is no coalition."""
    findings = check(plan_of((11, 6, 6), batches="full", rows=300, epochs=1))
    verdicts = {one.by: one.verdict for one in findings if one.attack == "label-stacked"}
    assert verdicts == {"features": DEGRADES, "features-2": DEGRADES, "features+features-2": LEAKS}
    assert not any("+" in one.by for one in check(plan_of()))


def test_a_coalition_that_reads_no_more_than_a_member_has_no_finding() -> None:
    """What a member reads of the same party alone is not said again of several together."""
    findings = check(plan_of((11, 6, 6), batch_size=64, epochs=2))
    assert LEAKS in {one.verdict for one in findings if (one.by, one.target) == ("features", "labels")}
    assert not [one for one in findings if (one.by, one.target) == ("features+features-2", "labels")]


# Keys.


def test_a_fixed_seed_is_noted() -> None:
    """Everybody who reads the plan knows the batches, so the notes say it."""
    assert any("fixes the seed" in note for note in check(plan_of(seed=3)).notes)
    assert not any("fixes the seed" in note for note in check(plan_of()).notes)


# Notes and stories.


def test_notes_say_what_has_no_verdict() -> None:
    """The arbiter, assumed rows, and that nothing here is a proof."""
    text = "\n".join(check(plan_of(protocol="arbiter", rows=0)).notes)
    for words in (
        "are assumed",
        "No verdict is a proof of safety",
        "early",
    ):
        assert words in text


def test_three_parties_in_shares_must_keep_to_the_protocol() -> None:
    """The bits that a dishonest party can carry out are promised between two parties only."""
    two, three = (plan_of(split=split, protocol="shares", open="own") for split in ((11, 12), (7, 8, 8)))
    chosen = [finding.why for finding in check(three) if finding.attack == "label-chosen-rows"]
    assert len(chosen) == 2
    assert all("If it keeps to the protocol otherwise" in why for why in chosen)
    assert any("Whatever it sends" in finding.why for finding in check(two) if finding.attack == "label-chosen-rows")


@pytest.mark.parametrize(("split", "per_row"), [((3, 3, 4), 1), ((3, 3, 2, 2), 1), ((2, 2, 2, 2, 2), 17)])
def test_every_number_behind_a_mask_is_counted(split: tuple[int, ...], per_row: int) -> None:
    """The sums for ten columns and the intercept, and the sigmoid's products: from five parties on, of each stage."""
    plan = plan_of(split=split, protocol="shares")
    [first, *_] = [one for one in check(plan) if one.attack == "masked-shares"]
    numbers = f"{27_000 * per_row + 11:,} masked numbers in a pass over all 27,000 rows"
    assert f" sees {numbers} ({in_words(plan.levels(27_000))})" in first.why


@pytest.mark.parametrize("split", [(5, 5), (3, 3, 4)], ids=str)
def test_scores_show_rows_to_a_label_party_that_cheats(split: tuple[int, ...]) -> None:
    """With weights that are never opened it is the label party's way, among three no milder than between two."""
    plan = plan_of(split=split, protocol="shares")
    verdicts = {one.by: one.verdict for one in check(plan) if one.attack == "false-residual"}
    assert all(verdict == (LEAKS if "label" in by.split("+") else BLOCKED) for by, verdict in verdicts.items())
    assert verdicts["label"] == LEAKS
    unseen = {
        one.verdict
        for one in judge_figures(figures_of(plan, predicted=0))
        if one.attack == "false-residual" and one.by == "label"
    }
    assert unseen == {BLOCKED}


def test_what_masks_do_not_hide_from_a_cheating_label_party_is_a_finding() -> None:
    """Among three or more parties nothing is clean: the label party's finding says what its word is worth."""
    assert not [one for one in check(plan_of(protocol="shares")) if one.attack == "masked-shares"]
    found = [one for one in check(plan_of(split=(3, 3, 4), protocol="shares")) if one.attack == "masked-shares"]
    assert {(one.by, one.against) for one in found} == {("label", "features+features-2")}
    assert {one.verdict for one in found} == {LEAKS}
    assert all("up to 4 bits of each number" in one.why for one in found)


@pytest.mark.parametrize("keys", [{"protocol": "exchange"}, {"protocol": "shares", "open": "own"}])
@pytest.mark.parametrize("names", [("coalition", "fund", "victim"), ("fund", "coalition"), ("bank", "victim")])
def test_what_parties_are_called_changes_no_finding(names: tuple[str, ...], keys: dict[str, Any]) -> None:
    """Parties with telling names get the verdicts and the sentences of any others, and keep their names in them."""
    plan = plan_of((4, 5, 6)[: len(names)], **keys)
    plain = ("aaa", "bbb", "ccc")[: len(names)]
    back = dict(zip(names, plain, strict=True))

    def renamed(text: str) -> str:
        return re.sub("|".join(names), lambda found: back[found[0]], text)

    found = [
        (one.attack, renamed(one.by), renamed(one.against), one.target, one.verdict, renamed(one.why))
        for one in check(plan.with_names(names))
    ]
    assert found == [
        (one.attack, one.by, one.against, one.target, one.verdict, one.why) for one in check(plan.with_names(plain))
    ]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"protocol": "arbiter", "unmasked_gradients_for_the_arbiter": True},
        {"replies": "paper"},
        {"protocol": "clear", "sigmoid": "exact"},
        {"noise": "std", "noise_std": 0.001, **CLIPPED},
        {"noise": "sound", "epsilon": 1e4, **CLIPPED},
        {"protocol": "shares", "open": "own"},
        {"test_only_keys": True, "key_bits": 768},
    ],
)
def test_a_remedy_is_a_plan(keys: dict[str, Any]) -> None:
    """All that a headline says to change goes into one plan, which leaks no more; in Python, as parameters."""
    plan = plan_of(**keys) if "open" in keys else plan_of(batch_size=8, **keys)
    remedied = plan
    for assumes in ("honest", "cheating"):
        leaking = [one for one in check(remedied) if one.verdict == LEAKS and one.assumes == assumes]
        changes = merged([one.changes for one in leaking])
        arbiter = {} if plan.arbiter is None else {"parties": plan.learners}
        remedied = remedied.replace(**changes, **(arbiter if "protocol" in changes else {}))
        assert as_parameters(changes).count("=") == len(changes)
        assert not [one for one in check(remedied) if one.verdict == LEAKS and one.assumes == "honest"]


def test_shares_is_offered_to_up_to_eight_parties() -> None:
    """A plan that leaks between three parties is told of the protocol that stops it; nine parties are not."""
    for split, offered in (((4, 5, 5), True), ((1,) * 9, False)):
        leaking = [one for one in check(plan_of(split=split, batch_size=8), rows=100) if one.verdict == "leaks"]
        assert leaking
        assert all(("--protocol shares" in finding.fix) == offered for finding in leaking if finding.fix)


def test_notes_say_what_lattices_rest_on() -> None:
    """The assumption and its table; Paillier has no such note."""
    text = "\n".join(check(Plan.for_columns((11, 12), rows=27_000)).notes)
    assert "rest on RLWE with ternary secrets: 128 bits by the table of Bossuat et al. (2024)" in text
    assert "RLWE" not in "\n".join(check(plan_of(protocol="exchange")).notes)


# A small part of benchmarks/check_grid.py.

GRID: list[dict[str, Any]] = [
    {"split": (10, 20), "batch_size": 16, "epochs": 2},
    {"split": (10, 20), "batch_size": 32, "epochs": 2},
    {"split": (26, 4), "batch_size": 8, "epochs": 8},
    {"split": (1, 29), "batch_size": 8, "epochs": 3, "start": "xavier"},
    {"split": (15, 15), "batch_size": 64, "epochs": 6},
    {"split": (15, 15), "batch_size": 16, "epochs": 2, "noise": "std", "noise_std": 100.0, "row_norm": 1.0},
    {"split": (20, 10), "batch_size": 16, "epochs": 3, "noise": "sound", "row_norm": 1.0},
]
QUICK = ["label-sign", "label-stacked", "label-average", "label-counts", "feature-single"]


@pytest.mark.parametrize("keys", GRID, ids=str)
def test_real_attacks_agree(keys: dict[str, Any]) -> None:
    """On breast-cancer, what is blocked does not succeed, and what leaks does."""
    given = {name: value for name, value in keys.items() if name != "split"}
    plan = Plan.for_columns(keys["split"], protocol="clear", seed=3, rows=455, **given)
    X, y = datasets.load("breast-cancer")
    tables = split_array(X, y, keys["split"])
    run = train(plan, {party.name: table for party, table in zip(plan.learners, tables, strict=True)})
    found = [one for one in audit(run, only=QUICK) if one.rate is not None]
    for said in check(plan):
        if not set(said.attacks) & set(QUICK):
            continue
        about = [one for one in found if (one.by, one.target) == (said.by, said.target) and one.attack in said.attacks]
        succeeds = any((one.advantage or 0.0) > plan.tolerance_labels for one in about)
        assert said.verdict != BLOCKED or not succeeds, about
        assert said.verdict != LEAKS or succeeds, about


def test_what_stands_for_no_plan() -> None:
    """Anything else than a plan, its file, its dictionary, a record or a model is refused by name."""
    with pytest.raises(PlanError, match="a run's record or a fitted model, got int"):
        plumbob.check(cast("Any", 3))


@pytest.mark.parametrize(
    ("keys", "attack", "words"),
    [
        ({"batch_size": 12}, "feature-geometry", "Batches of 12 rows against its 11 columns fix no residual"),
        ({"batch_size": 11}, "feature-geometry", "Batches of 11 rows against its 11 columns fix every residual"),
        ({"batch_size": 219, "epochs": 1}, "feature-geometry", "fix no residual in general"),
        ({"batch_size": 220, "epochs": 1}, "feature-geometry", "1 visit fix hardly a residual"),
        ({"epochs": 12, "batch_size": 64}, "steering", "read 11 of the feature party's columns"),
        ({"epochs": 13, "batch_size": 64}, "steering", "read all 12 of the feature party's columns"),
    ],
    ids=str,
)
def test_words_change_where_numbers_do(keys: dict[str, Any], attack: str, words: str) -> None:
    """A sentence about one row or column more or less is another one."""
    found = check(Plan.for_columns((11, 12), protocol="exchange", intercept=False, rows=3000, **keys))
    assert any(words in f"{one.why} {one.can}" for one in found if one.attack == attack and one.by == "label")
