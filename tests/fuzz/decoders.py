"""Everything that turns a peer's bytes, or a file that somebody else may have written, into values.

Each decoder takes bytes in or raises a PlumbobError. Any other exception is a mistake of ours, and so is a value that
does not give the same bytes again where the form is canonical. Fuzzing starts from one honest input and from the files
in corpus/NAME: what once was trouble, and what reached code that nothing else did.
"""

import atexit
import base64
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from plumbob.data import split_array
from plumbob.errors import PlumbobError
from plumbob.jobs import judge, plan_to_check, plan_to_move, read_job
from plumbob.jobs.reading import Parties
from plumbob.lab.exchange import engines, paillier, profiles
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.paillier import PrivateKey, admit
from plumbob.lab.exchange.proof import ProofContext, admit_paillier, prove
from plumbob.lab.simulate import train
from plumbob.lab.transcript import Transcript
from plumbob.net import Data, greeting
from plumbob.net.frames import FRAME, MESSAGE
from plumbob.net.greeting import Greeting
from plumbob.net.identity import PREFIX, Identity, Invitation, _checksum
from plumbob.net.numbered import Memory
from plumbob.net.reliable import ReliableLink
from plumbob.plan import Plan
from plumbob.protocol import messages
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Hello
from plumbob.protocol.journal import KEYS, SqliteJournal
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.openings import pack, unpack
from plumbob.protocol.part import ModelPart
from plumbob.protocol.shares.shape import ELEMENT_BYTES
from plumbob.run_folder import RunFolder
from tests.crypto.support import seeded
from tests.fuzz import lattice

CONTEXT = ProofContext(b"session", "bank", "shop")
PROFILE = profiles.insecure_for_tests(512)
CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Decoder:
    """One entrance for bytes."""

    name: str
    take: Callable[[bytes], object]
    honest: Callable[[], bytes]
    """An input that is taken in."""
    share: int = 4
    """How many of the inputs it gets, beside the others: the cheap ones get more."""

    @property
    def corpus(self) -> Path:
        return CORPUS / self.name

    def try_on(self, data: bytes) -> bool:
        """Whether the bytes were taken in; raises whatever is not a PlumbobError."""
        try:
            self.take(data)
        except PlumbobError as error:
            # What is shown to a person stays short, whatever came in.
            if len(str(error)) > 4000:
                raise AssertionError(f"an error of {len(str(error))} characters") from error
            return False
        return True


# Messages, and the frames and greetings that carry them.


def take_message(data: bytes) -> None:
    """Canonical: what is read writes the same bytes."""
    if messages.decode(data).encode() != data:
        raise AssertionError("a message was read that is written otherwise")


