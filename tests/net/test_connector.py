"""Stations on the loopback, with real TLS: who gets in, what is carried, and what ends a connection."""

import datetime
import logging
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.errors import DeadlineError, IdentityError, LocalProtocolError, TransportError
from plumbob.net import connector as station_module
from plumbob.net import strangers, tls
from plumbob.net.connector import MOST_CONNECTIONS_A_PEER, Connector, Peer
from plumbob.net.identity import Identity, now
from plumbob.net.wire import GOODBYE, LENGTH, OPENING, SIGN_OF_LIFE
from tests.net.support import (
    LARGEST,
    PATIENCE,
    QUICK,
    Answering,
    Collected,
    ConnectProxy,
    called,
    connected,
    dialling,
    listening,
    opened,
    peer_of,
    plain_context,
    where,
)


def ended(connection: object, seconds: float = PATIENCE) -> str:
    """How a connection ended, in its own words."""
    with pytest.raises(TransportError) as caught:
        connection.receive(seconds)  # type: ignore[attr-defined]
    assert not isinstance(caught.value, DeadlineError)
    return str(caught.value)


def speaking(identity: Identity, address: tuple[str, int], words: bytes = OPENING) -> tuple[ssl.SSLSocket, bytes]:
    """A pinned party whose side of the connection is written by hand, and what it was answered."""
    sock = plain_context(identity).wrap_socket(socket.create_connection(address, timeout=PATIENCE))
    sock.sendall(words)
    return sock, sock.recv(4096)


# What is carried.


def test_messages_go_both_ways(bank: Identity, fund: Identity) -> None:
    """Whole messages in order, each end knowing the other by its pinned name, whoever dialled."""
    with connected(bank, fund) as (here, there):
        assert (here.peer, there.peer) == ("fund", "bank")
        for data in (b"", b"first", os.urandom(LARGEST)):
            here.send(data)
            there.send(data[::-1])
            assert there.receive(PATIENCE) == data
            assert here.receive(PATIENCE) == data[::-1]
        for number in range(200):
            here.send(b"%d" % number)
        assert [there.receive(PATIENCE) for _ in range(200)] == [b"%d" % number for number in range(200)]


def test_both_may_send_at_once(bank: Identity, fund: Identity) -> None:
    """Two long messages that cross do not wait for each other, although no buffer could hold them."""
    long = os.urandom(24 * LARGEST)
    with (
        listening(fund, bank, largest=len(long)) as server,
        dialling(bank, fund, server.connector.address, largest=len(long)) as client,
    ):
        ends = client.next(), server.next()
        senders = [threading.Thread(target=end.send, args=(long,), daemon=True) for end in ends]
        for sender in senders:
            sender.start()
        assert all(end.receive(PATIENCE) == long for end in ends)
        for sender in senders:
            sender.join(PATIENCE)
        assert not any(sender.is_alive() for sender in senders)


def test_waiting_in_vain_is_not_a_broken_connection(bank: Identity, fund: Identity) -> None:
    """A deadline is told apart from an end, and the connection still works after it."""
    with connected(bank, fund) as (here, there):
        with pytest.raises(DeadlineError, match=r"fund within 0\.01 s"):
            here.receive(0.01)
        there.send(b"late")
        assert here.receive(PATIENCE) == b"late"


def test_what_was_sent_before_the_end_arrives(bank: Identity, fund: Identity) -> None:
    """After a goodbye the other end still gets every message, then hears of the end; ours is told as ours."""
    with connected(bank, fund) as (here, there):
        for _ in range(3):
            here.send(b"x" * LARGEST)
        closer = threading.Thread(target=here.close)
        closer.start()
        assert [len(there.receive(PATIENCE)) for _ in range(3)] == [LARGEST] * 3
        assert "bank closed the connection" in ended(there)
        closer.join(PATIENCE)
        assert "this side closed" in ended(here)
        with pytest.raises(TransportError, match="this side closed"):
            here.send(b"too late")


