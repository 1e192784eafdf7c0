"""One party's side of a session: everything between "my table is fine" and "everybody has everything".

`align`, `train`, `predict`, `serve` and `propose` meet their peers by it. Whatever stops this side for good once it has
met its peers is told to them, so that they end at once. What the peer did wrong is told in full; of our own mistakes
only the kind (`PlumbobError.for_peers`), because their words may name columns, folders or counts. Where the network or
the disk fails, or somebody types Ctrl-C, a run that can be resumed is not stopped for good: the peers wait.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from plumbob import counting
from plumbob.caller import Tell
from plumbob.crypto.draws import Draws
from plumbob.data import Table
from plumbob.errors import (
    CiphertextRefusedError,
    DataError,
    IdentityError,
    KeyRefusedError,
    PeerAwayError,
    PlumbobError,
    RemoteProtocolError,
    TransportError,
)
from plumbob.net import Connection
from plumbob.net.greeting import Greeting, Purpose
from plumbob.net.reliable import ReliableLink
from plumbob.party.home import Home
from plumbob.party.joint_plan import refuse_strangers
from plumbob.party.seals import SealKeeper
from plumbob.party.signature import MessageSigner
from plumbob.party.waiting import Status, Waiting, watch
from plumbob.plan import Plan
from plumbob.plan.file import marks_of
from plumbob.protocol.account import FirstCommitment, SessionAccount, Signer
from plumbob.protocol.channel import PATIENCE, Channel
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.participant import Participant

if TYPE_CHECKING:
    from plumbob.party.evidence import EvidenceKeeper
    from plumbob.party.ledger import RowBudget
    from plumbob.privacy.rows import RowSpending

PARTING_SECONDS = 60.0
MOMENT = 0.1  # Seconds for which one peer is awaited before the others are listened to.
RESUMABLE = ("train",)  # A side that went away can come back; anything else is simply done again.
MET = "run/"  # Before a peer's name: the fact in the journal which run of its own it is in.
ROOM = 65536  # Bytes of a message beside its longest body: keys, proofs, and what carries messages.


class AnyConnector(Protocol):
    """Makes connections to peers; see `net.connector`."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def why_not(self, peer: str) -> TransportError | None:
        """Why the last attempt at this peer failed, if one did."""


ConnectorFor = Callable[[Callable[[Connection], None]], AnyConnector]
"""Makes a connector that hands each connection to this function."""


@dataclass(frozen=True, repr=False)
class Peers:
    """All peers of a session, once every one of them is there."""

    channels: dict[str, Channel]
    links: dict[str, ReliableLink]

    def leave(self, seconds: float = PARTING_SECONDS) -> list[str]:
        """Wait until the peers have everything; return the names of those who did not say so in time."""
        # To all at once: waiting for one peer must not keep the others.
        for link in self.links.values():
            link.say_goodbye()
        deadline = time.monotonic() + seconds
        return [
            peer
            for peer, link in self.links.items()
            if not link.wait_for_goodbye(max(0.0, deadline - time.monotonic()))
        ]


@dataclass(frozen=True, repr=False, kw_only=True)
class Meeting:
    """Whom a party meets, about what, and how long it waits. A proposal is no more than that."""

    name: str
    topic: Greeting
    """What this side greets with: both ends must say the same purpose, plan and name of a list."""
    peers: Sequence[str]
    folder: Path
    """Where its journal and its status lie."""
    connector_for: ConnectorFor
    patience: float = PATIENCE
    meeting: float | None = None
    """Seconds that all peers have to come; None = as long as `patience`."""
    tell: Tell = lambda words: None

    @contextmanager
    def meet(
        self, journal: SqliteJournal, status: Status | None = None, patience: float | None = None
    ) -> Iterator[Peers]:
        """Meet every peer; another `patience` than usual also says how long they have to come."""
        seconds = self.patience if patience is None else patience
        to_come = seconds if patience is not None or self.meeting is None else self.meeting
        links = {peer: _link(self.topic, peer, journal, self.tell) for peer in self.peers}
        channels = {peer: Channel(peer, link, seconds, journal) for peer, link in links.items()}
        connector = self.connector_for(lambda connection: links[connection.peer].attach(connection))
        connector.open()
        waiting = Waiting(links, channels, seconds, time.monotonic(), to_come, connector.why_not)
        with watch(self.folder, status or Status(self.topic.purpose), waiting, self.tell):
            try:
                for peer, run in _meet_all(links, connector, to_come).items():
                    # Before anything is sent: a peer that loses its journal later must not pass for the same.
                    journal.note(f"{MET}{peer}", run.encode())
                yield Peers(channels, links)
            except BaseException as error:
                if words := _words_for_peers(error, self.topic):
                    for link in links.values():
                        link.abort(words)
                raise
            finally:
                for link in links.values():
                    link.close()
                connector.close()


