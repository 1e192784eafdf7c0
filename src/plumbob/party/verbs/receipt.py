"""`party receipt`: shows which protections a run used, and whether the two ends of each channel hashed the same bytes.

A record that agrees with itself is *consistent*. It is *verified* only if the party that kept it has signed it, by a
certificate that the reader has compared: anybody can make one in a party's name. Two parties' folders are compared with
each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from plumbob.caller import Outcome
from plumbob.checking.filing import judgement_of_run, with_verdicts
from plumbob.checking.judgement import PlanJudgement
from plumbob.checking.study import noise_std
from plumbob.counting import counted
from plumbob.errors import DataError, IdentityError, SettingsError
from plumbob.net.identity import Certificate, write_over
from plumbob.party.gate import statement_file
from plumbob.party.home import RUNS, GivenHome, Home
from plumbob.party.record_signature import NOT_SIGNED, RecordSignature, signature_of
from plumbob.party.runs import beginnings, is_met
from plumbob.party.signature import verify_message
from plumbob.party.statements import last_seal, plan_in, read_statement, statement_mistakes
from plumbob.plan import in_words
from plumbob.protocol.account import LAST
from plumbob.protocol.openings import opened_bits
from plumbob.record import PartyRecord, RunRecord
from plumbob.report.receipt import compared_streams, consents, keys_in_words, transcript_hash, work_table
from plumbob.report.run import summary, warnings
from plumbob.report.tables import as_text
from plumbob.run_folder import RunFolder

CHANNEL = "{from} -> {to}: {verdict}  {hash}"
UNVERIFIED = {True: "consistent, not verified", False: "NOT CONSISTENT"}


@dataclass(frozen=True)
class KnownCertificates:
    """The certificates that the reader of a receipt has compared: a party's own and pinned ones, or fingerprints."""

    certificates: Mapping[str, Certificate]
    fingerprints: frozenset[str] = frozenset()

    @classmethod
    def given(cls, home: Home | None, fingerprints: Sequence[str]) -> Self:
        """The certificates in a party's folder, and those of fingerprints as they were read aloud, in groups or not."""
        pinned = {} if home is None else {**home.pinned, home.identity.name: home.identity.certificate}
        return cls(pinned, frozenset(map(_in_groups, fingerprints)))

    def holds(self, signed: RecordSignature) -> bool:
        """Whether the signature is valid, and by one of these certificates."""
        signer = signed.certificate
        return signer is not None and (signer.fingerprint in self.fingerprints or self._is_pinned(signer))

    def contradicts(self, signed: RecordSignature) -> bool:
        """Whether another certificate is pinned for the name under which it was signed."""
        signer = signed.certificate
        return signer is not None and signer.name in self.certificates and not self.holds(signed)

    def _is_pinned(self, signer: Certificate) -> bool:
        pinned = self.certificates.get(signer.name)
        # A renewed certificate has the key that was compared.
        return pinned is not None and (pinned == signer or pinned.renews(signer) or signer.renews(pinned))


NOBODY = KnownCertificates({})


def _in_groups(fingerprint: str) -> str:
    """A fingerprint in groups of four, as certificates print theirs."""
    digits = "".join(fingerprint.split()).replace(":", "").lower()
    if len(digits) != 64 or any(digit not in "0123456789abcdef" for digit in digits):
        raise SettingsError(
            f"--fingerprint: {len(digits)} signs, expected the 64 hexadecimal digits of a certificate's fingerprint; "
            "ask the party for the one that plumbob party invite prints"
        )
    return " ".join(digits[start : start + 4] for start in range(0, 64, 4))


def receipt(
    folders: Sequence[Path],
    *,
    home: GivenHome | None = None,
    fingerprints: Sequence[str] = (),
    statement: Path | None = None,
) -> Outcome:
    """Everything that a run's record says about protection or, of several parties' folders, how they compare."""
    known = KnownCertificates.given(None if home is None else Home.open(home), fingerprints)
    fields = run(folders[0], known, statement) if len(folders) == 1 else compare(folders, known)
    facts = fields.get("statement")
    is_cleared = facts is None or (isinstance(facts, Mapping) and facts.get("honest") is True)
    is_good = is_cleared and fields["consistent"] and (fields["verified"] or not fingerprints)
    return Outcome(fields, 0 if is_good else 1)


