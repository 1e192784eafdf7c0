"""Mutual TLS 1.3 between pinned parties: no other version, no authority, no host names.

The trust store of a context holds the pinned certificates and nothing else, and after the handshake the peer's
certificate must be the pinned one byte for byte. What TLS refuses becomes one sentence that says what to do.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from plumbob.errors import IdentityError, TransportError
from plumbob.net.identity import Certificate, Identity, now

VERSION = ssl.TLSVersion.TLSv1_3
# OpenSSL's numbers (x509_vfy.h); Python has no names for them.
NOT_YET_VALID, EXPIRED = 9, 10
FAREWELL_SECONDS = 1.0
FAREWELL_BYTES = 65536
CHUNK = 1 << 18  # Bytes that are read from the network, or encrypted, at once: they stay in the processor's cache.
HANDSHAKE_CHUNK = 1 << 12  # The same for somebody who has not proved who it is: many may come at once.

# What the other side's alert means, by the words that OpenSSL has for it.
NOT_PINNED_THERE = ("UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_REQUIRED", "DECRYPT_ERROR")
NOT_VALID_THERE = ("CERTIFICATE_EXPIRED", "BAD_CERTIFICATE")
NO_TLS_1_3 = ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "NO_PROTOCOLS_AVAILABLE")
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "PACKET_LENGTH_TOO_LONG", "BAD_RECORD_TYPE")


@dataclass(frozen=True)
class Peer:
    """A pinned peer and its address."""

    name: str
    certificate: bytes  # DER
    address: str | None  # "host:port" that we may dial; None: it dials us


def server_context(identity: Identity, peers: Sequence[Peer]) -> ssl.SSLContext:
    """The context for callers: each must show one of these certificates."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, identity, peers)
    # A resumed session would not show its certificate again.
    context.num_tickets = 0
    return context


