"""Readings that gradients and opened weights allow to a party that keeps to the protocol: labels, columns, scores.

Every sum that a party gets is an equation about the same people's labels. Two numbers decide: how many independent
equations there are for each label in all visits together, and how much noise is left beside a label's part of a
residual once it is averaged over these visits. docs/check.md says on which plans the two thresholds were chosen.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

from plumbob.checking.figures import Figures
from plumbob.checking.rules.remedies import without_gradients
from plumbob.checking.rules.rule import Judged, Rule
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted, percent
from plumbob.model.intervals import wilson

# Labels.

OWN_WEIGHTS = "own-weights"
ENOUGH, ENOUGH_OF_FEW = 0.035, 0.12
"""Equations per label from which on labels leak; one or two columns give equations that are more alike."""
FEW_COLUMNS = 2
QUIET = 1.6
"""The noise that is left, as a share of a label's part of a residual, up to which they do."""
MOST_FLIPPED = 0.25
"""The share of labels turned over at random up to which what is left of them counts."""
FAINT, PLAIN, MANY_STEPS = 6.0, 30.0, 8
"""Standard deviations up to which own columns say nothing in general, and from which on they do so plainly; batches per
epoch that even out luck."""
UNTRAINED = 0.5
"""How far scores have come towards their end, up to which a random start still spoils them."""
RARE = 0.25
"""The share of positives above which neither class is called rare."""
ASSUMED_SHARES = (0.001, 0.003, 0.01, 0.03)
"""Shares of positives that are tried where nobody says which it is."""
SURE_BITS, FEW_BITS = 2.5, 0.1
"""Bits for each bit that is needed, from which on rare rows are surely found, and below which noise hides them."""
SURE = 1.96
"""Standard deviations by which weights surely name coin flips better than guessing."""


def labels(figures: Figures, by: str) -> Judged | None:
    """Judge labels from own sums by equations per label and the noise that is left after all visits."""
    if not figures.sees_sums or not figures.columns(by):
        return None
    known, noise = figures.equations_a_row(by), figures.noise_toward(by) / math.sqrt(figures.visits)
    because = (
        f"{counted(figures.visits, 'visit')} in batches of {counted(figures.batch, 'row')} give its "
        f"{counted(figures.columns(by), 'column')} {known:.3g} equations per label, and leave noise of {noise:.3g} "
        f"beside a label's {figures.label_signal:.3g}{figures.flips_in_words}."
    )
    can = f"work out the labels of {figures.people}, better than by guessing"
    return Judged(
        _verdict_on_labels(figures, by, known, noise),
        can,
        because,
        without_gradients(figures.plan),
        tuple(_attacks_on_labels(figures, by)),
    )


def _verdict_on_labels(figures: Figures, by: str, known: float, noise: float) -> str:
    are_few = figures.rank(by) <= FEW_COLUMNS
    # A random start spoils an attacker's own part of a model, and few steps do not mend it: its sums say more.
    is_spoilt = figures.plan.start != "zero" and figures.growth <= UNTRAINED and not are_few
    is_enough = known >= (ENOUGH_OF_FEW if are_few else ENOUGH)
    is_enough |= is_spoilt and figures.general_signal(by, figures.visits) >= PLAIN
    if is_enough and noise <= QUIET * figures.label_signal and figures.flipped <= MOST_FLIPPED:
        return LEAKS
    # From zero weights the first sums are counts of labels: noise on single ones does not hide those of groups.
    # Balanced classes let a rare label count as much as many others.
    is_bare = figures.plan.start == "zero" or figures.plan.class_weight != "none"
    if is_bare or most_advantage(figures, by) > figures.plan.tolerance_labels:
        return DEGRADES
    is_faint = figures.general_signal(by, figures.visits) <= FAINT
    is_even = figures.steps // figures.passes >= MANY_STEPS
    return BLOCKED if is_faint and is_even and rare_bits(figures, by)[1] < FEW_BITS else DEGRADES


def most_advantage(figures: Figures, by: str) -> float:
    """The advantage of any attack on single labels, with all other labels known: noise on residuals is white."""
    return (1.0 - 2.0 * figures.flipped) * (2.0 * auc_of(figures.most_ratio(by, figures.visits)) - 1.0)


