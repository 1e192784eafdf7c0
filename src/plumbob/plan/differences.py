"""In which keys two plans differ, told from short marks of their values, so that no plan has to be sent for it."""

import hashlib
import json
from dataclasses import asdict

from plumbob.plan.settings import KEYS, PlanSettings

MARK_DIGITS = 4
# What a plan says besides its keys, first.
NAMED = {
    "version": "version",
    "parties": "parties",
    "heuristic": "privacy.heuristic",
    "auditors": "accountability.auditors",
}
PATHS = (*NAMED.values(), *(key.path for key in KEYS))


def marks_of(settings: PlanSettings) -> str:
    """Four hexadecimal digits for each value, in the order of the keys."""
    values = asdict(settings)
    names = (*NAMED, *(key.name for key in KEYS))
    return "".join(_mark(name, values[name]) for name in names)


def differing_keys(ours: str, theirs: str) -> list[str]:
    """The keys whose marks differ; none where the other side's cannot be compared."""
    if len(ours) != len(theirs) or len(ours) != MARK_DIGITS * len(PATHS):
        return []
    places = range(0, len(ours), MARK_DIGITS)
    pairs = ((ours[place : place + MARK_DIGITS], theirs[place : place + MARK_DIGITS]) for place in places)
    return [path for path, (one, other) in zip(PATHS, pairs, strict=True) if one != other]


def _mark(name: str, value: object) -> str:
    text = json.dumps([name, value], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:MARK_DIGITS]
