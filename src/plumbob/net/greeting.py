"""The first message on each connection: each side's purpose and position.

Both sides send theirs at once and then read the other's, so that a misunderstanding is told on both.
"""

import math
import time
from typing import Annotated, Literal

import msgspec

from plumbob.errors import LocalProtocolError, RemoteProtocolError
from plumbob.net.connector import Connection
from plumbob.net.frames import FRAME, GREETING, Data
from plumbob.plan import PARTY_NAME
from plumbob.plan.file import MARK_DIGITS, differing_keys
from plumbob.version import __version__

VERSION = 5
HEAD = FRAME.pack(GREETING, 0, 0)
LARGEST_GREETING = 1024  # bytes
GREETING_SECONDS = 10.0
LISTENING_SECONDS = 5.0  # How long a reader listens before it looks whether it is still wanted.

Purpose = Literal["doctor", "propose", "align", "train", "predict"]
Hash = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
ListName = Annotated[str, msgspec.Meta(pattern=rf"\A({PARTY_NAME.pattern})?\Z")]
Marks = Annotated[str, msgspec.Meta(pattern=rf"\A([0-9a-f]{{{MARK_DIGITS}}}){{0,100}}\Z")]
RunId = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{2}){0,32}\Z")]


class Greeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one side says first. `run`, `knows` and `received` belong to the layer that sends each message once."""

    version: int = VERSION
    plumbob: Annotated[str, msgspec.Meta(max_length=64, pattern=r"\A[0-9A-Za-z.+-]*\Z")] = __version__
    purpose: Purpose
    plan: Hash = ""  # the plan's hash, empty where there is none
    keys: Marks = ""  # four digits for each of the plan's values, to name those that differ
    name: ListName = ""  # of the list of rows that is aligned or predicted, where there are several
    run: RunId = ""  # the sender's journal
    knows: RunId = ""  # the peer's journal that the sender remembers
    received: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0  # messages that the sender has for good
    clock: float = msgspec.field(default_factory=time.time)  # seconds since 1970


def encode(greeting: Greeting) -> bytes:
    """The greeting's frame."""
    return HEAD + msgspec.json.encode(greeting)


def decode(data: Data, peer: str) -> Greeting:
    """Parse strictly; raises RemoteProtocolError, with words of its own where only the version differs."""
    head, body = bytes(data[: len(HEAD)]), data[len(HEAD) :]
    if len(body) > LARGEST_GREETING:
        raise RemoteProtocolError(f"{peer} greeted with {len(body)} bytes, expected at most {LARGEST_GREETING}")
    try:
        version = _VERSIONS.decode(body).version
        if version != VERSION:
            raise RemoteProtocolError(
                f"{peer} speaks version {version} of the protocol, we speak {VERSION}; install the same plumbob"
            )
        greeting = _GREETINGS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(f"{peer} greeted with something that is no greeting; compare versions") from error
    if head != HEAD:
        raise RemoteProtocolError(f"{peer} greeted with something that is no greeting; compare versions")
    if not math.isfinite(greeting.clock):
        raise RemoteProtocolError(f"{peer} greeted with a clock that shows no time")
    return greeting


def exchange(connection: Connection, ours: Greeting, seconds: float) -> Greeting:
    """Send our greeting and receive the peer's."""
    connection.send(encode(ours))
    return decode(connection.receive(seconds), connection.peer)


def refuse_other_run(ours: Greeting, theirs: Greeting, peer: str) -> None:
    """Raise unless both sides have the same plan, and each the journal that the other one met before."""
    start_over = "both start over with --new" if ours.purpose == "train" else "both type this again"
    if theirs.plan != ours.plan:
        raise RemoteProtocolError(
            f"{peer}: {plan_difference(ours, theirs)}; use the same file on all sides, compare `plumbob plan show PLAN`"
        )
    if not theirs.run:
        raise RemoteProtocolError(f"{peer}: does not say which run it is in; is its version another one?")
    if ours.knows and theirs.run != ours.knows:
        raise RemoteProtocolError(
            f"{peer}: began a new run, we are in the middle of one with it; it must bring its journal back, "
            f"or {start_over}"
        )
    if theirs.knows and theirs.knows != ours.run:
        raise LocalProtocolError(
            f"{peer}: is in the middle of a run that this journal does not belong to; bring the journal back, "
            f"or {start_over}"
        )


def plan_difference(ours: Greeting, theirs: Greeting) -> str:
    """Where two plans differ, in words."""
    keys = differing_keys(ours.keys, theirs.keys)
    if keys:
        return f"its plan differs from ours in {', '.join(keys)}"
    return f"its plan's hash is {theirs.plan[:16]!r}..., ours is {ours.plan[:16]!r}..."


class _GreetingVersion(msgspec.Struct):
    """The version of a greeting, read first: another version may have other fields."""

    version: int


# msgspec learns a class when it is first used. Two threads that teach it one class at once end the process, and each
# peer's connection has a thread: so it learns these here, where nobody else runs.
_VERSIONS = msgspec.json.Decoder(_GreetingVersion)
_GREETINGS = msgspec.json.Decoder(Greeting)
