"""Everything that turns a peer's bytes, or a file that somebody else may have written, into values.

Each decoder takes bytes in or raises a PlumbobError. Any other exception is a mistake of ours, and so is a value that
does not give the same bytes again where the form is canonical. `seeds` are inputs to start from: an honest one first,
and some that once were trouble.
"""

import atexit
import base64
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from plumbob.crypto import ProofContext, Slots, admit, admit_paillier, engines, paillier, profiles, prove
from plumbob.crypto.paillier import PrivateKey
from plumbob.data import split_array
from plumbob.errors import PlumbobError
from plumbob.jobs import judge, plan_to_check, plan_to_move, read_job
from plumbob.lab.simulate import train
from plumbob.net import greeting
from plumbob.net.greeting import Greeting
from plumbob.net.identity import PREFIX, Identity, Invitation, _checksum
from plumbob.net.reliable import ABORT, FRAME, GOODBYE, MESSAGE, Memory, ReliableLink
from plumbob.plan import Plan
from plumbob.protocol import handshake, messages
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.part import ModelPart
from plumbob.protocol.shares import training as shares_training
from plumbob.protocol.transcript import Transcript
from plumbob.run_folder import RunFolder
from tests.fuzz import lattice

CONTEXT = ProofContext(b"session", "bank", "shop")
PROFILE = profiles.insecure_for_tests(512)
NESTED = 3000  # Deeper than Python's stack.


@dataclass(frozen=True)
class Decoder:
    """One entrance for bytes."""

    name: str
    take: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    share: int = 4
    """How many of the inputs it gets, beside the others: the cheap ones get more."""

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


def message_seeds() -> list[bytes]:
    """One of each kind."""
    return [Message(kind, step, step + 3, bytes(8 * step)).encode() for step, kind in enumerate(Kind)]


