"""The auditor, which knows the truth: it builds views, runs attacks on them and scores their claims.

Before a run it has no more than the plan, and says from its numbers what will come of it (`plumbob.checking.check`).
"""

from plumbob.lab.audit.redteam import audit

__all__ = ["audit"]
