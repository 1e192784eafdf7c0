"""What the label party works out from scores of predicted rows: equation solving (Luo et al., ICDE 2021).

The auditor takes training rows for those that are predicted, and hands the label party the peers' columns of as many of
them as an attacker would need to know from elsewhere. From these it solves for the peers' weights; every other score
is then one equation about its row's columns, of which the smallest solution is the claim.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.rules.altered_shares import RULE as ALTERED
from plumbob.checking.rules.prediction_equations import RULE, unknown_weights
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.lab.attacks import Attack, NotApplicable, ValueClaim
from plumbob.lab.attacks.altered_shares import COLUMN, AlteredShares, believed
from plumbob.lab.audit.score import advantage_over, explained, regression_errors, scored, verdict_of
from plumbob.lab.audit.staging import RunsAgain
from plumbob.lab.audit.truth import Truth
from plumbob.model import intervals
from plumbob.plan import Plan
from plumbob.protocol.openings import OPENED_SCORES
from plumbob.protocol.releases import scored_bits
from plumbob.record import Finding

EQUATIONS = Attack(RULE.name, "label", lambda view: NotApplicable("it needs scores of predicted rows"), RULE.reference)
EXACT = 1e-6


def prediction_audit(truth: Truth, scored_rows: int, again: Callable[[Truth], Truth]) -> Iterator[Finding]:
    """What this many scored rows give the label party that knows as many of them from elsewhere as it needs.

    That is taken for granted, so what is reached degrades at most, as `check` says. Weights that stay shared are in no
    view: `again` gives the truth of the same training in the clear, whose scores the label party is shown, cut as an
    opened score is.
    """
    plan, answered = truth.plan, min(scored_rows, truth.rows)
    against = " + ".join(party.name for party in plan.feature_parties if party.features)
    if answered < unknown_weights(plan) or not against:
        return
    has_weights = all(len(view.weights) for view in truth.views.values() if view.X.shape[1])
    shown = _scores_of(truth if has_weights else again(truth), plan, against, answered)
    known = unknown_weights(plan)
    solved, parts = shown.solved(known)
    for finding in _weights_findings(truth, against, shown.their_weights, solved, known):
        yield replace(finding, verdict=_at_most_degrades(finding.verdict))
    values = _smallest_columns(shown.theirs, parts, solved, known, answered)
    claim = ValueClaim("features", against, values, np.zeros(truth.rows, bool))
    is_plain = sum(party.features for party in plan.feature_parties) == 1 and not plan.is_closed
    for finding in scored(EQUATIONS, plan.label_party.name, claim, truth):
        verdict = finding.verdict if is_plain else _at_most_degrades(finding.verdict)
        yield replace(finding, verdict=verdict, stage=RULE.stage)


def _at_most_degrades(verdict: str) -> str:
    return DEGRADES if verdict == LEAKS else verdict


@dataclass(frozen=True, repr=False, eq=False)
class ScoredRows:
    """What the label party has: scores of some rows, its own columns where it does not know its part of them."""

    scores: Vector
    own: Matrix
    """Without columns where the label party knows its own weights, and has taken its part out."""
    theirs: Matrix
    their_weights: Vector
    """The truth."""

    def solved(self, known: int) -> tuple[Vector, Vector]:
        """The peers' weights, from rows that are known from elsewhere, and every row's part of the score under them."""
        columns = np.hstack([self.own, self.theirs])
        weights, offset = solved_weights(columns[:known], self.scores[:known])
        width = self.own.shape[1]
        own_part: Vector = self.own[: len(self.scores)] @ weights[:width]
        return weights[width:], self.scores - own_part - offset


def _scores_of(truth: Truth, plan: Plan, against: str, answered: int) -> ScoredRows:
    label_party = plan.label_party.name
    own, theirs = truth.features(label_party), truth.features(against)
    weights = np.concatenate([truth.views[name].weights for name in against.split(" + ")])
    parts: Vector = theirs[:answered] @ weights
    if not plan.is_closed:
        return ScoredRows(parts, own[:, :0], theirs, weights)
    view = truth.views[label_party]
    joint: Vector = view.X[:answered] @ view.weights + parts
    unit = 2.0**OPENED_SCORES.fraction_bits
    return ScoredRows(np.rint(joint * unit) / unit, own, theirs, weights)


def solved_weights(columns: Matrix, parts: Vector) -> tuple[Vector, float]:
    """The weights and the offset that explain these rows' scores; the smallest ones where several do."""
    design = np.column_stack([columns, np.ones(len(columns))])
    solution: Vector = np.asarray(np.linalg.lstsq(design, parts, rcond=None)[0], dtype=np.float64)
    return solution[:-1], float(solution[-1])


