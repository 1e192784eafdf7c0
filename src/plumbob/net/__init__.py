"""Bytes from here to there. What they mean is nobody's business in this room."""

from plumbob.net.connector import Connection, Link
from plumbob.net.memory import Data, linked_pair

__all__ = ["Connection", "Data", "Link", "linked_pair"]
