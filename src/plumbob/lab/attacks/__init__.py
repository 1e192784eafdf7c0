"""The code of every attack (view in, claim out), in a file named like its rule (plumbob/checking/rules).

Whoever adds an attack adds these two files. `ATTACKS` of each file here are found as they are: passive ones, active
ones and those that have runs of their own.
"""

from importlib import import_module
from pkgutil import iter_modules

from plumbob.lab.attacks.hooks import ActiveAttack
from plumbob.lab.attacks.interface import (
    Attack,
    AttackStage,
    Claim,
    Condition,
    LabelClaim,
    NotApplicable,
    Reached,
    StagedAttack,
    ValueClaim,
    View,
    WeightsClaim,
)

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_ALL = [attack for module in _MODULES for attack in getattr(module, "ATTACKS", ())]
PASSIVE: tuple[Attack, ...] = tuple(attack for attack in _ALL if isinstance(attack, Attack))
ACTIVE: tuple[ActiveAttack, ...] = tuple(attack for attack in _ALL if isinstance(attack, ActiveAttack))
STAGED: tuple[StagedAttack, ...] = tuple(attack for attack in _ALL if isinstance(attack, StagedAttack))

__all__ = [
    "ACTIVE",
    "PASSIVE",
    "STAGED",
    "ActiveAttack",
    "Attack",
    "AttackStage",
    "Claim",
    "Condition",
    "LabelClaim",
    "NotApplicable",
    "Reached",
    "StagedAttack",
    "ValueClaim",
    "View",
    "WeightsClaim",
]
