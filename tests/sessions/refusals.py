"""Writes refusals.txt beside this file: `python -m tests.sessions.refusals`."""

import re
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from plumbob.errors import PlumbobError
from plumbob.protocol.messages import Kind, Message
from tests.world import SESSIONS, Ends, Session, World, in_frame, message_in, number_in, root_of

FILE = Path(__file__).parent / "refusals.txt"
SENDER, RECEIVER = "features", "label"
FIRST_OF = (
    "training of two",
    "training of two, joint seed",
    "training of two, opened",
    "training of three, noise",
    "prediction of two",
    "prediction of three",
    "alignment of two",
    "alignment of two, size first",
    "alignment of three",
)
"""Where a kind is said for the first time, it is changed."""
UNDECIDED = {(Kind.QUERY_VERDICT, "flipped first")}
"""Both ends then expect other messages than those that come, and who says so first is chance."""
QUOTES = "'\"\\"
Said = dict[tuple[str, str, int], Message]
"""Messages by sender, receiver and their number on the link."""


@cache
def said_in(title: str, run: str = "") -> Said:
    """All messages of an undisturbed session; of another run, from other roots."""
    session = SESSIONS[title]
    with tempfile.TemporaryDirectory() as folder:
        world = World(session, Path(folder))
        if run:
            world.roots = {name: root_of(name + run) for name in session.names}
        ends = world.run().honest()
    found: Said = {}
    for sender, receiver, frame in ends.frames:
        message = message_in(frame)
        if message is not None:
            found[sender, receiver, number_in(frame)] = message
    return found


@dataclass(frozen=True)
class Case:
    """One message of one session, and what becomes of it."""

    title: str
    sender: str
    receiver: str
    number: int
    kind: Kind
    step: int
    change: str

    def __str__(self) -> str:
        place = f"{self.kind.name} of step {self.step}"
        return f"{self.title}: {self.sender} to {self.receiver}, {place}, {self.change}"

    @property
    def way(self) -> tuple[str, str]:
        return self.sender, self.receiver

    def changed(self, message: Message) -> Message:
        return CHANGES[self.change](self, message)


def _of_the_other(case: Case, message: Message) -> Message:
    """What the receiver said of the same kind, or what was said to it next."""
    said = said_in(case.title)
    theirs = [
        each for (sender, receiver, _), each in said.items() if (sender, receiver) == (case.receiver, case.sender)
    ]
    bodies = [each.body for each in theirs if each.kind is message.kind and len(each.body) == len(message.body)]
    own = [each.body for (sender, _, number), each in said.items() if sender == case.sender and number != case.number]
    return replace(message, body=next((body for body in [*bodies, *own] if len(body) == len(message.body)), b""))


def _of_another_run(case: Case, message: Message) -> Message:
    # How many tests a key needs is drawn, so that another run may say the same under another number.
    theirs = (
        each for (sender, receiver, _), each in said_in(case.title, " again").items() if (sender, receiver) == case.way
    )
    return replace(message, body=next(each.body for each in theirs if (each.kind, each.step) == (case.kind, case.step)))


def _repeated(case: Case, message: Message) -> Message:
    return said_in(case.title)[case.sender, case.receiver, case.number - 1]


CHANGES: dict[str, Callable[[Case, Message], Message]] = {
    "shorter": lambda case, message: replace(message, body=message.body[:-1]),
    "longer": lambda case, message: replace(message, body=message.body + b"\0"),
    "flipped": lambda case, message: replace(message, body=message.body[:-1] + bytes([message.body[-1] ^ 1])),
    "flipped first": lambda case, message: replace(message, body=bytes([message.body[0] ^ 1]) + message.body[1:]),
    "the message before it again": _repeated,
    "what the receiver said, or another body": _of_the_other,
    "from another run": _of_another_run,
}


@cache
def cases() -> dict[str, Case]:
    """Each kind where it is said first, and every change that changes anything; by its words."""
    return {str(case): case for case in _cases()}


