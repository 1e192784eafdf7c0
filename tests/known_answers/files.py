"""Writes messages.json beside this file: `python -m tests.known_answers.files`, which `make freeze` calls."""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from plumbob.protocol.messages import HEADER, Kind, Message
from tests.known_answers.faults import FAULTS, Fault
from tests.known_answers.sessions import PLAN_HASH, Ends, played
from tests.protocol.support import Wire

FILE = Path(__file__).parent / "messages.json"
LONGEST = 4096  # Bytes of a message that is written out.
HOLDS_A_PLAN = (Kind.PROPOSAL_DRAFT, Kind.PROPOSAL_PLAN)
"""Compressed text, which says the same in other bytes after every change of a comment."""
ABOUT = (
    "Every kind of message of docs/protocol.md once, as it is said in a small session, and a fault that its receiver "
    "MUST refuse. Bytes are hexadecimal and begin with the header. A message above 4,096 bytes is given by its header, "
    "its size and the SHA-256 of all of it; its fault then says which bytes to put where, or how many of the body's "
    "last bytes to leave out. The sessions are those of tests/known_answers: a party "
    "draws from the root SHA-256(its name), its signing key on P-256 is that number without its last 8 bits, and every "
    "plan's hash is taken to be SHA-256('known answers')."
)


def main() -> None:
    """Write the file."""
    written = {"about": ABOUT, "plan_hash": PLAN_HASH, "messages": [entry_of(kind) for kind in Kind]}
    FILE.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


@cache
def honest(session: str) -> tuple[Wire, Ends]:
    """A session in which nobody interferes."""
    wire = Wire()
    return wire, played(session, wire)


def first_of(kind: Kind) -> tuple[str, str, Message]:
    """The session's message of this sender, receiver and number: the order of threads is no part of it."""
    said = [entry for entry in honest(FAULTS[kind].session)[0].log if entry[2].kind is kind]
    return min(said, key=lambda entry: (entry[0], entry[1], entry[2].sequence))


def entry_of(kind: Kind) -> dict[str, Any]:
    """The message, its fault, and what we say of the fault."""
    _, _, message = first_of(kind)
    fault, changed = FAULTS[kind], spoilt(message, FAULTS[kind])
    told = {"why": fault.why, **in_file(kind, message.encode(), changed), "we_say": refusal(kind, changed)}
    return {**good_part(kind), "fault": told}


def good_part(kind: Kind) -> dict[str, Any]:
    """The part of the session without the fault."""
    sender, receiver, message = first_of(kind)
    place = {"step": message.step, "sequence": message.sequence, "from": sender, "to": receiver}
    return {"kind": int(kind), "name": kind.name, "session": FAULTS[kind].session, **place, **shown(message)}


def shown(message: Message) -> dict[str, Any]:
    """Written out, or by its hash."""
    data = message.encode()
    if message.kind in HOLDS_A_PLAN:
        return {"body": "a plan as TOML, compressed by zlib; PROPOSAL_PLAN has 24 bytes before it"}
    if len(data) <= LONGEST:
        return {"bytes": data.hex()}
    return {"header": data[: HEADER.size].hex(), "size": len(data), "sha256": sha256(data).hexdigest()}


def spoilt(message: Message, fault: Fault) -> bytes:
    """The message with its fault."""
    return Message(message.kind, message.step, message.sequence, fault.change(message.body)).encode()


def in_file(kind: Kind, data: bytes, changed: bytes) -> dict[str, Any]:
    """A fault whole, or as a change of a message that is not written out."""
    if len(data) <= LONGEST and kind not in HOLDS_A_PLAN:
        return {"bytes": changed.hex()}
    if len(changed) < len(data):
        return {"cut": len(data) - len(changed)}
    places = [place for place, (one, other) in enumerate(zip(data, changed, strict=True)) if one != other]
    return {"at": places[0], "put": changed[places[0] : places[-1] + 1].hex()}


def from_file(message: Message, fault: dict[str, Any]) -> bytes:
    """The faulty message, as any implementation would make it of the file."""
    if "bytes" in fault:
        return bytes.fromhex(fault["bytes"])
    if "cut" in fault:
        return Message(message.kind, message.step, message.sequence, message.body[: -fault["cut"]]).encode()
    data, put, at = message.encode(), bytes.fromhex(fault["put"]), fault["at"]
    return data[:at] + put + data[at + len(put) :]


def refusal(kind: Kind, changed: bytes) -> str:
    """What the receiver says when it gets this in the place of the honest message."""
    sender, receiver, message = first_of(kind)
    place = sender, receiver, message.sequence, kind

    def tamper(source: str, target: str, passing: Message) -> bytes | None:
        return changed if (source, target, passing.sequence, passing.kind) == place else None

    end = played(FAULTS[kind].session, Wire(tamper=tamper))[receiver]
    return f"{type(end).__name__}: {end}" if isinstance(end, Exception) else "nothing"


if __name__ == "__main__":
    main()
