"""Files that only an auditor can open, and the auditor's keys.

A sealed file is a row of pieces, each sealed by HPKE (RFC 9180) for the auditor's public key, so that not even its
writer can read it back. The suite is MLKEM768-X25519, HKDF-SHA256 and AES-256-GCM; its info says which run and file a
piece belongs to, which piece it is, and whether it is the last. A long message is a piece of its own, or several of 64
MiB; short ones share a piece.

An auditor is a certificate, by which it signs, and a sealing key. Plans name both by one fingerprint.
"""

import hashlib
import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

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

from plumbob.crypto.lattice.context import join
from plumbob.errors import ROOM_ADVICE, DataError, IdentityError, JournalError, SettingsError
from plumbob.net.identity import Certificate, Identity, refuse_loose, write_private

SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
PIECE, ROOM = 64 << 20, 1 << 20  # The most bytes of a piece, and of short messages that share one.
NUMBER = struct.Struct("<QI")  # A piece's number and whether it is the last.
SIZE = struct.Struct("<I")
LATTICE_BYTES, CURVE_BYTES = 1184, 32  # Of the two halves of a public key.
SEED_BYTES = 64  # Of the lattice half of a secret key; the other half follows.
PUBLIC_FILE, SECRET_FILE = "auditor.json", "sealing.key"


def _info(run: bytes, file: Path, number: int, is_last: bool) -> bytes:
    """What a piece belongs to: opened as any other, it is refused."""
    return join(b"plumbob evidence", run, file.name.encode(), NUMBER.pack(number, is_last))


class SealedFile:
    """A sealed file being written; a long message is a piece of its own, or several, and short ones share one."""

    def __init__(self, file: Path, auditor: "Auditor", run: bytes) -> None:
        self._key = public_key(auditor.sealing)
        self._file, self._run, self._number, self._waiting = file, run, 0, bytearray()
        self._handle = os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb")

    def write(self, *pieces: bytes | memoryview) -> None:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                room = PIECE - len(self._waiting)
                self._waiting += rest[:room]
                rest = rest[room:]
                if len(self._waiting) == PIECE:
                    self._seal()
        if len(self._waiting) >= ROOM:
            # A long message has a piece of its own: whoever reads it needs memory for no other one.
            self._seal()

    def flush(self) -> None:
        """Put everything so far on the disk."""
        if self._waiting:
            self._seal()
        with self._on_disk():
            self._handle.flush()
            os.fsync(self._handle.fileno())
        if hasattr(os, "posix_fadvise"):
            # Nobody reads it back here, and memory that is used again takes a fifth of the time of fresh memory.
            os.posix_fadvise(self._handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """End the file with a mark that nothing is missing: an empty last piece."""
        if self._waiting:
            self._seal()
        self._seal(is_last=True)
        self.flush()
        self._handle.close()

    def abandon(self) -> None:
        """Without that mark: the session broke off, perhaps because the disk is full."""
        with suppress(JournalError):
            self.flush()
        with suppress(OSError):
            self._handle.close()

    def _seal(self, is_last: bool = False) -> None:
        sealed = SUITE.encrypt(self._waiting, self._key, _info(self._run, self._file, self._number, is_last))
        # Before it is written: a piece that could not be is not sealed again.
        self._number, self._waiting = self._number + 1, bytearray()
        with self._on_disk():
            self._handle.write(SIZE.pack(len(sealed)))
            self._handle.write(sealed)

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(f"{self._file}: evidence could not be written ({error}); {ROOM_ADVICE}") from None


class SealedContents:
    """What was written into a sealed file: a piece is opened when somebody reads there, and only the last one stays.

    DataError where it is of another run or was changed, or, unless it may, ends early: a process may have died.
    """

    def __init__(self, file: Path, auditor: "AuditorKeys", run: bytes, *, may_end_early: bool = False) -> None:
        self._file, self._auditor, self._run, self._may_end_early = file, auditor, run, may_end_early
        self._places, self._starts = [0], [0]
        """Where each piece begins that was met so far, and the next one: in the file, and in what was written."""
        self._is_over = False
        self._kept = -1, b""

    def read(self, start: int = 0, size: int | None = None) -> bytes:
        """Read from one place on; fewer bytes than asked for where the file ends."""
        return b"".join(self.pieces(start, size))

    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[memoryview]:
        """The same without putting it together."""
        number, end = bisect_right(self._starts, start) - 1, None if size is None else start + size
        while end is None or start < end:
            if (opened := self._piece(number)) is None:
                return
            first = self._starts[number]
            part = memoryview(opened)[start - first : None if end is None else end - first]
            yield part
            start, number = start + len(part), number + 1

    def _piece(self, number: int) -> bytes | None:
        """A piece, opened; None behind the end."""
        if number == self._kept[0]:
            return self._kept[1]
        is_next = number == len(self._places) - 1
        if self._is_over and is_next:
            return None
        sealed, end, is_whole_file = self._sealed(self._places[number])
        if not sealed:
            if not self._may_end_early:
                raise DataError(f"{self._file}: its end is missing")
            self._is_over = True
            return None
        opened, is_last = self._opened(sealed, number)
        if is_last and not is_whole_file:
            raise DataError(f"{self._file}: something was added behind its end")
        if is_next:
            self._places.append(end)
            self._starts.append(self._starts[-1] + len(opened))
            self._is_over = is_last
        self._kept = number, opened
        return opened

    def _opened(self, sealed: bytes, number: int) -> tuple[bytes, bool]:
        """(a piece's contents, whether it is the last)."""
        for is_last in (False, True):
            with suppress(InvalidTag, ValueError):
                return self._auditor.open(sealed, _info(self._run, self._file, number, is_last)), is_last
        raise DataError(f"{self._file}: it is of another run or another start, or was changed")

    def _sealed(self, place: int) -> tuple[bytes, int, bool]:
        """(a piece as it lies there, nothing where it is torn; where it ends; whether the file does, too)."""
        try:
            with self._file.open("rb") as handle:
                handle.seek(place)
                head = handle.read(SIZE.size)
                size = SIZE.unpack(head)[0] if len(head) == SIZE.size else 0
                sealed = handle.read(size)
                return (sealed if len(sealed) == size else b""), handle.tell(), not handle.read(1)
        except OSError as error:
            raise DataError(f"{self._file}: this part of the evidence is missing ({type(error).__name__})") from error


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
        """Open a piece that was sealed for this auditor and this place; InvalidTag or ValueError where it was not."""
        return SUITE.decrypt(sealed, self._secret, info)