def test_a_slow_reader_stops_the_sender(bank: Identity, fund: Identity) -> None:
    """What is not received is not gathered without end; once it is read, everything comes."""
    with connected(bank, fund) as (here, there):
        sent = []

        def send_all() -> None:
            for number in range(60):
                here.send(bytes(LARGEST - 1) + bytes([number]))
                sent.append(number)

        sender = threading.Thread(target=send_all, daemon=True)
        sender.start()
        before = -1
        while before != len(sent):
            before = len(sent)
            # Longer than the pings' pause: both sides show life although one does not read.
            time.sleep(0.6)
        assert len(sent) < 60
        assert [there.receive(PATIENCE)[-1] for _ in range(60)] == list(range(60))
        sender.join(PATIENCE)
        assert not sender.is_alive()


def test_a_message_above_the_limit_is_not_sent(bank: Identity, fund: Identity) -> None:
    """Our own mistake is told here, and the connection goes on."""
    with connected(bank, fund) as (here, there):
        with pytest.raises(LocalProtocolError, match="the plan allows"):
            here.send(bytes(LARGEST + 1))
        here.send(b"short")
        assert there.receive(PATIENCE) == b"short"


def test_a_message_above_the_limit_is_refused(bank: Identity, fund: Identity) -> None:
    """A peer with a larger limit is cut off at its announcement, and both sides say why."""
    with (
        listening(fund, bank) as server,
        dialling(bank, fund, server.connector.address, largest=2 * LARGEST) as client,
    ):
        here, there = client.next(), server.next()
        with suppress(TransportError):
            here.send(bytes(LARGEST + 1))
        assert f"bank sent a message above {LARGEST} bytes" in ended(there)
        assert "refused a message as too long" in ended(here)


def test_a_length_is_believed_only_within_the_limit(bank: Identity, fund: Identity) -> None:
    """A message that announces 2^62 bytes ends the connection before any of them came."""
    with listening(fund, bank) as server:
        sock, answer = speaking(bank, where(server))
        with sock:
            assert answer == OPENING
            sock.sendall(LENGTH.pack(2**62))
            assert "above" in ended(server.next())


def test_signs_of_life_stand_between_messages(bank: Identity, fund: Identity) -> None:
    """Whatever stands for no message is no part of one, in one piece or byte by byte."""
    with listening(fund, bank) as server:
        sock, _ = speaking(bank, where(server))
        with sock:
            connection = server.next()
            words = LENGTH.pack(SIGN_OF_LIFE) * 3 + LENGTH.pack(5) + b"hello" + LENGTH.pack(SIGN_OF_LIFE)
            sock.sendall(words)
            assert connection.receive(PATIENCE) == b"hello"
            for byte in words:
                sock.sendall(bytes([byte]))
            assert connection.receive(PATIENCE) == b"hello"
            sock.sendall(LENGTH.pack(GOODBYE))
            assert "bank closed the connection" in ended(connection)


def test_half_a_message_is_none(bank: Identity, fund: Identity) -> None:
    """A peer that leaves in the middle of a message ends the connection, and nothing of the message is handed over."""
    with listening(fund, bank) as server:
        sock, _ = speaking(bank, where(server))
        with sock:
            connection = server.next()
            sock.sendall(LENGTH.pack(100) + b"half")
            sock.shutdown(socket.SHUT_RDWR)
            assert "ended without a goodbye" in ended(connection)


# What ends a connection, and how the next one comes.


def test_a_connection_that_ends_is_dialled_again(bank: Identity, fund: Identity) -> None:
    """When the listening side goes down and comes back on its port, the dialling side finds it by itself."""
    with listening(fund, bank) as server:
        address = server.connector.address
        with dialling(bank, fund, address) as client:
            first, _ = client.next(), server.next()
            server.connector.close()
            assert ended(first)
            again = Collected(fund, [peer_of(bank)], listen=address)
            with opened(again):
                here, there = client.next(), again.next()
                here.send(b"back")
                assert there.receive(PATIENCE) == b"back"


