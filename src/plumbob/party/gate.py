"""The gate of `release = "replayed"`: whether this party computes scores with the label party.

Until the first score nothing is opened, so whatever the label party did in training, it has learnt nothing yet. The
gate opens once the label party's auditor, whom both signed in the plan, has replayed the label party's training and
found it clean. docs/accountability.md has the argument. The gate asks what this party itself holds of that training:
nothing that the label party says later counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from plumbob.errors import DataError, IdentityError, ScoresWaitError
from plumbob.net.identity import Certificate
from plumbob.party.home import Home
from plumbob.party.record_signature import signature_of
from plumbob.party.signature import verify_message
from plumbob.party.statements import FORMAT, SignedStatement, last_seal, read_statement, signer_of
from plumbob.plan import Plan
from plumbob.protocol.account import LAST
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder

WORDS = {
    "format": "it has another format than this version's",
    "version": "the replay was made by another version than the training",
    "party": "it is about another party",
    "purpose": "it is not about the training",
    "plan": "it is about another plan",
    "session": "it is about another run",
    "commitments": "it names other commitments than those that were made in the run",
    "sent": "it names other messages than those that the label party signed to have sent",
    "received": "it names other messages than those that the label party signed to have received",
    "fingerprints": "it names other certificates than those that are pinned here",
    "settled": "the evidence ends before the last signatures",
    "honest": "the replay did not find that every message follows",
}
"""What it means that a field of a statement differs from what this party expects."""


@dataclass(frozen=True)
class Expected:
    """What a clean statement about the label party's training says, as far as this party knows itself."""

    auditor: str
    """The fingerprint of the auditor that the plan names for the label party."""
    seal: str
    """The digest of the label party's last signature."""
    facts: Mapping[str, Any]
    """The statement's fields by name."""

    @classmethod
    def of(cls, plan: Plan, record: RunRecord, certificate: Certificate, fingerprints: Mapping[str, str]) -> Self:
        """Read a training's record; DataError where it does not end with the label party's last signature.

        The certificate is the label party's, as it is pinned here; the fingerprints are those of all parties.
        """
        label, account = plan.label_party.name, record.account
        seal = last_seal(account, label)
        try:
            session = bytes.fromhex(account["session"])
            verify_message(certificate, seal.to_sign(session, label, LAST), seal.signature)
        except (KeyError, ValueError, IdentityError):
            raise DataError(f"the record of this run has no last signature of {label} that holds") from None
        facts = {
            "format": FORMAT,
            "version": record.plumbob,
            "party": label,
            "purpose": "train",
            "plan": plan.hash(),
            "session": account["session"],
            "commitments": account["commitments"],
            "sent": {peer: sent.hex() for peer, (sent, _) in seal.streams.items()},
            "received": {peer: received.hex() for peer, (_, received) in seal.streams.items()},
            "fingerprints": dict(fingerprints),
            "settled": True,
            "honest": True,
        }
        return cls(dict(plan.auditors)[label], seal.digest, facts)


def reasons_to_wait(stored: SignedStatement, expected: Expected) -> Iterator[str]:
    """What keeps the gate shut in spite of this statement; nothing where it opens."""
    auditor = signer_of(stored)
    if auditor is None:
        yield "it is not signed, or was changed after the auditor signed it"
    elif auditor.fingerprint != expected.auditor:
        yield "it is not signed by the auditor that the plan names"
    for name, value in expected.facts.items():
        if stored.statement.get(name) != value:
            yield WORDS[name]
    if expected.seal not in stored.statement.get("seals", []):
        yield "it does not reach the label party's last signature"


def refuse_before_replay(home: Home, plan: Plan, run: RunFolder) -> None:
    """Raise ScoresWaitError while the plan keeps scores shut; a plan with release = "always" never does."""
    if not plan.is_replayed:
        return
    label, file = plan.label_party.name, statement_file(run, plan.label_party.name)
    if not file.exists():
        raise ScoresWaitError(
            f"scores wait for the statement of {label}'s auditor that {label}'s training was replayed and is clean; "
            f"once it is here: plumbob party receipt {run.path} --statement FILE"
        )
    expected = Expected.of(plan, run.record(), home.pinned[label], _fingerprints(home, plan, run))
    if reasons := list(_reasons_in(file, expected)):
        raise ScoresWaitError(
            f"scores wait: the statement that was kept of {label}'s auditor does not open them: {'; '.join(reasons)}. "
            f"Ask {label}'s auditor for a new replay, then: plumbob party receipt {run.path} --statement FILE"
        )


def _reasons_in(file: Path, expected: Expected) -> Iterator[str]:
    try:
        stored = read_statement(file)
    except DataError:
        # A service goes on waiting: the next statement that is kept replaces this one.
        yield "its file is damaged, or no statement of this version"
        return
    yield from reasons_to_wait(stored, expected)


def statement_file(run: RunFolder, party: str) -> Path:
    """Where the statement about a party's training is kept, beside a run of this party's own."""
    return run.path / f"statement-{party}.json"


def _fingerprints(home: Home, plan: Plan, run: RunFolder) -> dict[str, str]:
    """The fingerprints of all parties: as this party signed them beside the record, or as they are pinned now.

    A certificate may have been renewed since, for the same key.
    """
    own, names = home.identity.certificate, [party.name for party in plan.parties]
    signed = signature_of(run)
    is_own = signed.certificate is not None and (signed.certificate == own or own.renews(signed.certificate))
    if signed.is_valid and is_own:
        return {name: signed.fingerprints[name] for name in names if name in signed.fingerprints}
    return {name: (own if name == own.name else home.pinned[name]).fingerprint for name in names}
