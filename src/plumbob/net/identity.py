"""A party's identity: one private key that never leaves its folder, and a self-signed certificate that others pin.

There is no authority above the parties. Two organisations trust each other's exact certificate, exchanged by an
invitation, one line to paste, and compared by its fingerprint; P-256, because every TLS 1.3 stack has it. An invitation
is not secret, and it is not proof either: whoever can change it on its way can put in another certificate. So both
sides read the fingerprints to each other over a separate channel, a telephone say.
"""

import base64
import binascii
import datetime
import hashlib
import os
import shlex
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from plumbob.errors import IdentityError
from plumbob.net.address import Address
from plumbob.plan import PARTY_NAME

KEY_FILE = "key.pem"
CERTIFICATE_FILE = "certificate.pem"
VALID_DAYS = 2 * 365
LARGEST_CERTIFICATE = 4096  # bytes of DER; ours have about 450
# The peer's clock may be a little behind ours on the day the certificate is made.
HEAD_START = datetime.timedelta(hours=1)
SIGNATURE_PREFIX = b"plumbob signature 1\n"
# Before an encrypted key: the salt with which its passphrase was stretched. OpenSSL's own stretching is weak.
STRETCHED = "scrypt 65536 8 1 "
SALT_BYTES = 16
SHORTEST_PASSPHRASE = 12  # characters
Passphrase = Callable[[], str]
"""Asks for the passphrase, or reads it from where the operator put it; called only if the key is encrypted."""


@dataclass(frozen=True)
class Certificate:
    """A certificate that passed every check that does not depend on the clock."""

    name: str
    der: bytes
    valid_from: datetime.datetime
    valid_until: datetime.datetime

    @classmethod
    def parse(cls, der: bytes) -> Self:
        """Parse a certificate; IdentityError unless it is a self-signed P-256 certificate of one well-formed name."""
        if len(der) > LARGEST_CERTIFICATE:
            raise IdentityError(f"a certificate of {len(der)} bytes, expected at most {LARGEST_CERTIFICATE}")
        try:
            parsed = x509.load_der_x509_certificate(der)
            if parsed.public_bytes(serialization.Encoding.DER) != der:
                raise ValueError("not in its one form")
            _public_key(parsed)
            parsed.verify_directly_issued_by(parsed)
            return cls(_common_name(parsed), der, parsed.not_valid_before_utc, parsed.not_valid_after_utc)
        except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.InvalidVersion) as error:
            # The library's words may quote the bytes of a stranger.
            raise IdentityError(
                "expected a self-signed P-256 certificate with a party's name, got something else; "
                "ask for a fresh `plumbob party invite`"
            ) from error

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the DER bytes, in groups of four for reading aloud."""
        digest = hashlib.sha256(self.der).hexdigest()
        return " ".join(digest[start : start + 4] for start in range(0, len(digest), 4))

    def mistake_at(self, moment: datetime.datetime) -> str | None:
        """Why the certificate is not valid at this time, or None."""
        if moment < self.valid_from:
            return f"{self.name}'s certificate is valid from {_day(self.valid_from)}: is a clock wrong?"
        if moment > self.valid_until:
            return (
                f"{self.name}'s certificate ended on {_day(self.valid_until)}: {self.name} must type plumbob party "
                "renew, and invite again"
            )
        return None

    def renews(self, other: "Certificate") -> bool:
        """Whether this one was made by the owner of the other one's key, who signed it, to be valid for longer."""
        ours, theirs = (_public_key(x509.load_der_x509_certificate(one.der)) for one in (self, other))
        return ours == theirs and self.name == other.name and self.valid_until > other.valid_until

    def verify(self, purpose: str, data: bytes, signature: bytes) -> None:
        """Raise IdentityError unless the certificate's key signed these bytes for this purpose."""
        try:
            key = _public_key(x509.load_der_x509_certificate(self.der))
            key.verify(signature, _to_sign(purpose, data), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise IdentityError(
                f"the signature is not {self.name}'s over these bytes; ask {self.name} to sign"
            ) from None


def _no_passphrase() -> str:
    raise IdentityError("the key is encrypted, and nobody can be asked for its passphrase")


class Identity:
    """This party's certificate and key. Prints as its name; the key is used here and by TLS, and shown nowhere."""

    def __init__(
        self, folder: Path, certificate: Certificate, key: ec.EllipticCurvePrivateKey, password: str = ""
    ) -> None:
        self.folder = folder
        self.certificate = certificate
        self._key = key
        self.password = password
        """The password of the key's file; empty where it is not encrypted."""

    def __repr__(self) -> str:
        return f"Identity({self.name})"

    @property
    def name(self) -> str:
        return self.certificate.name

    @property
    def key_file(self) -> Path:
        """The key's file, from which TLS reads the key."""
        return self.folder / KEY_FILE

    @property
    def certificate_file(self) -> Path:
        return self.folder / CERTIFICATE_FILE

    @classmethod
    def create(
        cls,
        folder: Path,
        name: str,
        *,
        days: int = VALID_DAYS,
        valid_from: datetime.datetime | None = None,
        passphrase: str = "",
    ) -> Self:
        """Make a new key and certificate in a folder that only the owner can enter; never over an old one."""
        if not PARTY_NAME.fullmatch(name):
            raise IdentityError(
                f'"{name[:40]}" is no party name: expected up to 32 letters, digits, "-" and "_", '
                "starting with a letter or digit"
            )
        _refuse_days(days)
        key = ec.generate_private_key(ec.SECP256R1())
        content = _pem(key, passphrase)  # Before the folder: a passphrase that is refused leaves nothing behind.
        make_private_folder(folder)
        for file in (folder / KEY_FILE, folder / CERTIFICATE_FILE):
            if file.exists():
                raise IdentityError(f"{file}: there is an identity already; choose another folder")
        certificate = _self_signed(key, name, valid_from or now() - HEAD_START, days)
        write_private(folder / CERTIFICATE_FILE, certificate.public_bytes(serialization.Encoding.PEM))
        write_private(folder / KEY_FILE, content)
        return cls.load(folder, lambda: passphrase)

    def encrypt(self, passphrase: str) -> None:
        """Write the key's file again under another passphrase; an empty one leaves it unencrypted."""
        write_over(self.key_file, _pem(self._key, passphrase))

    def renewed(self, days: int = VALID_DAYS) -> Self:
        """The same name and key with a certificate that is valid from now on, in place of the old one."""
        _refuse_days(days)
        fresh = _self_signed(self._key, self.name, now() - HEAD_START, days)
        if fresh.not_valid_after_utc <= self.certificate.valid_until:
            raise IdentityError(f"the certificate holds until {_day(self.certificate.valid_until)}; give it more days")
        write_over(self.certificate_file, fresh.public_bytes(serialization.Encoding.PEM))
        return type(self)(self.folder, read_certificate(self.certificate_file), self._key, self.password)

    @classmethod
    def load(cls, folder: Path, passphrase: Passphrase = _no_passphrase) -> Self:
        """Load an identity; IdentityError for files that are missing, too open, or do not belong together."""
        refuse_loose(folder)
        key, password = _read_key(folder / KEY_FILE, passphrase)
        certificate = read_certificate(folder / CERTIFICATE_FILE)
        if _public_key(x509.load_der_x509_certificate(certificate.der)) != key.public_key():
            raise IdentityError(f"{folder}: {KEY_FILE} and {CERTIFICATE_FILE} do not belong together; restore both")
        return cls(folder, certificate, key, password)

    def sign(self, purpose: str, data: bytes) -> bytes:
        """A signature for this purpose and no other; the same each time, so that a restart repeats it."""
        return self._key.sign(_to_sign(purpose, data), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))