class OneMessage:
    """A link that has one message to give."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def receive(self, seconds: float) -> bytes:
        return self._data

    def send(self, *parts: Data) -> None:
        """Send to nobody."""

    def close(self) -> None:
        """Close nothing: nothing is open."""


def take_hello(data: bytes) -> None:
    """The first message of a handshake, as far as one side alone can read it."""
    body = Channel("bank", OneMessage(data)).receive(Kind.HELLO, 0, len(HELLO.to_bytes()))
    if Hello.from_bytes(body).to_bytes() != body:
        raise AssertionError("a greeting that is written otherwise than it was read")


def honest_hello() -> bytes:
    """A greeting as a party begins."""
    return Message(Kind.HELLO, 0, 0, HELLO.to_bytes()).encode()


HELLO = Hello(b"\xcd" * 32, 40, b"\xef" * 32)
TERMS = Greeting(purpose="train", plan="ab" * 32, run="cd" * 16, received=3, clock=0.0)


def take_greeting(data: bytes) -> None:
    """What the first frame on a connection says."""
    greeting.decode(greeting.HEAD + data, "bank")


def take_frames(data: bytes) -> None:
    """Frames one after the other, each behind its length in two bytes, into a link in the middle of a run."""
    digests: dict[int, bytes] = {}
    link = ReliableLink("bank", TERMS, Memory(2, (b"ours",) * 3, 5, 5, digests), stored=lambda: 5)
    for frame in cut(data):
        link._take(frame)
    if not 2 <= link._outbound.first <= 5 or link._inbound.expected < 5 or len(link._inbound._digests) > 64:
        raise AssertionError("a link that counts wrong")


def cut(data: bytes) -> Iterator[bytes]:
    """The pieces that the lengths say; what is missing is missing."""
    while data:
        size = int.from_bytes(data[:2], "little")
        yield data[2 : 2 + size]
        data = data[2 + size :]


def honest_frame() -> bytes:
    """A frame with the next message."""
    frame = FRAME.pack(MESSAGE, 5, 3) + b"a message"
    return len(frame).to_bytes(2, "little") + frame


# Keys, ciphertexts and numbers.


@cache
def key() -> PrivateKey:
    """A short one, the same in every process: the corpus was made for it."""
    return paillier.generate(PROFILE, engines.choose("python"), seeded("fuzz"))


def take_key(data: bytes) -> None:
    """A public key and its proof: only the honest one passes."""
    size = PROFILE.key_bits // 8
    admitted = admit_paillier(data[:size], data[size:], CONTEXT, PROFILE, key().public.engine)
    if admitted.n != key().public.n:
        raise AssertionError("a key without a right proof was admitted")


def take_ciphertexts(data: bytes) -> None:
    """Three ciphertexts: all units, and the same bytes again."""
    vector = admit(key().public, data, 3)
    if len(vector) != 3 or vector.randomised().key is not key().public:
        raise AssertionError("not three ciphertexts")


def take_opened_sums(data: bytes) -> None:
    """What a helper hands back: canonical, and below its modulus."""
    slots = Slots.packed(key().public.profile, 5, 60)
    if slots.to_bytes(slots.from_bytes(data)) != data:
        raise AssertionError("opened sums that are written otherwise")


def largest_sums() -> bytes:
    """Sums that are each just below their modulus."""
    slots = Slots.packed(key().public.profile, 5, 60)
    return slots.to_bytes([modulus - 1 for modulus in slots.moduli])


def take_shares(data: bytes) -> None:
    """Parse shares from a body whose length the channel has checked already."""
    whole = data[: len(data) // ELEMENT_BYTES * ELEMENT_BYTES]
    if pack(unpack(whole, ELEMENT_BYTES), ELEMENT_BYTES) != whole:
        raise AssertionError("shares that are written otherwise")


# Tokens and files.


def take_token(data: bytes) -> None:
    """Parse one pasted line."""
    text = data.decode("utf-8", "replace")
    if Invitation.parse(text).token() != text.strip():
        raise AssertionError("an invitation that is written otherwise")


def take_token_content(data: bytes) -> None:
    """What stands behind a right checksum, which mutation hardly ever finds."""
    take_token((PREFIX + base64.urlsafe_b64encode(data + _checksum(data)).decode().rstrip("=")).encode())


@cache
def token() -> str:
    """The invitation of a new party."""
    with tempfile.TemporaryDirectory() as folder:
        identity = Identity.create(Path(folder) / "bank", "bank")
    return Invitation(identity.certificate, "bank.example:7443").token()


def token_content() -> bytes:
    """The content of an invitation without the checksum."""
    text = token().removeprefix(PREFIX)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))[:-8]


@cache
def scratch() -> Path:
    """A folder for this process, gone with it."""
    folder = Path(tempfile.mkdtemp(prefix="plumbob-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def written(name: str, data: bytes) -> Path:
    """A file with these bytes."""
    path = scratch() / name
    path.write_bytes(data)
    return path


@cache
def finished() -> dict[str, bytes]:
    """The files of one small run."""
    tables = split_array(np.arange(24.0).reshape(8, 3) % 5, np.arange(8) % 2, (2, 1))
    plan = Plan.for_columns((2, 1), protocol="clear", seed=3, epochs=1, batch_size=4)
    run = train(plan, {party.name: table for party, table in zip(plan.learners, tables, strict=True)})
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder))
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def take_journal(data: bytes) -> None:
    """A party's own file, damaged: whatever a start reads of it."""
    path = written("journal.sqlite", data)
    for beside in path.parent.glob("journal.sqlite-*"):
        beside.unlink()
    read_journal(path)


