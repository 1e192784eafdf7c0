"""One party's place in one conversation: who it is, its rows, its folder, and how it reaches the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from plumbob.callbacks import Tell
from plumbob.crypto.draws import Draws
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS
from plumbob.data import Table
from plumbob.errors import IdentityError, PlanError, SettingsError
from plumbob.net.greeting import Greeting, Purpose
from plumbob.net.reliable import FRAME
from plumbob.party.conversation import (
    ConnectorFor,
    Conversation,
    conversation,
)
from plumbob.party.home import Home
from plumbob.party.kept_seals import SealKeeper
from plumbob.party.signature import MessageSigner, PlanSignature
from plumbob.party.waiting import Status, kept_up_to_date
from plumbob.plan import PROTOCOLS, Plan
from plumbob.plan.file import marks_of
from plumbob.protocol.account import FirstCommitment, SessionAccount, Signer
from plumbob.protocol.channel import PATIENCE
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.messages import HEADER, LONGEST_TEXT
from plumbob.protocol.openings import ASSUMED_ROWS
from plumbob.protocol.participant import Participant
from plumbob.protocol.scoring import largest_reply
from plumbob.protocol.shares.sizes import largest_body

if TYPE_CHECKING:
    from plumbob.party.evidence import Keeping
    from plumbob.party.ledger import SpendingLedger
    from plumbob.privacy.rows import RowSpending

BOOKED_AS = "row budget"  # The fact in the journal under which name this run was booked.


@dataclass(frozen=True, repr=False)
class PartyRun:
    """One party's place in a run; whoever only turns a peer away has no table."""

    name: str
    plan: Plan
    table: Table | None
    folder: Path
    connector_for: ConnectorFor
    _: KW_ONLY
    cluster: str = ""
    """ray://HOST:PORT of this party's own cluster, if it has one."""
    patience: float = PATIENCE
    meeting: float | None = None
    """Seconds to wait for peers to come; None = as long as `patience`."""
    lingering: float = 10.0
    """Seconds to wait, once this side is over, for a peer that has to start again."""
    tell: Tell = lambda words: None
    list_name: str = ""
    """The name of the list under which the rows are, or were, aligned."""
    signature: PlanSignature | None = None
    """Signatures to swap before anything else; None only where a test has nobody to sign."""
    signer: Signer | None = None
    """Signs what is said in a session; None only where a test has nobody to sign."""
    keeping: "Keeping | None" = None
    """Where evidence of the session goes, if the plan keeps it."""
    ledger: "SpendingLedger | None" = None
    """Where runs with noise for whole rows are booked; other plans, and some tests, keep none."""
    finished_run: Path | None = None
    """The folder of the run whose model a prediction uses; None in training, whose folder is its own."""
    most_epsilon: float = 0.0
    """The most epsilon that runs may spend on a row together, at `most_delta`; 0 = what the plan promises."""
    most_delta: float = 1e-6

    @contextmanager
    def talk(
        self,
        purpose: Purpose,
        journal: SqliteJournal,
        status: Status | None = None,
        patience: float | None = None,
    ) -> Iterator[Conversation]:
        """Meet everybody whom this purpose needs."""
        status = status or Status(purpose)
        with (
            kept_up_to_date(self.folder, status) as watch,
            conversation(
                topic_of(self.plan, purpose, self.list_name),
                peers_of(self.plan, self.name),
                journal,
                self.connector_for,
                patience=self.patience if patience is None else patience,
                meeting=self.meeting if patience is None else None,
                tell=self.tell,
                watch=watch,
            ) as talk,
        ):
            yield talk

    def draws(self, journal: SqliteJournal, brought: bytes = b"", root: bytes | None = None) -> Draws:
        """The source of all randomness of this session, fixed before its first message; a test may give the root."""

        def fix(root: bytes) -> bytes:
            commitment = FirstCommitment.to(root, self.table, brought)
            if self.keeping is not None:
                self.keeping.begin(root, commitment, self.table, brought)
            return commitment.hash()

        draws = journal.draws(root, fix)
        if self.keeping is not None:
            journal.witness = self.keeping.witness(self.table)
        return draws

    def participant(self, talk: Conversation, journal: SqliteJournal, draws: Draws) -> Participant:
        """The participant that the protocol works with."""
        spend, account = partial(self._spend_rows, journal), SessionAccount(journal.commitment, self.signer)
        return Participant(
            self.name,
            self.plan,
            talk.channels,
            draws,
            journal=journal,
            account=account,
            spend_rows=spend,
            cluster=self.cluster,
            keep_seal=SealKeeper(self.finished_run or self.folder, account).keep,
        )

    def _spend_rows(self, journal: SqliteJournal, spending: "RowSpending") -> None:
        """Book the run under a name that its journal keeps, so that a restart does not pay again."""
        if self.ledger is None or self.table is None:
            return
        from plumbob.party.ledger import EpsilonLimit  # Late: only noise for whole rows comes here.

        run = journal.fact(BOOKED_AS)
        if run is None:
            run = SYSTEM_RANDOMNESS.draw(16)
            journal.note(BOOKED_AS, run)
        limit = EpsilonLimit.of(self.plan, self.most_epsilon, self.most_delta, "most_epsilon")
        self.ledger.book(run.hex(), self.table.ids, spending, limit)


