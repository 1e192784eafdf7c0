"""`party propose`: a plan that fits everybody's table, with nobody typing a number that a program could count.

Every party says whether it has the label. The label party drafts the plan, the others answer with one number each, the
columns that their table gives under that draft. From these it sees what noise for whole rows would cost, drafts again
with or without it, and fills in the second answers. Nothing else about a table leaves: no name, no value. A width
depends on the draft's `rare`, so many proposals with one `rare` after another would show how many levels have how many
rows; each of them is typed by somebody at the party that answers.

    label party                                 every other party
    PROPOSAL_ROLE       <- both ways ->         PROPOSAL_ROLE
    PROPOSAL_DRAFT      ->
                        <-                      PROPOSAL_WIDTH      (twice)
    PROPOSAL_PLAN       ->                      checked: the second draft, with the widths that were said
"""

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from plumbob.data import Table
from plumbob.data.encoder import encoded_width
from plumbob.errors import DataError, PlanError, RemoteProtocolError, SettingsError
from plumbob.net import Connection
from plumbob.net.reliable import FRAME
from plumbob.party.conversation import AnyConnector, ConnectorFor, Topic, conversation
from plumbob.party.home import Home
from plumbob.party.refusals import tell_refusals
from plumbob.plan import Party, Plan
from plumbob.protocol import schedules
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind
from plumbob.protocol.schedule import Due
from plumbob.protocol.sqlite_journal import SqliteJournal

LARGEST_MESSAGE = HEADER.size + LONGEST_TEXT + FRAME.size
LONGEST_PLAN = 2**16
TOPIC = Topic("propose", "")
WIDTH = struct.Struct("<Q")
LABEL, FEATURES = b"label", b"features"
DraftFor = Callable[[tuple[Party, ...]], Plan]
"""A plan for these parties."""


@dataclass(frozen=True)
class Proposal:
    """What this party brings: its table, and, at the label party, two drafts."""

    table: Table
    has_label: bool
    draft: DraftFor
    """The first."""
    choose: Callable[[Plan], DraftFor]
    """From the first one with everybody's columns to the second."""


def propose(home: Home, proposal: Proposal, journal: SqliteJournal, tell: Callable[[str], None]) -> Plan:
    """The plan, the same at every party that was joined."""
    if not home.pinned:
        raise SettingsError("nobody is joined yet; type: plumbob party join TOKEN")
    patience, connector_for = home.settings.patience, _connector_for(home, tell)
    own = home.identity.name
    with conversation(TOPIC, list(home.pinned), journal, connector_for, patience=patience, tell=tell) as talk:
        holders = _label_parties(own, proposal.has_label, talk.channels)
        # Everybody sees who named a label, so everybody says what is wrong with it, and nobody waits for a draft.
        plan = _agree(own, holders[0], proposal, talk.channels) if len(holders) == 1 else None
        journal.flush()
        talk.leave()
    if plan is None:
        found = " and ".join(holders) or "nobody"
        raise SettingsError(
            f"expected one party with a label, {found} named one; name it with --label at that party, and at no other"
        )
    return plan


def tell_refusals_at(home: Home, tell: Callable[[str], None]) -> AbstractContextManager[None]:
    """Around what may be refused before a proposal begins."""
    return tell_refusals(TOPIC, list(home.pinned), _connector_for(home, tell), tell)


def _connector_for(home: Home, tell: Callable[[str], None]) -> ConnectorFor:
    """To everybody who was joined."""

    def connector_for(on_connection: Callable[[Connection], None]) -> AnyConnector:
        return home.connector(home.peers, LARGEST_MESSAGE, on_connection, tell)

    return connector_for