def run(folder: Path, known: KnownCertificates = NOBODY, statement: Path | None = None) -> dict[str, object]:
    """Everything that the record says about protection; the module explains `consistent` and `verified`."""
    own = RunFolder(folder)
    if statement is not None and is_unsettled(own):
        return _about_unsettled(own, statement, known)
    refuse_unsettled(own)
    record, signed = with_verdicts(own.record()), signature_of(own)
    plan, begun, judgement = record.parsed_plan, _begun(own), judgement_of_run(record)
    channels, peers = list(compared_streams(record.parties)), peer_signatures(record, signed)
    mistakes = list(_differences([record], [signed], channels, known))
    if signed.is_valid:
        mistakes += [f"what {each.peer} sent, and what it signed" for each in peers if not each.is_valid]
    of_statement, is_cleared = list[str](), True
    if stated := None if statement is None else read_statement(statement):
        mistakes += [*statement_mistakes(stated, own, signed.fingerprints), *_deviations(stated.statement)]
        of_statement = [f"statement    {_statement_in_words(stated.statement, mistakes)}"]
        is_cleared = stated.statement.get("honest") is True
        if statement is not None and not mistakes:
            of_statement += _keep(own, statement, stated.statement)
    verified = not mistakes and known.holds(signed) and is_cleared
    times = f"begun        {counted(begun, 'time')} by this party, whether it ended with a result or not"
    return {
        "status": record.status,
        "plan_hash": record.plan_hash,
        "plan_agrees": _agrees(record),
        "protocol": record.protocol,
        "keys": plan.kind.keys if record.is_encrypted else None,
        "key_bits": plan.key_bits if record.is_encrypted and plan.kind.has_key_bits else None,
        "key_profile": record.key_profile,
        "engine": record.engine,
        "randomness": record.randomness,
        "noise": plan.noise,
        "noise_std": {party.name: noise_std(plan, party.role) for party in plan.learners},
        "accepted_leaks": record.accepted_leaks,
        "accepted_cheating": record.accepted_cheating,
        "accepted_evidence": record.accepted_evidence,
        "headlines": judgement.headlines.to_dict(),
        "begun": begun,
        "warnings": [*warnings(record), *record.notes],
        "parties": [_counts(party) for party in record.parties],
        "streams": channels,
        "statement": None if stated is None else stated.statement,
        "peer_signatures": [asdict(each) for each in peers],
        "transcript_hash": transcript_hash(record.parties),
        "consistent": not mistakes,
        "verified": verified,
        "signed_by": signed.party,
        "date": signed.date,
        "fingerprints": dict(signed.fingerprints),
        "opened_bits": {party.name: opened_bits(plan, party.name) for party in plan.learners},
        "lines": [
            *_lines(record, judgement, channels),
            *([times] if begun else []),
            *(_peer_in_words(each) for each in peers),
            *of_statement,
            *_conclusion([signed], channels, mistakes, known, verified=verified),
        ],
    }


def _keep(run: RunFolder, file: Path, facts: Mapping[str, Any]) -> list[str]:
    """Keep a clean statement about a peer's whole training beside this side's run; the gate of scores looks there."""
    if facts["purpose"] != "train" or not facts["settled"] or not facts["honest"]:
        return []
    place = statement_file(run, facts["party"])
    if place.resolve() != file.resolve():
        write_over(place, file.read_bytes())
    opens = run.plan().is_replayed and facts["party"] == run.plan().label_party.name
    return [f"kept         {place.name}{', and scores may be computed from now on' if opens else ''}"]


def _deviations(facts: Mapping[str, Any]) -> Iterator[str]:
    """What a statement found; nothing where it says honest, or where it cannot say."""
    if facts.get("honest") is False:
        yield f"what {facts.get('party')} sent, and what follows from the plan and its rows"


def _about_unsettled(run: RunFolder, file: Path, known: KnownCertificates) -> dict[str, object]:
    """What a statement says about a run that has no result here: whether it reaches what its party had signed."""
    stated, plan = read_statement(file), plan_in(run)
    names = {party.name for party in plan.parties}
    pinned = {name: pinned.fingerprint for name, pinned in known.certificates.items() if name in names}
    mistakes = [*statement_mistakes(stated, run, pinned), *_deviations(stated.statement)]
    return {
        "status": "not settled",
        "plan_hash": plan.hash(),
        "statement": stated.statement,
        "consistent": not mistakes,
        "verified": False,
        "lines": [
            f"{run.path}: not settled: not every party has signed its last message",
            f"statement    {_statement_in_words(stated.statement, mistakes)}",
            *_conclusion([], [], mistakes, known, verified=False),
        ],
    }


