"""Everything that a party draws in one session: a chain of links, a leaf for each phase, streams by purpose and peer.

A party commits to a root before the session. What it says first, a nonce and its share of the joint seed, follows from
the root alone; everything else also from the session and the seed, which nobody could choose. A session has phases: the
set-up, agreeing on keys, and each step. A phase draws from its leaf, and the next phase's link depends on this one and
on everything that was heard until then:

    key      = HMAC(root, "run")
    link     = HMAC(key, "session", session, seed)
    leaf     = HMAC(link, "draws")
    next     = HMAC(link, "next", hashes of everything that was sent and received so far)
    stream   = ChaCha20 under HMAC(leaf, purpose, peer, hashes of everything that was received so far)

No draw depends on the order of calls for different purposes. Whoever has a link cannot calculate an earlier one, so a
link that is erased with its phase takes the phase's keys, masks and noise with it; the root, which brings all of them
back, is sealed for an auditor or forgotten before the first message. A party that was put back to an old copy of its
disk, and hears other messages than the first time, draws other numbers.
"""

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from plumbob.crypto.randomness import Randomness
from plumbob.crypto.streams import chacha20, join
from plumbob.errors import LocalProtocolError

LINK_BYTES = 32


@dataclass(frozen=True, repr=False)
class FirstWords:
    """What a party draws before there is a session."""

    nonce: bytes
    seed_share: bytes


class Draws:
    """Everything that one party draws in one session."""

    def __init__(
        self,
        first_words: FirstWords,
        *,
        key: bytes | None = None,
        leaf: bytes | None = None,
        link: bytes | None = None,
        is_kernel: bool = True,
    ) -> None:
        self.first_words = first_words
        self.is_kernel = is_kernel
        """Whether the root came from the kernel; if not, nothing that was drawn is secret."""
        self.heard: Callable[[], bytes] = bytes
        """Returns hashes of everything received so far; the participant sets it."""
        self._key = key
        self._leaf = leaf
        self._link = link
        self._is_set_up = False
        self._streams: dict[bytes, Any] = {}

    @classmethod
    def begin(cls, root: bytes | None = None, is_kernel: bool = False) -> Self:
        """The draws of a new session; whoever commits to a root gives it, or a test, or a resumed simulation."""
        given = new_root() if root is None else root
        if len(given) != LINK_BYTES:
            raise LocalProtocolError(f"expected {LINK_BYTES} bytes to draw from, got {len(given)}; start a new run")
        key = _derived(given, b"run")
        first_words = FirstWords(_derived(key, b"nonce"), _derived(key, b"share of the seed"))
        return cls(first_words, key=key, is_kernel=root is None or is_kernel)

    def open(self, session: bytes, seed: bytes) -> bool:
        """Start the chain once the session is agreed on; False if an earlier start did it already."""
        if self._leaf is not None:
            return False
        self._link = _derived(self.key, b"session", session, seed)
        self._leaf, self._key = _leaf_of(self._link), None
        return True

    def __repr__(self) -> str:
        return "Draws()"

    @property
    def key(self) -> bytes:
        """The key that the chain will begin with."""
        if self._key is None:
            raise LocalProtocolError("the journal lost what this session draws from; start a new run")
        return self._key

    @property
    def leaf(self) -> bytes:
        """This phase's leaf: all that a restart in this phase needs."""
        if self._leaf is None:
            raise LocalProtocolError("nothing is drawn before the session is agreed on")
        return self._leaf

    @property
    def link(self) -> bytes:
        """This phase's link, from which the next phase follows."""
        if self._link is None:
            raise LocalProtocolError("the journal lost what the next phase draws from; start a new run")
        return self._link

    def of(self, purpose: str, peer: str = "") -> Randomness:
        """The stream for one purpose, and toward one peer if it is for one; it starts over in each phase."""
        return Randomness(partial(self._read, purpose, peer), self.is_kernel)

    def leave_set_up(self, carried: bytes) -> None:
        """Advance to the first phase after the set-up, unless a restart is past it already."""
        if not self._is_set_up:
            self.advance(carried)

    def advance(self, carried: bytes) -> bytes:
        """Advance to the next phase and return its link, to be kept in place of this one's."""
        following = _derived(self.link, b"next", carried)
        self.restore(following)
        return following

    def restore(self, link: bytes) -> None:
        """Return to the phase of this link, which an earlier start had reached."""
        self._link, self._leaf, self._is_set_up = link, _leaf_of(link), True
        self._streams.clear()

    def _read(self, purpose: str, peer: str, count: int) -> bytes:
        # With what was heard in the name: the same bytes never hide two answers to different questions.
        name = join(purpose.encode(), peer.encode(), self.heard())
        if name not in self._streams:
            self._streams[name] = chacha20(_derived(self.leaf, b"stream", name))
        stream: bytes = self._streams[name].update(bytes(count))
        return stream


def new_root() -> bytes:
    """A root of draws from the kernel's randomness."""
    return os.urandom(LINK_BYTES)


def salt_of(root: bytes, item: str) -> bytes:
    """The salt that hides one thing that a party commits to together with its root."""
    return _derived(root, b"salt", item.encode())


def _leaf_of(link: bytes) -> bytes:
    return _derived(link, b"draws")


def _derived(key: bytes, *fields: bytes) -> bytes:
    return hmac.new(key, join(b"plumbob draws", *fields), hashlib.sha256).digest()
