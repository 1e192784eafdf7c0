"""The first message on each connection: each side's purpose and position.

Both sides send theirs at once and then read the other's, so that a misunderstanding is told on both. Only where one
side answers about several lists of rows, whoever asks names one first, and whoever answers follows.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Literal

import msgspec

from plumbob import __version__
from plumbob.callbacks import Tell
from plumbob.errors import DeadlineError, RemoteProtocolError, TransportError
from plumbob.net.connector import Connection
from plumbob.net.memory import Data
from plumbob.plan import PARTY_NAME
from plumbob.plan.writing import MARK_DIGITS, differing_keys

VERSION = 3
LARGEST_GREETING = 1024  # bytes
LONGEST_SENTENCE = 200  # characters
GREETING_SECONDS = 10.0
MOST_NAMED = 3  # Of the lists that are answered: a refusal is one short sentence.
LISTENING_SECONDS = 5.0  # How long a reader listens before it looks whether it is still wanted.

Purpose = Literal["doctor", "propose", "align", "train", "predict"]
Hash = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
ListName = Annotated[str, msgspec.Meta(pattern=rf"\A({PARTY_NAME.pattern})?\Z")]
Marks = Annotated[str, msgspec.Meta(pattern=rf"\A([0-9a-f]{{{MARK_DIGITS}}}){{0,100}}\Z")]
Sentence = Annotated[str, msgspec.Meta(pattern=rf"\A[ -~]{{0,{LONGEST_SENTENCE}}}\Z")]
RunId = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{2}){0,32}\Z")]


class Greeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one side says first. `run`, `knows` and `received` belong to the layer that sends each message once."""

    version: int = VERSION
    plumbob: Annotated[str, msgspec.Meta(max_length=64, pattern=r"\A[0-9A-Za-z.+-]*\Z")] = __version__
    purpose: Purpose
    plan: Hash = ""  # the plan's hash, empty where there is none
    keys: Marks = ""  # four digits for each of the plan's values, to name those that differ
    name: ListName = ""  # of the list of rows that is aligned or predicted, where there are several
    number: Annotated[int, msgspec.Meta(ge=0, le=10**6)] = 0  # of the run, as the sender counts; 0 where it is none
    run: RunId = ""  # the sender's journal
    knows: RunId = ""  # the peer's journal that the sender remembers
    received: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0  # messages that the sender has for good
    refuses: Sentence = ""  # why the sender takes no part after all; empty where it does
    clock: float = msgspec.field(default_factory=time.time)  # seconds since 1970


def encode(greeting: Greeting) -> bytes:
    """The greeting as it travels."""
    return msgspec.json.encode(greeting)


