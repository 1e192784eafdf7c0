"""Every reading that a plan is judged on, by the release that allows it, and the attacks that show each.

Whoever adds an attack names it in the rule of what it reads, or adds a rule, and writes its code under that name in the
lab (plumbob/lab/attacks). This folder is read as it is: every file has `RULES`, and nothing else lists the names.
"""

from importlib import import_module
from pkgutil import iter_modules

from plumbob.checking.rules.rule import Rule
from plumbob.record import Finding

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
RULES: tuple[Rule, ...] = tuple(rule for module in _MODULES for rule in getattr(module, "RULES", ()))
NO_RULE = Rule({"": ""}, "features", "labels", lambda figures, by: None)
"""What holds of an attack that no rule names: it needs nobody who cheats, and some plan prevents it."""


def names() -> list[str]:
    """The names of all attacks, each once."""
    return list(dict.fromkeys(name for rule in RULES for name in rule.attacks))


def rule_of(attack: str, target: str = "", by: str = "") -> Rule:
    """The rule that an attack on this target by this role shows, or else the nearest one that names the attack."""
    named = [rule for rule in RULES if attack in rule.attacks]
    return max(named, key=lambda rule: (rule.target == target, rule.by == by), default=NO_RULE)


def rule_behind(finding: Finding) -> Rule:
    """The rule that a finding comes from, or that its attack shows."""
    return rule_of(finding.attack, finding.target)
