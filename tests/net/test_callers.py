"""Who calls, what it hears, and what people are told; whoever it was, the peer still gets in."""

import datetime
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from plumbob.errors import DeadlineError
from plumbob.net import strangers, tls
from plumbob.net.connector import MOST_CONNECTIONS_A_PEER
from plumbob.net.identity import Identity, now
from plumbob.net.wire import OPENING
from tests.net.support import (
    PATIENCE,
    QUICK,
    At,
    Collected,
    dialling,
    ended,
    listening,
    over_tls,
    peer_of,
    plain_context,
    speaking,
    where,
)


def out_of_time(folder: Path, name: str, days_from_now: int) -> Identity:
    """An identity of one day that begins so many days from now."""
    return Identity.create(folder, name, days=1, valid_from=now() + datetime.timedelta(days=days_from_now))


def in_plain_text(at: At, words: bytes) -> str:
    """What a caller without TLS hears."""
    with socket.create_connection(at, timeout=PATIENCE) as sock:
        sock.sendall(words)
        sock.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: sock.recv(4096), b""))
    # An alert of TLS at most: type 21, seven bytes.
    return "an alert" if answer[:1] == b"\x15" and len(answer) == 7 else repr(answer)


def in_drops(at: At) -> str:
    """What a caller hears that sends the head of a hello of 512 bytes, and then a byte now and then."""
    with socket.create_connection(at, timeout=PATIENCE) as slow, suppress(OSError):
        slow.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        slow.settimeout(0.05)
        while True:
            slow.sendall(b"x")
            with suppress(TimeoutError):
                return repr(slow.recv(100))
    return repr(b"")


@dataclass(frozen=True)
class Caller:
    """Somebody who calls the fund, where only the bank is pinned."""

    call: Callable[[At, dict[str, Identity], Path], str]
    hears: str
    told: str
    """What the people at the fund are told."""


def older(identity: Identity) -> ssl.SSLContext:
    """A client that offers at most TLS 1.2."""
    context = plain_context(identity)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def as_party(name: str, words: bytes = b"") -> Callable[[At, dict[str, Identity], Path], str]:
    """One of the parties, who says these words after its handshake."""
    return lambda at, parties, folder: over_tls(at, plain_context(parties[name]), words)


LATE, NO_WORDS = "did not finish its handshake in time", "did not speak the Plumbob protocol"
CALLERS = {
    "a third party": Caller(as_party("mallory"), "UNKNOWN_CA", "not pinned here"),
    "another key under a pinned name": Caller(
        lambda at, parties, folder: over_tls(at, plain_context(Identity.create(folder / "bank", "bank"))),
        "UNKNOWN_CA",
        "not pinned here",
    ),
    "no certificate": Caller(
        lambda at, parties, folder: over_tls(at, plain_context()), "CERTIFICATE_REQUIRED", "showed no certificate"
    ),
    "TLS 1.2": Caller(
        lambda at, parties, folder: over_tls(at, older(parties["bank"])), "PROTOCOL_VERSION", "does not speak TLS 1.3"
    ),
    **{
        f"plain text, {words[:5]!r}": Caller(
            lambda at, parties, folder, words=words: in_plain_text(at, words),  # type: ignore[misc]
            "an alert|^b''$",
            "caller from 127.0.0.1",
        )
        for words in (b"GET / HTTP/1.1\r\nHost: fund\r\n\r\n", bytes(100), b"hello\n")
    },
    **{
        f"other words, {words[:8]!r}": Caller(as_party("bank", words), "^b''$", NO_WORDS)
        for words in (b"plumbob\x01", b"GET /plumbob/1 HTTP/1.1\r\n\r\n", bytes(8))
    },
    "nothing at all": Caller(lambda at, parties, folder: in_silence(at), "^b''$", LATE),
    "a hello in drops": Caller(lambda at, parties, folder: in_drops(at), "^b''$", LATE),
    "half an opening": Caller(as_party("bank", OPENING[:4]), "^b''$", LATE),
}


def in_silence(at: At) -> str:
    """What a caller hears that says nothing."""
    with socket.create_connection(at, timeout=PATIENCE) as sock:
        return repr(sock.recv(100))


@pytest.mark.parametrize("caller", CALLERS.values(), ids=CALLERS)
def test_a_stranger_is_refused_and_the_peer_gets_in(
    parties: dict[str, Identity], tmp_path: Path, caller: Caller
) -> None:
    """Nothing of a caller is understood before its certificate: it hears an alert at most, and people are told why."""
    bank, fund = parties["bank"], parties["fund"]
    hurried = replace(QUICK, handshake=3.0, first_byte=0.2) if caller.told == LATE else QUICK
    with listening(fund, bank, timeouts=hurried) as server:
        assert re.search(caller.hears, caller.call(where(server), parties, tmp_path))
        assert caller.told in server.refusal()
        assert server.connections.empty()
        with dialling(bank, fund, server.connector.address) as client:
            assert (client.next().peer, server.next().peer) == ("fund", "bank")


