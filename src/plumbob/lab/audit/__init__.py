"""The auditor, which knows the truth: it builds views, runs attacks on them and scores their claims.

Before a run it has no more than the plan, and says from its numbers what will come of it (`plumbob.checking.check`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.lab.audit.redteam import audit

__all__ = ["audit"]


def __getattr__(name: str) -> Any:
    """Import late, because a check of a plan needs none of the solvers that the red team loads."""
    if name != "audit":
        raise AttributeError(f"module 'plumbob.lab.audit' has no attribute {name!r}")
    from plumbob.lab.audit.redteam import audit

    return audit
