"""A party's place on the network: whom it finds, what it is told where it cannot, and what it refuses to begin with."""

import logging
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from plumbob.errors import IdentityError, TransportError
from plumbob.net import connector as connector_module
from plumbob.net import tls
from plumbob.net.connector import Connector, Peer
from plumbob.net.identity import Identity
from tests.net.support import (
    LARGEST,
    PATIENCE,
    QUICK,
    Answering,
    Collected,
    ConnectProxy,
    connected,
    dialling,
    ended,
    listening,
    opened,
    peer_of,
)
from tests.net.test_callers import out_of_time

# Whom it finds.


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


# Who answers there.


def over_tls(context: ssl.SSLContext) -> Callable[[socket.socket], None]:
    """A server that does its handshake and leaves."""
    return lambda sock: context.wrap_socket(sock, server_side=True).close()


def of_version_1_2(fund: Identity) -> ssl.SSLContext:
    """What a server has that speaks at most TLS 1.2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(fund.certificate_file, fund.key_file)
    return context


def saying(words: bytes) -> Callable[[socket.socket], None]:
    """A server without TLS that waits for the first word and says these."""

    def answer(sock: socket.socket) -> None:
        sock.recv(4096)
        sock.sendall(words)

    return answer


@pytest.mark.parametrize(
    ("answer", "is_proxy", "words"),
    [
        (None, False, "does not speak TLS 1.3; is it Plumbob"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "does not speak TLS;"),
        (b"HTTP/1.1 403 No\r\n\r\n", True, "does not allow CONNECT"),
        (b"HTTP/1.1 407 No\r\n\r\n", True, "wants another user and password"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", True, "HTTP 502"),
        (b"hello\r\n\r\n", True, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n", True, "no proper answer"),
        (b"x" * 20_000, True, "no proper answer"),
    ],
)
def test_who_answers_otherwise_is_told(
    bank: Identity, fund: Identity, answer: bytes | None, is_proxy: bool, words: str
) -> None:
    """An older TLS, none, or what a proxy answers; a password that was wrong is not repeated."""
    serve = over_tls(of_version_1_2(fund)) if answer is None else saying(answer)
    with closing(Answering(serve)) as server:
        proxy = f"http://user:secret@{server.address}" if is_proxy else None
        with dialling(bank, fund, "127.0.0.1:9" if is_proxy else server.address, proxy=proxy) as client:
            reason = client.reason("fund")
    assert words in reason
    assert "secret" not in reason


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
    monkeypatch.setattr(connector_module, "_refuse_stale", lambda certificate: None)
    with listening(fund, stale) as server, dialling(stale, fund, server.connector.address) as client:
        assert "rejects our certificate as not currently valid; compare both clocks" in client.refusal()
        assert "bank's certificate ended on" in server.refusal()


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


def test_a_lookup_that_hangs_keeps_nobody(bank: Identity, fund: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that the system looks up for ever does not keep the connector from closing."""
    began, release, was_released = threading.Event(), threading.Event(), []

    def hang(*_: object, **__: object) -> None:
        began.set()
        was_released.append(release.wait(PATIENCE))
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with dialling(bank, fund, "bank.example:7700"):
        assert began.wait(PATIENCE)
    assert not was_released
    release.set()


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


def test_closing_leaves_nothing_behind(bank: Identity, fund: Identity) -> None:
    """Every thread of two connectors ends with them."""
    before = set(threading.enumerate())
    with connected(bank, fund) as (here, _):
        here.send(b"x")
    end = time.monotonic() + PATIENCE
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert set(threading.enumerate()) <= before