ECHO = """
import sys, threading
from pathlib import Path
from plumbob.net.identity import Identity, read_certificate
from plumbob.net.connector import Peer, Connector
home, peer, listen = Path(sys.argv[1]), read_certificate(Path(sys.argv[2])), sys.argv[3]
def echo(connection):
    while True:
        connection.send(connection.receive(60))
peers = [Peer(peer.name, peer.der, None)]
connector = Connector(Identity.load(home), peers, listen=listen, proxy=None, largest_message=1000, on_connection=echo)
connector.open()
print(connector.address, flush=True)
threading.Event().wait()
"""


@contextmanager
def echoing(identity: Identity, peer: Identity, listen: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A party in a process of its own that says everything back, and where it listens."""
    words = [sys.executable, "-c", ECHO, str(identity.folder), str(peer.certificate_file), listen]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def test_a_killed_peer_is_found_again(bank: Identity, fund: Identity) -> None:
    """After `kill -9` of the listening process the connection ends, and its successor on the port is dialled."""
    with echoing(fund, bank, "127.0.0.1:0") as (address, process), dialling(bank, fund, address) as client:
        first = client.next()
        first.send(b"before")
        assert first.receive(PATIENCE) == b"before"
        process.kill()
        process.wait(PATIENCE)
        assert ended(first)
        with echoing(fund, bank, address):
            second = client.next()
            second.send(b"after")
            assert second.receive(PATIENCE) == b"after"


def test_dialling_may_begin_before_the_peer_is_there(bank: Identity, fund: Identity) -> None:
    """Nobody has to start first, and until then the reason is told to who asks."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
    with dialling(bank, fund, address) as client:
        assert "nobody listens there yet" in client.reason("fund")
        with opened(server := Collected(fund, [peer_of(bank)], listen=address)):
            assert (client.next().peer, server.next().peer) == ("fund", "bank")
            assert client.connector.why_not("fund") is None
        assert client.refusals.empty()


def test_a_silent_peer_is_noticed(bank: Identity, fund: Identity) -> None:
    """A peer that shows no life, not even an answer to a ping, is given up after the deadline."""
    timeouts = replace(QUICK, silence=0.5)
    with listening(fund, bank, timeouts=timeouts) as server:
        sock, _ = speaking(bank, where(server))
        with sock:
            assert "no sign of life from bank for 0.5 s" in ended(server.next())


def test_an_idle_peer_is_alive(bank: Identity, fund: Identity) -> None:
    """Two sides with nothing to say keep their connection by pings alone."""
    # Silence long enough for pings on a busy machine, and a wait that is longer still.
    with connected(bank, fund, replace(QUICK, ping=0.05, silence=4.0)) as (here, there):
        with pytest.raises(DeadlineError):
            here.receive(5.0)
        here.send(b"still here")
        assert there.receive(PATIENCE) == b"still here"


def test_a_dead_link_is_noticed_by_a_sender(bank: Identity, fund: Identity) -> None:
    """Who is in the middle of sending to a peer that died hears of it too."""
    with listening(fund, bank, timeouts=replace(QUICK, silence=0.5), largest=64 * LARGEST) as server:
        sock, _ = speaking(bank, where(server))
        with sock, pytest.raises(TransportError, match="no sign of life"):
            server.next().send(bytes(64 * LARGEST))


def test_both_may_dial(bank: Identity, fund: Identity) -> None:
    """Where each has the other's address, the first by name dials and the other leaves it at that."""
    slow = replace(QUICK, give_way=4.0)
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        places = [f"127.0.0.1:{sock.getsockname()[1]}" for sock in (one, two)]
    first = Collected(bank, [peer_of(fund, places[1])], listen=places[0], timeouts=slow)
    second = Collected(fund, [peer_of(bank, places[0])], listen=places[1], timeouts=slow)
    with opened(second, first):
        here, there = first.next(), second.next()
        time.sleep(5.0)
        assert first.connections.empty()
        here.send(b"one")
        assert there.receive(PATIENCE) == b"one"


def test_the_second_dials_if_the_first_does_not(bank: Identity, fund: Identity) -> None:
    """A side that gives way still dials a peer that has no address of it."""
    first = Collected(bank, [peer_of(fund)], listen="127.0.0.1:0")
    with opened(first):
        second = Collected(fund, [peer_of(bank, first.connector.address)], listen="127.0.0.1:0")
        with opened(second):
            assert (first.next().peer, second.next().peer) == ("fund", "bank")


def test_three_parties_are_told_apart(bank: Identity, fund: Identity, mallory: Identity) -> None:
    """A connector with two peers knows each caller by its own certificate."""
    with (
        listening(bank, fund, mallory) as server,
        dialling(fund, bank, server.connector.address) as one,
        dialling(mallory, bank, server.connector.address) as two,
    ):
        by_name = {connection.peer: connection for connection in (server.next(), server.next())}
        one.next().send(b"fund")
        two.next().send(b"mallory")
        assert {name: by_name[name].receive(PATIENCE) for name in by_name} == {"fund": b"fund", "mallory": b"mallory"}


# Through a proxy.


@pytest.mark.parametrize("credentials", [None, "user:p@ss word"])
def test_through_a_proxy(bank: Identity, fund: Identity, credentials: str | None) -> None:
    """The dialling side reaches its peer by CONNECT, with a password where the proxy wants one."""
    with closing(ConnectProxy(credentials)) as proxy:
        url = proxy.url if credentials is None else proxy.url.replace("//", "//user:p%40ss%20word@")
        with listening(fund, bank) as server, dialling(bank, fund, server.connector.address, proxy=url) as client:
            here, there = client.next(), server.next()
            here.send(b"x" * LARGEST)
            assert there.receive(PATIENCE) == b"x" * LARGEST
            assert proxy.targets == [server.connector.address]


def test_a_proxy_that_refuses_is_named_without_the_password(bank: Identity, fund: Identity) -> None:
    """407 says what to set; the password that was wrong is not repeated."""
    with (
        closing(ConnectProxy("user:right")) as proxy,
        dialling(bank, fund, "127.0.0.1:9", proxy=proxy.url.replace("//", "//user:wrong@")) as client,
    ):
        sentence = client.refusal()
        assert f"the proxy {proxy.address} wants another user and password" in sentence
        assert "wrong" not in sentence


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 403 No\r\n\r\n", "does not allow CONNECT"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "HTTP 502"),
        (b"hello\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n", "no proper answer"),
        (b"x" * 20_000, "no proper answer"),
    ],
)
def test_what_a_proxy_answers_is_told(bank: Identity, fund: Identity, answer: bytes, words: str) -> None:
    """A refusal, an unreachable peer and nonsense are each told apart."""

    def answering(sock: socket.socket) -> None:
        sock.recv(4096)
        sock.sendall(answer)

    with (
        closing(Answering(answering)) as proxy,
        dialling(bank, fund, "127.0.0.1:9", proxy=f"http://{proxy.address}") as client,
    ):
        assert words in client.reason("fund")


