"""Messages that are due (who says what to whom, in which order and in how many bytes), and keeping to them.

A protocol lists its messages from public numbers (`schedules`). A channel takes the next one of its direction for every
message that is sent or awaited, and refuses anything else; estimates add them up, and docs/protocol.md shows them.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from plumbob.errors import LocalProtocolError
from plumbob.protocol.messages import LONGEST_TEXT, Kind


@dataclass(frozen=True)
class Due:
    """One message that is due in one direction of a channel."""

    kind: Kind
    step: int
    sender: str
    receiver: str
    size: int
    """Bytes of the message's body."""
    where: str = ""
    """The line of the paper's Protocol 1, or the step of docs/protocol.md, section 10, that it belongs to."""
    is_most: bool = False
    """Whether the size is a limit: for a text, or for a message that has fewer parts when it is repeated."""
    again: str = ""
    """Messages with the same word here may repeat, together and in their order, each time in the next step."""


def text(kind: Kind, sender: str, receiver: str) -> Due:
    """A message of text, whose body is checked separately."""
    return Due(kind, 0, sender, receiver, LONGEST_TEXT, is_most=True)


class DueMessages:
    """The messages of one direction of a channel, and which of them is next."""

    def __init__(self) -> None:
        self._due: Iterator[Due] = iter(())
        self._next: deque[Due] = deque()
        self._repeating: list[Due] = []
        self._last: Due | None = None
        self.may_skip = False
        """Whether the first message may be any later one, after a restart: an earlier start said those before it."""

    def extend(self, due: Iterable[Due]) -> None:
        """Append messages after all others."""
        self._due = chain(self._due, due)

    def take(self, kind: Kind, step: int) -> Due:
        """Take the message that is due; LocalProtocolError where it is another one, or none."""
        found = self._ahead(kind, step)
        if found is None:
            found = self._repeated(kind, step)
        if found is None:
            expected = f"{self._next[0].kind.name} of step {self._next[0].step}" if self._look() else "nothing more"
            raise LocalProtocolError(f"{kind.name} of step {step} is not due; expected {expected}")
        self._last = found
        return found

    def _look(self) -> bool:
        """Fetch the next message; False if there is none."""
        if not self._next:
            self._next.extend(due for due in (next(self._due, None),) if due is not None)
        return bool(self._next)

    def _ahead(self, kind: Kind, step: int) -> Due | None:
        while self._look():
            due = self._next[0]
            if (due.kind, due.step) == (kind, step):
                self._next.popleft()
                self._remember(due)
                self.may_skip = False
                return due
            if not self.may_skip:
                return None
            self._remember(self._next.popleft())
        return None

    def _remember(self, due: Due) -> None:
        if not due.again:
            self._repeating = []
        elif self._repeating and self._repeating[0].again != due.again:
            self._repeating = [due]
        else:
            self._repeating.append(due)

    def _repeated(self, kind: Kind, step: int) -> Due | None:
        """A message that repeats with the last one: later in this round, or in a later round."""
        kinds = [due.kind for due in self._repeating]
        if self._last is None or kind not in kinds:
            return None
        is_later = (step, kinds.index(kind)) > (self._last.step, kinds.index(self._last.kind))
        return replace(self._repeating[kinds.index(kind)], step=step, is_most=True) if is_later else None
