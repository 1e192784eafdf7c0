"""The code of every attack (view in, claim out), in a file named like its rule (plumbob/checking/rules).

Whoever adds an attack adds these two files. `ATTACKS` of each file here are found as they are.
"""

from importlib import import_module
from pkgutil import iter_modules

from plumbob.lab.attacks.interface import (
    Attack,
    AttackStage,
    Claim,
    Condition,
    NotApplicable,
    View,
)

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
ATTACKS: tuple[Attack, ...] = tuple(attack for module in _MODULES for attack in getattr(module, "ATTACKS", ()))

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackStage",
    "Claim",
    "Condition",
    "NotApplicable",
    "View",
]
