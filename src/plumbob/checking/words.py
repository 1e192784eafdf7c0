"""The three verdicts, what each means, and their order; and what sentences call a party: the same on every page."""

import re
from collections.abc import Sequence

LEAKS, DEGRADES, BLOCKED = "leaks", "degrades", "blocked"

# What is worst comes first.
ORDER = (LEAKS, DEGRADES, BLOCKED)
MEANINGS = {
    LEAKS: "the attacker learns more than it could guess anyway, by more than the plan's tolerance",
    DEGRADES: "the attacker may learn something; how much depends on the data",
    BLOCKED: "the attack was tried or calculated, and not shown to reveal more than the tolerance; that is no proof",
}

HONEST, CHEATING = ASSUMPTIONS = ("honest", "cheating")
"""What a finding assumes: that everyone keeps to the protocol, or that its attacker chose its data or its software."""

# A party has its name, or its role where a plan from flags gives it no name.

GIVEN_BY_FLAGS = re.compile(r"label|features(-\d+)?|arbiter")
SENTENCE_START = re.compile(r"(?:^|(?<=[.!?] ))(the|feature|all) ")


def spoken_names(names: Sequence[str]) -> dict[str, str]:
    """What sentences say for each of a plan's parties, the label party first."""
    if not all(GIVEN_BY_FLAGS.fullmatch(name) for name in names):
        return {name: name for name in names}
    features = [name for name in names if name.startswith("features")]
    many = {name: f"feature party {place}" for place, name in enumerate(features, 1)}
    return {
        "label": "the label party",
        "arbiter": "the arbiter",
        **(many if len(features) > 1 else dict.fromkeys(features, "the feature party")),
    }


def joined_names(names: Sequence[str], word: str = "and") -> str:
    """Names as a list in words: a; a and b; a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def sentence(text: str) -> str:
    """The text as a sentence: a capital letter unless it begins with a party's name, which is written as it is."""
    return SENTENCE_START.sub(lambda found: found[0].capitalize(), text)
