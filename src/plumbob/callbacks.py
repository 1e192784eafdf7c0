"""The functions that long work calls to report progress; every room may take one and call it."""

from collections.abc import Callable

Tell = Callable[[str], None]
"""Called with one line for a person to read."""

Progress = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