def _attacks_on_labels(figures: Figures, by: str) -> list[str]:
    """The attacks that have something to work on, the one that reads most first."""
    is_solved = figures.rank(by) == figures.batch
    found = ["label-average"] if figures.noise_toward(by) else []
    is_countable = not figures.plan.weighs_rows and (figures.plan.start == "zero" or figures.has_labels_alone)
    if is_countable and figures.has_labels_alone:
        found.append("label-only")
    found += ["label-sign", "label-stacked"] if is_solved else ["label-stacked", "label-sign"]
    if not figures.plan.weighs_rows:
        found.append("label-rare")
    if is_countable:
        found += ["label-only", "label-counts"]
    if figures.plan.start == "zero":
        found.append("label-enumeration")
    return list(dict.fromkeys(found))


def rare_labels(figures: Figures, by: str) -> Judged | None:
    """Judge the bits that all sums say against those that the choice of a few rows needs.

    Where all labels leak anyway, neither class is rare, or noise hides the choice but not what columns say in general,
    there is nothing more to say.
    """
    if not figures.sees_sums or not figures.columns(by) or figures.plan.weighs_rows:
        return None
    all_labels = labels(figures, by)
    if all_labels is not None and all_labels.verdict == LEAKS:
        return None
    if not _rare_shares(figures):
        return None
    share, ratio = rare_bits(figures, by)
    rarer = None if figures.positives is None else share
    said, needed = _said_bits(figures, by, share), _needed_bits(figures, share)
    number = "those" if rarer is None else f"most of the {counted(round(rarer * figures.rows), 'person', 'people')}"
    can = (
        f"name {number} of {figures.people} who have the rarer label, if that label is rare"
        if rarer is None
        else f"name {number} with the rarer label"
    )
    given = (
        f"if {percent(share)} of the labels are positive; --positives says how rare they are"
        if rarer is None
        else f"as {percent(share)} of the labels are in the rarer class"
    )
    why = (
        f"The sums of {counted(figures.fresh_visits, 'visit')} in fresh batches say about {said:,.3g} bits, where "
        f"naming the positives of a batch of {counted(figures.batch, 'row')} takes {needed:,.3g}, {given}."
    )
    if ratio < FEW_BITS and figures.noise_toward(by):
        # Where sums show what columns say about labels in general, its ranking does too: `labels` has said so.
        is_hidden = all_labels is not None and all_labels.verdict == BLOCKED
        return Judged(BLOCKED, can, why, without_gradients(figures.plan)) if is_hidden else None
    verdict = LEAKS if ratio >= SURE_BITS and rarer is not None else DEGRADES
    return Judged(verdict, can, why, without_gradients(figures.plan))


def _rare_shares(figures: Figures) -> tuple[float, ...]:
    """The shares that the rarer class may have; none where it is known, and neither class is rare."""
    if figures.positives is None:
        return ASSUMED_SHARES
    rarer = min(figures.positives, 1.0 - figures.positives)
    return (rarer,) if 0.0 < rarer <= RARE else ()


def rare_bits(figures: Figures, by: str) -> tuple[float, float]:
    """A share of positives, and how many bits the sums say for each bit that the choice of these rows needs."""
    ratios = {share: _said_bits(figures, by, share) / _needed_bits(figures, share) for share in _rare_shares(figures)}
    return max(ratios.items(), key=lambda found: found[1], default=(0.0, 0.0))


def _needed_bits(figures: Figures, share: float) -> float:
    """The bits of which rows of a batch are in the rarer class, after labels were turned over at random."""
    seen = figures.flipped + (1.0 - 2.0 * figures.flipped) * share
    return -figures.batch * (seen * math.log2(seen) + (1.0 - seen) * math.log2(1.0 - seen))


def _said_bits(figures: Figures, by: str, share: float) -> float:
    """The bits that a batch's sums say about this choice, in all visits that are in freshly shuffled batches.

    A step says, for each own column, as many bits as the sum of the rare rows stands out from what blurs it.
    """
    blur = math.hypot(
        figures.noise_toward(by), figures.peer_spread(by, figures.growth), 2.0**-figures.plan.residual_bits
    )
    power = share * (1.0 - share) * (2.0 * figures.label_signal / blur) ** 2
    own = max(0, figures.rank(by) - (1 if figures.plan.intercept else 0))
    return figures.fresh_visits * own * 0.5 * math.log2(1.0 + power)


