"""Verdicts: one sentence for each party and target, with the number that decides and what to do."""

from dataclasses import replace

import pytest

from plumbob.record import Finding
from plumbob.report.verdicts import verdict_list, verdicts_of

BASE = Finding(
    "label-sign", "fund", "bank", "labels", "leaks", "Why.", "section 4", "--protocol shares, or --noise std"
)
READ = replace(BASE, rate=0.998, baseline=0.779, advantage=0.9, determined=0.5, n=455)


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [
        (READ, "fund can read 99.8 % of bank's labels; without an attack it could guess 77.9 %."),
        (
            replace(READ, verdict="blocked", rate=0.6, fix=""),
            "fund learns no more of bank's labels than it could guess: the attacks are right for 60 % of them, "
            "guessing for 77.9 %.",
        ),
        (
            replace(READ, verdict="degrades", determined=0.044),
            "fund can be certain of 4.4 % of bank's labels; the rest it must guess.",
        ),
        (
            replace(READ, verdict="degrades", determined=0.0),
            "fund learns a little of bank's labels: the attacks are right for 99.8 % of them, guessing for 77.9 %.",
        ),
        (
            replace(READ, attack="label-chosen-rows", n=20),
            "fund can choose 20 people and read 99.8 % of their labels, which bank holds.",
        ),
        (
            replace(READ, target="features", rate=0.97, baseline=0.1),
            "fund can reconstruct 97 % of what bank's features say; its own columns alone explain 10 %.",
        ),
        (
            replace(READ, target="features", verdict="blocked", rate=-3.0),
            "fund learns no more of bank's features than it could guess.",
        ),
        (
            replace(BASE, verdict="not applicable"),
            "fund saw nothing from which bank's labels could be worked out.",
        ),
        (replace(BASE, verdict="degrades"), "fund learns something about bank's labels."),
        (replace(BASE, verdict="blocked"), "fund learns no more of bank's labels than it could guess."),
    ],
)
def test_sentences_after_a_run(finding: Finding, sentence: str) -> None:
    """In plain words, with the rate beside what could be guessed."""
    (one,) = verdicts_of([finding])
    assert one.says.replace("\u00a0", " ") == sentence
    assert one.verdict == finding.verdict


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("leaks", "fund will be able to work out bank's labels."),
        ("degrades", "fund may learn something about bank's labels."),
        ("blocked", "fund is not expected to learn bank's labels."),
        ("not applicable", "fund sees nothing from which bank's labels could be worked out."),
    ],
)
def test_sentences_before_a_run(verdict: str, sentence: str) -> None:
    """Nothing is claimed that was not measured."""
    assert [one.says for one in verdicts_of([replace(BASE, verdict=verdict)], is_prediction=True)] == [sentence]


def test_the_worst_speaks_for_the_others() -> None:
    """One verdict for each attacker, victim and kind of target, of all rows rather than of chosen ones; worst first."""
    blocked = replace(READ, verdict="blocked", rate=0.6, advantage=-2.0)
    chosen = replace(blocked, attack="label-chosen-rows", rate=0.5, baseline=1.0, advantage=0.0)
    other = replace(READ, by="bank", against="fund", target="scores")
    found = verdicts_of([replace(BASE, verdict="not applicable"), chosen, blocked, other])
    assert [one.verdict for one in found] == ["leaks", "blocked"]
    assert "60" in found[1].says


def test_what_to_do_is_there_to_be_typed() -> None:
    """Each way of stopping it is a piece of code of its own, and nothing follows that would be copied with it."""
    written = verdict_list(verdicts_of([READ]))
    assert "To stop it: <code>--protocol shares</code>, or <code>--noise std</code></p>" in written
    assert 'class="badge leaks"' in written


def test_one_word_for_one_verdict() -> None:
    """Before a run and after it, in sentences and in tables, a verdict has the word that `check` gives it."""
    for verdict in ("leaks", "degrades", "blocked", "not applicable"):
        finding = replace(READ, verdict=verdict)
        for is_prediction in (True, False):
            assert f">{verdict}</span>" in verdict_list(verdicts_of([finding], is_prediction=is_prediction))
