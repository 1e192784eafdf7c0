"""The journal, which lets a party die at any moment and resume as if it had not.

A step is a function of the state before it, of the link that it draws from and of what the peers sent. The journal
keeps these three, and the digest of every message, on disk before it leaves. After a restart the step is calculated
again from the same link and the same messages: the same bytes come out, which the digests confirm, and what was sent is
not sent in another form. A finished step leaves its result and its state, which has the next link, and those of its
messages that a peer may still ask for; its own link and its log are forgotten.

    begin(step)      from now on the log belongs to this step; 0 is everything before the first one, kept to the end
    sending          what it follows from is durable before it returns; False if the link has it already
    arrived, keep    a message of the log, or one that came just now
    finish           the step's result and the state after it; durable with the next message that leaves

Keys are agreed on before the first step, each for one later step. What they are made of must not stay until the end, so
this part has a log of its own, which is forgotten as soon as the keys are there:

    begin_keys       from now on the log is that of the keys
    hand_on          the state after it, and for each later step what it needs, which vanishes when it is finished

What a party calculates with and what it decides pass through the journal, too, because a replay takes both from there:

    open_chain       the session is agreed on: from now on its first link takes the place of the run's key
    settle           the numbers to calculate with: these, or, in a replay, those that the run had
    decide           likewise something that no calculation gives, a limit's verdict for example

All of it is as secret as the keys: links are what keys, masks and noise are made of.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plumbob.crypto.draws import Draws
from plumbob.net import Data
from plumbob.protocol.account import Numbers
from plumbob.protocol.messages import Message

State = Mapping[str, bytes]


@dataclass(frozen=True, repr=False)
class Resumed:
    """Where a run stands: the last finished step, the state after it, and what each step left."""

    step: int
    state: State
    results: list[State]


class Journal:
    """What a party writes down so that it can be killed and resume; the module says what each method is for.

    This one remembers nothing: a run that is interrupted starts over.
    """

    def begin(self, step: int) -> None:
        """Do nothing: there is nothing to prepare."""

    def sending(self, peer: str, message: Message, digest: bytes) -> bool:
        return True

    def arrived(self, peer: str) -> bytes | None:
        return None

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        """Do nothing: nobody will ask for it again."""

    def finish(self, step: int, result: State, state: State) -> None:
        """Do nothing: nobody will ask for it again."""

    def resumed(self) -> Resumed | None:
        return None

    def begin_keys(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def hand_on(self, state: State, needs: Mapping[int, bytes]) -> None:
        """Do nothing: nobody will ask for it again."""

    def handed_on(self) -> tuple[State, dict[int, bytes]] | None:
        return None

    def open_chain(self, draws: Draws) -> None:
        """Do nothing: there is nothing to replace."""

    def settle(self, calculated: Numbers) -> Numbers:
        return calculated

    def decide(self, calculated: bytes) -> bytes:
        return calculated


NO_JOURNAL = Journal()