def _cases() -> Iterable[Case]:
    known: set[Kind] = set()
    for title in FIRST_OF:
        said = said_in(title)
        for (sender, receiver, number), message in sorted(said.items(), key=lambda entry: (entry[1].step, entry[0][2])):
            if message.kind in known or (sender, receiver) != way_of(message.kind, said):
                continue
            known.add(message.kind)
            for change in CHANGES:
                case = Case(title, sender, receiver, number, message.kind, message.step, change)
                if (change == "the message before it again" and not number) or (message.kind, change) in UNDECIDED:
                    continue
                if case.changed(message) != message:
                    yield case


def way_of(kind: Kind, said: Said) -> tuple[str, str]:
    """From the feature party to the label party where that is said, else whoever says it."""
    ways = sorted({(sender, receiver) for (sender, receiver, _), message in said.items() if message.kind is kind})
    return (SENDER, RECEIVER) if (SENDER, RECEIVER) in ways else ways[0]


@dataclass
class Change:
    """Changes one message on its way, as only its sender could, whenever it passes."""

    case: Case
    changed: bytes = field(default=b"")

    def __call__(self, sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        message, case = message_in(frame), self.case
        if message is None:
            return [frame]
        if (sender, receiver, number_in(frame)) == (case.sender, case.receiver, case.number):
            return [in_frame(frame, case.changed(message))]
        is_answer = (sender, message.kind, message.step) == (case.receiver, case.kind, case.step)
        # With the last seal of both, the sender would have left, or not, by the time that the receiver refuses.
        return [] if is_answer and case.kind is Kind.SEAL else [frame]


def line_of(case: Case, folder: Path) -> str:
    """What the receiver says, and what becomes of the session when all start again."""
    session = SESSIONS[case.title]
    ends = World(session, folder, on_frame=Change(case), patience=20.0).run()
    for end in ends.results.values():
        assert isinstance(end, PlumbobError) or not isinstance(end, BaseException), end
    said = ends.results[case.receiver]
    if isinstance(said, PlumbobError):
        # The receiver blames the sender, or hears from a peer that stopped for the same reason.
        assert re.match(rf"([\w-]+ and )?{case.sender}\b|[\w-]+ stopped: ", str(said)), said
    words = f"refused, {in_words(said)}" if isinstance(said, PlumbobError) else "taken"
    return f"{case} -> {words}; then {what_follows(session, folder, case, ends)}"


def in_words(error: BaseException) -> str:
    """The error without what changes from run to run; nor who said it, which is chance where several notice at once."""
    text = re.sub(r"\b[0-9a-f]{16,}\b", "HASH", str(error).splitlines()[0])
    text = re.sub(r" as message \d+", "", text)
    first = re.split(r"[\w-]+ stopped: ['\"\\]+", text)[-1]
    nameless = re.sub(r"^[\w-]+(: | and [\w-]+:? )", "", first)
    return f"{type(error).__name__}: {nameless.rstrip(QUOTES)[:200]}"


def what_follows(session: Session, folder: Path, case: Case, ends: Ends) -> str:
    """How the same session ends when everybody starts again, with honest peers."""
    if session.purpose != "train":
        return "it is done again"
    if not ends.errors:
        return "all have ended"
    again = World(session, folder, patience=20.0).run()
    stopped = [name for name, end in again.results.items() if isinstance(end, BaseException)]
    if not stopped:
        return "the run goes on"
    named = case.receiver if case.receiver in stopped else stopped[0]
    return f"the run cannot go on: {in_words(again.results[named])}"


def main() -> None:
    """Write the file; sessions wait more than they work, so several are played at once."""
    with ProcessPoolExecutor(4) as pool:
        lines = list(pool.map(_line_alone, cases().values(), chunksize=8))
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _line_alone(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return line_of(case, Path(folder))


if __name__ == "__main__":
    main()
