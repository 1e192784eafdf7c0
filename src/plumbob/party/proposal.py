"""`party propose`: a plan that fits everybody's table, with nobody typing a number that a program could count.

Every party says whether it has the label, and who its auditor is. The label party drafts the plan, the others answer
once with eight numbers each: the columns that their table gives under that draft, its rows, its numeric columns, its
levels, and the columns that it would give under each of the rule's four encodings. From these the label party sees what
noise for whole rows would cost and which encoding the public rule chooses (`plan/encodings.py`), and it has everybody's
columns under that encoding. Nothing else about a table leaves: no name, no value. Widths depend on the draft's `rare`,
so many proposals with one `rare` after another would show how many levels have how many rows; each of them is typed by
somebody at the party that answers.

    label party                                 every other party
    PROPOSAL_ROLE       <- both ways ->         PROPOSAL_ROLE
    PROPOSAL_DRAFT      ->
                        <-                      PROPOSAL_WIDTH
    PROPOSAL_PLAN       ->                      checked: the draft but for its encoding, our own width under it,
                                                and whether its encoding follows from the numbers that it is said to be
                                                chosen from
"""

import re
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

from plumbob.checking.check import refuse_impossible
from plumbob.data import Table
from plumbob.data.encoder import choices_of, encoded_width
from plumbob.data.summary import size_of, width_with
from plumbob.data.tables import EncodingChoices
from plumbob.errors import DataError, PlanError, RemoteProtocolError, SettingsError
from plumbob.net.greeting import Greeting
from plumbob.party.home import Home
from plumbob.party.session import Meeting
from plumbob.plan import Party, Plan, unready_evidence
from plumbob.plan.encodings import ENCODING_KEYS, DraftedEncoding, TableSize, row_budget, tried_bins
from plumbob.protocol.channel import Channel
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind

LARGEST_MESSAGE = HEADER.size + LONGEST_TEXT
LONGEST_PLAN = 2**16
TOPIC = Greeting(purpose="propose")
NUMBERS = struct.Struct("<8Q")
"""The width under the draft, rows, numeric columns and levels, and the width under each encoding of the rule."""
REASON = struct.Struct("<3Q")
"""The rows, numeric columns and levels that the rule was applied to; zeros where somebody chose the encoding."""
FILLED_IN = (*sorted(ENCODING_KEYS), "l2")
"""The keys that the label party chooses once it has the answers."""
LABEL, FEATURES = "label", "features"
DAYS = 365  # That a draft keeps evidence, until somebody writes what the contract says.
FINGERPRINT = re.compile(r"[0-9a-f]{64}")
DraftFor = Callable[[tuple[Party, ...], Sequence[TableSize]], tuple[Plan, DraftedEncoding | None]]
"""(a plan for these parties, what its encoding was chosen from), by everybody's sizes once they are known."""


@dataclass(frozen=True)
class Proposal:
    """What this party brings: its table, and, at the label party, how a plan is drafted."""

    table: Table
    has_label: bool
    auditor: str
    """The fingerprint of this party's auditor; empty where it has none, or wants no evidence."""
    draft: DraftFor
    may_wait: bool = True
    """Whether a draft between two parties may open scores only after a replay, where the label party has an auditor."""


def propose(
    home: Home, proposal: Proposal, folder: Path, journal: SqliteJournal, tell: Callable[[str], None]
) -> tuple[Plan, DraftedEncoding | None]:
    """Agree on a plan, the same at every joined party; also returns what its encoding was chosen from."""
    if not home.pinned:
        raise SettingsError("nobody is joined yet; type: plumbob party join TOKEN")
    own = home.identity.name
    meeting = Meeting(
        name=own,
        topic=TOPIC,
        peers=list(home.pinned),
        folder=folder,
        connector_for=partial(home.connector, home.peers, LARGEST_MESSAGE, on_refusal=tell),
        patience=home.settings.patience,
        tell=tell,
    )
    with meeting.meet(journal) as peers:
        roles = _roles(own, proposal, peers.channels)
        holders = sorted(name for name, (role, _) in roles.items() if role == LABEL)
        auditors = {name: auditor for name, (_, auditor) in roles.items() if auditor}
        # Everybody sees who named a label, so everybody says what is wrong with it, and nobody waits for a draft.
        agreed = _agree(own, holders[0], proposal, auditors, peers.channels, tell) if len(holders) == 1 else None
        journal.flush()
        peers.leave()
    if agreed is None:
        found = " and ".join(holders) or "nobody"
        raise SettingsError(
            f"expected one party with a label, {found} named one; name it with --label at that party, and at no other"
        )
    return agreed


