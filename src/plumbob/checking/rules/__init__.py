"""Every reading that a plan is judged on, by the release that allows it, and the attacks that show each.

Whoever adds an attack names it in the rule of what it reads, or adds a rule, and writes its code under that name in the
lab (plumbob/lab/attacks). This folder is read as it is: every file has `RULES`, and nothing else lists the names.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import Assumes, Rule
from plumbob.errors import PlanError
from plumbob.plan import suggestion
from plumbob.record import Finding

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
RULES: tuple[Rule, ...] = tuple(rule for module in _MODULES for rule in getattr(module, "RULES", ()))


def names() -> list[str]:
    """The names of all attacks, each once."""
    return list(dict.fromkeys(name for rule in RULES for name in rule.attacks))


def rules_of(name: str) -> list[Rule]:
    """All rules that an attack shows; PlanError where no attack has this name."""
    found = list(_with(name))
    if not found:
        raise PlanError(f"there is no attack {name}; choose from {', '.join(names())}{suggestion(name, names())}")
    return found


def rule_for(name: str, by: str, target: str) -> Rule:
    """The rule that an attack by this role on this target shows, or the first under its name."""
    found = rules_of(name)
    return next((rule for rule in found if (rule.by, rule.target) == (by, target)), found[0])


def after_a_replay(figures: Figures, measured: Finding) -> tuple[str, str]:
    """The verdict on what was measured, with evidence and replays in it, and the sentence that says so."""
    about = (rule for rule in _with(measured.attack) if rule.target == measured.target)
    rule = next(about, None)
    if rule is None:
        return measured.verdict, ""
    return rule.after_a_replay(figures, measured.by, measured.verdict)


def leaves_a_trace(name: str) -> bool:
    """Whether an attack needs other software than ours, so that a replay of kept evidence names its attacker."""
    return any(rule.is_named_by_a_replay for rule in _with(name))


def is_preventable(name: str) -> bool:
    """Whether some plan prevents an attack; a name that no rule has is no attack that none prevents."""
    return all(rule.is_preventable for rule in _with(name))


def is_floor(name: str) -> bool:
    """Whether the plan's verdict stays where an attack reached less in one run."""
    return any(rule.is_floor for rule in _with(name))


def assumes(name: str) -> Assumes:
    """Whether an attack needs a party that cheats; a name that no rule has needs none."""
    return next((rule.assumes for rule in _with(name)), "honest")


def _with(name: str) -> Iterator[Rule]:
    return (rule for rule in RULES if name in rule.attacks)
