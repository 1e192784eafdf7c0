"""One connection: what is carried, and what ends it."""

import logging
import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.errors import DeadlineError, LocalProtocolError, TransportError
from plumbob.net.frames import ALIVE, LEAVING, SIZE, TOO_LONG, signal
from plumbob.net.identity import Identity
from plumbob.net.wire import OPENING
from tests.net.support import LARGEST, PATIENCE, QUICK, connected, dialling, ended, listening, speaking, where


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


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (SIZE.pack(2**62), f"bank sent a message above {LARGEST} bytes"),
        (SIZE.pack(100) + b"half", "ended without a goodbye"),
        (signal(LEAVING)[:5], "ended without a goodbye"),
        (signal(LEAVING), "bank closed the connection"),
        (signal(TOO_LONG), "bank refused a message as too long"),
    ],
)
def test_a_connection_ends_in_words(bank: Identity, fund: Identity, says: bytes, words: str) -> None:
    """A pinned peer says this and leaves: nothing of half a message is handed over, and the peer may come again."""
    with listening(fund, bank) as server:
        sock, answer = speaking(bank, where(server))
        with sock:
            assert answer == OPENING
            sock.sendall(says)
            sock.shutdown(socket.SHUT_RDWR)
            assert words in ended(server.next())
        speaking(bank, where(server))[0].close()
        assert server.next().peer == "bank"


def test_signs_of_life_stand_between_messages(bank: Identity, fund: Identity) -> None:
    """Whatever stands for no message is no part of one, in one piece or byte by byte."""
    with listening(fund, bank) as server:
        sock, _ = speaking(bank, where(server))
        with sock:
            connection = server.next()
            words = signal(ALIVE) * 3 + SIZE.pack(5) + b"hello" + signal(ALIVE)
            sock.sendall(words)
            assert connection.receive(PATIENCE) == b"hello"
            for byte in words:
                sock.sendall(bytes([byte]))
            assert connection.receive(PATIENCE) == b"hello"
            sock.sendall(signal(LEAVING))
            assert "bank closed the connection" in ended(connection)


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
