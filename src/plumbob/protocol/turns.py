"""One message of a protocol: who says it to whom, its kind and its bytes; and the messages that most protocols have."""

from dataclasses import dataclass
from typing import Literal

from plumbob.protocol.messages import LONGEST_TEXT, Kind

Role = Literal["anybody", "party", "helper", "learner", "label party", "feature party", "arbiter"]
"""Whoever has rows is a party. In a step each is a helper to all others, and a learner if it has columns."""
Speaker = Role | range
"""Or the parties at these places in the plan; the label party's is 0."""


@dataclass(frozen=True)
class Turn:
    """One message; `size` is in bytes, a number or an expression that both sides can evaluate before it comes."""

    sender: Speaker
    receiver: Speaker
    kind: Kind
    size: int | str
    where: str = ""
    """The line of the paper's Protocol 1, or the step of docs/protocol.md, section 10, that it belongs to."""
    again: str = ""
    """Turns with the same word here repeat, together and in their order."""


@dataclass(frozen=True)
class MessageOrder:
    """All messages of one protocol: outside its steps, and in each of them."""

    outside: tuple[Turn, ...]
    steps: tuple[Turn, ...] = ()


TEXT = f"at most {LONGEST_TEXT}"
GREETING = (
    Turn("anybody", "anybody", Kind.SIGNATURE, TEXT),
    Turn("anybody", "anybody", Kind.HELLO, TEXT),
    Turn("party", "party", Kind.SEED_COMMITMENT, 32),
    Turn("party", "party", Kind.SEED_SHARE, 32),
    Turn("party", "party", Kind.CONFIRMATION, 32),
)
PUBLIC_KEY = Turn("anybody", "anybody", Kind.PUBLIC_KEY, "(1 + roots) * key if is_proved else 2 * key")
# Between two helpers of a third party, and once more for the scores of held-out rows.
PAIR_KEY = Turn("party", "party", Kind.PAIR_KEY, 32)
STREAM_HASHES = Turn("anybody", "anybody", Kind.STREAM_HASHES, 64)
# After the last step, where rows are held out: their scores, for the label party's own eyes.
HELD_OUT = Turn("feature party", "label party", Kind.SCORE_SHARE, "16 * rows")
