"""`receipt`: what was really on in a run, and whether the two ends of each channel hashed the same bytes."""

from dataclasses import asdict
from pathlib import Path

from plumbob.plan import Plan
from plumbob.protocol.defences import noise_std
from plumbob.record import PartyRecord, RunRecord
from plumbob.report.page import as_text
from plumbob.report.receipt import compared_streams, keys_in_words, noise_in_words, transcript_hash
from plumbob.report.run import summary, warnings, work_table
from plumbob.run_folder import RunFolder

CHANNEL = "{from} -> {to}: {verdict}  {hash}"


def run(folder: Path) -> dict[str, object]:
    """Everything that the record says about protection; `verified` is false if something in it does not agree."""
    record = RunFolder(folder).record()
    plan = record.parsed_plan
    channels = list(compared_streams(record.parties))
    plan_agrees = plan.hash() == record.plan_hash
    verified = plan_agrees and all(channel["verdict"] != "DIFFERS" for channel in channels)
    return {
        "status": record.status,
        "plan_hash": record.plan_hash,
        "plan_agrees": plan_agrees,
        "protocol": record.protocol,
        "scheme": plan.scheme if record.is_encrypted else None,
        "key_bits": plan.key_bits if record.is_encrypted else None,
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
        "verified": verified,
        "lines": _lines(record, plan, channels, plan_agrees),
    }


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
        f"noise        {noise_in_words(plan)}",
        f"randomness   {record.randomness}",
        f"leaks        {'accepted' if record.accepted_leaks else 'not accepted'} with --accept-leaks",
    ]
    if record.parties and record.is_encrypted:
        lines += [*as_text(work_table(record)), *(CHANNEL.format(**channel) for channel in channels)]
        lines.append(f"transcript   {transcript_hash(record.parties)}")
    return lines
