"""The numbers that a plan fixes before any data are seen, as rules need them."""

import math
from dataclasses import dataclass
from functools import cached_property

from plumbob.checking.coalitions import Coalition
from plumbob.checking.study import SLACK_BITS, Widths, largest_released, noise_std, widths_for
from plumbob.checking.words import spoken_names
from plumbob.counting import counted, percent
from plumbob.data import all_steps, largest_batch
from plumbob.model.logistic import uniform_reach
from plumbob.plan import Party, Plan, RowLevels, total_passes
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.plan.study import flip_probability, label_scale
from plumbob.protocol.limits import most_scored_rows
from plumbob.protocol.openings import WEIGHTS, columns_of, opened_bits

ASSUMED_ROWS = 10_000
LARGEST_PART = 4.0  # Beyond it no sign shows a label: abs(score) < 2, plus 2 for the label (Criterion 4.2).
# How far scores drift while everybody is visited for the first time, in standard deviations of a residual's units.
USUAL_DRIFT = 0.4


@dataclass(frozen=True)
class Figures:
    """A plan's numbers on this many training rows, for this many runs on the same rows."""

    plan: Plan
    rows: int
    runs: int = 1
    is_assumed: bool = False
    """Whether nobody said how many rows there are."""
    held_out: int = 0
    """Rows that are aligned, not trained on, and scored when training ends."""
    predicted: int | None = None
    """Rows to be scored later, where somebody says how many; None = as many as the plan allows."""
    positives: float | None = None
    """The share of positive labels, where somebody knows it."""
    coalition: Coalition | None = None
    """The coalition that is one of the plan's two parties, if one is."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        rows: int | None = None,
        runs: int = 1,
        predicted: int | None = None,
        positives: float | None = None,
    ) -> "Figures":
        """The figures for aligned `rows`, of which the plan may hold some out; without a number, many are assumed."""
        known = rows or plan.rows
        aligned = known or max(ASSUMED_ROWS, 20 * plan.batch_size)
        held_out = plan.held_out(aligned)
        return cls(plan, aligned - held_out, runs, not known, held_out, predicted, positives)

    @property
    def aligned(self) -> int:
        """The rows that all parties have in common, held-out ones included."""
        return self.rows + self.held_out

    @property
    def scored(self) -> int:
        """How many rows' scores the label party sees, held-out ones included: what the plan allows, or `predicted`.

        A plan without a limit is judged for as many as were trained on. In `clear` nobody predicts for anybody.
        """
        limit = most_scored_rows(self.plan, self.rows)
        if self.predicted is None:
            return limit or (self.rows if self.plan.kind.is_encrypted else 0)
        asked = self.predicted + (self.held_out if self.plan.kind.is_encrypted else 0)
        return min(asked, limit) if limit else asked

    @cached_property
    def _spoken(self) -> dict[str, str]:
        if self.coalition is not None:
            return self.coalition.spoken_in_plan
        return spoken_names([party.name for party in self.plan.parties])

    def spoken(self, name: str) -> str:
        """What sentences call this party."""
        return self._spoken.get(name, name)

    @property
    def whole_plan(self) -> Plan:
        """The plan that is run; a coalition's has two parties in the place of all."""
        return self.plan if self.coalition is None else self.coalition.whole

    def has_evidence_of(self, name: str) -> bool:
        """Whether a replay could name this party, or each of a coalition; a draft without auditors will name them."""
        plan = self.whole_plan
        members = name.split("+") if self.coalition is None else self.coalition.members
        return plan.keeps_evidence and (not plan.auditors or all(plan.has_evidence_of(one) for one in members))

    @property
    def people(self) -> str:
        """The people in training, in words."""
        return f"the {counted(self.rows, 'person', 'people')} in training"

    @property
    def scored_people(self) -> str:
        """The people who may be scored, in words."""
        return f"each of up to {counted(self.scored, 'scored person', 'scored people')}"

    @property
    def batch(self) -> int:
        """The rows of a usual batch."""
        return self.rows if self.plan.batches == "full" else min(self.plan.batch_size, self.rows)

    @property
    def longest_batch(self) -> int:
        return largest_batch(self.rows, self.plan)

    @property
    def visits(self) -> int:
        """How often a row is in a batch at most, in all runs together."""
        return self.passes * self.runs

    @cached_property
    def levels(self) -> RowLevels:
        return self.plan.levels(self.rows)

    @property
    def passes(self) -> int:
        """The passes of one run, on all levels of rows."""
        return total_passes(self.levels)

    @property
    def fresh_visits(self) -> int:
        """How many visits are in freshly shuffled batches; the same batches would only repeat what they said."""
        if self.plan.batches == "full":
            # Every run draws its samples again.
            return 1 + self.runs * (len(self.levels) - 1)
        return self.visits if self.plan.batches == "reshuffled" else self.runs

    @cached_property
    def steps(self) -> int:
        return all_steps(self.rows, self.plan)

    @property
    def sees_sums(self) -> bool:
        """Whether parties see their gradients."""
        return self.plan.kind.shows_gradients

    def columns(self, name: str) -> int:
        """The party's columns, the intercept included: as many equations per step."""
        return columns_of(self.plan, name)

    def rank(self, name: str) -> int:
        """Independent equations of one batch, in general position."""
        return min(self.columns(name), self.batch)

    def equations_a_row(self, name: str) -> float:
        """Independent equations about labels per row, in all visits together, in general position."""
        steps = self.steps // self.passes
        per_epoch = self.rank(name) * (steps - 1) + min(self.columns(name), self.longest_batch)
        # An epoch's batches hold all rows: its sums add up to the same totals as any other epoch's.
        repeated = self.rank(name)
        return (self.fresh_visits * per_epoch - (self.fresh_visits - 1) * repeated) / self.rows

    @property
    def is_between_two(self) -> bool:
        """Whether only two take part in the run: a coalition's plan names two parties, but more do."""
        return len(self.plan.learners) == 2 and self.coalition is None

    def peers(self, name: str) -> tuple[Party, ...]:
        """The other parties that hold columns."""
        return tuple(party for party in self.plan.learners if party.name != name and party.features)

    def peer_columns(self, name: str) -> int:
        return sum(party.features for party in self.peers(name))

    def noise_toward(self, name: str) -> float:
        """The deviation of the noise that the others put on each residual."""
        return math.hypot(*(noise_std(self.plan, party.role) for party in self.plan.learners if party.name != name))

    @property
    def is_noisy(self) -> bool:
        return any(noise_std(self.plan, party.role) > 0 for party in self.plan.learners)

    @property
    def label_signal(self) -> float:
        """What a label adds to a residual, in units of a score."""
        sigmoid = SIGMOIDS[self.plan.sigmoid]
        return sigmoid.label_weight / sigmoid.slope * label_scale(self.plan.label_flip_epsilon)

    @property
    def flipped(self) -> float:
        """The share of labels that randomised response turns over."""
        return flip_probability(self.plan.label_flip_epsilon)

    @property
    def flips_in_words(self) -> str:
        """The part of a sentence that flipped labels add."""
        return f", of which {percent(self.flipped)} are flipped at random" if self.flipped else ""

    @property
    def than_a_coin(self) -> str:
        """How good a guess about one person can be under noise for whole rows."""
        epsilon = self.plan.epsilon
        right = 0.5 + math.tanh(epsilon / 2.0) / 2.0
        return f"right at most {percent(right)} of the time, where a coin is right 50 % (epsilon {epsilon:g})"

    @property
    def bound_on_opened_labels(self) -> str:
        """The sentence on how noise for rows or flips bound what opened weights say of one label; empty without."""
        if self.plan.noise == "rows":
            # For a label drawn by a fair coin: at most this much more than guessing (docs/privacy.md).
            return (
                "Weights are opened with noise: whatever rows a party brings within its norm bound, its guess about "
                f"one person's label is {self.than_a_coin}. Nobody can check that it keeps to the bound."
            )
        if 1.0 - 2.0 * self.flipped <= self.plan.tolerance_labels:
            return f"Weights are opened, but {percent(self.flipped)} of the labels are flipped at random first."
        return ""

    @property
    def growth(self) -> float:
        """How far scores have come towards their end when training ends."""
        return 1.0 - (1.0 - min(1.0, self.plan.rate / 4.0)) ** self.steps

    def peer_spread(self, name: str, drift: float = 1.0) -> float:
        """The deviation of the other parties' scores on early visits, for columns of size 1 or clipped rows.

        `drift` is the share of the usual drift that they have made.
        """
        if not SIGMOIDS[self.plan.sigmoid].may_mislead:
            return 0.0
        columns = self.plan.columns - self.plan.party(name).features
        if columns == 0 and not self.plan.intercept:
            return 0.0
        norm = math.sqrt(columns)
        if self.plan.row_norm:
            norm = min(norm, self.plan.row_norm * math.sqrt(columns / max(self.plan.columns, 1)))
        return math.hypot(self.start_size * norm, drift * USUAL_DRIFT)

    @property
    def start_size(self) -> float:
        """The deviation of a starting weight."""
        columns = max(self.plan.columns, 1)
        return {
            "zero": 0.0,
            "xavier": uniform_reach("xavier", columns) / math.sqrt(3.0),
            "kaiming": uniform_reach("kaiming", columns) / math.sqrt(3.0),
            "small": math.sqrt(2.0 / columns),
            "normal": 1.0,
        }[self.plan.start]

    def general_signal(self, name: str, visits: int) -> float:
        """How far what own columns say about labels in general stands out from noise and flips, in standard deviations.

        No noise on single rows hides that, once there are rows enough; infinite where nothing is in its way.
        """
        weight = self.label_signal * (1.0 - 2.0 * self.flipped)
        noise = (self.noise_toward(name) / weight) ** 2 / (self.rows * visits)
        flips = ((1.0 - 2.0 * self.flipped) ** -2 - 1.0) / self.rows
        return (noise + flips) ** -0.5 if noise + flips else math.inf

    def most_ratio(self, name: str, visits: int) -> float:
        """Signal to noise of one label in a party's noisy sums, for any attack, with all other labels known.

        Noise on the residuals of a batch is white, so its sums hold of one residual what its leverage says, and a
        batch's leverages add up to its rank. No unevenness of columns or rows lowers that mean.
        """
        noise = self.noise_toward(name)
        held = visits * self.rank(name) / self.batch
        return self.label_signal * math.sqrt(held) / noise if noise else math.inf

    @property
    def has_labels_alone(self) -> bool:
        """Whether a residual holds nothing but the label, in every step (Theorem 4.1)."""
        return len(self.plan.learners) == 2 and self.columns(self.plan.label_party.name) == 0

    @property
    def unknown_weights(self) -> int:
        """How many numbers, the offset included, known rows must fix before a score says anything of others."""
        theirs = sum(party.features for party in self.plan.feature_parties)
        return (self.plan.columns if self.plan.is_closed else theirs) + 1

    # Weights, as `shares` opens them.

    def labels_in_opened_weights(self, name: str) -> int:
        """How many labels a party that chooses its rows reads from its own opened weights, in all runs together.

        From zero weights the first step's residuals are labels, so one weight is a binary number: as many digits as a
        feature has, less those that would move the weight by fewer than two of its last places. From any other
        start a weight holds one person's residuals.
        """
        per_run = self.columns(name)
        if self.plan.start == "zero" and not self.plan.weighs_rows:
            per_run = min(
                self.batch,
                self.levels[0].rows,
                per_run * max(1, self.widths.features.bits - 1 - self._lowest_opened_bit),
            )
        return min(self.rows, per_run * self.runs)

    @property
    def _lowest_opened_bit(self) -> int:
        sigmoid = SIGMOIDS[self.plan.sigmoid]
        label = sigmoid.label_weight * label_scale(self.plan.label_flip_epsilon)
        moved = label * self.plan.rate * sigmoid.gradient_scale / min(self.batch, self.levels[0].rows)
        return max(0, math.ceil(self.plan.feature_bits - WEIGHTS.fraction_bits + 1 - math.log2(moved)))

    def opened_bits(self, name: str) -> int:
        """How many bits a party's opened weights can carry to it, whatever it sends, in all runs together."""
        return opened_bits(self.plan, name) * self.runs

    # Pushes on the peers' weights, in `exchange` and `arbiter`.

    def is_still(self, name: str) -> bool:
        """Whether the peers' weights move by pushes alone: from zero, and without labels of their own."""
        return self.plan.start == "zero" and name == self.plan.label_party.name

    def steered_people(self, name: str) -> int:
        """How many people's residuals a party reads in every epoch: all, where a step reads a whole batch."""
        columns = self.columns(name)
        return self.rows if self.longest_batch <= columns else min(columns, self.rows)

    def steered_columns(self, name: str) -> int:
        """How many of its peers' columns it reads: one in each epoch after the first, or in every second one."""
        epochs = (self.passes - 1) // (1 if self.is_still(name) else 2)
        return min(epochs, self.peer_columns(name))

    # Replies, as they travel in `exchange`.

    @cached_property
    def widths(self) -> Widths:
        return widths_for(self.plan, self.rows)

    @property
    def plaintext_bits(self) -> int:
        """The widest sum that a reply can carry under its mask."""
        return self.plan.key_bits - 1 - SLACK_BITS

    @property
    def slot_bits(self) -> int:
        """How many bits an honest sum takes."""
        helpers = len(self.plan.learners) - (1 if self.plan.arbiter is None else 0)
        return self.widths.sums(self.longest_batch, helpers)

    def reply_widths(self, name: str) -> list[int]:
        """How many bits come back in each reply of one step."""
        columns = self.columns(name)
        if self.plan.replies == "paper":
            return [self.plan.key_bits] * columns
        per_reply = max(1, self.plaintext_bits // self.slot_bits)
        return [min(per_reply, columns - start) * self.slot_bits for start in range(0, columns, per_reply)]

    def readable_residuals(self, name: str) -> int:
        """How many residuals a dishonest learner could put into one step's replies (docs/exchange.md, "Replies")."""
        if self.plan.replies == "paper":
            return self.columns(name) * ((self.plaintext_bits - self.slot_bits) // self.widths.residuals.bits)
        return sum(width // self._narrow_bits for width in self.reply_widths(name))

    @property
    def _narrow_bits(self) -> int:
        """Bits of the narrowest residual that still tells labels apart, sign included."""
        helpers = len(self.plan.learners) - 1
        largest = max(LARGEST_PART, largest_released(self.plan)) * math.sqrt(helpers)
        return self.plan.residual_bits + math.ceil(math.log2(largest)) + 1
