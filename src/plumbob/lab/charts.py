"""The lab's charts, drawn by the report's own hand."""

from collections.abc import Sequence
from typing import Any


def comparison(runs: Sequence[dict[str, Any]]) -> str:
    """Utility against leakage, one point a run."""
    return ""


def curve(epochs: Sequence[dict[str, Any]]) -> str:
    """AUC after each epoch."""
    return ""
