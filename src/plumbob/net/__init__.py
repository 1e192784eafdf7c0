"""The network: carries bytes from here to there, whatever they mean."""

from plumbob.net.connector import Connection, Link
from plumbob.net.frames import Data

__all__ = ["Connection", "Data", "Link"]
