"""The paper's bounds, each under the number that the paper's class gives it.

The paper assumes rows of norm at most 1. Real rows are longer, and the intercept adds a 1 to each, so every bound takes
`row_norm`, the largest norm R of a joint row *as trained on*, intercept included: with it the growth per step is
1 + learning_rate * R^2 / 4. L2 with learning_rate * l2 <= 2 only pulls scores in and changes no bound. The paper's
"absolute constants" are given values here, with their reason.
"""

import math

from plumbob.errors import PlanError
from plumbob.model.logistic import uniform_reach
from plumbob.plan.sigmoids import SIGMOIDS

# Laurent and Massart (2000), Lemma 1: a Gaussian form Z'PZ with trace, Frobenius and operator norm at most 1 exceeds
# 1 + 2 sqrt(x) + 2x with probability at most exp(-x). That is at most 4k for x = ck and every k >= 1 with this c.
GAUSSIAN_CONSTANT = ((math.sqrt(7.0) - 1.0) / 2.0) ** 2


# Feature party's features, section 3


def epochs_to_merge(batches_per_epoch: int) -> int:
    """Lemma 3.4: epochs of reshuffled batches until the ratios of one feature join into one group."""
    return batches_per_epoch.bit_length()


def merge_probability(batches_per_epoch: int, batch_size: int) -> float:
    """Lemma 3.4: at least this likely within `epochs_to_merge`; at least two rows a batch."""
    if batches_per_epoch == 1:
        return 1.0
    return max(0.0, 1.0 - 2.0 * float(batches_per_epoch) ** (1 - batch_size))


def epochs_to_exact_values(batches_per_epoch: int) -> int:
    """Theorem 3.5 (and Remark 4.9 the other way round): epochs until one feature is known up to its sign."""
    return epochs_to_values_once_merged(epochs_to_merge(batches_per_epoch))


def epochs_to_values_once_merged(merging_epochs: int) -> int:
    """Theorems E.2 (minimax) and F.1 (piecewise): one person must be seen twice, whenever the ratios merged."""
    return max(merging_epochs, 2)


def largest_solvable_batch(n_columns: int, slots: int = 1) -> int:
    """Corollary 3.2: rows of a batch whose residuals own columns determine; section 5.2: `slots` times as many."""
    return slots * n_columns


# Label party's labels, section 4 and appendix E


def growth(learning_rate: float, row_norm: float = 1.0) -> float:
    """Lemma 4.4: the largest abs(score) + 2 grows by at most this factor a step."""
    return 1.0 + learning_rate * row_norm**2 / 4.0


def safe_steps(learning_rate: float, largest_score: float = 0.0, row_norm: float = 1.0) -> int:
    """Corollary 4.5 and, for any number of parties, Theorem 4.10: steps in which every sign shows its label.

    `largest_score` is the paper's epsilon, the largest abs(score) at the start; 0 gives Theorem 4.6 (zero start).
    """
    return _steps_below(2.0 + largest_score, 2.0 + SIGMOIDS["taylor"].threshold, learning_rate, row_norm)


def minimax_safe_steps(learning_rate: float, largest_score: float = 0.0, row_norm: float = 1.0) -> int:
    """Theorem E.3: the same for minimax, whose threshold is 3.2; its proof holds for any start below that."""
    return _steps_below(2.0 + largest_score, 2.0 + SIGMOIDS["minimax"].threshold, learning_rate, row_norm)


def start_score_bound(start: str, n_rows: int, n_columns: int, row_norm: float, failure: float) -> float:
    """The largest abs(score) at the start, with probability 1 - failure: Lemma 4.7 with every constant worked out.

    Hoeffding for the uniform starts, the Gaussian tail for normal, Chernoff for small (Laplace / sqrt(d)).
    """
    log_odds = math.log(2.0 * n_rows / failure)
    match start:
        case "zero":
            return 0.0
        case "xavier" | "kaiming":
            return uniform_reach(start, n_columns) * row_norm * math.sqrt(2.0 * log_odds)
        case "normal":
            return row_norm * math.sqrt(2.0 * log_odds)
        case "small":
            return row_norm / math.sqrt(n_columns) * _laplace_tail(log_odds)
    raise PlanError(f"unknown start {start!r}")


