"""Messages as frames of a WebSocket (RFC 6455, section 5), made and read with as few copies as can be.

The `websockets` library copies what it reads four times. Here a long message is one frame, so that its head says how
much room it needs, and its bytes come to their place at once; everything that is not a proper part of a message, pings
and mistakes for example, is left to the library.
"""

import secrets
import struct
from collections.abc import Iterator, Sequence

from websockets.client import ClientProtocol
from websockets.exceptions import PayloadTooBig
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import CLIENT, OPEN
from websockets.server import ServerProtocol
from websockets.speedups import apply_mask

from plumbob.errors import LocalProtocolError
from plumbob.net.memory import Data

CHUNK = 1 << 18  # Bytes that are read, or handed to TLS, at once: they stay within the processor's cache.
LONG_HEAD = struct.Struct("!BBQ")
FIN, MASKED, LONG_LENGTH, SHORT_LENGTH = 0x80, 0x80, 127, 126
LONGEST_HEAD, MASK_BYTES = 14, 4


def framed(parts: Sequence[Data], *, is_masked: bool) -> Iterator[Data]:
    """One message as a frame, in pieces that are made when they are asked for. Only the last part may be long.

    Without a mask, a long one is not copied.
    """
    *short, last = parts
    size = sum(map(len, parts))
    if size < CHUNK:
        yield Frame(Opcode.BINARY, b"".join(parts)).serialize(mask=is_masked)
        return
    mask = secrets.token_bytes(MASK_BYTES) if is_masked else b""
    head = LONG_HEAD.pack(FIN | Opcode.BINARY, LONG_LENGTH | (MASKED if mask else 0), size) + mask
    # The mask starts over with each piece: the length of every piece but the last is a multiple of the mask's.
    start = CHUNK - sum(map(len, short))
    first = b"".join([*short, last[:start]])
    yield head + (apply_mask(first, mask) if mask else first)
    rest = memoryview(last)
    for at in range(start, len(rest), CHUNK):
        piece = rest[at : at + CHUNK]
        yield apply_mask(piece, mask) if mask else piece


class MessageFrames:
    """Puts messages together from what comes; whatever is not a proper part of one is left to the library."""

    def __init__(self, protocol: ClientProtocol | ServerProtocol, largest: int) -> None:
        self._protocol, self._largest = protocol, largest
        self._is_masked = protocol.side is not CLIENT
        self._message: bytearray | None = None
        """A short one, or one in several frames, as far as it is there."""
        self._room = memoryview(b"")
        """Of a long one in a single frame."""
        self._is_last = False
        self._left = 0
        """Bytes of the frame that are still to come."""
        self._mask = b""
        self._head = b""
        """The beginning of a frame whose head has not come completely."""
        self._foreign = 0
        """Bytes of the library's frame that are still to come."""

    @property
    def place(self) -> memoryview:
        """Where what comes next may be put at once, to be `placed`; empty if it has to be looked at."""
        return self._room[len(self._room) - self._left :] if self._room and not self._mask else self._room[:0]

    def placed(self, size: int) -> memoryview | None:
        """The message, if it is whole now."""
        self._left -= size
        if self._left:
            return None
        message, self._room = self._room, memoryview(b"")
        return message

    def messages_in(self, data: memoryview) -> Iterator[memoryview]:
        """The messages that these bytes complete."""
        while data:
            if self._protocol.state is not OPEN:
                self._protocol.receive_data(self._head + data)
                self._head = b""
                return
            if self._foreign:
                self._protocol.receive_data(bytes(data[: self._foreign]))
                data, self._foreign = data[self._foreign :], max(0, self._foreign - len(data))
            elif self._room:
                piece, data = self._unmasked(data)
                at = len(self._room) - self._left
                self._room[at : at + len(piece)] = piece
                if (message := self.placed(len(piece))) is not None:
                    yield message
            elif self._left:
                piece, data = self._unmasked(data)
                self._append(piece)
            else:
                data = self._begin(data)
            if self._message is not None and self._is_last and not self._left:
                yield memoryview(self._message)
                self._message, self._is_last = None, False

    def _unmasked(self, data: memoryview) -> tuple[Data, memoryview]:
        """As much of the frame as there is, and what comes after it."""
        piece, rest = data[: self._left], data[self._left :]
        if not self._mask:
            return piece, rest
        turn = len(piece) % MASK_BYTES
        mask, self._mask = self._mask, self._mask[turn:] + self._mask[:turn]
        return apply_mask(piece, mask), rest

    def _append(self, piece: Data) -> None:
        if self._message is None:
            raise LocalProtocolError("a frame without a message")
        self._message += piece
        self._left -= len(piece)

    def _begin(self, data: memoryview) -> memoryview:
        """Read a frame's head, once it has come completely; returns the bytes after it."""
        known = len(self._head)
        head = self._head + data[: LONGEST_HEAD - known]
        size, length = _head_of(head)
        if size > len(head):
            self._head = head
            return data[len(head) - known :]
        self._head = b""
        opcode, is_masked = head[0] & ~FIN, head[1] & MASKED
        is_due = opcode == (Opcode.BINARY if self._message is None else Opcode.CONT)
        if not is_due or bool(is_masked) != self._is_masked:
            self._foreign = length
            self._protocol.receive_data(head[:size])
        elif length + len(self._message or b"") > self._largest:
            self._protocol.parser_exc = PayloadTooBig(length, self._largest)
            self._protocol.fail(CloseCode.MESSAGE_TOO_BIG)
        else:
            self._begin_message(length, is_last=bool(head[0] & FIN))
            self._mask = head[size - MASK_BYTES : size] if is_masked else b""
        return data[size - known :]

    def _begin_message(self, length: int, *, is_last: bool) -> None:
        """Or continue one."""
        self._left = length
        if self._message is None and is_last and length >= CHUNK:
            self._room = memoryview(bytearray(length))
            return
        self._message, self._is_last = self._message or bytearray(), is_last


def _head_of(head: bytes) -> tuple[int, int]:
    """(bytes of a frame's head, bytes of its contents), as far as this beginning says."""
    if len(head) < 2:
        return 2, 0
    size, length = 2, head[1] & ~MASKED
    if length == LONG_LENGTH:
        size, length = 10, int.from_bytes(head[2:10], "big")
    elif length == SHORT_LENGTH:
        size, length = 4, int.from_bytes(head[2:4], "big")
    return size + (4 if head[1] & MASKED else 0), length
