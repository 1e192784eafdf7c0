"""Messages as frames of a WebSocket (RFC 6455, section 5), made and read with as few copies as can be.

The `websockets` library copies what it reads four times. Here the bytes of a message are copied once, to their place in
it; everything that is not a proper part of a message, pings and mistakes for example, is left to the library.
"""

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
FRAGMENT = 1 << 20
"""A longer message travels in fragments (RFC 6455, section 5.4), so that a sign of life can come between two."""
LONG_HEAD = struct.Struct("!BBQ")
FIN, MASKED, LONG_LENGTH, SHORT_LENGTH = 0x80, 0x80, 127, 126
LONGEST_HEAD = 14


def fragments(parts: Sequence[Data], *, is_masked: bool) -> Iterator[Data]:
    """One message as frames, in pieces that are made when they are asked for. Only the last part may be long.

    Without a mask, a long one is not copied.
    """
    *short, last = parts
    first = b"".join([*short, last[:CHUNK]])
    cuts: list[Data] = [first, *(memoryview(last)[at : at + FRAGMENT] for at in range(CHUNK, len(last), FRAGMENT))]
    for place, cut in enumerate(cuts):
        opcode, is_last = Opcode.CONT if place else Opcode.BINARY, place == len(cuts) - 1
        if is_masked or len(cut) < CHUNK:
            yield Frame(opcode, cut, fin=is_last).serialize(mask=is_masked)
        else:
            yield LONG_HEAD.pack(opcode | (FIN if is_last else 0), LONG_LENGTH, len(cut))
            yield cut


class MessageFrames:
    """Puts messages together from what comes; whatever is not a proper part of one is left to the library.

    The library would copy a frame four times. Here a message's bytes are copied once, to their place in it.
    """

    def __init__(self, protocol: ClientProtocol | ServerProtocol, largest: int) -> None:
        self._protocol, self._largest = protocol, largest
        self._is_masked = protocol.side is not CLIENT
        self._message: bytearray | None = None
        self._is_last = False
        self._left = 0
        """Bytes of the frame that are still to come."""
        self._mask = b""
        self._head = b""
        """The beginning of a frame whose head is not there as a whole."""
        self._foreign = 0
        """Bytes of the library's frame that are still to come."""

    def messages_in(self, data: memoryview) -> Iterator[memoryview]:
        """Those that these bytes complete."""
        while data:
            if self._protocol.state is not OPEN:
                self._protocol.receive_data(self._head + data)
                self._head = b""
                return
            if self._foreign:
                self._protocol.receive_data(bytes(data[: self._foreign]))
                data, self._foreign = data[self._foreign :], max(0, self._foreign - len(data))
            elif self._left:
                data = self._take(data)
            else:
                data = self._begin(data)
            if self._message is not None and self._is_last and not self._left:
                yield memoryview(self._message)
                self._message, self._is_last = None, False

    def _take(self, data: memoryview) -> memoryview:
        """As much of the frame as there is; what comes after it."""
        piece, rest = data[: self._left], data[self._left :]
        self._left -= len(piece)
        if self._message is None:
            raise LocalProtocolError("a frame without a message")
        if self._mask:
            self._message += apply_mask(piece, self._mask)
            turn = len(piece) % len(self._mask)
            self._mask = self._mask[turn:] + self._mask[:turn]
        else:
            self._message += piece
        return rest

    def _begin(self, data: memoryview) -> memoryview:
        """A frame's head, once it is there as a whole; what comes after it."""
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
            self._message = bytearray() if self._message is None else self._message
            self._left, self._is_last = length, bool(head[0] & FIN)
            self._mask = head[size - 4 : size] if is_masked else b""
        return data[size - known :]


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