# Who is refused.


def test_a_third_party_is_refused_on_both_sides(bank: Identity, fund: Identity, mallory: Identity) -> None:
    """Who is not pinned does not get in; each side is told, and the peer still does."""
    with listening(fund, bank) as server, dialling(mallory, fund, server.connector.address) as stranger:
        assert "not pinned here" in server.refusal()
        assert "does not know our certificate; send `plumbob party invite`" in stranger.refusal()
        assert isinstance(stranger.connector.why_not("fund"), IdentityError)
        with dialling(bank, fund, server.connector.address) as client:
            assert (client.next().peer, server.next().peer) == ("fund", "bank")
        assert stranger.connections.empty()


def test_a_swapped_certificate_is_refused_on_both_sides(tmp_path: Path, bank: Identity, fund: Identity) -> None:
    """Another key under the pinned name is not the pinned party; the way to replace it is named."""
    impostor = Identity.create(tmp_path / "fund", "fund")
    with listening(impostor, bank) as server, dialling(bank, fund, server.connector.address) as client:
        sentence = client.refusal()
        assert "shows another certificate than the one pinned" in sentence
        assert "--replace" in sentence
        assert isinstance(client.connector.why_not("fund"), IdentityError)
        assert "refused our certificate" in server.refusal()
        assert client.connections.empty()
        assert server.connections.empty()


