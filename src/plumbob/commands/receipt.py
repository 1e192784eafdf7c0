"""`receipt`: what was really on in a run, and whether the two ends of each channel hashed the same bytes.

A record that agrees with itself is *consistent*. It is *verified* only if the party that kept it has signed it and the
signature holds. Two parties' folders are compared with each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from plumbob.party.receipts import NOT_SIGNED, Signed, signature_of
from plumbob.plan import Plan
from plumbob.protocol.defences import noise_std
from plumbob.protocol.openings import opened_bits
from plumbob.record import PartyRecord, RunRecord
from plumbob.report.page import as_text
from plumbob.report.receipt import compared_streams, keys_in_words, noise_in_words, transcript_hash
from plumbob.report.run import summary, warnings, work_table
from plumbob.run_folder import RunFolder

CHANNEL = "{from} -> {to}: {verdict}  {hash}"


def run(folder: Path) -> dict[str, object]:
    """Everything that the record says about protection; see the module for `consistent` and `verified`."""
    record, signed = RunFolder(folder).record(), signature_of(RunFolder(folder))
    plan = record.parsed_plan
    channels = list(compared_streams(record.parties))
    plan_agrees = plan.hash() == record.plan_hash
    consistent = plan_agrees and all(channel["verdict"] != "DIFFERS" for channel in channels)
    is_refuted = signed is not NOT_SIGNED and not signed.is_valid
    return {
        "status": record.status,
        "plan_hash": record.plan_hash,
        "plan_agrees": plan_agrees,
        "protocol": record.protocol,
        "scheme": plan.scheme if record.is_encrypted else None,
        "key_bits": plan.key_bits if record.is_encrypted and plan.scheme != "lattice" else None,
        "key_profile": record.key_profile,
        "engine": record.engine,
        "randomness": record.randomness,
        "noise": plan.noise,
        "noise_std": {party.name: noise_std(plan, party.role) for party in plan.learners},
        "accepted_leaks": record.accepted_leaks,
        "warnings": [*warnings(record), *record.notes],
        "parties": [_counts(party) for party in record.parties],
        "streams": channels,
        "transcript_hash": transcript_hash(record.parties),
        "consistent": consistent and not is_refuted,
        "verified": consistent and signed.is_valid,
        "signed_by": signed.party,
        "date": signed.date,
        "fingerprints": dict(signed.fingerprints),
        "opened_bits": {party.name: opened_bits(plan, party.name) for party in plan.learners},
        "lines": [*_lines(record, plan, channels, plan_agrees), *_signed_lines(signed, consistent)],
    }


def compare(folders: Sequence[Path]) -> dict[str, object]:
    """Several parties' records of one run: the same plan, the same bytes at both ends, the same certificates."""
    records, signatures = (
        [RunFolder(folder).record() for folder in folders],
        [signature_of(RunFolder(folder)) for folder in folders],
    )
    parties = [party for record in records for party in record.parties]
    channels = list(compared_streams(parties))
    mistakes = list(_differences(records, signatures, channels))
    verified = not mistakes and all(signed.is_valid for signed in signatures)
    lines = [
        f"plan hash    {records[0].plan_hash}",
        *(CHANNEL.format(**channel) for channel in channels),
        f"transcript   {transcript_hash(parties)}",
        *(f"signature    {signed.says}" for signed in signatures),
        *_fingerprint_lines(signatures),
        *(f"DIFFERS      {mistake}" for mistake in mistakes),
        f"result       {'verified' if verified else 'consistent' if not mistakes else 'NOT CONSISTENT'}",
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
    records: Sequence[RunRecord], signatures: Sequence[Signed], channels: Sequence[dict[str, str]]
) -> Iterator[str]:
    if len({record.plan_hash for record in records}) > 1:
        yield "the plans: these are not records of the same run"
    for record in records:
        if Plan.from_toml(record.plan).hash() != record.plan_hash:
            yield "a plan and its hash, in one of the records"
    names = [party.name for record in records for party in record.parties]
    if len(set(names)) < len(names):
        yield "nothing, because two of the folders are the same party's; name one folder of each party"
    for channel in channels:
        if channel["verdict"] == "DIFFERS":
            yield f"what {channel['from']} sent and {channel['to']} received"
    for signed in signatures:
        if signed is not NOT_SIGNED and not signed.is_valid:
            yield f"a signature: {signed.says}"
    known = [item for signed in signatures for item in signed.fingerprints.items()]
    for name in sorted({name for name, fingerprint in known if (name, fingerprint) != (name, dict(known)[name])}):
        yield f"the certificate of {name}: the parties do not name the same fingerprint"


def _signed_lines(signed: Signed, consistent: bool) -> list[str]:
    result = "verified" if consistent and signed.is_valid else "consistent" if consistent else "NOT CONSISTENT"
    if signed is not NOT_SIGNED and not signed.is_valid:
        result = "NOT CONSISTENT"
    return [f"signature    {signed.says}", *_fingerprint_lines([signed]), f"result       {result}"]


def _fingerprint_lines(signatures: Sequence[Signed]) -> list[str]:
    named = sorted({item for signed in signatures for item in signed.fingerprints.items()})
    return [f"fingerprint  {name} {fingerprint}" for name, fingerprint in named]


def _counts(party: PartyRecord) -> dict[str, object]:
    shown = (
        "name",
        "role",
        "messages_sent",
        "bytes_sent",
        "encryptions",
        "decryptions",
        "randomisations",
        "noise_draws",
    )
    fields = asdict(party)
    return {name: fields[name] for name in shown}


def _lines(record: RunRecord, plan: Plan, channels: list[dict[str, str]], plan_agrees: bool) -> list[str]:
    lines = [
        summary(record),
        *warnings(record),
        *record.notes,
        f"plan hash    {record.plan_hash} ({'as the plan in the record' if plan_agrees else 'DIFFERS from the plan'})",
        f"keys         {keys_in_words(record)}",
        f"noise        {noise_in_words(plan, record.rows)}",
        f"randomness   {record.randomness}",
        f"leaks        {'accepted with --accept-leaks' if record.accepted_leaks else 'none was accepted'}",
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
