"""Two headlines: honest and cheating apart, a line for each pair and target, one remedy, in units that people know."""

import re
from dataclasses import replace
from typing import Any

import pytest

import plumbob
from plumbob.checking.check import figures_of, judge_figures
from plumbob.checking.consent import refuse_unaccepted
from plumbob.checking.findings import Findings, lines_of
from plumbob.checking.headlines import headlines
from plumbob.checking.judgement import Headlines
from plumbob.counting import share
from plumbob.errors import UnsafePlanError
from plumbob.plan import Plan
from plumbob.record import Finding

READ = Finding("label-sign", "fund", "bank", "labels", "leaks", "Why.", "section 4", "--protocol shares")
MEASURED = replace(READ, rate=0.998, baseline=0.779, advantage=0.9, n=455)


def found(*split: int, **keys: Any) -> Findings:
    """The findings for a plan on credit's rows."""
    return plumbob.check(Plan.for_columns(split or (11, 12), **{"rows": 27_000, **keys}))


def text(of: Headlines) -> str:
    """The headlines as a terminal shows them."""
    return "\n".join(of.lines())


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"open": "own"},
        {"protocol": "exchange"},
        {"protocol": "arbiter"},
        {"noise": "rows", "epsilon": 4.0},
        {"protocol": "clear"},
    ],
    ids=str,
)
@pytest.mark.parametrize("split", [(11, 12), (7, 8, 8), (3, 5, 5, 5, 5)], ids=str)
def test_each_reading_has_one_line(split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """No party, target and reading has two lines under a headline, and no remedy is printed twice."""
    findings = found(*split, **keys)
    for block in findings.headlines.blocks:
        readings = [(by, line.target, line.can) for line in block.lines for by in line.by]
        assert len(readings) == len(set(readings))
        assert all("bits" not in line.says for line in block.lines)
    shown = text(findings.headlines)
    assert shown.count("What helps") <= 2
    assert len({block.remedy for block in findings.headlines.blocks if block.remedy}) == shown.count("What helps")
    assert "features'" not in shown
    assert " label can" not in shown
    assert all("the-" not in one.why and "features can" not in one.why for one in findings)


@pytest.mark.parametrize(("split", "most"), [((11, 12), 8), ((7, 8, 8), 12)])
def test_the_default_plan_is_read_at_a_glance(split: tuple[int, ...], most: int) -> None:
    """One finding for each party, target, assumption and reading: few enough to read all of them."""
    findings = found(*split)
    keys = [(one.by, one.target, one.assumes, one.can) for one in findings]
    assert len(keys) == len(set(keys)) <= most
    assert all(one.can and one.attacks[0] == one.attack for one in findings)


RANKED = (
    "What no plan prevents: The label party chooses what is predicted. It could rank up to {scored} by one of {whose} "
    "columns, if it already knows the values of that column for a few hundred people. It need not invent a label."
)


@pytest.mark.parametrize(
    ("split", "keys", "scored", "whose"),
    [
        ((11, 12), {}, "27,000 scored people", "the feature party's"),
        ((11, 12), {"noise": "rows", "epsilon": 0.5}, "27,000 scored people", "the feature party's"),
        ((11, 12), {"protocol": "exchange", "most_rows": 1}, "1 scored person", "the feature party's"),
        ((7, 8, 8), {"open": "own"}, "27,000 scored people", "feature party 1's or feature party 2's"),
    ],
    ids=str,
)
def test_what_no_plan_prevents_is_said_of_every_plan_that_scores_anybody(
    split: tuple[int, ...], keys: dict[str, Any], scored: str, whose: str
) -> None:
    """It has one line of its own, counts as degrading, and is none of the lines that a plan can answer for."""
    told = found(*split, **keys).headlines
    assert text(told).count(RANKED.format(scored=scored, whose=whose)) == 1
    assert all("chosen-column" not in line.attacks for block in told.blocks for line in block.lines)
    assert told.cheating.verdict != "blocked"
    assert not told.honest.unprevented


def test_evidence_hides_no_reading() -> None:
    """What a replay would name is said as before, with a verdict of its own, beside what no replay names."""
    kept = {"evidence": "keep", "days": 30, "auditors": {"label": "a" * 64, "features": "b" * 64}}
    without = found(11, 12).headlines.cheating.lines
    plain, *named = found(11, 12, **kept).headlines.cheating.lines
    assert {line.can for line in without} == {plain.can, *(line.can for line in named)}
    assert (plain.verdict, {line.verdict for line in named}) == ("leaks", {"degrades"})
    assert all(" could " in line.says and line.says.endswith("; a replay would name it.") for line in named)


def test_no_refusal_says_that_nothing_shows_it_beside_evidence() -> None:
    """With evidence kept, what still has to be accepted is what no replay names."""
    kept = {"evidence": "keep", "days": 30, "auditors": {"label": "a" * 64, "features": "b" * 64}}
    for keys, words in (({}, "nothing would show it"), (kept, "in a way that no replay of the evidence would name")):
        findings = found(11, 12, **keys)
        assert findings.figures is not None
        with pytest.raises(UnsafePlanError, match=words) as refused:
            refuse_unaccepted(findings.figures.plan, findings, [])
        assert ("othing would show it" in str(refused.value)) is not bool(keys)


def test_a_condition_stays_after_a_run() -> None:
    """What was measured stands beside the condition under which it was reached, and in the place of no word of it."""
    findings = found(11, 12)
    measured = [
        replace(one, rate=0.98, baseline=0.1, advantage=0.9) if one.attack == "chosen-labels" else one
        for one in findings
    ]
    lines = headlines(measured, findings.figures).cheating.lines
    assert any("if it knows every column of 24 scored people (in this run with R² 0.980;" in one.says for one in lines)


def test_no_screen_quotes_counts_of_tests() -> None:
    """How often verdicts were right stands on docs/check.md, with what was tested: not beside other verdicts."""
    findings = found(11, 12, protocol="exchange")
    shown = "\n".join(lines_of(findings))
    assert not re.search(r"in tests|\d+ of \d+ leak", shown, re.IGNORECASE)


def test_swaying_scores_has_no_verdict() -> None:
    """Integrity is not confidentiality: who sways scores learns nothing, and no line with a verdict says so."""
    told = found(11, 12).headlines
    assert any("sway scores" in line for line in told.cheating.agreed)
    assert not any("sway" in line.says for block in told.blocks for line in block.lines)


@pytest.mark.parametrize("epochs", [2, 8, 30])
@pytest.mark.parametrize("split", [(11, 12), (1, 3), (7, 8, 8)], ids=str)
def test_nobody_reads_more_columns_than_there_are(split: tuple[int, ...], epochs: int) -> None:
    """A party that reads one column per epoch runs out of columns."""
    shown = text(found(*split, protocol="exchange", batch_size=64, epochs=epochs).headlines)
    read = [int(number) for number in re.findall(r"read (?:all )?(\d+) of", shown)]
    assert epochs == 2 or read
    assert max(read, default=0) <= sum(split) - min(split)


def test_held_out_rows_are_scored_rows() -> None:
    """Held-out rows count as scored without any flag; fewer only where the plan or somebody says so."""
    assert "each of up to 27,000 scored people" in text(found(test_share=0.2).headlines)
    plan = Plan.for_columns((11, 12), rows=27_000, test_share=0.2)
    assert "each of up to 5,400 scored people" in text(judge_figures(figures_of(plan, predicted=0)).headlines)
    assert "each of up to 6,000 scored people" in text(found(most_rows=6000, test_share=0.2).headlines)


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (MEASURED, "Fund can get 99.8 % of bank's labels right (guessing: 77.9 %)."),
        (replace(MEASURED, verdict="degrades", determined=0.5), "be certain of 50 % of bank's labels"),
        (
            replace(MEASURED, rate=0.7, auc=0.91, baseline_auc=0.6),
            "rank bank's labels with AUC 0.910 (guessing: 0.600)",
        ),
        (
            replace(MEASURED, attack="label-chosen-rows", assumes="cheating", n=20),
            "choose 20 people and read 99.8 % of their labels",
        ),
        (
            replace(MEASURED, target="features", rate=0.97, baseline=0.1),
            "work out bank's columns (in this run with R² 0.970; its own columns explain 0.100)",
        ),
        (
            replace(MEASURED, attack="feature-single", target="scores", rate=0.97, baseline=-1.0),
            "work out bank's part of scores (in this run with R² 0.970; its own columns explain 0.000)",
        ),
        (replace(MEASURED, target="features", verdict="degrades", rate=None), "Fund may work out bank's columns."),
    ],
)
def test_after_a_run_the_numbers_are_those_that_were_measured(finding: Finding, words: str) -> None:
    """The headlines have the measured rates in plain words, beside what could be guessed."""
    assert words.removeprefix("Fund ") in text(headlines([finding]))