def test_a_caller_under_a_pinned_name_is_refused(tmp_path: Path, bank: Identity, fund: Identity) -> None:
    """The name inside a certificate opens nothing: only the exact certificate does."""
    impostor = Identity.create(tmp_path / "bank", "bank")
    with listening(fund, bank) as server, dialling(impostor, fund, server.connector.address):
        assert "not pinned here" in server.refusal()
        assert server.connections.empty()


def out_of_time(folder: Path, name: str, days_from_now: int) -> Identity:
    """An identity of one day that begins so many days from now."""
    return Identity.create(folder, name, days=1, valid_from=now() + datetime.timedelta(days=days_from_now))


@pytest.mark.parametrize(("days", "words"), [(-9, "ended on"), (9, "is valid from")])
def test_a_caller_out_of_its_time_is_refused(tmp_path: Path, fund: Identity, days: int, words: str) -> None:
    """A pinned certificate that is over, or not yet begun, opens nothing; the alert says it to the caller too."""
    stale = out_of_time(tmp_path / "bank", "bank", days)
    with listening(fund, stale) as server:
        with pytest.raises(ssl.SSLError, match=r"EXPIRED|BAD_CERTIFICATE"):
            called(where(server), plain_context(stale))
        assert f"bank's certificate {words}" in server.refusal()


@pytest.mark.parametrize(("days", "words"), [(-9, "ended on"), (9, "is valid from")])
def test_a_server_out_of_its_time_is_refused(tmp_path: Path, bank: Identity, days: int, words: str) -> None:
    """The dialling side looks at the clock as well."""
    stale = out_of_time(tmp_path / "fund", "fund", days)
    context = tls.server_context(stale, [peer_of(bank)])

    def answer(sock: socket.socket) -> None:
        context.wrap_socket(sock, server_side=True).close()

    with closing(Answering(answer)) as server, dialling(bank, stale, server.address) as client:
        assert f"fund's certificate {words}" in client.refusal()
        assert isinstance(client.connector.why_not("fund"), IdentityError)


def test_our_own_stale_certificate_is_told_at_once(tmp_path: Path, fund: Identity) -> None:
    """Nobody waits for peers with an identity that no peer will take."""
    stale = out_of_time(tmp_path / "bank", "bank", -9)
    with pytest.raises(IdentityError, match="our certificate is not valid"), dialling(stale, fund, "127.0.0.1:9"):
        pass


def test_a_certificate_that_only_the_peer_finds_stale_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fund: Identity
) -> None:
    """Where our clock lets a certificate pass and the peer's does not, our side says so too."""
    stale = out_of_time(tmp_path / "bank", "bank", -9)
    monkeypatch.setattr(station_module, "_refuse_stale", lambda certificate: None)
    with listening(fund, stale) as server, dialling(stale, fund, server.connector.address) as client:
        assert "rejects our certificate as not currently valid; compare both clocks" in client.refusal()
        assert "bank's certificate ended on" in server.refusal()


def test_an_older_tls_is_refused(bank: Identity, fund: Identity) -> None:
    """A client that offers at most TLS 1.2 gets an alert, even with a pinned certificate."""
    context = plain_context(bank)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with listening(fund, bank) as server:
        with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
            called(where(server), context)
        assert "does not speak TLS 1.3" in server.refusal()