@pytest.mark.parametrize(("days", "words"), [(-9, "ended on"), (9, "is valid from")])
def test_a_caller_out_of_its_time_is_refused(tmp_path: Path, fund: Identity, days: int, words: str) -> None:
    """A pinned certificate that is over, or not yet begun, opens nothing; the alert says it to the caller too."""
    stale = out_of_time(tmp_path / "bank", "bank", days)
    with listening(fund, stale) as server:
        assert over_tls(where(server), plain_context(stale)) in (
            "SSLV3_ALERT_CERTIFICATE_EXPIRED",
            "SSLV3_ALERT_BAD_CERTIFICATE",
        )
        assert f"bank's certificate {words}" in server.refusal()


def test_a_certificate_vouched_for_by_a_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bank: Identity, fund: Identity, mallory: Identity
) -> None:
    """Whatever the trust store accepts, the certificate must be the pinned one byte for byte."""
    lenient = tls.server_context(fund, [peer_of(bank), peer_of(mallory)])
    monkeypatch.setattr(tls, "server_context", lambda identity, peers: lenient)
    with listening(fund, bank) as server, dialling(mallory, fund, server.connector.address):
        assert "the certificate is not pinned" in server.refusal()
        assert server.connections.empty()


def test_each_reason_is_told_once(bank: Identity, fund: Identity, mallory: Identity) -> None:
    """A stranger who knocks again and again is told about once."""
    with listening(fund, bank) as server:
        for _ in range(3):
            assert "UNKNOWN_CA" in over_tls(where(server), plain_context(mallory))
        server.refusal()
        assert server.refusals.empty()


UNHURRIED = replace(QUICK, handshake=60, first_byte=60)
FLOOD = 48  # Connections.


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the places that strangers have, so that a quarter of the callers is a flood."""
    monkeypatch.setattr(strangers, "MOST_STRANGERS", FLOOD // 3)
    monkeypatch.setattr(strangers, "MOST_A_SOURCE", 4)


SIX_BYTES = b"\x16\x03\x01\x02\x00\x01"  # A hello's head, which announces 512 bytes that never come.
TINY_RECORD = b"\x16\x03\x01\x00\x01\x01"  # A whole record, with nothing in it but a hello's first byte.
OWN, OTHER = "127.0.0.1", "127.0.0.2"


@contextmanager
def flooded(server: Collected, source: str, says: bytes, size: int = FLOOD, stay: int = FLOOD) -> Iterator[None]:
    """Connections from this address, which say so much and no more, until all but so many were sent away."""
    flood = [socket.create_connection(where(server), timeout=PATIENCE, source_address=(source, 0)) for _ in range(size)]
    try:
        for sock in flood:
            with suppress(OSError):
                sock.sendall(says)
        wait_for_farewells(flood, size - stay)
        yield
    finally:
        for sock in flood:
            sock.close()


class HalfWay:
    """A peer in its handshake, step by step."""

    def __init__(self, server: Collected, identity: Identity) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = plain_context(identity).wrap_bio(self.incoming, self.outgoing)
        self.sock = socket.create_connection(where(server), timeout=PATIENCE)

    def say_hello(self) -> None:
        """Say hello, and hear the server's."""
        with suppress(ssl.SSLWantReadError):
            self.client.do_handshake()
        self.sock.sendall(self.outgoing.read())
        self.incoming.write(self.sock.recv(1 << 16))

    def gets_in(self) -> bool:
        """Whether it can finish the handshake."""
        with suppress(OSError):
            while True:
                try:
                    self.client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    self.sock.sendall(self.outgoing.read())
                    if not (data := self.sock.recv(1 << 16)):
                        return False
                    self.incoming.write(data)
            self.client.write(OPENING)
            self.sock.sendall(self.outgoing.read())
            return self.sock.recv(1) != b""
        return False