@pytest.mark.parametrize(("value", "shown"), [(0.5, "50 %"), (1.2, "100 %"), (-2e7, "worse than guessing the mean")])
def test_no_percentage_is_beyond_its_ends(value: float, shown: str) -> None:
    """An R² has no lower end; below 0 it is worth less than the mean."""
    assert share(value) == shown


def test_of_several_attacks_the_one_that_reached_most_speaks() -> None:
    """Attacks that show the same reading share a line, with the figure of the best."""
    weaker = replace(MEASURED, attack="label-stacked", rate=0.9, advantage=0.5)
    (line,) = headlines([weaker, MEASURED]).honest.lines
    assert (line.attacks, "99.8 %" in line.says) == (("label-sign",), True)


def test_scores_that_wait_for_a_replay_are_said_first() -> None:
    """With release = "replayed" other software reads nothing; with noise for rows too, nothing leaks any more."""
    kept = {"evidence": "keep", "release": "replayed", "days": 1, "auditors": {"label": "628b2fd3" * 8}}
    told = found(11, 12, **kept).headlines
    assert "Scores stay shut until the label party's auditor (628b 2fd3 ...) has replayed" in text(told)
    assert [line.attacks for line in told.cheating.lines] == [("chosen-labels",)]
    hidden = found(11, 12, noise="rows", epsilon=4.0, **kept)
    assert not hidden.leaking
    assert not hidden.headlines.cheating.lines
    assert hidden.headlines.cheating.unprevented