def test_a_caller_without_a_certificate_is_refused(bank: Identity, fund: Identity) -> None:
    """TLS alone opens nothing."""
    with listening(fund, bank) as server:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            called(where(server), plain_context())
        assert "showed no certificate" in server.refusal()


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\nHost: fund\r\n\r\n", b"\0" * 100, b"hello\n"])
def test_plain_text_is_refused(bank: Identity, fund: Identity, text: bytes) -> None:
    """Nothing of a caller is understood before TLS: it gets no answer but an alert and the end."""
    with listening(fund, bank) as server:
        with socket.create_connection(where(server), timeout=PATIENCE) as sock:
            sock.sendall(text)
            sock.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        # An alert of TLS at most: type 21, seven bytes.
        assert answer == b"" or (answer[0] == 21 and len(answer) == 7)
        assert "caller from 127.0.0.1" in server.refusal()


@pytest.mark.parametrize("is_plain", [False, True])
def test_an_older_or_a_plain_server_is_refused(bank: Identity, fund: Identity, is_plain: bool) -> None:
    """The dialling side does not go below TLS 1.3 either, and says where no TLS answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(fund.certificate_file, fund.key_file)

    def answer(sock: socket.socket) -> None:
        if is_plain:
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        else:
            context.wrap_socket(sock, server_side=True).close()

    with closing(Answering(answer)) as server, dialling(bank, fund, server.address) as client:
        assert ("does not speak TLS;" if is_plain else "does not speak TLS 1.3") in client.reason("fund")


@pytest.mark.parametrize("words", [b"plumbob\x01", b"GET /plumbob/1 HTTP/1.1\r\n\r\n", bytes(8)])
def test_other_words_are_refused(bank: Identity, fund: Identity, words: bytes) -> None:
    """Even a pinned peer must begin as this version does; another version or a browser gets no answer."""
    with listening(fund, bank) as server:
        sock, answer = speaking(bank, where(server), words)
        sock.close()
        assert answer == b""
        assert "did not speak the Plumbob protocol" in server.refusal()


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


def test_a_silent_caller_has_little_time(bank: Identity, fund: Identity) -> None:
    """Without a first byte a caller is sent away long before a handshake's deadline."""
    with (
        listening(fund, bank, timeouts=replace(QUICK, handshake=60, first_byte=0.2)) as server,
        socket.create_connection(where(server), timeout=PATIENCE) as silent,
    ):
        assert silent.recv(1) == b""
        assert "did not finish its handshake in time" in server.refusal()


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


def test_a_slow_handshake_has_a_deadline(bank: Identity, fund: Identity) -> None:
    """A caller that sends a byte now and then does not win time by it."""
    with (
        listening(fund, bank, timeouts=replace(QUICK, handshake=0.5)) as server,
        socket.create_connection(where(server), timeout=PATIENCE) as slow,
    ):
        # The head of a client's hello of 512 bytes, which then trickles.
        slow.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        end = time.monotonic() + PATIENCE
        while server.refusals.empty() and time.monotonic() < end:
            try:
                slow.sendall(b"x")
            except OSError:
                break
            time.sleep(0.05)
        assert "did not finish its handshake in time" in server.refusal()


def test_a_slow_request_has_a_deadline(bank: Identity, fund: Identity) -> None:
    """Even a pinned peer must come to the point after TLS."""
    with (
        listening(fund, bank, timeouts=replace(QUICK, handshake=0.5)) as server,
        socket.create_connection(where(server), timeout=PATIENCE) as raw,
        plain_context(bank).wrap_socket(raw) as sock,
    ):
        sock.sendall(OPENING[:4])
        assert "did not finish its handshake in time" in server.refusal()


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


@settings(max_examples=25, deadline=None)
@given(blob=st.binary(min_size=1, max_size=300))
def test_no_bytes_of_a_peer_break_the_station(parties: dict[str, Identity], blob: bytes) -> None:
    """Whatever a pinned peer sends after its handshake: messages or an end in our own words, and the next may come."""
    with listening(parties["fund"], parties["bank"], timeouts=replace(QUICK, closing=0.05)) as server:
        sock, _ = speaking(parties["bank"], where(server))
        with sock:
            sock.sendall(blob)
        connection = server.next()
        with suppress(TransportError):
            for _ in blob:
                connection.receive(PATIENCE)
        assert "error of ours" not in ended(connection)
        speaking(parties["bank"], where(server))[0].close()
        assert server.next().peer == "bank"