def labels_in_own_weights(figures: Figures, by: str) -> Judged | None:
    """Judge opened weights by how well they name even coin flips.

    What columns say about labels in general comes on top, and no plan tells how much that is.
    """
    plan = figures.plan
    if plan.is_closed or not figures.columns(by):
        return None
    can = f"learn something about the labels of {figures.people} from its own weights"
    attacks = (OWN_WEIGHTS,) if figures.sees_sums else (OWN_WEIGHTS, "label-counts")
    if bound := figures.bound_on_opened_labels:
        why = f"{bound} What its columns say about labels in general comes through, once there are rows enough."
        return Judged(DEGRADES, can, why, without_gradients(plan), attacks)
    right = coins_named(figures, by)
    why = (
        f"{counted(figures.columns(by), 'weight')} on {figures.rows:,} rows remember coin flips with {percent(right)} "
        f"right, and show what {figures.spoken(by)}'s columns say about labels in general, such as how much more often "
        "label 1 is in one half of a yes/no column"
    )
    noise = figures.noise_toward(by)
    surely = 2.0 * (right - SURE * 0.5 / math.sqrt(figures.rows)) - 1.0
    # Noise hides single labels, not what columns say about labels in general: that is in the weights too.
    verdict = LEAKS if surely > plan.tolerance_labels and not noise else DEGRADES
    beside = f"; noise of {noise:.3g} is on each residual" if noise else ""
    return Judged(verdict, can, f"{why}{beside}.", without_gradients(plan), attacks)


def coins_named(figures: Figures, by: str) -> float:
    """The share of coin flips that opened weights name: fitted to them, d columns on n rows hold d / n of a label.

    A label's sign then comes out right for a share Phi(sqrt(h / (1 - h))) of the rows, with h = d / n.
    """
    held = min(1.0, figures.columns(by) * figures.runs / figures.rows)
    return 1.0 if held == 1.0 else NormalDist().cdf(math.sqrt(held / (1.0 - held)))


# Residuals that are read one by one.

USUAL_AUC, SPOILT_AUC = 0.70, 0.65
"""The AUC of a party's own part of a model: usually, and after a random start that few steps undo."""
FORECAST_ERROR = 0.36
"""How far from what an attack reaches a forecast may lie, however many rows there are: .068 where the AUC is .75."""


@dataclass(frozen=True)
class RowByRow:
    """Residuals of a feature party's peers that it reads one by one, and what they say of labels."""

    figures: Figures
    by: str
    share: float = 1.0
    """The share of the rows that are read."""
    visits: int = 1
    """How many readings of a row are averaged."""
    people: int | None = None
    """How many people are judged; None = all."""
    is_exact: bool = False
    """Whether nothing blurs a label but the flips."""

    @property
    def verdict(self) -> str:
        tolerance = self.figures.plan.tolerance_labels
        if self.surely > tolerance:
            return LEAKS
        is_hidden = self._noise > 0 or self.figures.flipped > 0
        return BLOCKED if is_hidden and self.at_most <= tolerance else DEGRADES

    @property
    def right(self) -> float:
        """The share of labels that come out right among those that are read."""
        return self.figures.flipped + self._unflipped * NormalDist().cdf(self._ratio)

    @property
    def surely(self) -> float:
        """The advantage that it has at least, as far as a plan tells."""
        # Labels that are read exactly are read, however well own columns predict them.
        baseline = USUAL_AUC if self.figures.plan.start == "zero" or self.is_exact else SPOILT_AUC
        auc = 0.5 + self.share * (self.figures.flipped + self._unflipped * auc_of(self._ratio) - 0.5)
        judged = self.figures.rows if self.people is None else self.people
        least = min(wilson(auc * judged, judged)[0], auc - FORECAST_ERROR * auc * (1.0 - auc))
        return (least - baseline) / (1.0 - baseline)

    @property
    def at_most(self) -> float:
        """The advantage that it has at most on those who are read, with nothing but noise and flips in its way."""
        alone = self.figures.label_signal / self._noise if self._noise else math.inf
        return self._unflipped * (2.0 * auc_of(alone) - 1.0)

    @property
    def _noise(self) -> float:
        return self.figures.noise_toward(self.by) / math.sqrt(self.visits)

    @property
    def _unflipped(self) -> float:
        return 1.0 - 2.0 * self.figures.flipped

    @property
    def _ratio(self) -> float:
        blur = 0.0 if self.is_exact else math.hypot(self._noise, self.figures.peer_spread(self.by))
        return self.figures.label_signal / blur if blur else math.inf


def auc_of(ratio: float) -> float:
    """The AUC of beliefs that stand out from what blurs them by this ratio."""
    return NormalDist().cdf(math.sqrt(2.0) * ratio)


# Scores and columns: which residuals a batch fixes.

USUAL_SCORE = 0.3
"""The spread of a peer's part of the score, beside which noise is large or small."""
FEW_EPOCHS = 3
"""How many visits usually let ratios merge and show the scale."""
FEW = 0.1
"""The share of rows that may lie in a longer last batch without changing the verdict."""
FAR_ROOM, NEAR_ROOM = 2.5, 1.35
"""Own columns per row of a batch with which it surely has full rank: after a start far from zero, or after another."""
WELL_CONDITIONED = 6
"""Most peer columns for which inner products are recovered with room to spare."""
LONG_HISTORY = 8
"""Visits per peer column that a fit of the history needs to be sure."""