def _smallest_columns(columns: Matrix, parts: Vector, weights: Vector, known: int, answered: int) -> Matrix:
    """For every scored row that is not known, the smallest columns that give its score: scaled ones are around 0."""
    values, size = np.full(columns.shape, np.nan), float(weights @ weights)
    if size > 0:
        values[known:answered] = np.outer(parts[known:] / size, weights)
    return values


def _weights_findings(truth: Truth, against: str, weights: Vector, solved: Vector, known: int) -> Iterator[Finding]:
    errors = (solved - weights)[:, None]
    rate = explained(weights[:, None], errors) if len(weights) > 1 else float(np.abs(errors).max() < EXACT)
    reached = max(0.0, rate or 0.0)
    verdict = verdict_of(reached, truth.plan.tolerance_features)
    why = (
        f"With the columns of {known} scored rows known from elsewhere, the scores give the weights with R^2 "
        f"{reached:.3f}."
    )
    label_party = truth.plan.label_party.name
    for name in against.split(" + "):
        yield Finding(
            *(RULE.name, label_party, name, "weights", verdict, why, RULE.reference, ""),
            rate=reached,
            baseline=0.0,
            n=known,
            advantage=reached,
            stage=RULE.stage,
        )


def altered_shares_audit(truth: Truth, scored_rows: int) -> list[Finding]:
    """The label party shifts the share that it supplies, in a run of its own, and reads the scores of these rows."""
    plan = truth.plan
    victims = [party.name for party in plan.feature_parties if party.features]
    if not plan.is_closed or not victims or not scored_rows:
        return []
    label, answered = plan.label_party.name, min(scored_rows, truth.rows)
    scores = RunsAgain(truth, label, scored_rows).scores_of_own_rows(np.arange(answered), AlteredShares())
    return [_altered_finding(truth, victims[0], believed(scores, truth.views[label]))]


def _altered_finding(truth: Truth, victim: str, claimed: Vector) -> Finding:
    """How much of the column the scores show, beside what the label party's own columns say about it."""
    label, answered = truth.plan.label_party.name, len(claimed)
    column = truth.features(victim)[:answered, COLUMN : COLUMN + 1]
    own = regression_errors(truth.views[label].X[:answered], column)
    rate, baseline = explained(column, claimed[:, None] - column), max(0.0, explained(column, own) or 0.0)
    ends = (0.0, 0.0) if rate is None else intervals.explained(column, claimed[:, None] - column)
    reached = advantage_over(ends[0], baseline)
    verdict = verdict_of(reached, truth.plan.tolerance_features)
    why = (
        f"With one weight of its share raised, {answered} scores show {rate or 0.0:.3f} (R^2) of one of {victim}'s "
        f"columns (95 % interval {ends[0]:.3g} to {ends[1]:.3g}) against {baseline:.3f} by own columns. "
        f"{scored_bits(truth.plan, answered)} bits were opened for it, and none of them is a score."
    )
    return Finding(
        *(ALTERED.name, label, victim, "features", verdict, why, ALTERED.reference, ""),
        rate=rate,
        baseline=baseline,
        interval=None if rate is None else ends,
        n=answered,
        advantage=reached,
        stage=RULE.stage,
        assumes="cheating",
    )