def _label_parties(own: str, has_label: bool, channels: Mapping[str, Channel]) -> list[str]:
    """The parties that say that they have the label."""
    for channel in channels.values():
        _follow(channel, schedules.proposed_roles([own, channel.peer]), own)
        channel.send(Kind.PROPOSAL_ROLE, 0, LABEL if has_label else FEATURES)
    roles = {peer: channel.receive(Kind.PROPOSAL_ROLE, 0) for peer, channel in channels.items()}
    return sorted([*([own] if has_label else []), *(peer for peer, role in roles.items() if role == LABEL)])


def _agree(own: str, label_party: str, proposal: Proposal, channels: Mapping[str, Channel]) -> Plan:
    for peer, channel in channels.items():
        names = [name for name in (own, peer) if name != label_party]
        _follow(channel, schedules.proposal(label_party, names), own)
    if label_party == own:
        return _draft(own, proposal, channels)
    return _accept(own, proposal, channels[label_party])


def _follow(channel: Channel, messages: Iterable[Due], own: str) -> None:
    listed = [due for due in messages if {due.sender, due.receiver} == {own, channel.peer}]
    channel.follow([due for due in listed if due.sender == own], [due for due in listed if due.receiver == own])


def _draft(own: str, proposal: Proposal, channels: Mapping[str, Channel]) -> Plan:
    """At the label party."""
    first = _with_widths(own, proposal.draft, proposal.table, channels)
    plan = _with_widths(own, proposal.choose(first), proposal.table, channels)
    for channel in channels.values():
        channel.send(Kind.PROPOSAL_PLAN, 0, _pack(plan))
    return plan


def _with_widths(own: str, draft_for: DraftFor, table: Table, channels: Mapping[str, Channel]) -> Plan:
    """A draft, with the columns that everybody's table gives under it."""
    draft = draft_for(_parties(own, dict.fromkeys(channels, 1), 0))
    for channel in channels.values():
        channel.send(Kind.PROPOSAL_DRAFT, 0, _pack(draft))
    widths = {peer: WIDTH.unpack(channel.receive(Kind.PROPOSAL_WIDTH, 0))[0] for peer, channel in channels.items()}
    return draft_for(_parties(own, widths, encoded_width(table, draft)))


def _parties(own: str, widths: Mapping[str, int], own_width: int) -> tuple[Party, ...]:
    """The label party first, the others by name."""
    return (Party(own, "label", own_width), *(Party(peer, "features", widths[peer]) for peer in sorted(widths)))


def _accept(own: str, proposal: Proposal, channel: Channel) -> Plan:
    """At every other party: its own width under each draft, and nothing but the second with the widths filled in."""
    _answered(proposal.table, channel)
    draft, width = _answered(proposal.table, channel)
    plan = _unpack(channel.receive(Kind.PROPOSAL_PLAN, 0), channel.peer)
    widths = [party.features for party in plan.learners]
    if plan.party(own).features != width or draft.replace(features=widths).hash() != plan.hash():
        raise RemoteProtocolError(f"{channel.peer}: its plan is not the draft with everybody's columns filled in")
    return plan


def _answered(table: Table, channel: Channel) -> tuple[Plan, int]:
    draft = _unpack(channel.receive(Kind.PROPOSAL_DRAFT, 0), channel.peer)
    width = encoded_width(table, draft)
    if not width:
        raise DataError("this table gives no column that tells rows apart; see the columns that `party propose` lists")
    channel.send(Kind.PROPOSAL_WIDTH, 0, WIDTH.pack(width))
    return draft, width


def _pack(plan: Plan) -> bytes:
    """Compressed: a plan with all its comments is longer than a message of text may be."""
    return zlib.compress(plan.to_toml().encode(), 9)


def _unpack(body: bytes, peer: str) -> Plan:
    try:
        text = zlib.decompressobj().decompress(body, LONGEST_PLAN).decode()
        return Plan.from_toml(text)
    except (zlib.error, UnicodeDecodeError, PlanError) as error:
        raise RemoteProtocolError(f"{peer}: sent no plan that we can read; compare versions ({error})") from None