def scores(figures: Figures, by: str) -> Judged | None:
    """Judge each visit's residual minus what a party knows of it: its own part, and the label, which it may read."""
    if not figures.sees_sums or not figures.columns(by) or not figures.peers(by):
        return None
    can = f"work out {{whose}} part of the score of {figures.people}"
    noise, numbers = figures.noise_toward(by), _residual_numbers(figures, by)
    if _are_none_determined(figures, by):
        return Judged(BLOCKED, can, f"{numbers}.")
    if is_drowned(figures, by, noise / math.sqrt(figures.visits)):
        why = (
            f"{numbers}, but the peers' noise of {noise:.3g} is far above a score of about "
            f"{usual_score(figures, by):.2g}, and {counted(figures.visits, 'visit')} do not average it away."
        )
        return Judged(BLOCKED, can, why)
    fix = without_gradients(figures.plan)
    is_label_party = by == figures.plan.label_party.name
    # A feature party first reads the labels: surely from a zero start, and where nearly every batch is determined.
    is_sure = is_label_party or (figures.plan.start == "zero" and NEAR_ROOM * figures.batch <= figures.columns(by))
    if noise or not _are_most_determined(figures, by) or not is_sure:
        return Judged(DEGRADES, can, f"{numbers}{with_noise(noise)}: some scores show, or all of them blurred.", fix)
    return Judged(LEAKS, can, f"{numbers}: every visit shows the peer's part of the score.", fix)


def columns(figures: Figures, by: str) -> Judged | None:
    """Judge the history of scores: one column by its ratios and steps, several up to a rotation."""
    if not figures.sees_sums or not figures.columns(by) or not figures.peers(by):
        return None
    if figures.peer_columns(by) == 1:
        return _one_column(figures, by)
    return _rotated_columns(figures, by)


def _one_column(figures: Figures, by: str) -> Judged | None:
    """Ratios within batches, merged over visits; with batches of one row, steps from one weight to the next."""
    plan, noise = figures.plan, figures.noise_toward(by)
    is_label_party, is_alone = by == plan.label_party.name, figures.batch == 1
    if is_alone and (figures.visits < 2 or not is_label_party):
        return None
    can = f"work out {{whose}} only column for {figures.people}"
    numbers = f"{_residual_numbers(figures, by)}; {counted(figures.visits, 'visit')}"
    if _are_none_determined(figures, by):
        return Judged(BLOCKED, can, f"{numbers}.")
    attacks = ("feature-chain",) if is_alone else ("feature-single", "feature-chain")
    shown = (*attacks, "feature-geometry") if is_label_party else ("feature-single", "feature-geometry")
    if is_drowned(figures, by, noise / math.sqrt(figures.visits)):
        return Judged(BLOCKED, can, f"{numbers}, but noise of {noise:.3g} is on each score.", attacks=shown)
    # A feature party must replay the label party's intercept, for which no residual may be missing.
    is_whole = figures.longest_batch <= figures.columns(by) or is_label_party or not plan.intercept
    is_sure = figures.visits >= FEW_EPOCHS and not noise and is_whole and _are_most_determined(figures, by)
    # Without ratios a wrong guess is told by the end of the chain, which short rows hide.
    verdict = LEAKS if is_sure and not (is_alone and plan.row_norm) else DEGRADES
    why = f"{numbers}, of which about 2 merge its ratios and one more fixes the scale{with_noise(noise)}."
    return Judged(verdict, can, why, without_gradients(plan), shown)