def test_each_reason_is_told_once(bank: Identity, fund: Identity, mallory: Identity) -> None:
    """A stranger who knocks again and again is told about once."""
    with listening(fund, bank) as server:
        for _ in range(3):
            with pytest.raises(OSError, match=r"UNKNOWN_CA|reset"):
                called(where(server), plain_context(mallory))
        server.refusal()
        assert server.refusals.empty()


def test_a_certificate_vouched_for_by_a_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bank: Identity, fund: Identity, mallory: Identity
) -> None:
    """Whatever the trust store accepts, the certificate must be the pinned one byte for byte."""
    lenient = tls.server_context(fund, [peer_of(bank), peer_of(mallory)])
    monkeypatch.setattr(tls, "server_context", lambda identity, peers: lenient)
    with listening(fund, bank) as server, dialling(mallory, fund, server.connector.address):
        assert "the certificate is not pinned" in server.refusal()
        assert server.connections.empty()


# What is refused before anything moves.


def connector(identity: Identity, *peers: Peer, listen: str | None = None, proxy: str | None = None) -> Connector:
    """A connector that is not opened."""
    return Collected(identity, list(peers), listen=listen, proxy=proxy).connector


def test_somebody_must_be_able_to_dial(bank: Identity, fund: Identity) -> None:
    """Without an address and without listening there is no way, and both remedies are named."""
    with pytest.raises(TransportError, match=r"set `listen` in party\.toml, or join fund again with --address"):
        connector(bank, peer_of(fund))


def test_wrong_peers_are_refused(tmp_path: Path, bank: Identity, fund: Identity) -> None:
    """No peer, ourselves, two of one name, a name that the certificate does not have, one certificate twice."""
    namesake = Identity.create(tmp_path / "other", "FUND")
    at = "127.0.0.1:9"
    with pytest.raises(TransportError, match="no peer yet"):
        connector(bank)
    with pytest.raises(IdentityError, match="same name"):
        connector(bank, peer_of(bank, at))
    with pytest.raises(IdentityError, match="same name"):
        connector(bank, peer_of(fund, at), peer_of(namesake, at))
    with pytest.raises(IdentityError, match="another name"):
        connector(bank, Peer("hospital", fund.certificate.der, at))
    with pytest.raises(IdentityError, match="same certificate"):
        connector(bank, Peer("hospital", bank.certificate.der, at))


@pytest.mark.parametrize(
    "listen",
    ["7700", "host:", "host:port", "host:70000", "ho st:1", "", "http://host:1", "a..b:1", f"{'x' * 64}:1", "-a:1"],
)
def test_addresses_are_strict(bank: Identity, fund: Identity, listen: str) -> None:
    """What is no HOST:PORT is refused with an example."""
    with pytest.raises(TransportError, match="expected HOST:PORT"):
        connector(bank, peer_of(fund), listen=listen)


@pytest.mark.parametrize(
    "proxy", ["socks5://h:1", "http://h", "http://u@h:1", "https://h:1", "h:1", "http://u:pw@h:1/x"]
)
def test_proxies_are_strict(bank: Identity, fund: Identity, proxy: str) -> None:
    """Only http://[user:password@]host:port is taken, and a refusal does not repeat what may hold a password."""
    with pytest.raises(TransportError, match="proxy: ") as caught:
        connector(bank, peer_of(fund, "127.0.0.1:9"), proxy=proxy)
    assert "pw" not in str(caught.value).replace("password", "")


