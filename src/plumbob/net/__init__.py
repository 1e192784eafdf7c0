"""The network: carries bytes from here to there, whatever they mean."""

from plumbob.net.connector import Connection, Link
from plumbob.net.memory import Data, linked_pair

__all__ = ["Connection", "Data", "Link", "linked_pair"]