def _rotated_columns(figures: Figures, by: str) -> Judged | None:
    """Inner products from the history of scores."""
    plan, width, visits, noise = figures.plan, figures.peer_columns(by), figures.visits, figures.noise_toward(by)
    can = (
        f"work out {{whose}} {width} columns for {figures.people}, once it knows a few of them from elsewhere, or "
        "where columns hold few values"
    )
    numbers = f"{_residual_numbers(figures, by)}; {visits} visits per row against {counted(width, 'peer column')}"
    shown = ("feature-geometry",)
    if _are_none_determined(figures, by):
        return Judged(BLOCKED, can, f"{numbers}.", attacks=shown)
    if visits <= width:
        return None
    if is_drowned(figures, by, noise / math.sqrt(visits)):
        return Judged(BLOCKED, can, f"{numbers}, but noise of {noise:.3g} is on each score.", attacks=shown)
    fix = without_gradients(plan)
    is_easy = width <= WELL_CONDITIONED and visits >= LONG_HISTORY * width and not plan.row_norm
    is_even = figures.longest_batch <= figures.columns(by) and _are_most_determined(figures, by)
    # A feature party surely reads the labels while scores are small, and replays no intercept without every residual.
    is_even &= by == figures.plan.label_party.name or (plan.start == "zero" and not plan.intercept)
    if noise or not is_easy or not is_even:
        why = f"{numbers}{with_noise(noise)}: the history is too short, blurred or uneven to be sure."
        return Judged(DEGRADES, can, why, fix, shown)
    why = (
        f"{numbers}: all columns up to one rotation, which {width} known rows fix. Columns with few values, such as "
        "yes or no, come out without a known row."
    )
    return Judged(LEAKS, can, why, fix, shown)


def _are_none_determined(figures: Figures, by: str) -> bool:
    """Whether all visits together fix no more residuals than the tolerance, whatever the columns are.

    A row that is alone in a category is fixed in a batch of any length; but no batch fixes more rows than it has
    independent equations, and each visit can fix other ones.
    """
    fixed = figures.visits * figures.rank(by) / figures.batch
    return fixed <= figures.plan.tolerance_features


def _are_most_determined(figures: Figures, by: str) -> bool:
    """Whether all batches are determined, or all but a last one that the remainder made longer.

    Real columns are rarely independent. A random start makes scores large, and what one batch leaves open then hides
    what the others show, unless there is room.
    """
    own = figures.columns(by)
    room = {"zero": 1.0, "normal": FAR_ROOM}.get(figures.plan.start, NEAR_ROOM)
    if figures.batch > figures.rank(by) or room * figures.batch > own:
        return False
    return figures.longest_batch <= own or figures.longest_batch / figures.rows <= FEW


def is_drowned(figures: Figures, by: str, noise: float) -> bool:
    """Whether noise hides the peers' part of a score, which a random start may make larger than training does."""
    return noise > 10.0 * usual_score(figures, by)


def usual_score(figures: Figures, by: str) -> float:
    """The spread of the peers' part of a score."""
    return max(USUAL_SCORE, figures.peer_spread(by, drift=0.0))


def _residual_numbers(figures: Figures, by: str) -> str:
    """A sentence on how many residuals of a batch own columns fix."""
    rows, own = figures.batch, figures.columns(by)
    numbers = f"Batches of {counted(rows, 'row')} against its {counted(own, 'column')}"
    if rows <= own:
        return f"{numbers} fix every residual"
    if _are_none_determined(figures, by):
        return f"{numbers} and {counted(figures.visits, 'visit')} fix hardly a residual"
    return f"{numbers} fix no residual in general, but that of a row which is alone in a category they do"


def with_noise(noise: float) -> str:
    """The part of a sentence that noise adds."""
    return f", with noise of {noise:.3g} on each score" if noise else ""


FROM_SUMS = {
    "label-stacked": "beyond the paper: all steps' equations stacked",
    "label-sign": "Criterion 4.2, Corollary 4.5, Theorems 4.6 and 4.10",
    "label-average": "beyond the paper: against Algorithm 3",
    "label-only": "Theorem 4.1; beyond it: first step from zero weights",
    "label-rare": "beyond the paper: sparse decoding",
    "label-counts": "beyond the paper: group counts",
    "label-enumeration": "Jiang et al., arXiv 2603.03777",
}
RULES = (
    Rule(FROM_SUMS, "features", "labels", labels),
    Rule({"label-rare": FROM_SUMS["label-rare"]}, "features", "labels", rare_labels),
    Rule(
        {OWN_WEIGHTS: "beyond the paper: a model remembers its rows", "label-counts": FROM_SUMS["label-counts"]},
        "features",
        "labels",
        labels_in_own_weights,
    ),
    Rule({"feature-geometry": "Corollary 3.2"}, "label", "scores", scores),
    Rule(
        {
            "feature-geometry": "beyond Theorem 3.6: up to a rotation",
            "feature-single": "Theorem 3.5",
            "feature-chain": "beyond the paper: batches without ratios",
        },
        "label",
        "features",
        columns,
    ),
    Rule({"feature-geometry": "Corollary 3.2, Remark 4.9"}, "features", "scores", scores),
    Rule(
        {"feature-geometry": "beyond Theorem 3.6 and Remark 4.9: up to a rotation", "feature-single": "Remark 4.9"},
        "features",
        "features",
        columns,
    ),
)