def is_unsettled(run: RunFolder) -> bool:
    """Whether a party's run met its peers and has no result."""
    return not run.record_file.exists() and is_met(run)


def refuse_unsettled(run: RunFolder) -> None:
    """Refuse a party's run without its last signatures: nobody answers for its result."""
    if is_unsettled(run):
        raise DataError(
            f"{run.path}: not settled: not every party has signed its last message, so there is no result to answer "
            "for; run the same command again to resume"
        )


def _begun(run: RunFolder) -> int:
    """How often this party began the run, whether it ended with a result or not; 0 outside a party's runs.

    A party may break off once the seed is known and begin again: whoever reads a receipt sees how often.
    """
    return beginnings(run) if run.path.resolve().parent.name == RUNS else 0


def compare(folders: Sequence[Path], known: KnownCertificates = NOBODY) -> dict[str, object]:
    """Compare several parties' records of one run: the same plan, bytes at both ends, and certificates."""
    runs = [RunFolder(folder) for folder in folders]
    records, signatures = [run.record() for run in runs], [signature_of(run) for run in runs]
    parties = [party for record in records for party in record.parties]
    channels = list(compared_streams(parties))
    mistakes = list(_differences(records, signatures, channels, known))
    verified = not mistakes and all(known.holds(signed) for signed in signatures)
    lines = [
        f"plan hash    {records[0].plan_hash}",
        *(CHANNEL.format(**channel) for channel in channels),
        f"transcript   {transcript_hash(parties)}",
        *_conclusion(signatures, channels, mistakes, known, verified=verified),
    ]
    return {
        "plan_hash": records[0].plan_hash,
        "streams": channels,
        "transcript_hash": transcript_hash(parties),
        "differences": mistakes,
        "consistent": not mistakes,
        "verified": verified,
        "lines": lines,
    }


def _differences(
    records: Sequence[RunRecord],
    signatures: Sequence[RecordSignature],
    channels: Sequence[dict[str, str]],
    known: KnownCertificates,
) -> Iterator[str]:
    """What contradicts what in these records of one run."""
    if len({record.plan_hash for record in records}) > 1:
        yield "the plans: these are not records of the same run"
    if not all(map(_agrees, records)):
        yield "a plan and its hash, in one of the records"
    names = [party.name for record in records for party in record.parties]
    if len(set(names)) < len(names):
        yield "nothing, because two of the folders are the same party's; name one folder of each party"
    for channel in channels:
        if channel["verdict"] == "DIFFERS":
            yield f"what {channel['from']} sent and {channel['to']} received"
    for record, signed in zip(records, signatures, strict=True):
        yield from _signature_mistakes(record, signed, known)
    named = [item for signed in signatures for item in signed.fingerprints.items()]
    for name in sorted({name for name, fingerprint in named if (name, fingerprint) != (name, dict(named)[name])}):
        yield f"the certificate of {name}: the parties do not name the same fingerprint"


def _agrees(record: RunRecord) -> bool:
    """Whether the plan in a record is the one whose hash stands beside it."""
    return record.parsed_plan.hash() == record.plan_hash


@dataclass(frozen=True)
class PeerSignature:
    """Whether a peer signed what this party got from it."""

    peer: str
    stream: str
    """The hash over everything that the peer sent."""
    is_valid: bool


def peer_signatures(record: RunRecord, signed: RecordSignature) -> list[PeerSignature]:
    """The peers' last signatures in a session, each over what it sent to the party that kept this record."""
    [own] = record.parties if len(record.parties) == 1 else [None]
    account = record.account
    if own is None or not account.get("seals"):
        return []
    return [
        PeerSignature(peer, stream, _has_signed(account, own.name, peer, stream, signed.certificates.get(peer)))
        for peer, stream in own.received_streams.items()
    ]


def _has_signed(account: Mapping[str, Any], own: str, peer: str, stream: str, certificate: Certificate | None) -> bool:
    try:
        seal = last_seal(account, peer)
        if certificate is None or seal.streams[own][0].hex() != stream:
            return False
        verify_message(certificate, seal.to_sign(bytes.fromhex(account["session"]), peer, LAST), seal.signature)
    except (KeyError, ValueError, IndexError, IdentityError):
        return False
    return True


