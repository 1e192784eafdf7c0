"""A plan that leaks while everyone keeps to the protocol is refused, unless somebody gives their word for its leaks."""

import re
from collections.abc import Sequence

from plumbob.checking.advice import flags_to_type
from plumbob.checking.check import check
from plumbob.checking.rules.arbiter_key import ARBITER
from plumbob.checking.verdict_words import HONEST, LEAKS
from plumbob.errors import UnsafePlanError
from plumbob.plan import Plan
from plumbob.record import Finding

WORST = 3
"""Findings that a refusal names."""
FLAG = re.compile(r"--([a-z][a-z-]*) ([\w.]+)")


class LeakWarning(UserWarning):
    """The plan leaks above its tolerance: Python trains all the same, where the command line refuses."""


def refuse_leaks(plan: Plan, rows: int | None, is_accepted: bool, but: Sequence[str] = ()) -> None:
    """Before training: a plan that leaks needs somebody's word for it; `but` names attacks that have no say."""
    leaking = [] if is_accepted else refusing(check(plan, rows), but)
    if leaking:
        raise UnsafePlanError(
            "the plan leaks above its tolerance, even if everyone keeps to the protocol:\n"
            f"{worst(leaking)}\ntype {_remedy(leaking)} to stop it, `plumbob check` to see all, or add --accept-leaks "
            "to train anyway"
        )


def refusing(findings: Sequence[Finding], but: Sequence[str] = ()) -> list[Finding]:
    """What leaks above the plan's tolerance while everyone keeps to the protocol, and is not named by `but`."""
    # That the arbiter joins nobody is what such a plan assumes; `check` says so, and its signature accepts it.
    passed = {*but, ARBITER}
    return [one for one in findings if one.verdict == LEAKS and one.assumes == HONEST and one.attack not in passed]


def worst(leaking: Sequence[Finding]) -> str:
    """The first few of them, one per line."""
    named = [f"  {one.attack} by {one.by} against {one.against} ({one.target}): {one.why}" for one in leaking[:WORST]]
    return "\n".join([*named, *([f"  and {len(leaking) - WORST} more"] if len(leaking) > WORST else [])])


def warning_about(leaking: Sequence[Finding]) -> str:
    """For whoever trains from Python, with parameters in place of flags."""
    return (
        f"the plan leaks above its tolerance, and the command line would refuse it:\n{worst(leaking)}\nto stop it: "
        f"{as_parameters(_remedy(leaking))}; plumbob.check(model) shows all"
    )


def _remedy(leaking: Sequence[Finding]) -> str:
    return flags_to_type([one.fix for one in leaking])


def as_parameters(fix: str) -> str:
    """`--noise sound --epsilon 1` as `noise="sound" epsilon=1`."""
    return FLAG.sub(lambda flag: f"{flag[1].replace('-', '_')}={_literal(flag[2])}", fix)


def _literal(word: str) -> str:
    return word if re.fullmatch(r"[\d.]+", word) else f'"{word}"'
