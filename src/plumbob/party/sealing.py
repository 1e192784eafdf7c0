"""Files that only an auditor can open, and the auditor's keys.

A sealed file is a row of blobs, each sealed by HPKE (RFC 9180) for the auditor's public key, so that not even its
writer can read it back. The suite is MLKEM768-X25519, HKDF-SHA256 and AES-256-GCM; its info says which run and file a
blob belongs to, its number, and whether it ends a message. A message is one blob, or several of at most 64 MiB.

An auditor is a certificate, by which it signs, and a sealing key. Plans name both by one fingerprint.
"""

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)

from plumbob.crypto.streams import join
from plumbob.errors import ROOM_ADVICE, DataError, IdentityError, JournalError, SettingsError
from plumbob.net import Data
from plumbob.net.identity import Certificate, Identity, refuse_loose, write_private

SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
LARGEST = 64 << 20  # Bytes that are sealed at once.
HEAD = struct.Struct("<?I")  # Before each blob: whether it ends a message, and its size.
NUMBER = struct.Struct("<Q?")  # A blob's number, and whether it ends a message.
LATTICE_BYTES, CURVE_BYTES = 1184, 32  # Of the two halves of a public key.
SEED_BYTES = 64  # Of the lattice half of a secret key; the other half follows.
PUBLIC_FILE, SECRET_FILE = "auditor.json", "sealing.key"


def _info(run: bytes, file: Path, number: int, is_last: bool) -> bytes:
    """What a blob belongs to: opened as any other, it is refused."""
    return join(b"plumbob evidence", run, file.name.encode(), NUMBER.pack(number, is_last))