def _roles(own: str, proposal: Proposal, channels: Mapping[str, Channel]) -> dict[str, tuple[str, str]]:
    """Everybody's role, and the fingerprint of its auditor if it has one."""
    roles = {own: (LABEL if proposal.has_label else FEATURES, proposal.auditor)}
    for channel in channels.values():
        channel.send(Kind.PROPOSAL_ROLE, 0, " ".join(roles[own]).strip().encode())
    for peer, channel in channels.items():
        role, _, auditor = channel.receive(Kind.PROPOSAL_ROLE, 0, None).decode("utf-8", "replace").partition(" ")
        if role not in (LABEL, FEATURES) or (auditor and not FINGERPRINT.fullmatch(auditor)):
            raise RemoteProtocolError(f"{peer}: its role cannot be read; is its version another one?")
        roles[peer] = role, auditor
    return roles


def with_auditors(plan: Plan, auditors: Mapping[str, str], may_wait: bool = True) -> Plan:
    """The draft with evidence kept, where that is possible, and between two parties with scores shut until a replay.

    Between two it is enough that the label party has an auditor. Among more, evidence is drafted where everybody has
    one: nothing waits for a replay there, and evidence of one party alone shows little.
    """
    named = {party.name: auditors[party.name] for party in plan.parties if party.name in auditors}
    waits = may_wait and plan.is_closed and plan.is_between_two and plan.label_party.name in named
    if not plan.keeps_evidence and not waits and (len(named) < len(plan.parties) or not plan.is_closed):
        return plan
    release = "replayed" if waits else plan.release
    return plan.replace(evidence="keep", days=plan.days or DAYS, auditors=named, release=release)


def _agree(
    own: str,
    label_party: str,
    proposal: Proposal,
    auditors: Mapping[str, str],
    channels: Mapping[str, Channel],
    tell: Callable[[str], None],
) -> tuple[Plan, DraftedEncoding | None]:
    if label_party == own:
        return _draft(own, proposal, auditors, channels, tell)
    plan, reason = _accept(own, proposal, channels[label_party])
    if with_auditors(plan, auditors, may_wait=plan.is_replayed).auditors != plan.auditors:
        raise RemoteProtocolError(f"{label_party}: its plan names other auditors than the parties did")
    return plan, reason


def _draft(
    own: str,
    proposal: Proposal,
    auditors: Mapping[str, str],
    channels: Mapping[str, Channel],
    tell: Callable[[str], None],
) -> tuple[Plan, DraftedEncoding | None]:
    """The label party drafts, hears everybody's widths, and sends the plan."""

    def draft_for(widths: Mapping[str, int], sizes: Sequence[TableSize] = ()) -> tuple[Plan, DraftedEncoding | None]:
        plan, reason = proposal.draft(_parties(own, widths), sizes)
        return with_auditors(plan, auditors, proposal.may_wait), reason

    draft, _ = draft_for(dict.fromkeys((own, *channels), 1))
    for channel in channels.values():
        channel.send(Kind.PROPOSAL_DRAFT, 0, _pack(draft))
    answers = {own: _numbers(proposal.table, draft)}
    for peer, channel in channels.items():
        answers[peer] = NUMBERS.unpack(channel.receive(Kind.PROPOSAL_WIDTH, 0, NUMBERS.size))
    tried = [sum(widths) for widths in zip(*(numbers[4:] for numbers in answers.values()), strict=True)]
    widths = [
        f"{width:,} {f'with {bins} bins' if bins else 'as they are'}"
        for bins, width in zip(_bins_to_try(draft), tried, strict=True)
    ]
    tell(f"all parties' columns after encoding: {', '.join(widths)}; the plan says which")
    sizes = [TableSize(*numbers[1:4]) for numbers in answers.values()]
    encoded, _ = draft_for({name: numbers[0] for name, numbers in answers.items()}, sizes)
    place = _answer_for(encoded, draft)
    plan, reason = draft_for({name: numbers[place] for name, numbers in answers.items()}, sizes)
    refuse_impossible(plan, plan.rows)
    if (missing := unready_evidence(plan)) is not None:
        raise PlanError(missing)
    numbers = (0, 0, 0) if reason is None else (reason.rows, reason.numeric, reason.levels)
    for channel in channels.values():
        channel.send(Kind.PROPOSAL_PLAN, 0, REASON.pack(*numbers) + _pack(plan))
    return plan, reason


