"""Who says what to whom, in which order and in how many bytes: one table for each protocol.

A channel that was told its protocol's order (`Channel.follow`) refuses to wait for a message that this table does not
have at that place. A message may be left out (a party without columns learns nothing, so nobody asks it), but none may
come before one that stands above it. Step 0 is everything outside the steps: what is said before the first one, and the
comparison after the last.

"helper" and "learner" are any two parties with columns: in a step each is both to all others. Lines are those of the
paper's Protocol 1. `shares` has its own rounds, which its party keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from plumbob.errors import LocalProtocolError
from plumbob.protocol.messages import Kind

Speaker = Literal["everybody", "helper", "learner", "label party", "feature party", "party", "arbiter"]


@dataclass(frozen=True)
class Turn:
    """One message of a protocol."""

    sender: Speaker
    receiver: Speaker
    kind: Kind
    size: str
    """In words: both sides know it from the plan before it comes."""
    line: str = ""
    """Where Protocol 1 has it."""


OUTSIDE: tuple[Turn, ...] = (
    Turn("everybody", "everybody", Kind.SIGNATURE, "one signature, on a network only"),
    Turn("everybody", "everybody", Kind.HELLO, "JSON, at most 4,096 bytes"),
    Turn("party", "party", Kind.SEED_COMMITMENT, "one hash"),
    Turn("party", "party", Kind.SEED_SHARE, "32 bytes and what opens the commitment"),
    Turn("everybody", "everybody", Kind.CONFIRMATION, "one hash"),
    Turn("everybody", "everybody", Kind.PUBLIC_KEY, "the key, and its proof where there is one"),
    Turn("party", "party", Kind.PAIR_KEY, "one X25519 key, with three and more parties"),
    Turn("everybody", "everybody", Kind.STREAM_HASHES, "two hashes, on a network only"),
)

EXCHANGE: tuple[Turn, ...] = (
    Turn("helper", "learner", Kind.RESIDUALS, "one ciphertext for each row of the batch, three with minimax", "5"),
    Turn("learner", "helper", Kind.MASKED_SUMS, "one ciphertext for each reply that the learner's columns need", "10"),
    Turn("helper", "learner", Kind.OPENED_SUMS, "the same replies decrypted, cut to an honest width", "11"),
)

# Not in the paper: after the last step, where rows are held out, their scores, for the label party's own eyes.
HELD_OUT = Turn("feature party", "label party", Kind.SCORE_SHARE, "16 bytes for each held-out row, 4,096 at most")

ARBITER: tuple[Turn, ...] = (
    Turn("feature party", "label party", Kind.SCORES, "one ciphertext for each row of the batch"),
    Turn("label party", "feature party", Kind.JOINT_RESIDUALS, "one ciphertext for each row of the batch"),
    Turn("party", "arbiter", Kind.MASKED_SUMS, "one ciphertext for each reply that the party's columns need"),
    Turn("arbiter", "party", Kind.OPENED_SUMS, "the same replies decrypted, cut to an honest width"),
)

STEPS: dict[str, tuple[Turn, ...]] = {"exchange": (*EXCHANGE, HELD_OUT), "arbiter": (*ARBITER, HELD_OUT)}


class Order:
    """How far one channel is in its protocol's table, in one direction."""

    def __init__(self, protocol: str) -> None:
        self._turns: dict[bool, Sequence[Turn]] = {False: OUTSIDE, True: STEPS[protocol]}
        self._step = 0
        self._place = 0

    def take(self, kind: Kind, step: int) -> Turn:
        """The turn that this kind of message is; LocalProtocolError where it is not due any more, or not at all."""
        if step != self._step:
            self._step, self._place = step, 0
        turns = self._turns[step > 0]
        for place in range(self._place, len(turns)):
            if turns[place].kind == kind:
                self._place = place + 1
                return turns[place]
        raise LocalProtocolError(f"{kind.name} is not due in step {step}; expected {_named(turns[self._place :])}")


def _named(turns: Sequence[Turn]) -> str:
    return " or ".join(turn.kind.name for turn in turns) or "nothing more"