def read_certificate(file: Path) -> Certificate:
    """One certificate from a PEM file."""
    try:
        parsed = x509.load_pem_x509_certificate(file.read_bytes())
    except (OSError, ValueError) as error:
        raise IdentityError(f"{file}: the certificate cannot be read ({type(error).__name__})") from error
    return Certificate.parse(parsed.public_bytes(serialization.Encoding.DER))


def pem_of(certificate: Certificate) -> bytes:
    """The certificate in PEM form."""
    return x509.load_der_x509_certificate(certificate.der).public_bytes(serialization.Encoding.PEM)


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, whatever the umask; an existing one must be so already."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        refuse_loose(folder)
    else:
        folder.chmod(0o700)


def write_private(file: Path, content: bytes) -> None:
    """Write a new file that only its owner can read from its first moment on."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        os.fchmod(descriptor, 0o600)
        handle.write(content)
        handle.flush()
        os.fsync(descriptor)


def write_over(file: Path, content: bytes) -> None:
    """Replace a file in one move: whatever happens, the old or the new one is there; durable when it returns."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    write_private(fresh, content)
    os.replace(fresh, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def refuse_loose(path: Path, advice: str = "to set a party up: plumbob party init NAME") -> None:
    """Raise IdentityError where anybody but the owner may look, with what to type; `advice` where it is missing."""
    try:
        status = path.stat()
    except OSError as error:
        raise IdentityError(f"{path}: cannot be opened ({error.strerror}); {advice}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        mode = "700" if stat.S_ISDIR(status.st_mode) else "600"
        raise IdentityError(f"{path}: accessible to other users; run: chmod {mode} {shlex.quote(str(path))}")


def _read_key(file: Path, passphrase: Passphrase) -> tuple[ec.EllipticCurvePrivateKey, str]:
    """The key, and what opens its file."""
    refuse_loose(file)
    password = ""
    try:
        text = file.read_text(encoding="ascii")
        if text.startswith(STRETCHED):
            password = _stretched(passphrase(), text.partition("\n")[0].removeprefix(STRETCHED))
        key = serialization.load_pem_private_key(text.encode(), password=password.encode() or None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        if password:
            raise IdentityError(f"{file}: the passphrase does not open the key; try again") from None
        # Without its cause: that could quote the file.
        raise IdentityError(f"{file}: the key cannot be read ({type(error).__name__}); restore it") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise IdentityError(f"{file}: expected a P-256 key, got another kind; restore it")
    return key, password


@cache
def _stretched(passphrase: str, salt: str) -> str:
    """The passphrase stretched slowly, against guessing; once per process for whoever knows it."""
    cost, block, lanes = map(int, STRETCHED.split()[1:])
    made = hashlib.scrypt(
        passphrase.encode(), salt=bytes.fromhex(salt), n=cost, r=block, p=lanes, maxmem=256 * cost * block, dklen=32
    )
    return made.hex()


def _refuse_days(days: int) -> None:
    if not 1 <= days <= 36500:
        raise IdentityError(f"expected a certificate of 1 to 36500 days, got {days}")


def _self_signed(key: ec.EllipticCurvePrivateKey, name: str, start: datetime.datetime, days: int) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=days))
        # No authority: it vouches for nobody else.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_digital_signature_only(), critical=True)
        .add_extension(uses, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _digital_signature_only() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey, passphrase: str = "") -> bytes:
    """The key's file; text before a PEM block does not disturb its readers."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    if not passphrase:
        return key.private_bytes(*form, serialization.NoEncryption())
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise IdentityError(f"expected a passphrase of at least {SHORTEST_PASSPHRASE} characters; take a longer one")
    salt = os.urandom(SALT_BYTES).hex()
    password = _stretched(passphrase, salt).encode()
    return f"{STRETCHED}{salt}\n".encode() + key.private_bytes(*form, serialization.BestAvailableEncryption(password))


def _public_key(certificate: x509.Certificate) -> ec.EllipticCurvePublicKey:
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("not a P-256 key")
    return key


def _common_name(certificate: x509.Certificate) -> str:
    subject = list(certificate.subject)
    if len(subject) != 1 or subject[0].oid != NameOID.COMMON_NAME:
        raise ValueError("not one name")
    name = subject[0].value
    if not isinstance(name, str) or not PARTY_NAME.fullmatch(name):
        raise ValueError("not a party's name")
    return name


def _to_sign(purpose: str, data: bytes) -> bytes:
    # The purpose is one of our own words; with a line break it could run into the data.
    if not purpose.isprintable() or not purpose:
        raise IdentityError("expected a purpose of one line to sign for")
    return SIGNATURE_PREFIX + purpose.encode() + b"\n" + data


def now() -> datetime.datetime:
    """The current time, which certificates are compared with."""
    return datetime.datetime.now(datetime.UTC)


def _day(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


PREFIX = "plumbob-invite-1."
CHECKSUM_BYTES = 8
LARGEST_TOKEN = 8192  # characters; ours have about 800


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    certificate: bytes
    address: str = ""


@dataclass(frozen=True)
class Invitation:
    """What a peer must know about a party before it can meet it."""

    certificate: Certificate
    address: str | None = None

    @property
    def name(self) -> str:
        return self.certificate.name

    def token(self) -> str:
        """The invitation as one line, with a checksum against damage by mail programs and pasting."""
        content = msgspec.json.encode(_Content(self.name, self.certificate.der, self.address or ""))
        packed = base64.urlsafe_b64encode(content + _checksum(content)).decode().rstrip("=")
        return PREFIX + packed

    @classmethod
    def parse(cls, token: str) -> Self:
        """Parse an invitation; IdentityError unless it is exactly what `token` gives."""
        token = token.strip()
        if not token.startswith(PREFIX):
            raise IdentityError(f"an invitation begins with {PREFIX}; paste the whole line of `plumbob party invite`")
        if len(token) > LARGEST_TOKEN:
            raise IdentityError(f"an invitation of {len(token)} characters, expected at most {LARGEST_TOKEN}")
        content = _content(_unpack(token.removeprefix(PREFIX)))
        certificate = Certificate.parse(content.certificate)
        if certificate.name != content.name:
            raise IdentityError("the invitation and its certificate name different parties; ask for a new one")
        if content.address:
            Address.parse(content.address)
        found = cls(certificate, content.address or None)
        if found.token() != token:
            raise IdentityError("the invitation is not written as `plumbob party invite` does; ask for a new one")
        return found


def _unpack(text: str) -> bytes:
    """The content behind the checksum."""
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise IdentityError("the invitation was changed on its way: paste it again, as one line") from error
    content, checksum = packed[:-CHECKSUM_BYTES], packed[-CHECKSUM_BYTES:]
    if _checksum(content) != checksum:
        raise IdentityError("the invitation was cut or changed on its way: paste it again, as one line")
    return content


def _content(packed: bytes) -> _Content:
    try:
        return msgspec.json.decode(packed, type=_Content, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise IdentityError("the invitation has other contents than this version knows; ask for a new one") from error


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(PREFIX.encode() + content).digest()[:CHECKSUM_BYTES]
