"""Bytes from here to there. What they mean is nobody's business in this room."""

from plumbob.net.connector import Connection, Link
from plumbob.net.memory import linked_pair

__all__ = ["Connection", "Link", "linked_pair"]