class OneMessage:
    """A link that has one message to give."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def receive(self, seconds: float) -> bytes:
        return self._data

    def send(self, data: bytes) -> None:
        """To nobody."""

    def close(self) -> None:
        """Nothing is open."""


def take_hello(data: bytes) -> None:
    """The first message of a handshake, as far as one side alone can read it."""
    body = Channel("bank", OneMessage(data)).receive(Kind.HELLO, 0, None)
    hello = handshake._parse("bank", body)
    if len(bytes.fromhex(hello.nonce)) != handshake.NONCE_BYTES:
        raise AssertionError("a nonce of another length")


def hello_seeds() -> list[bytes]:
    """Honest, and with numbers and texts at their limits."""
    hello = handshake.Hello(1, "bank", "train", "ab" * 32, 40, "cd" * 32, "ef" * 32)
    odd = [
        msgspec.structs.replace(hello, rows=None),
        msgspec.structs.replace(hello, rows=2**63),
        msgspec.structs.replace(hello, name="\x1b[2J\u202e"),
    ]
    bodies = [msgspec.json.encode(one) for one in (hello, *odd)]
    bodies += [b'{"version":' + b"9" * 4000 + b"}", nested(b'{"a":', 4000), nested(b"", 4000)]
    return [Message(Kind.HELLO, 0, 0, body).encode() for body in bodies]


def nested(start: bytes, size: int) -> bytes:
    """JSON and TOML that is deeper than any stack."""
    return start + b"[" * (size - len(start))


TERMS = Greeting(purpose="train", plan="ab" * 32, run="cd" * 16, received=3, clock=0.0)


def take_greeting(data: bytes) -> None:
    """The first bytes on a connection."""
    greeting.decode(data, "bank")


def greeting_seeds() -> list[bytes]:
    """Honest, of another version, and too deep."""
    honest = [greeting.encode(TERMS), greeting.encode(msgspec.structs.replace(TERMS, purpose="doctor", plan=""))]
    return [*honest, honest[0].replace(b"1", b"2", 1), nested(b'{"version":1,"a":', 1024), nested(b'{"a":', 1024)]


def take_frames(data: bytes) -> None:
    """Frames one after the other, each behind its length in two bytes, into a link in the middle of a run."""
    digests: dict[int, bytes] = {}
    link = ReliableLink("bank", TERMS, Memory(2, (b"ours",) * 3, 5, 5, digests), stored=lambda: 5)
    for frame in cut(data):
        link._take(frame)
    if not 2 <= link._first <= 5 or link._expected < 5 or len(link._digests) > 64:
        raise AssertionError("a link that counts wrong")


def cut(data: bytes) -> Iterator[bytes]:
    """The pieces that the lengths say; what is missing is missing."""
    while data:
        size = int.from_bytes(data[:2], "little")
        yield data[2 : 2 + size]
        data = data[2 + size :]


def frame_seeds() -> list[bytes]:
    """New, repeated and early messages, goodbye, abort."""
    frames = [
        FRAME.pack(MESSAGE, 5, 3) + b"a message",
        FRAME.pack(MESSAGE, 5, 3) + b"another",
        FRAME.pack(MESSAGE, 6, 5),
        FRAME.pack(GOODBYE, 5, 4),
        FRAME.pack(ABORT, 0, 0) + "because \u202e".encode(),
        struct.pack("<BQQ", 9, 0, 0),
    ]
    packed = [len(frame).to_bytes(2, "little") + frame for frame in frames]
    return [*packed, b"".join(packed[:3]), packed[0] + packed[0], packed[0] + packed[3]]


# Keys, ciphertexts and numbers.


@cache
def key() -> PrivateKey:
    """A short one."""
    return paillier.generate(PROFILE, engines.choose("python"))


def take_key(data: bytes) -> None:
    """A public key and its proof: only the honest one passes."""
    size = PROFILE.key_bits // 8
    admitted = admit_paillier(data[:size], data[size:], CONTEXT, PROFILE, key().public.engine)
    if admitted.n != key().public.n:
        raise AssertionError("a key without a right proof was admitted")


def key_seeds() -> list[bytes]:
    """Honest, and with a modulus that has no proof."""
    honest = key().public.to_bytes() + prove(key(), CONTEXT)
    return [honest, honest[64:128] + honest[64:], honest[:64] + bytes(11 * 64)]


def take_ciphertexts(data: bytes) -> None:
    """Three ciphertexts: all units, and the same bytes again."""
    vector = admit(key().public, data, 3)
    if len(vector) != 3 or vector.randomised().key is not key().public:
        raise AssertionError("not three ciphertexts")


def ciphertext_seeds() -> list[bytes]:
    """Honest, zero, n, n squared."""
    honest, size = key().encrypt([1, 2, 3]).to_bytes(), key().public.ciphertext_bytes
    n = key().public.n
    return [honest, *(value.to_bytes(size, "little") + honest[size:] for value in (0, n, n * n, n * n + 1))]


def take_opened_sums(data: bytes) -> None:
    """What a helper hands back: canonical, and below its modulus."""
    slots = Slots.packed(key().public, 5, 60)
    if slots.to_bytes(slots.from_bytes(data)) != data:
        raise AssertionError("opened sums that are written otherwise")


def opened_seeds() -> list[bytes]:
    """The largest, the smallest, and one above."""
    slots = Slots.packed(key().public, 5, 60)
    largest = [modulus - 1 for modulus in slots.moduli]
    return [slots.to_bytes(largest), slots.to_bytes([0] * slots.replies), b"\xff" * slots.opened_bytes]


def take_shares(data: bytes) -> None:
    """Of a body whose length the channel has checked already."""
    whole = data[: len(data) // shares_training.ELEMENT_BYTES * shares_training.ELEMENT_BYTES]
    if shares_training.to_bytes(shares_training.from_bytes(whole)) != whole:
        raise AssertionError("shares that are written otherwise")


# Tokens and files.


def take_token(data: bytes) -> None:
    """One pasted line."""
    text = data.decode("utf-8", "replace")
    if Invitation.parse(text).token() != text.strip():
        raise AssertionError("an invitation that is written otherwise")


def take_token_content(data: bytes) -> None:
    """What stands behind a right checksum, which mutation hardly ever finds."""
    take_token((PREFIX + base64.urlsafe_b64encode(data + _checksum(data)).decode().rstrip("=")).encode())


@cache
def token() -> str:
    """Of a new party."""
    with tempfile.TemporaryDirectory() as folder:
        identity = Identity.create(Path(folder) / "bank", "bank")
    return Invitation(identity.certificate, "bank.example:7443").token()


def token_contents() -> list[bytes]:
    """Honest, and too deep."""
    text = token().removeprefix(PREFIX)
    return [base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))[:-8], nested(b'{"name":', 3000)]


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


def part_seeds() -> list[bytes]:
    """Both parties', and too deep."""
    own = [finished()[f"parties/{name}/part.json"] for name in ("label", "features")]
    return [*own, nested(b'{"format":1,"classes":', NESTED), own[0].replace(b"0.", b"1e999", 1)]


def transcript_seeds() -> list[bytes]:
    """Both parties'."""
    return [finished()[f"parties/{name}/transcript.npz"] for name in ("label", "features")]


def record_seeds() -> list[bytes]:
    """Honest, too deep, and with parts of another shape."""
    honest = finished()["run.json"]
    odd = [honest.replace(b'"findings": []', b'"findings": ' + value) for value in (b'["a"]', b"[1]", b"3", b"null")]
    return [honest, nested(b'{"format":', NESTED), *odd, honest.replace(b'"format": ', b'"format": ' + b"9" * 5000)]


def plan_seeds() -> list[bytes]:
    """Some plans, too deep, with endless numbers and with dates."""
    plans = [
        Plan.for_columns((2, 3)),
        Plan.for_columns((2, 2, 1), protocol="exchange"),
        Plan.for_columns((2, 3), protocol="arbiter", noise="sound", row_norm=1.0),
    ]
    honest = [plan.to_toml().encode() for plan in plans]
    odd = [
        nested(b"title = ", NESTED),
        b"[data]\nrows = " + b"9" * 400,
        b"l2 = " + b"9" * 5000,
        b"title = 1979-05-27T07:32:00Z",
    ]
    return [*honest, *odd, b"[parties]\na = 1\n[model]\nepochs = nan", b"[data]\nrows = 0x" + b"f" * 5000]


