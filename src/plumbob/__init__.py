"""Vertical logistic regression whose privacy can be checked, attacked and shown.

This module stays light, because `import plumbob.crypto` passes through it and must load numpy and gmpy2 only: what it
offers is imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.checking.check import check
    from plumbob.plan import Plan
    from plumbob.workshop import attacks
    from plumbob.workshop.auditor import audit
    from plumbob.workshop.simulation import load
    from plumbob.workshop.simulation.estimator import VerticalLogisticRegression

__version__ = "0.1.0"

_OFFERED = {
    "Plan": "plumbob.plan",
    "VerticalLogisticRegression": "plumbob.workshop.simulation.estimator",
    "audit": "plumbob.workshop.auditor",
    "check": "plumbob.checking.check",
    "load": "plumbob.workshop.simulation",
}

__all__ = ["Plan", "VerticalLogisticRegression", "attacks", "audit", "check", "load"]


def __getattr__(name: str) -> Any:
    if name == "attacks":
        return import_module("plumbob.attacks")
    if name not in _OFFERED:
        raise AttributeError(f"module 'plumbob' has no attribute {name!r}")
    return getattr(import_module(_OFFERED[name]), name)
