"""The stand-ins for the sigmoid in one form: four of the paper's (section 2, appendices E and F), and a Fourier series.

Each residual is `curve(z) - label_weight * y` with z the joint score and y = -1 or +1, and the gradient is
`gradient_scale / s * sum of residual * x`. With labels flipped at random at rate q, y / (1 - 2q) in its place
keeps every one of them unbiased.

A plan is read without numpy, so a curve imports it when it is first calculated.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plumbob.arrays import Vector

CUBIC, LINEAR = -0.004, 0.197
"""The minimax polynomial on [-5, 5] is CUBIC z^3 + LINEAR z + 1/2."""

PERIOD = 64.0
HARMONICS = tuple(range(1, 16, 2))
AMPLITUDES = (
    0.626637507625,
    0.184700400527,
    0.0880374870891,
    0.0459467916274,
    0.024559693887,
    0.0132169068174,
    0.00712669757106,
    0.00384494410959,
)
"""The least-squares fit of sin(2 pi k z / 64), k odd up to 15, to S(z) - 1/2 on [-16, 16], frozen.

Another interval would give another bound. With these the error is at most .0044 up to abs(z) = 26, the series with 1/2
added stays within 1.0015 of either label for every z, and its slope is at most .2414, so that a rate which suits the
exact sigmoid suits it too. The period divides a ring of whole numbers, so that the angle of a sum of shares is the sum
of the shares' angles.
"""
FOURIER_THRESHOLD = 6.14
"""Beyond it the series may exceed the label by .0015, and the residual's sign says nothing."""


@dataclass(frozen=True)
class Sigmoid:
    """An approximation: its residual, its gradient's scale, and how far the label shows through.

    While every abs(z) < `threshold`, the label is -sign(residual) (Criterion 4.2). Beyond it `piecewise` still
    never shows a wrong sign, only 0 (Theorem F.2). Beyond `score_limit` training only runs away.
    """

    name: str
    curve: "Callable[[Vector], Vector]"
    label_weight: float
    gradient_scale: float
    threshold: float
    score_limit: float = math.inf
    slope: float = 1.0
    """The slope at 0, where a score is no log-odds."""
    link: str = ""
    """The link from a score to a probability, in words; empty where a score is a log-odds."""
    may_mislead: bool = True
    """Whether a residual can have the sign of the other label."""

    @property
    def is_log_odds(self) -> bool:
        return not self.link

    @property
    def is_bounded(self) -> bool:
        """Whether the curve is bounded, so that training cannot diverge."""
        return math.isinf(self.score_limit)

    def residuals(self, scores: "Vector", signs: "Vector") -> "Vector":
        """The paper's f, one per row; `signs` are the labels as -1/+1."""
        return self.curve(scores) - self.label_weight * signs


def taylor_curve(scores: "Vector") -> "Vector":
    """Four times (S(z) - 1/2) to first order; the factor stands in the gradient's scale."""
    return scores


def minimax_curve(scores: "Vector") -> "Vector":
    """The cubic that is nearest to S(z) - 1/2 on [-5, 5]."""
    return CUBIC * scores**3 + LINEAR * scores


def piecewise_curve(scores: "Vector") -> "Vector":
    """S(z) - 1/2 as a line that is cut off at -1/2 and 1/2."""
    import numpy as np

    return np.clip(scores, -0.5, 0.5)


def exact_curve(scores: "Vector") -> "Vector":
    """S(z) - 1/2 itself, as half a hyperbolic tangent, which cannot overflow."""
    import numpy as np

    return 0.5 * np.tanh(0.5 * scores)


def fourier_curve(scores: "Vector") -> "Vector":
    """S(z) - 1/2 as a sum of sines, bounded for every score; see `AMPLITUDES`."""
    import numpy as np

    angles = np.multiply.outer(HARMONICS, scores * (2.0 * math.pi / PERIOD))
    total: Vector = np.tensordot(AMPLITUDES, np.sin(angles), axes=1)
    return total


# A least-squares fit to -2 and +2 that leaves [-1024, 1024] is not converging. The cubic changes its sign at
# sqrt(.197 / .004), about 7: from there on every step pushes a score further out. The others cannot run away.
CUBIC_LIMIT = math.sqrt(-LINEAR / CUBIC)
# `clear` takes all of them; what an encrypted protocol can calculate stands with the protocol.
SIGMOIDS = MappingProxyType(
    {
        sigmoid.name: sigmoid
        for sigmoid in (
            Sigmoid("fourier", fourier_curve, 0.5, 1.0, FOURIER_THRESHOLD),
            Sigmoid("taylor", taylor_curve, 2.0, 0.25, 2.0, 1024.0, link="1/2 + score / 4"),
            Sigmoid("minimax", minimax_curve, 0.5, 1.0, 3.2, CUBIC_LIMIT, LINEAR, "1/2 + the cubic of the score"),
            Sigmoid("piecewise", piecewise_curve, 0.5, 1.0, 0.5, link="1/2 + score", may_mislead=False),
            Sigmoid("exact", exact_curve, 0.5, 1.0, math.inf, may_mislead=False),
        )
    }
)