def _answer_for(plan: Plan, draft: Plan) -> int:
    """Which of an answer's numbers is the width under this plan: the draft's own, or one of the rule's encodings."""
    chosen = choices_of(plan)
    if chosen == choices_of(draft):
        return 0
    for place, bins in enumerate(_bins_to_try(draft), 4):
        if chosen == _choices_with(draft, bins):
            return place
    raise PlanError("nobody said how many columns this plan's encoding gives; choose the encoding with --bins")


def _numbers(table: Table, draft: Plan) -> tuple[int, ...]:
    """The numbers that a party says of its table."""
    tried = (width_with(table, _choices_with(draft, bins)) for bins in _bins_to_try(draft))
    size = size_of(table, draft.rare, draft.noise == "rows")
    return encoded_width(table, draft), *astuple(size), *tried


def _bins_to_try(draft: Plan) -> tuple[int, ...]:
    """The numbers of bins that the rule may choose under this draft's noise, which is the plan's."""
    return tried_bins(draft.noise == "rows")


def _choices_with(draft: Plan, bins: int) -> EncodingChoices:
    return choices_of(draft.replace(bins=bins))


def _parties(own: str, widths: Mapping[str, int]) -> tuple[Party, ...]:
    """The label party first, the others by name."""
    peers = sorted(name for name in widths if name != own)
    return (Party(own, "label", widths[own]), *(Party(peer, "features", widths[peer]) for peer in peers))


def _accept(own: str, proposal: Proposal, channel: Channel) -> tuple[Plan, DraftedEncoding | None]:
    """Answer with this party's numbers, and accept only the draft with an encoding, noise and widths filled in."""
    draft = _answer(proposal.table, channel)
    body = channel.receive(Kind.PROPOSAL_PLAN, 0, None)
    plan = _unpack(body[REASON.size :], channel.peer)
    rows, numeric, levels = REASON.unpack(body[: REASON.size])
    reason = DraftedEncoding(rows, numeric, levels, row_budget(plan.values())) if rows else None
    widths = [party.features for party in plan.learners]
    filled_in = {key: getattr(plan, key) for key in FILLED_IN}
    is_party = own in [party.name for party in plan.learners]
    if not is_party or draft.replace(**filled_in).replace(features=widths).hash() != plan.hash():
        raise RemoteProtocolError(f"{channel.peer}: its plan is not the draft with everybody's columns filled in")
    if plan.party(own).features != encoded_width(proposal.table, plan):
        raise RemoteProtocolError(f"{channel.peer}: its plan names another number of columns than our table gives")
    if reason is not None and plan.replace(**reason.keys).hash() != plan.hash():
        raise RemoteProtocolError(f"{channel.peer}: its plan's encoding does not follow from the numbers that it gives")
    return plan, reason


def _answer(table: Table, channel: Channel) -> Plan:
    draft = _unpack(channel.receive(Kind.PROPOSAL_DRAFT, 0, None), channel.peer)
    width, *_ = numbers = _numbers(table, draft)
    if not width:
        raise DataError("this table gives no column that tells rows apart; see the columns that `party propose` lists")
    channel.send(Kind.PROPOSAL_WIDTH, 0, NUMBERS.pack(*numbers))
    return draft


def _pack(plan: Plan) -> bytes:
    """A plan compressed: with all its comments it is longer than a message of text may be."""
    return zlib.compress(plan.to_toml().encode(), 9)


def _unpack(body: bytes, peer: str) -> Plan:
    try:
        text = zlib.decompressobj().decompress(body, LONGEST_PLAN).decode()
        return Plan.from_toml(text)
    except (zlib.error, UnicodeDecodeError, PlanError) as error:
        raise RemoteProtocolError(f"{peer}: sent no plan that we can read; compare versions ({error})") from None
