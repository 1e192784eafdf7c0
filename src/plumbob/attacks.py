"""The attacks under the name that scripts import; their code is in the workshop."""

from plumbob.workshop.attacks import (
    ACTIVE,
    PASSIVE,
    ActiveAttack,
    Attack,
    Claim,
    Condition,
    LabelClaim,
    NotApplicable,
    ValueClaim,
    View,
)

__all__ = [
    "ACTIVE",
    "PASSIVE",
    "ActiveAttack",
    "Attack",
    "Claim",
    "Condition",
    "LabelClaim",
    "NotApplicable",
    "ValueClaim",
    "View",
]
