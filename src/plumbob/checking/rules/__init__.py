"""Every attack that a plan is judged on, one file each: its story, its rule, and what the attacker has before it.

Whoever adds an attack adds two files with one name: one here, one in the lab (plumbob/lab/attacks). Both folders are
read as they are; nothing else lists the names. The `RULE` of a file, or its `RULES` where it has several, is judged for
each party; `further` gives findings of other shapes.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import Assumes, AttackRule
from plumbob.errors import PlanError
from plumbob.plan import suggestion
from plumbob.record import Finding

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
RULES: tuple[AttackRule, ...] = tuple(
    rule for module in _MODULES for rule in getattr(module, "RULES", [vars(module).get("RULE")]) if rule is not None
)
_FURTHER: list[Callable[[Figures], Iterator[Finding]]] = [
    module.further for module in _MODULES if hasattr(module, "further")
]


def further(figures: Figures) -> Iterator[Finding]:
    """Findings that are judged otherwise than party by party."""
    for findings in _FURTHER:
        yield from findings(figures)


def names() -> list[str]:
    """The names of all attacks, each once."""
    return list(dict.fromkeys(rule.name for rule in RULES))


def rules_of(name: str) -> list[AttackRule]:
    """All rules under one name; PlanError where no attack has it."""
    found = [rule for rule in RULES if rule.name == name]
    if not found:
        raise PlanError(f"there is no attack {name}; choose from {', '.join(names())}{suggestion(name, names())}")
    return found


def rule_for(name: str, by: str, target: str) -> AttackRule:
    """The rule for this role and target, or the first under this name."""
    found = rules_of(name)
    return next((rule for rule in found if (rule.by, rule.target) == (by, target)), found[0])


def leaves_a_trace(name: str) -> bool:
    """Whether an attack needs other software than ours, so that a replay of kept evidence names its attacker."""
    return any(rule.assumes == "cheating" and rule.is_named_by_replay for rule in RULES if rule.name == name)


def is_preventable(name: str) -> bool:
    """Whether some plan prevents an attack; a name that no rule has is no attack that none prevents."""
    return all(rule.is_preventable for rule in RULES if rule.name == name)


def is_floor(name: str) -> bool:
    """Whether the plan's verdict stays where an attack reached less in one run."""
    return any(rule.is_floor for rule in RULES if rule.name == name)


def assumes(name: str) -> Assumes:
    """Whether an attack needs a party that cheats; a name that no rule has needs none."""
    return next((rule.assumes for rule in RULES if rule.name == name), "honest")
