"""The statement about a replay: signed by the process that replayed, and checked by peers against their own streams."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from plumbob.errors import DataError, IdentityError
from plumbob.net.identity import write_over
from plumbob.party.evidence import FOLDER, HEAD, SESSIONS, read_head
from plumbob.party.sealing import Auditor, AuditorKeys
from plumbob.party.seals import seals_in
from plumbob.plan import Plan
from plumbob.protocol.account import Seal
from plumbob.run_folder import RunFolder

FORMAT = 2
PURPOSE = "statement about a replay that was signed by the process that made it"
"""Not that of 0.1.0, whose auditors signed whatever stood in a file."""


class StatedFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a statement says, field by field: a peer's file may hold anything."""

    format: int
    party: str
    purpose: str
    plan: str
    session: str
    commitments: dict[str, str]
    sent: dict[str, str]
    received: dict[str, str]
    rows: str
    part: str
    seals: list[str]
    honest: bool | None
    settled: bool
    compared_with_source: bool
    compared_with_training: bool
    verdict: str
    fingerprints: dict[str, str]
    version: str
    date: str


class SignedStatement(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of the file; without a signature it says nothing to anybody."""

    statement: dict[str, Any]
    certificate: str = ""
    sealing: str = ""
    signature: str = ""

    def to_sign(self) -> bytes:
        return json.dumps(self.statement, sort_keys=True).encode()


def sign_statement(auditor: AuditorKeys, statement: Mapping[str, Any]) -> SignedStatement:
    """A statement, signed with the auditor's certificate; call it with nothing but what was just replayed."""
    public, unsigned = auditor.public, SignedStatement(dict(statement))
    return msgspec.structs.replace(
        unsigned,
        certificate=public.certificate.der.hex(),
        sealing=public.sealing.hex(),
        signature=auditor.identity.sign(PURPOSE, unsigned.to_sign()).hex(),
    )


def write_statement(file: Path, signed: SignedStatement) -> None:
    """Write a signed statement."""
    write_over(file, msgspec.json.format(msgspec.json.encode(signed), indent=1))


def read_statement(file: Path) -> SignedStatement:
    """Read a statement, whoever signed it; DataError where it is none of this version's."""
    try:
        signed = msgspec.json.decode(file.read_bytes(), type=SignedStatement)
        facts = msgspec.convert(signed.statement, StatedFacts)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise DataError(
            f"{file}: expected a statement, as plumbob auditor replay of this version writes it; ask the auditor for a "
            "new replay"
        ) from error
    if facts.format != FORMAT:
        raise DataError(f"{file}: expected a statement of format {FORMAT}, got {facts.format}; ask for a new replay")
    return signed


def statement_mistakes(stored: SignedStatement, folder: RunFolder, fingerprints: Mapping[str, str]) -> Iterator[str]:
    """What speaks against it: another signer than the plan names, or other streams than the party signed for us."""
    facts, plan = stored.statement, plan_in(folder)
    party = str(facts.get("party", ""))
    yield from signer_mistakes(stored, plan)
    kept = seals_in(folder.path, str(facts.get("session", "")))
    account = _own_account(folder, facts)
    session = account.get("session") if kept is None else kept.session
    expected = {"plan": plan.hash(), "session": session, "commitments": account.get("commitments")}
    for name, value in expected.items():
        # The commitments of a session that did not end here stand in the signatures that were kept of it.
        if facts.get(name) != value and (account or name != "commitments"):
            yield f"the statement's {name}: it is about another run than this one"
    held = None if kept is None else kept.seal_of(party)
    if held is not None and held.digest not in facts.get("seals", []):
        yield f"the statement: {party}'s evidence ends early; a later signature of {party} is kept here"
    if facts.get("honest") is not None:
        yield from _stream_mistakes(facts, account)
    for name, fingerprint in fingerprints.items():
        if facts.get("fingerprints", {}).get(name) != fingerprint:
            yield f"the statement's certificate of {name}: another one is pinned here"


def _stream_mistakes(facts: Mapping[str, Any], account: Mapping[str, Any]) -> Iterator[str]:
    """Other streams than the party signed at the end of a session that is settled here."""
    party = str(facts.get("party", ""))
    # With everybody: otherwise a party could replay against a third one's messages, and certificate, of its own making.
    for way, streams in _signed_streams(account, party).items():
        for peer, stream in streams.items():
            if facts.get(way, {}).get(peer) != stream:
                between = f"{party} sent to" if way == "sent" else f"{party} received from"
                yield f"the statement's hash of what {between} {peer}: it is not what {party} signed in the run"
    if account and not facts.get("settled"):
        yield f"the statement: {party}'s evidence ends before the last signatures, and the run itself did not"


def plan_in(folder: RunFolder) -> Plan:
    """The plan of a run, finished or not."""
    return folder.plan() if folder.record_file.exists() else Plan.load(folder.plan_file)


def signer_mistakes(stored: SignedStatement, plan: Plan) -> Iterator[str]:
    """What is wrong with the signer; nothing if it is the party's own auditor, as the plan names it."""
    party = str(stored.statement.get("party", ""))
    if (auditor := signer_of(stored)) is None:
        yield "the statement: it is not signed, or was changed after the auditor signed it"
    elif auditor.fingerprint != dict(plan.auditors).get(party):
        yield f"the statement: it is not signed by the auditor that the plan names for {party}"


def part_in_training(file: Path, plan: Plan, party: str) -> str:
    """The digest of the model part that a party's training made, by its auditor's signed statement."""
    stored = read_statement(file)
    facts = stored.statement
    mistakes = [*signer_mistakes(stored, plan)]
    if (facts.get("party"), facts.get("plan"), facts.get("purpose")) != (party, plan.hash(), "train"):
        mistakes.append(f"the statement: it is not about {party}'s training of this plan")
    if not facts.get("honest") or not facts.get("part"):
        mistakes.append("the statement: it names no model part that follows from what was fixed before the run")
    if mistakes:
        raise DataError(f"{file}: {'; '.join(mistakes)}")
    return str(facts["part"])


def _own_account(folder: RunFolder, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What this side holds of a session that is settled here; a session of prediction left a head."""
    if facts.get("purpose") != "predict":
        return folder.record().account if folder.record_file.exists() else {}
    heads = (read_head(file).account for file in (folder.path / SESSIONS).glob(f"*/{FOLDER}/{HEAD}"))
    return next((account for account in heads if account.get("session") == facts.get("session")), {})


def _signed_streams(account: Mapping[str, Any], party: str) -> dict[str, dict[str, str]]:
    """The hashes of a party's streams with everybody, both ways, as it last signed them in this session."""
    if party not in account.get("seals", {}):
        return {}
    streams = last_seal(account, party).streams.items()
    return {way: {peer: pair[place].hex() for peer, pair in streams} for place, way in enumerate(("sent", "received"))}


def last_seal(account: Mapping[str, Any], party: str) -> Seal:
    """A party's last signature in a session, as a record or a head has it; DataError where there is none."""
    try:
        peers = [name for name in account["commitments"] if name != party]
        return Seal.from_bytes(bytes.fromhex(account["seals"][party]), peers)
    except (LookupError, TypeError, ValueError):
        raise DataError(f"the signature of {party} in the record of this session is missing or damaged") from None


def signer_of(stored: SignedStatement) -> Auditor | None:
    """Whoever signed a statement, by its own certificate; None where the signature does not hold."""
    try:
        auditor = Auditor.parse(stored.certificate, stored.sealing)
        auditor.certificate.verify(PURPOSE, stored.to_sign(), bytes.fromhex(stored.signature))
    except (ValueError, IdentityError):
        return None
    return auditor
