"""What a party works with in a session: its name, the plan, its channels, what it draws from, and its journal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plumbob.crypto.draws import Draws
from plumbob.plan import Plan
from plumbob.protocol.account import HASH_BYTES, SessionAccount
from plumbob.protocol.channel import Channel
from plumbob.protocol.journal import NO_JOURNAL, Journal, Resumed, State
from plumbob.protocol.messages import Kind

if TYPE_CHECKING:
    from plumbob.privacy.rows import RowSpending


@dataclass(frozen=True, repr=False)
class Participant:
    """What a party works with: its name, the plan, a channel to each peer, and what it draws from."""

    name: str
    plan: Plan
    channels: Mapping[str, Channel]
    draws: Draws
    threads: int | None = None
    """How many threads it may use; None = every core."""
    cluster: str = ""
    """ray://HOST:PORT of this party's own cluster, which makes its large answers."""
    journal: Journal = NO_JOURNAL
    account: SessionAccount = field(default_factory=SessionAccount)
    held_out_key: bytes = b""
    """The key that draws held-out rows by their ids; empty = the session's seed, so that every run draws anew."""
    spend_rows: "Callable[[RowSpending], None]" = lambda spending: None
    """Called with what a run costs for each row before anything that depends on one leaves; it may refuse the run."""
    keep_seal: Callable[[str, int], None] = lambda peer, step: None
    """Called with a party and a step when it has signed everything so far, so that its signature can be shown later."""

    def __post_init__(self) -> None:
        self.draws.heard = self._heard

    def _heard(self) -> bytes:
        """Hashes of what came from every peer so far, in the order of their names."""
        return b"".join(self.channels[peer].received_hash for peer in sorted(self.channels))

    def _streams(self) -> bytes:
        """Hashes of what came from and what was sent to every peer so far."""
        return b"".join(self.channels[peer].sent_hash for peer in sorted(self.channels)) + self._heard()

    @property
    def data_peers(self) -> dict[str, Channel]:
        """Channels to the peers that hold rows: to all of them, but in a study with somebody who has none."""
        return dict(self.channels)

    def send_all(self, kind: Kind, body: bytes, step: int = 0) -> None:
        for channel in self.data_peers.values():
            channel.send(kind, step, body)

    def receive_all(self, kind: Kind, size: int = HASH_BYTES, step: int = 0) -> dict[str, bytes]:
        return {peer: channel.receive(kind, step, size) for peer, channel in self.data_peers.items()}

    def open_chain(self, session: bytes, seed: bytes) -> None:
        """From now on, draw from a chain that nobody could choose alone."""
        if self.draws.open(session, seed):
            self.journal.open_chain(self.draws)

    # Phases.

    def begin_step(self, step: int) -> None:
        """Start a step, or agreeing on keys: from now on, messages and draws belong to it."""
        self.journal.begin(step)
        self.draws.leave_set_up(self._streams())

    def finish_step(self, step: int, state: State | None = None, needs: Mapping[int, bytes] | None = None) -> None:
        """Write into the journal the state that the next step depends on, and what later steps need.

        The state is that of the party's program; those of the channels and of the draws are added here.
        """
        channels = {f"channel/{peer}": channel.state() for peer, channel in self.channels.items()}
        whole = {**(state or {}), **channels, "draws": self.draws.advance(self._streams())}
        self.journal.finish(step, whole, needs or {})

    def take_up(self) -> Resumed | None:
        """Return to the end of the last finished step, with channels and draws; None if an earlier start left none."""
        resumed = self.journal.last_state()
        if resumed is not None:
            for peer, channel in self.channels.items():
                channel.restore(resumed.state[f"channel/{peer}"])
            self.draws.restore(resumed.state["draws"])
        return resumed
