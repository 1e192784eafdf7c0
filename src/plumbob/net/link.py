"""What carries bytes between two parties: in order, whole messages, each once."""

from typing import Protocol


class Link(Protocol):
    """One end. Every error is a TransportError, but for a message of our own that is too long: LocalProtocolError."""

    def send(self, data: bytes) -> None:
        """Hand one message over; it may still be on its way when this returns."""

    def receive(self, seconds: float) -> bytes:
        """The next message, waited for at most so long; DeadlineError if none comes."""

    def close(self) -> None:
        """Nothing more comes from here; the other end hears of it at its next call."""


class Connection(Link, Protocol):
    """One live, authenticated connection to a peer: whole messages, in order, while it lasts."""

    @property
    def peer(self) -> str:
        """The pinned name that the certificate proved."""