def test_a_party_that_keeps_no_evidence_cannot_be_named() -> None:
    """Where only the feature party has an auditor, the label party's false messages stay what they are."""
    kept = {"evidence": "keep", "days": 30, "auditors": {"features": "b" * 64}}
    assert "leaks" in {one.verdict for one in found(11, 12, **kept) if one.attack == "altered-shares"}


def test_what_is_blocked_has_no_line_but_is_counted() -> None:
    """One of a kind in the singular; a partial audit settles nothing."""
    of = headlines([replace(READ, verdict="blocked"), replace(READ, attack="label-only")], is_partial=True)
    assert of.honest.counts == "2 findings: 1 leaks, 1 blocked."
    assert of.cheating.counts == "0 findings."
    assert "settles nothing" in of.cheating.nothing


@pytest.mark.parametrize("test_share", [0.0, 0.2])
def test_a_model_its_record_and_its_plan_can_be_checked(test_share: float) -> None:
    """Whatever stands for a plan in Python gives the same findings, and a list of them shows both headlines."""
    model = plumbob.VerticalLogisticRegression(split=(2, 2), protocol="clear", test_share=test_share)
    rows = [[float(row % 2), float(row % 3), float(row % 5), float(row % 7)] for row in range(60)]
    model.fit(rows, [row % 2 for row in range(60)])
    record = model.record_
    assert plumbob.check(model) == plumbob.check(record) == plumbob.check(record.plan, rows=60)
    assert repr(plumbob.check(model)).startswith("If everyone keeps to the protocol:")


def test_a_row_read_in_part_names_no_people_who_are_not_scored() -> None:
    """With fewer scores than columns it is a part of a row, and nobody has to know more people than are scored."""
    plan = Plan.for_columns((5, 18), rows=3200, most_rows=10)
    cans = [one.can for one in plumbob.check(plan) if {"chosen-labels", "false-residual"} & {*one.attacks}]
    assert len(cans) == 2
    for can in cans:
        assert re.match(r"read a part of .* 18 columns for any one person", can), can
        assert "if it knows" not in can