@dataclass(frozen=True, repr=False, kw_only=True)
class Session(Meeting):
    """One party's place in an alignment, a training or a prediction: its meeting, and what it brings to it."""

    plan: Plan
    table: Table | None
    """None in an alignment, and for whoever only turns a peer away."""
    cluster: str = ""
    """ray://HOST:PORT of this party's own cluster, if it has one."""
    lingering: float = 10.0
    """Seconds to wait, once this side is over, for a peer that has to start again."""
    signer: Signer | None = None
    """Signs what is said in a session; None only where a test has nobody to sign."""
    evidence: "EvidenceKeeper | None" = None
    """Where evidence of the session goes, if the plan keeps it."""
    budget: "RowBudget | None" = None
    """Where runs with noise for whole rows are booked; other plans, and some tests, keep none."""
    finished_run: Path | None = None
    """The folder of the run whose model a prediction uses; None in training, whose folder is its own."""

    @property
    def rows(self) -> Table:
        """This party's table, which a training or a prediction needs."""
        if self.table is None:
            raise DataError("a training or a prediction needs this party's table")
        return self.table

    def draws(self, journal: SqliteJournal, brought: bytes = b"", root: bytes | None = None) -> Draws:
        """The source of all randomness of this session, fixed before its first message; a test may give the root."""

        def fix(root: bytes) -> bytes:
            commitment = FirstCommitment.to(root, self.table, brought)
            if self.evidence is not None:
                self.evidence.begin(root, commitment, self.table, brought)
            return commitment.hash()

        draws = journal.draws(root, fix)
        if self.evidence is not None:
            journal.witness = self.evidence.witness(self.table)
        return draws

    def participant(self, peers: Peers, journal: SqliteJournal, draws: Draws) -> Participant:
        """The participant that the protocol works with."""

        def spend(spending: "RowSpending") -> None:
            if self.budget is not None and self.table is not None:
                self.budget.book(journal, self.plan, self.table.ids, spending)

        account = SessionAccount(journal.commitment, self.signer)
        return Participant(
            self.name,
            self.plan,
            peers.channels,
            draws,
            journal=journal,
            account=account,
            spend_rows=spend,
            cluster=self.cluster,
            keep_seal=SealKeeper(self.finished_run or self.folder, account).keep,
        )


def session_at(
    home: Home,
    plan: Plan,
    purpose: Purpose,
    *,
    table: Table | None,
    folder: Path,
    largest_message: int,
    tell: Tell,
    list_name: str = "",
) -> Session:
    """This organisation's place in a session; SettingsError or IdentityError where its folder does not fit the plan."""
    refuse_strangers(home, plan)
    names = peers_of(plan, home.identity.name)
    peers = [peer for peer in home.peers if peer.name in names]
    return Session(
        name=home.identity.name,
        topic=topic_of(plan, purpose, list_name),
        peers=names,
        folder=folder,
        connector_for=partial(home.connector, peers, largest_message, on_refusal=tell),
        patience=home.settings.patience,
        tell=tell,
        plan=plan,
        table=table,
        cluster=home.settings.cluster,
        signer=MessageSigner(home.identity, home.pinned),
        budget=_budget(home) if plan.noise == "rows" else None,
    )


def _budget(home: Home) -> "RowBudget":
    from plumbob.party.ledger import RowBudget, SpendingLedger  # Late: only noise for whole rows comes here.

    settings = home.settings
    return RowBudget(SpendingLedger(home.ledger_file), settings.most_epsilon, settings.most_delta)


def peers_of(plan: Plan, own: str) -> list[str]:
    """Everybody else."""
    return [party.name for party in plan.parties if party.name != own]


def topic_of(plan: Plan, purpose: Purpose, list_name: str = "") -> Greeting:
    """The topic, which must be the same at both ends."""
    return Greeting(purpose=purpose, plan=plan.hash(), name=list_name, keys=marks_of(plan))


# Meeting, and what peers hear at the end.


def _words_for_peers(error: BaseException, topic: Greeting) -> str:
    """The words that peers read about an error; none where they wait for this side to come back."""
    if isinstance(error, RemoteProtocolError | KeyRefusedError | CiphertextRefusedError):
        return str(error)
    if isinstance(error, TransportError) or not isinstance(error, Exception):
        return "" if topic.purpose in RESUMABLE else "it was interrupted"
    return error.for_peers if isinstance(error, PlumbobError) else PlumbobError.for_peers


def _meet_all(links: Mapping[str, ReliableLink], connector: AnyConnector, seconds: float) -> dict[str, str]:
    """Each peer's side of the run. All are listened to in turn: one may refuse while another is still awaited.

    PeerAwayError names all who did not come, and why if that is known.
    """
    deadline = time.monotonic() + seconds
    while True:
        runs = {peer: link.meet(min(MOMENT, seconds)) for peer, link in links.items()}
        missing = [peer for peer, run in runs.items() if not run]
        if not missing:
            return runs
        if time.monotonic() > deadline:
            break
    reasons = {peer: connector.why_not(peer) for peer in missing}
    words = " And ".join(
        f"{peer}: expected it within {counting.seconds(seconds)}; is it running, with this plan?{links[peer].last_end}"
        + (f" The last attempt: {reason}" if reason else "")
        for peer, reason in reasons.items()
    )
    # Waiting longer does not help where only a person can.
    is_refused = any(isinstance(reason, IdentityError) for reason in reasons.values())
    raise IdentityError(words) if is_refused else PeerAwayError(words)


def _link(topic: Greeting, peer: str, journal: SqliteJournal, tell: Tell) -> ReliableLink:
    knows = (journal.fact(f"{MET}{peer}") or b"").decode()
    return ReliableLink(
        peer,
        msgspec.structs.replace(topic, run=journal.identity(), knows=knows),
        journal.link_state(peer),
        stored=partial(journal.stored, peer),
        digest=partial(journal.digest, peer),
        on_confirmed=partial(journal.confirm, peer),
        on_waiting=tell,
    )
