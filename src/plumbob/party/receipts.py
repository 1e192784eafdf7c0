"""A run's record, signed by the party that kept it: who took part, when, under which certificates.

The file lies beside run.json and covers it byte for byte. Whoever has the party's fingerprint can tell an edited record
from the one that was signed; two parties can lay their folders side by side.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec

from plumbob.errors import IdentityError, SettingsError
from plumbob.net.identity import Certificate
from plumbob.party.home import Home
from plumbob.party.signature import verify_message
from plumbob.protocol.account import LAST, Seal
from plumbob.record import RunRecord
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
class Signed:
    """What a receipt says, and whether its signature holds."""

    party: str
    date: str
    fingerprints: Mapping[str, str]
    is_valid: bool
    says: str
    """One sentence about the signature."""
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    """Everybody's certificates, as the signer had pinned them."""
    certificate: Certificate | None = None
    """The signer's certificate, where the signature is valid. It says who signed only if somebody has compared it."""


@dataclass(frozen=True)
class KnownCertificates:
    """The certificates that the reader of a receipt has compared: a party's own and pinned ones, or fingerprints."""

    certificates: Mapping[str, Certificate]
    fingerprints: frozenset[str] = frozenset()

    @classmethod
    def given(cls, home: Home | None, fingerprints: Sequence[str]) -> Self:
        """The certificates in a party's folder, and those of fingerprints as they were read aloud, in groups or not."""
        pinned = {} if home is None else {**home.pinned, home.identity.name: home.identity.certificate}
        return cls(pinned, frozenset(_parsed(one) for one in fingerprints))

    def holds(self, signed: Signed) -> bool:
        """Whether the signature is valid, and by one of these certificates."""
        one = signed.certificate
        return one is not None and (one.fingerprint in self.fingerprints or self._is_pinned(one))

    def contradicts(self, signed: Signed) -> bool:
        """Whether another certificate is pinned for the name under which it was signed."""
        one = signed.certificate
        return one is not None and one.name in self.certificates and not self.holds(signed)

    def _is_pinned(self, one: Certificate) -> bool:
        pinned = self.certificates.get(one.name)
        # A renewed certificate has the key that was compared.
        return pinned is not None and (pinned == one or pinned.renews(one) or one.renews(pinned))


NOBODY = KnownCertificates({})


def _parsed(fingerprint: str) -> str:
    """A fingerprint in groups of four, as certificates print theirs."""
    digits = "".join(fingerprint.split()).replace(":", "").lower()
    if len(digits) != 64 or any(digit not in "0123456789abcdef" for digit in digits):
        raise SettingsError(
            f"--fingerprint: {len(digits)} signs, expected the 64 hexadecimal digits of a certificate's fingerprint; "
            "ask the party for the one that plumbob party invite prints"
        )
    return " ".join(digits[start : start + 4] for start in range(0, 64, 4))


NOT_SIGNED = Signed("", "", {}, False, "not signed: nothing shows who wrote this record, or that it was not edited")


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


def signature_of(run: RunFolder) -> Signed:
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
        return Signed("", "", {}, False, f"NOT VALID: {RECEIPT} was edited or is damaged")
    if own.name != stored.party or any(name != one.name for name, one in certificates.items()):
        return Signed("", "", {}, False, f"NOT VALID: {RECEIPT} names parties that its certificates do not")
    if stored.record != _record_hash(run):
        says = f"NOT VALID: {RECORD} is not the record that {stored.party} signed; it was edited"
        return Signed(stored.party, stored.date, fingerprints, False, says)
    says = f"valid, by {stored.party} on {stored.date}"
    return Signed(stored.party, stored.date, fingerprints, True, says, certificates, own)


@dataclass(frozen=True)
class PeerSignature:
    """Whether a peer signed what this party got from it."""

    peer: str
    stream: str
    """The hash over everything that the peer sent."""
    is_valid: bool


def peer_signatures(record: RunRecord, signed: Signed) -> list[PeerSignature]:
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
        seal = sealed_by(account, peer)
        if certificate is None or seal.streams[own][0].hex() != stream:
            return False
        verify_message(certificate, seal.to_sign(bytes.fromhex(account["session"]), peer, LAST), seal.signature)
    except (KeyError, ValueError, IndexError, IdentityError):
        return False
    return True


def sealed_by(account: Mapping[str, Any], party: str) -> Seal:
    """A party's last signature in a session, as a record or a head has it."""
    peers = [name for name in account["commitments"] if name != party]
    return Seal.from_bytes(bytes.fromhex(account["seals"][party]), peers)


def _record_hash(run: RunFolder) -> str:
    return hashlib.sha256(run.record_file.read_bytes()).hexdigest()
