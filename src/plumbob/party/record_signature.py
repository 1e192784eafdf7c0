"""A run's record, signed by the party that kept it: who took part, when, under which certificates.

The file lies beside run.json and covers it byte for byte. Whoever has the party's fingerprint can tell an edited record
from the one that was signed; two parties can lay their folders side by side.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from plumbob.errors import IdentityError
from plumbob.net.identity import Certificate
from plumbob.party.home import Home
from plumbob.run_folder import RECEIPT, RECORD, RunFolder

PURPOSE = "run record"
FORMAT = 1


class _StoredReceipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of the file: everything but the signature is signed."""

    format: int
    party: str
    date: str
    record: str
    """The SHA-256 of run.json."""
    certificates: dict[str, str]
    """The certificates of this party and of everybody it had pinned for the plan, DER in hexadecimal."""
    signature: str = ""

    def to_sign(self) -> bytes:
        fields = msgspec.to_builtins(self)
        return json.dumps({name: fields[name] for name in fields if name != "signature"}, sort_keys=True).encode()


@dataclass(frozen=True)
class RecordSignature:
    """Whether a record is signed, and what its signature says."""

    says: str
    """One sentence about the signature."""
    party: str = ""
    date: str = ""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    """Everybody's certificates, as the signer had pinned them; none where the signature is not valid."""
    certificate: Certificate | None = None
    """The signer's certificate, where the signature is valid. It says who signed only if somebody has compared it."""

    @property
    def is_valid(self) -> bool:
        return self.certificate is not None


NOT_SIGNED = RecordSignature("not signed: nothing shows who wrote this record, or that it was not edited")


def sign_record(home: Home, run: RunFolder, parties: list[str]) -> Path:
    """Sign run.json as it lies in this folder, for these parties of the plan."""
    own = home.identity
    certificates = {own.name: own.certificate.der.hex()}
    certificates |= {name: home.pinned[name].der.hex() for name in parties if name != own.name}
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    unsigned = _StoredReceipt(FORMAT, own.name, date, _record_hash(run), certificates)
    signed = msgspec.structs.replace(unsigned, signature=own.sign(PURPOSE, unsigned.to_sign()).hex())
    file = run.receipt_file
    draft = file.with_suffix(".draft")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(signed), indent=1))
    draft.replace(file)
    return file


def signature_of(run: RunFolder) -> RecordSignature:
    """The signature beside a record; a file that cannot be read is no signature."""
    file = run.receipt_file
    if not file.exists():
        return NOT_SIGNED
    try:
        stored = msgspec.json.decode(file.read_bytes(), type=_StoredReceipt)
        certificates = {name: Certificate.parse(bytes.fromhex(der)) for name, der in stored.certificates.items()}
        own = certificates[stored.party]
        fingerprints = {name: certificate.fingerprint for name, certificate in certificates.items()}
        own.verify(PURPOSE, stored.to_sign(), bytes.fromhex(stored.signature))
    except (OSError, ValueError, KeyError, IdentityError):
        return RecordSignature(f"NOT VALID: {RECEIPT} was edited or is damaged")
    if own.name != stored.party or any(name != certificate.name for name, certificate in certificates.items()):
        return RecordSignature(f"NOT VALID: {RECEIPT} names parties that its certificates do not")
    if stored.record != _record_hash(run):
        says = f"NOT VALID: {RECORD} is not the record that {stored.party} signed; it was edited"
        return RecordSignature(says, stored.party, stored.date, fingerprints)
    says = f"valid, by {stored.party} on {stored.date}"
    return RecordSignature(says, stored.party, stored.date, fingerprints, certificates, own)


def _record_hash(run: RunFolder) -> str:
    return hashlib.sha256(run.record_file.read_bytes()).hexdigest()
