"""Vertical logistic regression whose privacy can be checked, attacked and shown.

This module stays light, because `import plumbob.crypto` passes through it and must load numpy only: what it
offers is imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plumbob.version import __version__ as __version__

if TYPE_CHECKING:
    from plumbob import attacks, datasets, errors, party
    from plumbob.checking.check import check
    from plumbob.checking.consent import LeakWarning
    from plumbob.checking.findings import Findings
    from plumbob.errors import PlumbobError
    from plumbob.lab.audit import audit
    from plumbob.lab.simulate import load
    from plumbob.lab.simulate.estimator import VerticalLogisticRegression
    from plumbob.plan import PAPER, Plan

_OFFERED = {
    "PAPER": "plumbob.plan",
    "Findings": "plumbob.checking.findings",
    "LeakWarning": "plumbob.checking.consent",
    "Plan": "plumbob.plan",
    "PlumbobError": "plumbob.errors",
    "VerticalLogisticRegression": "plumbob.lab.simulate.estimator",
    "audit": "plumbob.lab.audit",
    "check": "plumbob.checking.check",
    "load": "plumbob.lab.simulate",
}
_MODULES = ("attacks", "datasets", "errors", "party")

__all__ = [
    "PAPER",
    "Findings",
    "LeakWarning",
    "Plan",
    "PlumbobError",
    "VerticalLogisticRegression",
    "attacks",
    "audit",
    "check",
    "datasets",
    "errors",
    "load",
    "party",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _imported(f"plumbob.{name}", name)
    if name not in _OFFERED:
        raise AttributeError(f"plumbob has no attribute {name!r}")
    return getattr(_imported(_OFFERED[name], name), name)


def _imported(module: str, name: str) -> Any:
    from plumbob.extras import named_extras  # Late, as everything here.

    with named_extras(f"plumbob.{name}"):
        return import_module(module)


def __dir__() -> list[str]:
    """All names on offer, whether they were imported already or not."""
    return sorted({*__all__, "__version__"})
