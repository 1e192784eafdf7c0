"""What an attack gives its attacker, in units that people understand: the words after "can" in a headline.

Before a run they follow from the plan's numbers; after one, from what was measured.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from plumbob.checking.figures import Figures
from plumbob.checking.rules.prediction_equations import unknown_weights
from plumbob.checking.words import CHEATING, DEGRADES
from plumbob.counting import counted, decimal, percent, share
from plumbob.record import Finding

ONE_COLUMN = "altered-shares"
"""What it reads is a column of every scored row, and no more."""


def gain(finding: Finding, figures: Figures | None, whose: str, has_one_victim: bool = True) -> str:
    """What a finding gives its attacker; `whose` names the victims: "bank's" or "bank's or fund's"."""
    if finding.rate is not None:
        return _measured(finding, figures, whose, has_one_victim)
    return _expected(finding, figures, whose, has_one_victim)


def _expected(finding: Finding, figures: Figures | None, whose: str, has_one_victim: bool) -> str:
    """What the plan's numbers let expect, with its conditions."""
    if figures is None or finding.attack not in GAINS:
        return IN_GENERAL.get(finding.target, "learn something about {whose} data").format(whose=whose)
    return GAINS[finding.attack](_Case(finding, figures, whose, has_one_victim))


def _measured(finding: Finding, figures: Figures | None, whose: str, has_one_victim: bool) -> str:
    """What a run showed; a condition of the attack is one of the run too."""
    if finding.target != "labels":
        expected = _expected(finding, figures, whose, has_one_victim)
        by_itself = decimal(max(finding.baseline or 0.0, 0.0))
        return f"{expected} (in this run with R² {decimal(finding.rate)}; its own columns explain {by_itself})"
    rate, baseline = share(finding.rate), share(max(finding.baseline or 0.0, 0.0))
    is_chosen = finding.assumes == CHEATING and (figures is None or finding.n != figures.rows)
    if finding.n and is_chosen:
        return f"choose {counted(finding.n, 'person', 'people')} and read {rate} of their labels (guessing: {baseline})"
    if finding.determined and finding.verdict == DEGRADES:
        return f"be certain of {percent(finding.determined)} of {whose} labels; the rest it must guess"
    if finding.auc is not None and (finding.rate or 0.0) <= (finding.baseline or 0.0):
        # What it finds out is the order, not the number of the labels.
        return f"rank {whose} labels with AUC {decimal(finding.auc)} (guessing: {decimal(finding.baseline_auc)})"
    return f"get {rate} of {whose} labels right (guessing: {baseline})"


@dataclass(frozen=True)
class _Case:
    """One finding on one plan."""

    finding: Finding
    figures: Figures
    whose: str
    has_one_victim: bool

    @property
    def people(self) -> str:
        return f"the {counted(self.figures.rows, 'person', 'people')} in training"

    @property
    def scored(self) -> str:
        return f"each of up to {counted(self.figures.scored, 'scored person', 'scored people')}"

    @property
    def own_columns(self) -> int:
        """How many columns the attacker, or a whole coalition, has."""
        known = {party.name for party in self.figures.plan.parties}
        return sum(self.figures.columns(name) for name in self.finding.by.split("+") if name in known)

    @property
    def their_columns(self) -> str:
        """All columns of the victim, with their number where there is one victim."""
        if not self.has_one_victim:
            return f"{self.whose} columns"
        number = self.figures.plan.party(self.finding.against).features
        return f"{self.whose} only column" if number == 1 else f"{self.whose} {number} columns"

    @property
    def all_columns(self) -> str:
        """All columns of the victim, where all of them are read at once."""
        number = self.figures.plan.party(self.finding.against).features if self.has_one_victim else 0
        some = f"all {number} of" if number else "all of"
        return self.their_columns if number == 1 else f"{some} {self.whose} columns"

    @property
    def is_closed(self) -> bool:
        return self.figures.plan.is_closed


def _labels(case: _Case) -> str:
    return f"work out the labels of {case.people}, better than by guessing"


def _rare(case: _Case) -> str:
    share = case.figures.positives
    if share is None:
        return f"name those of {case.people} who have the rarer label, if that label is rare"
    number = round(min(share, 1.0 - share) * case.figures.rows)
    return f"name most of the {counted(number, 'person', 'people')} with the rarer label"


def _read(case: _Case) -> str:
    if case.finding.target == "labels":
        return f"read the labels of {case.people}"
    return f"read {case.whose} part of the score of {case.people}"


def _chosen_rows(case: _Case) -> str:
    figures, by = case.figures, case.finding.by
    if figures.sees_sums:
        most = min(case.own_columns, figures.batch)
        return f"read labels of its choice, up to {most:,} per step"
    people = figures.labels_in_opened_weights(by) if "+" not in by else min(figures.rows, case.own_columns)
    return f"read the labels of {counted(people, 'person', 'people')} of its choice"


def _geometry(case: _Case) -> str:
    if case.finding.target == "scores":
        return f"work out {case.whose} part of the score of {case.people}"
    known = "once it knows a few of them from elsewhere, or where columns hold few values"
    return f"work out {case.their_columns} for {case.people}, {known}"