class SealedFile:
    """A sealed file being written."""

    def __init__(self, file: Path, auditor: "Auditor", run: bytes) -> None:
        self._key = public_key(auditor.sealing)
        self._file, self._run, self._number = file, run, 0
        self._handle = os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb")

    def write(self, *pieces: Data) -> None:
        """Seal one message, whose pieces need not be joined."""
        part = bytearray()
        for piece in pieces:
            rest = memoryview(piece)
            while len(part) + len(rest) > LARGEST:
                room = LARGEST - len(part)
                self._seal(part + rest[:room], is_last=False)
                part, rest = bytearray(), rest[room:]
            part += rest
        self._seal(part, is_last=True)

    def flush(self) -> None:
        """Put everything so far on the disk."""
        with self._on_disk():
            self._handle.flush()
            os.fsync(self._handle.fileno())
        if hasattr(os, "posix_fadvise"):
            # Nobody reads it back here, and memory that is used again takes a fifth of the time of fresh memory.
            os.posix_fadvise(self._handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Put everything on the disk, and close the file."""
        self.flush()
        self._handle.close()

    def abandon(self) -> None:
        """Close the file as it is: the session broke off, perhaps because the disk is full."""
        with suppress(OSError):
            self._handle.close()

    def _seal(self, part: bytearray, *, is_last: bool) -> None:
        sealed = SUITE.encrypt(part, self._key, _info(self._run, self._file, self._number, is_last))
        # Before it is written: a blob that could not be is not sealed again.
        self._number += 1
        with self._on_disk():
            self._handle.write(HEAD.pack(is_last, len(sealed)))
            self._handle.write(sealed)

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(f"{self._file}: evidence could not be written ({error}); {ROOM_ADVICE}") from None


class Place(NamedTuple):
    """Where a message begins in a sealed file: at which byte, and with which blob."""

    start: int = 0
    number: int = 0


@dataclass(frozen=True)
class SealedMessages:
    """The messages in a sealed file, read one at a time: together they need not fit memory.

    What is torn at the end of the file is left out, because a process may have died there: evidence shows what was
    signed, and a whole message that is missing was signed by somebody. DataError where the file is of another run or
    was changed.
    """

    file: Path
    auditor: "AuditorKeys"
    run: bytes

    def __iter__(self) -> Iterator[tuple[Place, bytes]]:
        """Every message, with the place from which `read` gives it again."""
        place = Place()
        while (found := self._message(place)) is not None:
            message, after = found
            yield place, message
            place = after

    def read(self, place: Place) -> bytes:
        """One message again."""
        if (found := self._message(place)) is None:
            raise DataError(f"{self.file}: a part of it is missing")
        return found[0]

    def read_only_one(self) -> bytes:
        """The contents of a file that is one whole message and nothing else."""
        messages = [message for _, message in self]
        if len(messages) != 1:
            raise DataError(f"{self.file}: expected one sealed message, and there are {len(messages)}")
        return messages[0]

    def _message(self, place: Place) -> tuple[bytes, Place] | None:
        """(the message that begins there, where the next one does); None at the end, and where it is torn."""
        parts, number = [], place.number
        try:
            with self.file.open("rb") as handle:
                handle.seek(place.start)
                while len(head := handle.read(HEAD.size)) == HEAD.size:
                    is_last, size = HEAD.unpack(head)
                    sealed = handle.read(size)
                    if len(sealed) < size:
                        break
                    parts.append(self._open_blob(sealed, number, is_last))
                    number += 1
                    if is_last:
                        return b"".join(parts), Place(handle.tell(), number)
        except OSError as error:
            raise DataError(f"{self.file}: this part of the evidence is missing ({type(error).__name__})") from error
        return None

    def _open_blob(self, sealed: bytes, number: int, is_last: bool) -> bytes:
        try:
            return self.auditor.open(sealed, _info(self.run, self.file, number, is_last))
        except (InvalidTag, ValueError):
            raise DataError(f"{self.file}: it is of another run or another start, or was changed") from None


def public_key(sealing: bytes) -> MLKEM768X25519PublicKey:
    """The key that evidence is sealed for, from its bytes; ValueError where they are none."""
    lattice, curve = sealing[:LATTICE_BYTES], sealing[LATTICE_BYTES:]
    return MLKEM768X25519PublicKey(
        MLKEM768PublicKey.from_public_bytes(lattice), X25519PublicKey.from_public_bytes(curve)
    )


class _StoredAuditor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    certificate: str
    sealing: str


@dataclass(frozen=True)
class Auditor:
    """An auditor as the parties know it: by its certificate and the key that evidence is sealed for."""

    certificate: Certificate
    sealing: bytes

    @property
    def fingerprint(self) -> str:
        """The fingerprint that a plan names: over the certificate and the sealing key."""
        return hashlib.sha256(join(b"auditor", self.certificate.der, self.sealing)).hexdigest()

    @classmethod
    def load(cls, file: Path) -> Self:
        """Load an auditor from the file that `auditor init` wrote for the party."""
        try:
            stored = msgspec.json.decode(file.read_bytes(), type=_StoredAuditor)
            return cls.parse(stored.certificate, stored.sealing)
        except (OSError, ValueError, IdentityError) as error:
            raise SettingsError(
                f"{file}: expected the auditor's public key, as plumbob auditor init writes it; ask the auditor"
            ) from error

    @classmethod
    def parse(cls, certificate: str, sealing: str) -> Self:
        """Read both keys from hexadecimal digits."""
        public = bytes.fromhex(sealing)
        public_key(public)
        return cls(Certificate.parse(bytes.fromhex(certificate)), public)

    def to_json(self) -> bytes:
        return msgspec.json.encode(_StoredAuditor(self.certificate.der.hex(), self.sealing.hex()))


class AuditorKeys:
    """The keys on the auditor's own machine: the identity that signs, and the key that opens."""

    def __init__(self, folder: Path) -> None:
        refuse_loose(folder / SECRET_FILE, "an auditor's keys are made by: plumbob auditor init NAME")
        self.identity = Identity.load(folder)
        secret = (folder / SECRET_FILE).read_bytes()
        self._lattice = MLKEM768PrivateKey.from_seed_bytes(secret[:SEED_BYTES])
        self._curve = X25519PrivateKey.from_private_bytes(secret[SEED_BYTES:])
        self._secret = MLKEM768X25519PrivateKey(self._lattice, self._curve)

    @classmethod
    def create(cls, folder: Path, name: str) -> Self:
        """Make new keys; never over old ones."""
        Identity.create(folder, name)
        lattice, curve = MLKEM768PrivateKey.generate(), X25519PrivateKey.generate()
        write_private(folder / SECRET_FILE, lattice.private_bytes_raw() + curve.private_bytes_raw())
        made = cls(folder)
        (folder / PUBLIC_FILE).write_bytes(made.public.to_json())
        return made

    @property
    def public(self) -> Auditor:
        halves = (self._lattice.public_key(), self._curve.public_key())
        return Auditor(self.identity.certificate, b"".join(half.public_bytes_raw() for half in halves))

    def open(self, sealed: bytes, info: bytes) -> bytes:
        """Open a blob that was sealed for this auditor and this place; InvalidTag or ValueError where it was not."""
        return SUITE.decrypt(sealed, self._secret, info)