def _laplace_tail(log_odds: float) -> float:
    """t with P(abs(a . gamma) >= t) <= 2 exp(-log_odds) for standard Laplace gamma and norm of a at most 1.

    log E exp(m gamma) = -log(1 - m^2) <= curvature * m^2 for abs(m) <= 1/2, and no entry of a exceeds its norm.
    """
    curvature = 4.0 * math.log(4.0 / 3.0)
    tilt = min(0.5, math.sqrt(log_odds / curvature))
    return log_odds / tilt + curvature * tilt


# The active attack, section 5.2


def slots(key_bits: int, slot_bits: int) -> int:
    """Section 5.2: values that one plaintext carries side by side."""
    return (key_bits - 1) // slot_bits


def readable_residuals(reply_bits: int, residual_bits: int) -> int:
    """Residuals that a learner can read from one step's replies, if these are cut to `reply_bits` in all.

    A residual between -2 and 2 has `residual_bits` fraction bits and two more. Where residuals are known to be -2 or 2,
    in the first step from zero weights and toward a label party without columns, one bit is enough for each:
    `reply_bits` of them.
    """
    return reply_bits // (residual_bits + 2)


# The countermeasure, section 6


def gradient_error_bound(noise_std: float, batch_size: int, n_steps: int, failure: float) -> float:
    """Lemma 6.3, the u of Theorem 6.4: norm of the noise's part in any gradient of the run, for rows of norm 1.

    Two parties, `noise_std` the larger of the two; holds with probability 1 - failure. The paper's proof drops the
    noise_std. For longer rows multiply by their norm.
    """
    return math.sqrt(math.log(2.0 * n_steps / failure) / (GAUSSIAN_CONSTANT * batch_size)) * noise_std


def utility_gap(gradient_norm: float, distance: float, gradient_error: float, n_steps: int, failure: float) -> float:
    """Theorem 6.4 with its constants: loss of the mean weights above that of any reference point.

    `gradient_norm` bounds one row's gradient (G), `distance` the way to the reference point (C). Holds with probability
    1 - 2 failure at `utility_learning_rate`, for batches drawn independently; an epoch's permutation is not quite that.
    """
    drift = (gradient_norm + gradient_error) * distance / math.sqrt(n_steps)
    luck = (2.0 * gradient_norm + gradient_error) * distance * math.sqrt(2.0 * math.log(1.0 / failure) / n_steps)
    return drift + luck


def utility_learning_rate(gradient_norm: float, start_distance: float, gradient_error: float, n_steps: int) -> float:
    """Theorem 6.4: the step size of its proof."""
    return start_distance / ((gradient_norm + gradient_error) * math.sqrt(n_steps))


def noisy_safe_steps(
    learning_rate: float, gradient_error: float, largest_score: float = 0.0, row_norm: float = 1.0
) -> int:
    """Theorem 6.6: steps in which scores drift less than 2, in spite of noise; `gradient_error` for rows of norm 1.

    The statement's 4u + 4 is right, not its proof's 4u + 4 + epsilon. It limits drift only: the residual that the peer
    solves for carries noise itself and may have the wrong sign from the first step.
    """
    offset = 4.0 * gradient_error + 2.0
    return _steps_below(offset + largest_score, offset + SIGMOIDS["taylor"].threshold, learning_rate, row_norm)


def _steps_below(first: float, limit: float, learning_rate: float, row_norm: float) -> int:
    """Steps t = 1, 2, ... with first * growth^(t-1) < limit."""
    if first >= limit:
        return 0
    steps = math.log(limit / first) / math.log1p(growth(learning_rate, row_norm) - 1.0)
    # A whole number of steps must not become one more by the last bit of a logarithm.
    return math.ceil(steps - 1e-9 * max(1.0, steps))