def read_journal(path: Path) -> None:
    """Everything that a start reads."""
    journal = SqliteJournal(path)
    try:
        journal.identity()
        journal.last_state()
        journal.link_state("shop")
        journal.draws(root=bytes(32))
    finally:
        journal.close()


def honest_journal() -> bytes:
    """A journal in the middle of a run, in pages as small as possible."""
    path = scratch() / "honest.sqlite"
    path.unlink(missing_ok=True)
    journal = SqliteJournal(path)
    journal.note("identity", b"ab" * 16)
    journal.keep("shop", b"a message", bytes(32))
    journal.finish(KEYS, {"key": b"k"}, {1: b"needed", 2: b"needed later"})
    journal.log_sent("shop", Message(Kind.SEED_SHARE, 1, 0, b"another"), bytes(32))
    journal.finish(1, {"weights": b"2"}, {})
    journal.flush()
    journal.close()
    with closing(sqlite3.connect(path)) as database:
        for statement in ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"):
            database.execute(statement)
    return path.read_bytes()


# Jobs of other systems.

ENDINGS = (".json", ".yaml")


def take_job(data: bytes) -> None:
    """The first byte says how the file's name ends, and which system it is of; what is read is judged too."""
    first = data[0] if data else 0
    path = written(f"job{ENDINGS[first % len(ENDINGS)]}", data[1:])
    job = read_job(path, "FATE" if first & 4 else "SecretFlow")
    plan, job = plan_to_check(job, {"rows": 1000})
    judge(job, plan)
    plan_to_move(replace(job, parties=Parties(features=("2",))), {})


DECODERS = (
    Decoder("message", take_message, lambda: Message(Kind.HELLO, 1, 3, bytes(8)).encode(), share=24),
    Decoder("hello", take_hello, honest_hello, share=8),
    Decoder("greeting", take_greeting, lambda: greeting.encode(TERMS)[len(greeting.HEAD) :], share=8),
    Decoder("frames", take_frames, honest_frame, share=12),
    Decoder("key", take_key, lambda: key().public.to_bytes() + prove(key(), CONTEXT), share=8),
    Decoder("ciphertexts", take_ciphertexts, lambda: key().encrypt([1, 2, 3]).to_bytes(), share=8),
    Decoder("opened-sums", take_opened_sums, largest_sums, share=12),
    Decoder("lattice-request", lattice.take_request, lattice.request, share=4),
    Decoder("lattice-reply", lattice.take_reply, lambda: lattice.take_request(lattice.request()).reply, share=4),
    Decoder("lattice-slot-request", lattice.take_slot_request, lattice.slot_request, share=4),
    Decoder(
        "lattice-slot-reply",
        lattice.take_slot_reply,
        lambda: lattice.take_slot_request(lattice.slot_request()).reply,
        share=4,
    ),
    Decoder("lattice-key", lattice.take_public_key, lambda: lattice.key().public, share=4),
    Decoder("lattice-challenge", lattice.take_challenge, lattice.challenge, share=4),
    Decoder("shares", take_shares, lambda: bytes(range(72)), share=8),
    Decoder("invitation", take_token, lambda: token().encode(), share=4),
    Decoder("invitation-content", take_token_content, token_content, share=2),
    Decoder(
        "part",
        lambda data: ModelPart.load(written("part.json", data)),
        lambda: finished()["parties/label/part.json"],
        share=2,
    ),
    Decoder(
        "transcript",
        lambda data: Transcript.load(written("t.npz", data)),
        lambda: finished()["parties/features/transcript.npz"],
        share=1,
    ),
    Decoder(
        "record",
        lambda data: RunFolder(written("run.json", data).parent).record(),
        lambda: finished()["run.json"],
        share=2,
    ),
    Decoder(
        "plan",
        lambda data: Plan.load(written("plan.toml", data)),
        lambda: Plan.for_columns((2, 3)).to_toml().encode(),
        share=1,
    ),
    Decoder("job", take_job, lambda: (CORPUS / "job" / "fate-1-conf").read_bytes(), share=4),
    Decoder("journal", take_journal, honest_journal, share=1),
)
