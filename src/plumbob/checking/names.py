"""What sentences call a party: its name, or its role where a plan from flags gives it no name."""

import re
from collections.abc import Sequence

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