def test_a_port_in_use_is_told_at_once(bank: Identity, fund: Identity) -> None:
    """The connector does not open, and says which address."""
    with listening(fund, bank) as server:
        address = server.connector.address
        second = connector(fund, peer_of(bank), listen=address)
        with pytest.raises(TransportError, match=f"cannot listen on {address}: Address already in use"):
            second.open()


def test_an_unknown_host_is_told(bank: Identity, fund: Identity) -> None:
    """A name that the system cannot find is told in words, to who listens and to who dials."""
    with pytest.raises(TransportError, match=r"cannot listen on nowhere.invalid:7700: [A-Z][a-z ]+"):
        connector(fund, peer_of(bank), listen="nowhere.invalid:7700").open()
    with dialling(bank, fund, "nowhere.invalid:7700") as client:
        assert "its name is not known here" in client.reason("fund")


def test_a_refusal_that_cannot_be_told_ends_nothing(
    bank: Identity, fund: Identity, mallory: Identity, caplog: pytest.LogCaptureFixture
) -> None:
    """When what tells people raises, dialling goes on until the peer is there."""

    def fail(sentence: str) -> None:
        raise RuntimeError("no screen")

    came = threading.Event()
    with listening(fund, mallory) as strict:
        address = strict.connector.address
        here = Connector(
            bank,
            [peer_of(fund, address)],
            listen=None,
            proxy=None,
            largest_message=LARGEST,
            on_connection=lambda connection: came.set(),
            on_refusal=fail,
            timeouts=QUICK,
        )
        with caplog.at_level(logging.CRITICAL):
            here.open()
            strict.refusal()
    with opened(Collected(fund, [peer_of(bank)], listen=address)):
        assert came.wait(PATIENCE)
    here.close()


def test_a_user_that_fails_ends_its_connection_only(
    bank: Identity, fund: Identity, caplog: pytest.LogCaptureFixture
) -> None:
    """When what uses a connection raises, that connection is closed and the next one still comes."""

    def fail(connection: object) -> None:
        raise RuntimeError("a mistake of ours")

    broken = Connector(
        fund,
        [peer_of(bank)],
        listen="127.0.0.1:0",
        proxy=None,
        largest_message=LARGEST,
        on_connection=fail,
        timeouts=QUICK,
    )
    broken.open()
    try:
        with caplog.at_level(logging.CRITICAL), dialling(bank, fund, broken.address) as client:
            assert "fund closed the connection" in ended(client.next())
            assert "fund closed the connection" in ended(client.next())
    finally:
        broken.close()


def test_logs_show_sizes_and_peers_but_no_contents(
    bank: Identity, fund: Identity, caplog: pytest.LogCaptureFixture
) -> None:
    """At level DEBUG of everything, what was sent is not in the log."""
    with caplog.at_level(logging.DEBUG), connected(bank, fund) as (here, there):
        here.send(b"very secret words")
        assert there.receive(PATIENCE) == b"very secret words"
    assert "sent 17 bytes to fund" in caplog.text
    assert "received 17 bytes from bank" in caplog.text
    assert "secret" not in caplog.text
    assert b"very".hex() not in caplog.text.replace(" ", "")


def test_closing_leaves_nothing_behind(bank: Identity, fund: Identity) -> None:
    """Every thread of two connectors ends with them."""
    before = set(threading.enumerate())
    with connected(bank, fund) as (here, _):
        here.send(b"x")
    end = time.monotonic() + PATIENCE
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert set(threading.enumerate()) <= before


def test_what_was_taken_over_is_never_called_lost(bank: Identity, fund: Identity) -> None:
    """A message that left before the peer's goodbye came was sent, however close the two are."""
    with listening(fund, bank) as server, dialling(bank, fund, server.connector.address) as client:
        for _ in range(30):
            here, there = client.next(), server.next()
            there.send(b"last")
            closer = threading.Thread(target=lambda there=there: (there.receive(PATIENCE), there.close()))
            closer.start()
            here.send(b"last")
            assert here.receive(PATIENCE) == b"last"
            assert "fund closed the connection" in ended(here)
            closer.join(PATIENCE)
