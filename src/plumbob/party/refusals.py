"""A party that refuses before it meets its peers says so to those who already wait, and they end at once.

What they hear is a sentence about the kind of mistake (`PlumbobError.for_peers`), never its words: these may name
columns, folders or counts.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from plumbob.callbacks import Tell
from plumbob.counting import seconds
from plumbob.errors import PlumbobError, TransportError
from plumbob.net import Connection
from plumbob.net.greeting import GREETING_SECONDS, LARGEST_GREETING, Greeting, exchanged
from plumbob.net.reliable import FRAME, LAST_WORDS_SECONDS, LONGEST_WORDS
from plumbob.party.conversation import AnyConnector, ConnectorFor, Topic

# Longer than the longest pause between two attempts of a peer that dials us.
SECONDS_TO_TELL = 12.0
SECONDS_TO_REACH = 4.0  # Where we dial and nobody answers: a peer that was started at the same time answers by then.
LARGEST_MESSAGE = max(LARGEST_GREETING, FRAME.size + 4 * LONGEST_WORDS)
SECONDS_BETWEEN_LOOKS = 0.1


@contextmanager
def tell_refusals(topic: Topic, peers: Sequence[str], connector_for: ConnectorFor, tell: Tell) -> Iterator[None]:
    """Tell peers about a refusal before a conversation begins; inside one, the conversation tells them."""
    try:
        yield
    except TransportError:
        # The network, the disk or another process: this side can come back, and the peers wait for it.
        raise
    except PlumbobError as error:
        # Whatever goes wrong now, or a Ctrl-C: whoever made the mistake should read of that one.
        with suppress(PlumbobError, KeyboardInterrupt):
            _tell_peers(topic, error.for_peers, peers, connector_for, tell)
        raise


def _tell_peers(topic: Topic, sentence: str, peers: Sequence[str], connector_for: ConnectorFor, tell: Tell) -> None:
    told: set[str] = set()
    greeting = Greeting(purpose=topic.purpose, plan=topic.plan, keys=topic.keys, name=topic.name, refuses=sentence)

    def attach(connection: Connection) -> None:
        try:
            exchanged(connection, greeting, GREETING_SECONDS)
            # Until the peer has read it: it answers, and leaves.
            connection.receive(LAST_WORDS_SECONDS)
        except (PlumbobError, OSError):
            pass
        told.add(connection.peer)
        connection.close()

    connector = connector_for(attach)
    connector.open()
    try:
        tell(
            f"refused here; telling {', '.join(peers)}, if already waiting for us (at most {seconds(SECONDS_TO_TELL)}; "
            "Ctrl-C skips this) ..."
        )
        _wait(peers, told, connector)
    finally:
        connector.close()


def _wait(peers: Sequence[str], told: set[str], connector: AnyConnector) -> None:
    """Wait until all were told, or those that are missing are not there."""
    started, pause = time.monotonic(), threading.Event()
    while (passed := time.monotonic() - started) < SECONDS_TO_TELL:
        missing = [peer for peer in peers if peer not in told]
        if not missing or (passed > SECONDS_TO_REACH and all(map(connector.why_not, missing))):
            return
        pause.wait(SECONDS_BETWEEN_LOOKS)