def _signature_mistakes(record: RunRecord, signed: RecordSignature, known: KnownCertificates) -> Iterator[str]:
    """What contradicts a signature; a record without one has no contradiction."""
    if signed is not NOT_SIGNED and not signed.is_valid:
        yield f"a signature: {signed.says}"
    elif signed.is_valid and signed.party not in [party.name for party in record.parties]:
        yield f"a signature: {signed.party} signed the record of another party"
    if known.contradicts(signed):
        yield (
            f"a signature: it is not by the certificate pinned for {signed.party}; another one was made in its name, "
            f"or {signed.party} has a new one, so ask {signed.party}"
        )


def _signature_in_words(signed: RecordSignature, known: KnownCertificates) -> str:
    """Who signed, as far as the reader can know."""
    if signed.certificate is None:
        return signed.says
    if known.holds(signed):
        return f"{signed.says}, whose certificate is known here"
    return (
        f"signed by whoever holds fingerprint {signed.certificate.fingerprint}, in the name of {signed.party}, on "
        f"{signed.date}: compare it with {signed.party}, or name --home or --fingerprint"
    )


def _statement_in_words(facts: Mapping[str, Any], mistakes: Sequence[str]) -> str:
    """The statement in words, with who signed it if nothing contradicts it."""
    is_doubtful = any(mistake.startswith("the statement") for mistake in mistakes)
    whose = "" if is_doubtful else f"{facts['party']}'s auditor signed: "
    return f"{whose}{facts.get('verdict', '')}"


def _peer_in_words(signature: PeerSignature) -> str:
    has_signed = "has signed" if signature.is_valid else "has NOT signed"
    return f"{signature.peer} {has_signed} what it sent  {signature.stream}"


def _conclusion(
    signatures: Sequence[RecordSignature],
    channels: Sequence[dict[str, str]],
    mistakes: Sequence[str],
    known: KnownCertificates,
    *,
    verified: bool,
) -> list[str]:
    """Who signed, what differs, and what was verified and what was not."""
    named = sorted({item for signed in signatures for item in signed.fingerprints.items()})
    return [
        *(f"signature    {_signature_in_words(signed, known)}" for signed in signatures),
        *(f"fingerprint  {name} {fingerprint}" for name, fingerprint in named),
        *(f"DIFFERS      {mistake}" for mistake in mistakes),
        f"result       {_verified_in_words(signatures, channels) if verified else UNVERIFIED[not mistakes]}",
    ]


def _verified_in_words(signatures: Sequence[RecordSignature], channels: Sequence[dict[str, str]]) -> str:
    """What was verified, and whether the other end of every channel was compared."""
    names = " and ".join(signed.party for signed in signatures)
    verified = f"verified: {names} signed {'this record' if len(signatures) == 1 else 'these records'}"
    open_ends = sum(channel["verdict"] == "one end only" for channel in channels)
    if not open_ends:
        return f"{verified}, and both ends of every channel hold the same bytes"
    return f"{verified}; of {counted(open_ends, 'channel')} the other end was not compared"


def _counts(party: PartyRecord) -> dict[str, object]:
    return {name: getattr(party, name) for name in ("name", "role", "messages_sent", "bytes_sent", "noise_draws")}


def _lines(record: RunRecord, judgement: PlanJudgement, channels: list[dict[str, str]]) -> list[str]:
    plan = record.parsed_plan
    agreement = "as the plan in the record" if _agrees(record) else "DIFFERS from the plan"
    lines = [
        summary(record),
        *warnings(record),
        *record.notes,
        f"plan hash    {record.plan_hash} ({agreement})",
        *([f"descent      {in_words(plan.levels(record.rows))}"] if plan.batches == "full" and record.rows else []),
        f"keys         {keys_in_words(record)}",
        f"noise        {judgement.noise}",
        f"randomness   {record.randomness}",
        *(f"{what:<18} {value}" for what, value in consents(record).items()),
        *judgement.headlines.lines(),
    ]
    lines += [
        f"opened bits  {party.name} can get {opened_bits(plan, party.name)} bits about the others through its weights"
        for party in plan.learners
        if opened_bits(plan, party.name)
    ]
    if record.parties and record.is_encrypted:
        lines += [*as_text(work_table(record)), *(CHANNEL.format(**channel) for channel in channels)]
        lines.append(f"transcript   {transcript_hash(record.parties)}")
    return lines