@pytest.mark.usefixtures("few_places")
@pytest.mark.parametrize("source", [OWN, OTHER])
@pytest.mark.parametrize("says", [b"", SIX_BYTES, TINY_RECORD])
def test_a_flood_keeps_no_peer_out(
    bank: Identity, fund: Identity, source: str, says: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callers that say nothing, or too little, make room for a peer that has said its hello, wherever they call from.

    Without a first second in which nobody is sent away: the flood may come as slowly as it likes.
    """
    with listening(fund, bank, timeouts=UNHURRIED) as server:
        peer = HalfWay(server, bank)
        with peer.sock:
            peer.say_hello()
            monkeypatch.setattr(strangers, "GRACE_SECONDS", 0.0)
            with flooded(server, source, says, stay=strangers.MOST_A_SOURCE + 1):
                assert peer.gets_in()


@pytest.mark.usefixtures("few_places")
@pytest.mark.parametrize("says", [b"", SIX_BYTES, "hello"])
def test_a_peer_whose_hello_is_under_way_keeps_its_place(
    bank: Identity, fund: Identity, says: bytes | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is sent away in its first second, however many call from the same address and whatever they say."""
    monkeypatch.setattr(strangers, "GRACE_SECONDS", PATIENCE)
    with listening(fund, bank, timeouts=UNHURRIED) as server, flooded(server, OWN, said(says)):
        peer = HalfWay(server, bank)
        with peer.sock, flooded(server, OWN, said(says)):
            peer.say_hello()
            assert peer.gets_in()


@pytest.mark.usefixtures("few_places")
@pytest.mark.parametrize("says", [b"", SIX_BYTES, "hello"])
def test_a_crowd_at_another_address_makes_room(
    bank: Identity, fund: Identity, says: bytes | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most crowded address comes first, so a peer that is still silent stays, even after its first second."""
    monkeypatch.setattr(strangers, "GRACE_SECONDS", 0.0)
    with (
        listening(fund, bank, timeouts=UNHURRIED) as server,
        flooded(server, OTHER, said(says), stay=strangers.MOST_A_SOURCE),
    ):
        peer = HalfWay(server, bank)
        with peer.sock, flooded(server, OTHER, said(says), stay=strangers.MOST_A_SOURCE):
            peer.say_hello()
            assert peer.gets_in()


def said(words: bytes | str) -> bytes:
    """A socket that said these bytes, or a client's whole hello, and then nothing more."""
    if isinstance(words, bytes):
        return words
    outgoing = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        plain_context().wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


def test_even_the_young_are_only_so_many(bank: Identity, fund: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and files are limited too: whoever comes when all places are taken has to call again."""
    monkeypatch.setattr(strangers, "GRACE_SECONDS", PATIENCE)
    monkeypatch.setattr(strangers, "MOST_AT_ONCE", 8)
    with listening(fund, bank, timeouts=UNHURRIED) as server, flooded(server, OWN, b"", 20, stay=8):
        monkeypatch.setattr(strangers, "MOST_A_SOURCE", 4)
        monkeypatch.setattr(strangers, "GRACE_SECONDS", 0.0)
        with dialling(bank, fund, server.connector.address) as client:
            assert client.next().peer == "fund"


@pytest.mark.parametrize(
    ("sources", "is_one"),
    [
        (("2001:db8::1", "2001:db8::ffff:1"), True),
        (("2001:db8::1", "2001:db8:0:1::1"), False),
        (("192.0.2.1", "192.0.2.2"), False),
        (("::ffff:192.0.2.1", "::ffff:192.0.2.2"), False),
        (("fe80::1%eth0", "fe80::2%eth0"), True),
    ],
)
def test_who_counts_as_one_source(sources: tuple[str, str], is_one: bool) -> None:
    """In IPv6 one caller has a whole network of addresses; in IPv4 each address is counted alone."""
    first, second = map(strangers.neighbourhood, sources)
    assert (first == second) == is_one


def test_a_thread_that_cannot_start_ends_no_listening(
    bank: Identity, fund: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One caller is sent away, and the next one gets in."""
    with listening(fund, bank) as server:
        start, failures = threading.Thread.start, [1]

        def fail_once(thread: threading.Thread) -> None:
            if thread.name == "plumbob connector" and failures:
                failures.pop()
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", fail_once)
        with socket.create_connection(where(server), timeout=PATIENCE) as unlucky:
            assert unlucky.recv(1) == b""
        with dialling(bank, fund, server.connector.address) as client:
            assert (client.next().peer, server.next().peer) == ("fund", "bank")


def wait_for_farewells(sockets: list[socket.socket], count: int) -> None:
    """Wait until an end, or a reason for it, has come on this many of them."""
    end = time.monotonic() + PATIENCE
    while len(select.select(sockets, [], [], 0)[0]) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_peer_has_few_connections_at_a_time(bank: Identity, fund: Identity) -> None:
    """Even a pinned peer cannot pile them up: the oldest makes room."""
    with listening(fund, bank) as server:
        sockets = [speaking(bank, where(server))[0] for _ in range(MOST_CONNECTIONS_A_PEER + 2)]
        try:
            connections = [server.next() for _ in sockets]
            assert "this side closed" in ended(connections[0])
            assert "this side closed" in ended(connections[1])
            with pytest.raises(DeadlineError):
                connections[-1].receive(0.1)
        finally:
            for sock in sockets:
                sock.close()
