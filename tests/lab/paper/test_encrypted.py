"""The encrypted protocol draws the same curves as the clear one."""

from plumbob.lab.paper.readings import MNIST
from plumbob.lab.paper.section7 import SAME_CURVES, SAME_WEIGHTS, EncryptedSample, beside_clear
from tests.lab.paper.support import DIGITS, SMALL_PIECE, needs_data


def test_encrypted_is_clear() -> None:
    """Step by step over one epoch: accuracy, labels read from the real messages, and norm."""
    outcome = beside_clear(DIGITS, SMALL_PIECE)
    (claim,) = outcome.claims
    assert claim.verdict == "agrees"
    assert claim.values["weights"] < SAME_WEIGHTS
    for figure in outcome.figures:
        encrypted, clear = figure.curves
        assert len(encrypted.points) == 64 // 16
        assert max(abs(a - b) for a, b in zip(encrypted.means, clear.means, strict=True)) <= SAME_CURVES
    (attack,) = (figure for figure in outcome.figures if "labels" in figure.metric)
    assert attack.curves[0].last > 0.9


@needs_data
def test_encrypted_is_clear_on_mnist() -> None:
    """The same on a small piece of the real images."""
    outcome = beside_clear(MNIST, EncryptedSample(rows=64, key_bits=512))
    assert outcome.claims[0].verdict == "agrees"
    assert len(outcome.figures) == 3
