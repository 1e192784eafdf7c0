"""`score-control`: who knows its weights turns decisions round inside the clip; who knows nothing does so less."""

from benchmarks.attacks.score_control import Setting, flipped
from benchmarks.attacks.study import AS_SHARES, fitted, labels_of, made_up


def test_known_weights_turn_more_decisions_round_than_none() -> None:
    """Three of twelve columns; the range of honest values leaves less room than the clip."""
    X = made_up(1500, 12, 1)
    model = fitted(X, labels_of(X, 1), (9, 3), **AS_SHARES)
    clip, usual, one, blind = (
        flipped(model, X, 9, setting)
        for setting in (
            Setting("weights", "clip"),
            Setting("weights", "usual range"),
            Setting("weights", "clip", 1),
            Setting("nothing", "clip"),
        )
    )
    assert min(clip) > 0.9
    assert usual.raised < clip.raised
    assert one.raised < clip.raised
    assert blind.raised < 0.75 * clip.raised


def test_it_works_on_shares_with_opened_weights() -> None:
    """The real protocol gives the feature party the weights that it needs."""
    X = made_up(400, 4, 2)
    model = fitted(X, labels_of(X, 2), (2, 2), protocol="shares", open="own")
    assert min(flipped(model, X, 2, Setting("weights", "clip"))) > 0.9
