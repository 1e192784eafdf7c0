"""Mutual TLS 1.3 between pinned parties, and the way there: no other version, no authority, no host names.

Through an HTTP proxy goes one CONNECT, after which the proxy only carries our TLS. The trust store of a context holds
the pinned certificates and nothing else, and after the handshake the peer's certificate must be the pinned one byte for
byte. What TLS refuses becomes one sentence that says what to do.
"""

import base64
import re
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from plumbob.errors import IdentityError, TransportError
from plumbob.net.address import Address, Proxy
from plumbob.net.identity import Certificate, Identity, now

VERSION = ssl.TLSVersion.TLSv1_3
# OpenSSL's numbers (x509_vfy.h); Python has no names for them.
NOT_YET_VALID, EXPIRED = 9, 10
FAREWELL_SECONDS = 1.0
FAREWELL_BYTES = 65536

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


class Deadline:
    """One deadline for several steps: each gets what is left."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds left, above 0; raises TimeoutError when none are."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


def server_context(identity: Identity, peers: Sequence[Peer]) -> ssl.SSLContext:
    """The context for callers: each must show one of these certificates."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, identity, peers)
    # A resumed session would not show its certificate again.
    context.num_tickets = 0
    return context


def client_context(identity: Identity, peer: Peer) -> ssl.SSLContext:
    """The context for dialling one peer: nobody else may answer."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, identity, [peer])


class _ClosingSocket(ssl.SSLSocket):
    """A socket that closes itself where wrapping fails: Python loses it if the connection ends at that moment."""

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            self.close()


def _context(side: int, identity: Identity, peers: Sequence[Peer]) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.sslsocket_class = _ClosingSocket
    # The pinned certificate says more than a host's name could.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = context.maximum_version = VERSION
    # Never without a password: for an encrypted key OpenSSL would ask whoever sits at the terminal.
    context.load_cert_chain(identity.certificate_file, identity.key_file, password=identity.password)
    context.load_verify_locations(cadata=b"".join(peer.certificate for peer in peers))
    return context


def handshake(context: ssl.SSLContext, raw: socket.socket, deadline: Deadline, *, server_side: bool) -> ssl.SSLSocket:
    """Do the TLS handshake over a connected socket, which it takes over; on OSError it stays open for a farewell."""
    raw.getpeername()  # A connection that is gone already is not wrapped.
    wrapped = context.wrap_socket(raw, server_side=server_side, do_handshake_on_connect=False)
    try:
        wrapped.settimeout(deadline.left())
        wrapped.do_handshake()
    except BaseException:
        # Our alert says why; a socket that is closed with unread bytes would overtake it.
        _say_farewell(wrapped)
        wrapped.close()
        raise
    return wrapped


def proven_peer(sock: ssl.SSLSocket, peers: Sequence[Peer]) -> Peer:
    """The peer whose certificate this is, exactly."""
    shown = sock.getpeercert(binary_form=True)
    for peer in peers:
        if shown == peer.certificate:
            return peer
    # The chain was accepted, so a pinned key signed it: still nobody we know.
    raise IdentityError("the certificate is not pinned, although a pinned key signed it")


def _say_farewell(sock: ssl.SSLSocket) -> None:
    """Half close, and read for a moment what is still coming."""
    with suppress(OSError):
        deadline = Deadline(FAREWELL_SECONDS)
        # Past the TLS layer: it would forget its keys and hand over raw bytes.
        socket.socket.shutdown(sock, socket.SHUT_WR)
        for _ in range(FAREWELL_BYTES // 1024):
            socket.socket.settimeout(sock, deadline.left())
            if not socket.socket.recv(sock, 1024):
                break


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


LARGEST_ANSWER = 16384
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")


def open_tunnel(proxy: Proxy, target: Address, deadline: Deadline) -> socket.socket:
    """A socket that reaches the target; raises TransportError for what the proxy answers, OSError for the network."""
    try:
        sock = socket.create_connection((proxy.address.host, proxy.address.port), timeout=deadline.left())
    except OSError as error:
        raise TransportError(
            f"the proxy {proxy.address} cannot be reached ({error.strerror or type(error).__name__}); check `proxy`"
        ) from error
    try:
        sock.sendall(_request(proxy, target))
        _refuse_unless_open(_status(sock, deadline), proxy, target)
    except BaseException:
        sock.close()
        raise
    return sock


def _request(proxy: Proxy, target: Address) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.user is not None:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    return "\r\n".join([*lines, "", ""]).encode()


def _status(sock: socket.socket, deadline: Deadline) -> int:
    """The status of the answer, read byte by byte, so that nothing behind its end is taken from TLS."""
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        sock.settimeout(deadline.left())
        byte = sock.recv(1)
        if not byte or len(answer) >= LARGEST_ANSWER:
            raise TransportError("the proxy gave no proper answer to CONNECT; check `proxy`")
        answer += byte
    status = STATUS.match(answer)
    if status is None:
        raise TransportError("the proxy does not speak HTTP; check `proxy`")
    return int(status[1])


def _refuse_unless_open(status: int, proxy: Proxy, target: Address) -> None:
    if 200 <= status < 300:
        return
    if status == 407:
        raise IdentityError(f"the proxy {proxy.address} wants another user and password; set them in `proxy`")
    if status in (403, 405):
        raise TransportError(f"the proxy {proxy.address} does not allow CONNECT to {target}; ask its administrator")
    raise TransportError(f"the proxy {proxy.address} cannot reach {target} (HTTP {status})")
