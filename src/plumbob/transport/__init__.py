"""Bytes from here to there. What they mean is nobody's business in this room."""

from plumbob.transport.link import Link
from plumbob.transport.memory import linked_pair

__all__ = ["Link", "linked_pair"]