def party_run_at(
    home: Home, plan: Plan, table: Table | None, folder: Path, largest_message: int, tell: Tell
) -> PartyRun:
    """This organisation's place in a run; SettingsError or IdentityError where its folder does not fit the plan."""
    settings = home.settings
    refuse_strangers(home, plan)
    connector_for = _connector_for(home, plan, largest_message + FRAME.size, tell)
    return PartyRun(
        home.identity.name,
        plan,
        table,
        folder,
        connector_for,
        cluster=settings.cluster,
        patience=settings.patience,
        tell=tell,
        signer=MessageSigner(home.identity, home.pinned),
        ledger=_ledger(home) if plan.noise == "rows" else None,
        most_epsilon=settings.most_epsilon,
        most_delta=settings.most_delta,
    )


def _ledger(home: Home) -> "SpendingLedger":
    from plumbob.party.ledger import SpendingLedger  # As above.

    return SpendingLedger(home.ledger_file)


def peers_of(plan: Plan, own: str) -> list[str]:
    """Everybody else."""
    return [party.name for party in plan.parties if party.name != own]


def topic_of(plan: Plan, purpose: Purpose, list_name: str = "") -> Greeting:
    """The topic, which must be the same at both ends."""
    return Greeting(purpose=purpose, plan=plan.hash(), name=list_name, keys=marks_of(plan))


def _connector_for(home: Home, plan: Plan, largest_message: int, tell: Tell) -> ConnectorFor:
    """A connector to the plan's other parties."""
    names = {party.name for party in plan.parties}
    peers = [peer for peer in home.peers if peer.name in names]
    return partial(home.connector, peers, largest_message, on_refusal=tell)


def refuse_study(protocol: str) -> None:
    """Refuse a protocol that organisations do not run with each other."""
    if protocol in PROTOCOLS and not PROTOCOLS[protocol].has_lattices:
        raise PlanError(
            f'protocol = "{protocol}": organisations run "shares" with each other, where nobody reads a gradient;'
            " study this plan with all tables on one machine: plumbob train PLAN --data PARTY=FILE ..."
        )


def _refuse_seed(plan: Plan) -> None:
    """Refuse a seed that stands in a file, where everybody has to draw it together.

    The hash that parties sign does not say it, so that whoever sends the file could choose which rows train first.
    """
    if plan.seed:
        raise PlanError(
            f"model.seed: {plan.seed}, where all parties draw it together, and what was signed does not say it; leave"
            " it out, or use the plan as it was signed"
        )


def refuse_strangers(home: Home, plan: Plan) -> None:
    """Refuse a plan of a study, one that this party is not in, or that names a party which was never joined."""
    refuse_study(plan.protocol)
    _refuse_seed(plan)
    names = [party.name for party in plan.parties]
    if home.identity.name not in names:
        raise SettingsError(f"the plan's parties are {', '.join(names)}; we are {home.identity.name}")
    if strangers := [name for name in names if name not in home.pinned and name != home.identity.name]:
        raise IdentityError(f"{', '.join(strangers)}: in the plan, but not joined; type: plumbob party join TOKEN")


ROOM = 65536  # bytes for the handshake's keys and proofs, and for what carries messages


def largest_message(plan: Plan, rows: int = 0) -> int:
    """Bytes of the longest message of a training, never too few; without rows, for as many as a plan is drafted for."""
    known = rows or plan.rows or ASSUMED_ROWS
    longest = max(largest_body(plan, known - plan.held_out(known)), largest_reply(plan))
    return longest + HEADER.size + LONGEST_TEXT + ROOM