def _steering(case: _Case) -> str:
    if "+" in case.finding.by:
        return f"read some of {case.whose} columns for people of their choice"
    people = counted(case.figures.steered_people(case.finding.by), "person", "people")
    return f"read {_steered(case)} for {people} of its choice"


def _steered(case: _Case) -> str:
    columns = max(1, case.figures.steered_columns(case.finding.by))
    if case.has_one_victim and columns >= case.figures.plan.party(case.finding.against).features:
        return case.all_columns
    return f"{columns} of {case.whose} columns"


def _off_the_circle(case: _Case) -> str:
    if case.is_closed:
        return _whole_row(case)
    people = min(case.own_columns, case.figures.rows)
    return f"read the joint scores of {counted(people, 'person', 'people')} of its choice"


def _if_known(case: _Case, whom: str = "scored people") -> str:
    """The condition that the label party knows rows from elsewhere."""
    return f"if it knows every column of {unknown_weights(case.figures.plan)} {whom}"


def _enough(case: _Case) -> str:
    """Why just this many rows; only the headline that comes first says it."""
    return f"(enough to solve for {counted(unknown_weights(case.figures.plan) - 1, 'weight')})"


def _whole_row(case: _Case) -> str:
    return f"read {case.all_columns} for any one person, scored or not, {_if_known(case)}"


def rank_by_column(figures: Figures | None, whose: str) -> str:
    """What `chosen-column` gives, whatever a run measured."""
    people = "scored people"
    if figures is not None:
        people = f"up to {counted(figures.scored, 'scored person', 'scored people')}"
    known = "if it already knows the values of that column for a few hundred people"
    return f"rank {people} by one of {whose} columns, {known}"


def _difference(case: _Case) -> str:
    if case.finding.target == "labels":
        return "work out the labels of people who joined or left between two runs"
    return f"work out {case.whose} columns for somebody who joined or left between two runs, {_if_known(case)}"


def _masked(case: _Case) -> str:
    passes = counted(case.figures.passes, "pass", "passes")
    return f"read roughly one of {case.whose} columns, or one person's columns, in each of {passes} over the rows"


def _equations(case: _Case) -> str:
    plan, target = case.figures.plan, case.finding.target
    if target == "labels":
        return f"learn something about {case.whose} labels"
    theirs = sum(party.features for party in plan.feature_parties)
    if target == "features" and theirs == 1 and not plan.is_closed:
        return f"work out {case.whose} only column, up to one factor, for {case.scored}"
    weights = "the joint weights" if plan.is_closed else f"{case.whose} weights"
    if target == "weights":
        return f"work out {weights}, {_if_known(case)} {_enough(case)}"
    mixed = case.their_columns if case.has_one_victim else "all feature parties' columns"
    known = f"{_if_known(case, 'of them')} {_enough(case)}"
    return f"work out {weights}, and one number that mixes {mixed} for {case.scored}, {known}"


def _arbiter(case: _Case) -> str:
    if case.finding.target == "weights":
        return f"read {case.whose} weights"
    # A coalition of a party with the arbiter reads residuals; a party that is the arbiter has the key itself.
    is_residual = case.finding.target == "labels" and "+" in case.finding.by
    return _labels(case) if is_residual else _read(case)


GAINS: Mapping[str, Callable[[_Case], str]] = {
    "label-sign": _labels,
    "label-only": _labels,
    "label-stacked": _labels,
    "label-average": _labels,
    "label-rare": _rare,
    "own-weights": lambda case: f"learn something about the labels of {case.people} from its own weights",
    "label-enumeration": lambda case: "work out which groups of people that are alike in its columns have label 1",
    "label-counts": lambda case: (
        "count how many people have label 1 in each group that one of its yes/no columns forms; in a group of one, "
        "that is the person's label"
    ),
    "label-chosen-rows": _chosen_rows,
    "packing": _read,
    "claimed-width": _read,
    "feature-single": lambda case: f"work out {case.their_columns} for {case.people}",
    "feature-chain": lambda case: f"work out {case.their_columns} for {case.people}",
    "feature-geometry": _geometry,
    "steering": _steering,
    "off-the-circle": _off_the_circle,
    "garbage-replies": _whole_row,
    ONE_COLUMN: lambda case: f"read one of {case.whose} columns for {case.scored}",
    "chosen-labels": _whole_row,
    "chosen-column": lambda case: rank_by_column(case.figures, case.whose),
    "false-residual": _whole_row,
    "masked-shares": _masked,
    "model-difference": _difference,
    "prediction-equations": _equations,
    "arbiter-key": _arbiter,
    "no-encryption": _read,
    "scores-in-the-clear": _read,
    "keys": lambda case: "break the short keys, and then read every label and every score",
}
IN_GENERAL = {
    "labels": "work out {whose} labels",
    "scores": "work out {whose} part of scores",
    "features": "work out {whose} columns",
    "weights": "work out {whose} weights",
    "ids": "work out who is in {whose} table",
}
"""The gains in words for findings without figures."""