def decode(data: Data, peer: str) -> Greeting:
    """Parse strictly; raises RemoteProtocolError, with words of its own where only the version differs."""
    if len(data) > LARGEST_GREETING:
        raise RemoteProtocolError(f"{peer} greeted with {len(data)} bytes, expected at most {LARGEST_GREETING}")
    try:
        version = msgspec.json.decode(data, type=_GreetingVersion, strict=True).version
        if version != VERSION:
            raise RemoteProtocolError(
                f"{peer} speaks version {version} of the protocol, we speak {VERSION}; install the same plumbob"
            )
        greeting = msgspec.json.decode(data, type=Greeting, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(f"{peer} greeted with something that is no greeting; compare versions") from error
    if not math.isfinite(greeting.clock):
        raise RemoteProtocolError(f"{peer} greeted with a clock that shows no time")
    return greeting


def exchanged(connection: Connection, ours: Greeting, seconds: float) -> Greeting:
    """Send our greeting and receive the peer's."""
    connection.send(encode(ours))
    return decode(connection.receive(seconds), connection.peer)


def plan_difference(ours: Greeting, theirs: Greeting) -> str:
    """Where two plans differ, in words."""
    keys = differing_keys(ours.keys, theirs.keys)
    if keys:
        return f"its plan differs from ours in {', '.join(keys)}"
    return f"its plan's hash is {theirs.plan[:16]!r}..., ours is {ours.plan[:16]!r}..."


class _GreetingVersion(msgspec.Struct):
    """The version of a greeting, read first: another version may have other fields."""

    version: int


class AnsweredLists:
    """The lists that this side answers, of which a session takes one; any thread may call.

    `tell` hears whom we refused, once per reason.
    """

    def __init__(self, asker: str, names: Sequence[str], tell: Tell) -> None:
        self._asker, self._names, self._tell = asker, tuple(names), tell
        self._lock = threading.Lock()
        self._chosen = self._names[0] if len(self._names) == 1 else None
        self._waiting: list[Callable[[], None]] = []
        self._refused: set[str] = set()

    @property
    def chosen(self) -> str | None:
        """The session's list; None while several are possible and nobody has asked."""
        return self._chosen

    def greet(
        self, connection: Connection, ours: Callable[[str, str], Greeting], is_over: Callable[[], bool]
    ) -> Greeting:
        """Exchange greetings; `ours` is made from a list's name and a reason to refuse."""
        if connection.peer == self._asker:
            return self._hear_asker(connection, ours)
        return self._greet_when_chosen(connection, ours, is_over)

    def _hear_asker(self, connection: Connection, ours: Callable[[str, str], Greeting]) -> Greeting:
        """Let the asker name its list before we greet, and tell it at once where the list is none of ours."""
        theirs = decode(connection.receive(GREETING_SECONDS), connection.peer)
        refusal = "" if theirs.purpose != "predict" else self._refusal_of(theirs.name)
        # Under the name that was asked for: to the asker, a refusal is an answer and not another conversation.
        connection.send(encode(ours(theirs.name, refusal)))
        if refusal:
            self._tell_once(f"{connection.peer} was refused: {refusal}")
            raise TransportError(refusal)
        if theirs.purpose == "predict" and not self._choose(theirs.name):
            raise RemoteProtocolError(f"{connection.peer} left, and came back with another list; ask again")
        return theirs

    def _greet_when_chosen(
        self, connection: Connection, ours: Callable[[str, str], Greeting], is_over: Callable[[], bool]
    ) -> Greeting:
        """Greet another answering party once the asker has named its list, which may take days."""
        has_greeted = threading.Event()

        def greet() -> None:
            with suppress(TransportError):
                connection.send(encode(ours(self._chosen or "", "")))
            has_greeted.set()

        self._when_chosen(greet)
        theirs = _awaited(connection, is_over)
        if theirs.purpose != "predict" or theirs.refuses:
            connection.send(encode(ours(theirs.name, "")))
            return theirs
        while not has_greeted.wait(LISTENING_SECONDS):
            if is_over():
                raise TransportError("this end is closed")
        return theirs

    def _choose(self, name: str) -> bool:
        """Take the list that the asker names; False where the session has another one."""
        with self._lock:
            if self._chosen not in (None, name):
                return False
            self._chosen = name
            waiting, self._waiting = self._waiting, []
        for work in waiting:
            work()
        return True

    def _when_chosen(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._chosen is None:
                self._waiting.append(work)
                return
        work()

    def _refusal_of(self, name: str) -> str:
        """Why a list is not answered here, for both sides to read; empty for one that is."""
        if name in self._names:
            return ""
        shown = ", ".join(map(_in_words, self._names[:MOST_NAMED]))
        more = f" and {len(self._names) - MOST_NAMED} more" if len(self._names) > MOST_NAMED else ""
        return f"{_in_words(name)} is not answered here, only {shown}{more}"[:LONGEST_SENTENCE]

    def _tell_once(self, sentence: str) -> None:
        with self._lock:
            is_new = sentence not in self._refused
            self._refused.add(sentence)
        if is_new:
            self._tell(sentence)


def _awaited(connection: Connection, is_over: Callable[[], bool]) -> Greeting:
    while True:
        with suppress(DeadlineError):
            return decode(connection.receive(LISTENING_SECONDS), connection.peer)
        if is_over():
            raise TransportError("this end is closed")


def _in_words(name: str) -> str:
    return f"the list {name}" if name else "the list of training"