def client_context(identity: Identity, peer: Peer) -> ssl.SSLContext:
    """The context for dialling one peer: nobody else may answer."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, identity, [peer])


def _context(side: int, identity: Identity, peers: Sequence[Peer]) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    # The pinned certificate says more than a host's name could.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = context.maximum_version = VERSION
    # Never without a password: for an encrypted key OpenSSL would ask whoever sits at the terminal.
    context.load_cert_chain(identity.certificate_file, identity.key_file, password=identity.password)
    context.load_verify_locations(cadata=b"".join(peer.certificate for peer in peers))
    return context


class TlsStream:
    """A connected socket under TLS, for one reader and one writer of an event loop. It owns the socket.

    asyncio's own TLS sends no alert when it refuses a certificate, so the peer would never hear why.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, *, server_side: bool) -> None:
        sock.setblocking(False)
        # The protocol waits for each answer: small messages must not be held back.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._socket = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        self._room = memoryview(bytearray(HANDSHAKE_CHUNK))
        self.is_understood = False
        """Whether the other side's hello has come, so that there is something to answer."""

    async def handshake(self, first_byte: float | None = None) -> None:
        """Do the TLS handshake; raises OSError, after the alert that says why, and gives up where nothing comes."""
        try:
            while not self._has_shaken_hands():
                self.is_understood = self.is_understood or self._outgoing.pending > 0
                await self._flush()
                await self._take_in(first_byte)
                first_byte = None
            await self._flush()
        except ssl.SSLError:
            await self._say_farewell()
            raise
        self._room = memoryview(bytearray(CHUNK))

    def _has_shaken_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def proven_peer(self, peers: Sequence[Peer]) -> Peer:
        """The peer whose certificate the other side has, exactly."""
        shown = self._tls.getpeercert(binary_form=True)
        for peer in peers:
            if shown == peer.certificate:
                return peer
        # The chain was accepted, so a pinned key signed it: still nobody we know.
        raise IdentityError("the certificate is not pinned, although a pinned key signed it")

    async def read_into(self, room: memoryview, silence: float | None = None) -> int:
        """Read some bytes, 0 at the end; raises TimeoutError after so many seconds without a byte, or OSError."""
        while True:
            try:
                size: Any = self._tls.read(len(room), room)  # A number, whatever the type's author says.
                return int(size)
            except ssl.SSLWantReadError:
                await self._take_in(silence)
            except ssl.SSLEOFError:
                return 0

    async def write(self, piece: memoryview) -> None:
        """Hand some bytes to the network; returns once it has taken them."""
        while piece:
            # One call takes one record of TLS.
            piece = piece[self._tls.write(piece) :]
        await self._flush()

    def close(self) -> None:
        """Close the socket; nobody may be reading or writing any more."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    async def _take_in(self, seconds: float | None) -> None:
        async with asyncio.timeout(seconds):
            size = await asyncio.get_running_loop().sock_recv_into(self._socket, self._room)
        if not size:
            self._incoming.write_eof()
            return
        self._incoming.write(self._room[:size])
        if size == len(self._room):
            # Where more bytes are always there, the other tasks would never have their turn.
            await asyncio.sleep(0)

    async def _flush(self) -> None:
        if data := self._outgoing.read():
            await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def _say_farewell(self) -> None:
        """Send our alert, half close, and read for a moment: a socket closed with unread bytes would take it back."""
        with suppress(OSError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._flush()
                self._socket.shutdown(socket.SHUT_WR)
                for _ in range(FAREWELL_BYTES // HANDSHAKE_CHUNK):
                    if not await asyncio.get_running_loop().sock_recv_into(self._socket, self._room):
                        return


def caller_refused(error: OSError, where: str, peers: Sequence[Peer]) -> TransportError:
    """Why a caller did not get in, for the operator of this side."""
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (EXPIRED, NOT_YET_VALID):
            return IdentityError(f"{where} was refused: {_out_of_time(peers)}")
        return IdentityError(
            f"{where} was refused: it showed a certificate that is not pinned here; "
            "if it is a peer, ask it for the output of `plumbob party invite` and join that"
        )
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return IdentityError(f"{where} was refused: it showed no certificate; only pinned parties may call")
    if any(word in reason for word in NO_TLS_1_3):
        return TransportError(f"{where} was refused: it does not speak TLS 1.3; a peer needs Plumbob and OpenSSL 1.1.1")
    if any(word in reason for word in (*NOT_PINNED_THERE, *NOT_VALID_THERE)):
        return IdentityError(
            f"{where} refused our certificate; if it is a peer, send it `plumbob party invite` and let it join that"
        )
    if any(word in reason for word in NO_TLS):
        return TransportError(f"{where} was refused: it does not speak TLS")
    if isinstance(error, TimeoutError):
        return TransportError(f"{where} was refused: it did not finish its handshake in time")
    return TransportError(f"{where} broke off during the handshake ({reason or type(error).__name__})")


def peer_refused(error: OSError, peer: Peer) -> TransportError:
    """Why dialling a peer failed, for the operator of this side."""
    reason = getattr(error, "reason", None) or ""
    where = f"{peer.name} at {peer.address}"
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (EXPIRED, NOT_YET_VALID):
            return IdentityError(f"{where} was refused: {_out_of_time([peer])}")
        return IdentityError(
            f"{where} shows another certificate than the one pinned: either somebody else answers there, or "
            f"{peer.name} has a new identity; compare fingerprints, then type: plumbob party join TOKEN --replace"
        )
    if any(word in reason for word in NOT_VALID_THERE):
        return IdentityError(f"{where} rejects our certificate as not currently valid; compare both clocks")
    if any(word in reason for word in NOT_PINNED_THERE):
        return IdentityError(
            f"{where} does not know our certificate; send `plumbob party invite` and let {peer.name} join that"
        )
    if any(word in reason for word in NO_TLS_1_3):
        return TransportError(f"{where} does not speak TLS 1.3; is it Plumbob that answers there?")
    if any(word in reason for word in NO_TLS):
        return TransportError(f"{where} does not speak TLS; is the address right, or is a proxy in between?")
    return TransportError(f"{where} cannot be reached: {_network_reason(error)}")


def _network_reason(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return "its name is not known here; check the address, or the proxy"
    if isinstance(error, TimeoutError):
        return "no answer in time; is a firewall in between?"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there yet"
    return f"{error.strerror or type(error).__name__}"


def _out_of_time(peers: Sequence[Peer]) -> str:
    mistakes = (Certificate.parse(peer.certificate).mistake_at(now()) for peer in peers)
    return next((text for text in mistakes if text), "its certificate does not hold today")
