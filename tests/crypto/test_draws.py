"""Streams by purpose, phase and peer: none depends on another, and a later link shows no earlier draw."""

import pytest

from plumbob.crypto import Draws
from plumbob.errors import LocalProtocolError

ROOT = bytes(range(32))
SESSION, SEED = b"session", b"seed"


def opened(root: bytes = ROOT, session: bytes = SESSION, seed: bytes = SEED) -> Draws:
    """The draws of a session that was agreed on."""
    draws = Draws.begin(root)
    draws.open(session, seed)
    return draws


def test_the_order_of_calls_does_not_matter() -> None:
    """What is drawn for one purpose and peer is the same whatever was drawn before for others."""
    one, other = opened(), opened()
    first = one.of("mask", "bank").draw(32), one.of("noise").draw(8), one.of("mask", "fund").draw(32)
    last = other.of("mask", "fund").draw(32), other.of("noise").draw(8), other.of("mask", "bank").draw(32)
    assert first == tuple(reversed(last))
    assert len(set(first)) == 3


def test_a_stream_goes_on_where_it_was() -> None:
    """Asked for again, a purpose's stream continues: nothing is drawn twice in a phase."""
    draws = opened()
    halves = draws.of("mask").draw(16) + draws.of("mask").draw(16)
    assert halves == opened().of("mask").draw(32)


def test_a_phase_has_draws_of_its_own() -> None:
    """A later link gives the later draws again, and none of the earlier ones."""
    draws = opened()
    before = draws.of("mask").draw(32)
    link = draws.advance(b"")
    after = draws.of("mask").draw(32)
    stolen = opened()
    stolen.restore(link)
    assert before != after == stolen.of("mask").draw(32)


def test_whoever_hears_something_else_draws_something_else() -> None:
    """A party that was put back to an old copy of its disk must not hide two answers behind the same numbers."""
    drawn = []
    for heard in (b"first", b"second"):
        draws = opened()
        draws.heard = heard.strip
        drawn += [draws.of("mask").draw(32), draws.advance(heard)]
    assert len(set(drawn)) == 4


def test_a_lost_link_is_an_error() -> None:
    """With the set-up's leaf alone, as a finished run leaves it, no later phase can be drawn."""
    with pytest.raises(LocalProtocolError, match="start a new run"):
        Draws(opened().first_words, leaf=bytes(32)).advance(b"")


def test_it_shows_nothing() -> None:
    """Neither the link nor the leaf is in what is printed."""
    assert repr(Draws.begin(ROOT)) == "Draws()"


def test_nothing_is_drawn_before_the_session_is_agreed_on() -> None:
    """But for the nonce and the share of the seed, which follow from the root alone, every draw takes both in."""
    with pytest.raises(LocalProtocolError, match="before the session is agreed on"):
        Draws.begin(ROOT).of("mask").draw(32)
    words = {(one.first_words.nonce, one.first_words.seed_share) for one in (opened(), opened(seed=b"other"))}
    assert len(words) == 1
    ways = [opened(), opened(session=b"other"), opened(seed=b"other"), opened(root=bytes(32))]
    assert len({draws.of("mask").draw(32) for draws in ways}) == 4


def test_an_opened_chain_has_forgotten_what_it_began_with() -> None:
    """The run's key would give back the chain of any session."""
    with pytest.raises(LocalProtocolError, match="start a new run"):
        _ = opened().key