# Jobs of other systems.

ENDINGS = (".json", ".yaml", ".py", ".ipynb")


def take_job(data: bytes) -> None:
    """The first byte says how the file's name ends, and which system it is of; what is read is judged too."""
    first = data[0] if data else 0
    path = written(f"job{ENDINGS[first % len(ENDINGS)]}", data[1:])
    job = read_job(path, "FATE" if first & 4 else "SecretFlow")
    plan, job = plan_to_check(job, {"rows": 1000})
    judge(job, plan)
    plan_to_move(replace(job, feature_parties=1), {})


def job_seeds() -> list[bytes]:
    """One of each family, an endless one and one that is too deep."""
    conf = (
        b'{"dsl_version":2,"role":{"guest":[1],"host":[2],"arbiter":[2]},"component_parameters":{"common":{"hetero_lr_0":'
        b'{"max_iter":3,"batch_size":50,"masked_rate":5,"penalty":"L2","alpha":0.1,"init_param":{"init_method":"zeros"},'
        b'"cv_param":{"need_cv":true,"n_splits":3},"encrypt_param":{"key_length":1024}}}}}'
    )
    dag = (
        b"dag:\n  parties:\n  - {role: guest, party_id: ['1']}\n  - {role: host, party_id: ['2']}\n  tasks:\n"
        b"    lr_0:\n      component_ref: sshe_lr\n"
        b"      parameters: {epochs: 3, batch_size: 30, early_stop: weight_diff}\n"
    )
    node = (
        b'{"nodes":[{"nodeDef":{"domain":"ml.train","name":"ss_sgd_train","attrPaths":["epochs","l2_norm"],'
        b'"attrs":[{"i64":"3","is_na":false},{"f":0.1}]}}],"x":"{\\"name\\":\\"ss_glm_train\\",\\"attrs\\":[]}"}'
    )
    script = b"p = {'max_iter': 3}\np.update(a=-1)\nlr_0 = HeteroLR(name='lr_0', **p)\nset_roles(guest=1)\n"
    call = b"m = SSRegression(spu)\nm.fit(x, y, 3, 0.1, batch_size=32)\nreveal(m.spu_w)\n"
    notebook = b'{"cells":[{"cell_type":"code","source":["%time\\n","FlLogisticRegressionVertical().fit(x,y,8,2)"]}]}'
    honest = [b"\x04" + conf, b"\x05" + dag, b"\x00" + node, b"\x06" + script, b"\x02" + call, b"\x03" + notebook]
    bomb = b"\x05a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)
    )
    return [
        *honest,
        bomb,
        b"\x05" + nested(b"a: ", NESTED),
        b"\x04" + nested(b'{"a":', NESTED),
        b"\x06" + b"(" * NESTED,
    ]


DECODERS = (
    Decoder("message", take_message, message_seeds, share=24),
    Decoder("hello", take_hello, hello_seeds, share=8),
    Decoder("greeting", take_greeting, greeting_seeds, share=8),
    Decoder("frames", take_frames, frame_seeds, share=12),
    Decoder("key", take_key, key_seeds, share=8),
    Decoder("ciphertexts", take_ciphertexts, ciphertext_seeds, share=8),
    Decoder("opened-sums", take_opened_sums, opened_seeds, share=12),
    Decoder("lattice-request", lattice.take_request, lattice.request_seeds, share=4),
    Decoder("lattice-reply", lattice.take_reply, lattice.reply_seeds, share=4),
    Decoder("lattice-slot-request", lattice.take_slot_request, lattice.slot_request_seeds, share=4),
    Decoder("lattice-slot-reply", lattice.take_slot_reply, lattice.slot_reply_seeds, share=4),
    Decoder("lattice-key", lattice.take_public_key, lattice.public_key_seeds, share=4),
    Decoder("lattice-challenge", lattice.take_challenge, lattice.challenge_seeds, share=4),
    Decoder("shares", take_shares, lambda: [bytes(range(72)), b"\xff" * 48], share=8),
    Decoder("invitation", take_token, lambda: [token().encode(), token().encode()[:60]], share=4),
    Decoder("invitation-content", take_token_content, token_contents, share=2),
    Decoder("part", lambda data: ModelPart.load(written("part.json", data)), part_seeds, share=2),
    Decoder("transcript", lambda data: Transcript.load(written("t.npz", data)), transcript_seeds, share=1),
    Decoder("record", lambda data: RunFolder(written("run.json", data).parent).record(), record_seeds, share=2),
    Decoder("plan", lambda data: Plan.load(written("plan.toml", data)), plan_seeds, share=1),
    Decoder("job", take_job, job_seeds, share=12),
)
