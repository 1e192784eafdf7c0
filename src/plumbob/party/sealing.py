"""Files that only an auditor can open, and the auditor's keys.

A sealed file has a key of its own: HKDF over an X25519 exchange between the auditor's public key and one that is drawn
for this file and then forgotten, so that not even its writer can read it back. Its segments have at most 1 MiB, each
encrypted with its number, whether it is the last, and the run that it belongs to. A run that is started again writes
new files, so no nonce is used twice.

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
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import AEADEncryptionContext, Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from plumbob.crypto.lattice.context import join
from plumbob.errors import ROOM_ADVICE, DataError, IdentityError, JournalError, SettingsError
from plumbob.net.identity import Certificate, Identity, refuse_loose, write_private

SEGMENT = 1 << 20
BLOCK = 16  # Bytes that AES asks for beyond what it writes.
NUMBER = struct.Struct("<QI")  # A segment's number and whether it is the last: its nonce.
SIZE = struct.Struct("<I")
KEY_BYTES = 32
PUBLIC_FILE, SECRET_FILE = "auditor.json", "sealing.key"


class SealedFile:
    """A sealed file being written. Each byte is encrypted as it comes, into a buffer that serves all segments."""

    def __init__(self, file: Path, auditor: "Auditor", run: bytes) -> None:
        secret = X25519PrivateKey.generate()
        self.public = secret.public_key().public_bytes_raw()
        """The public half of the exchange, which the auditor needs besides its own key."""
        self._cipher = AES(_file_key(secret, auditor.sealing, self.public, auditor.sealing, run, file.name))
        self._file, self._run, self._number, self._filled = file, run, 0, 0
        self._segment = self._begin()
        self._buffer = memoryview(bytearray(SEGMENT + BLOCK))
        self._handle = os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb")

    def write(self, *pieces: bytes | memoryview) -> None:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                part, rest = rest[: SEGMENT - self._filled], rest[SEGMENT - self._filled :]
                self._filled += self._segment.update_into(part, self._buffer[self._filled :])
                if self._filled == SEGMENT:
                    self._end()

    def flush(self) -> None:
        """Put everything so far on the disk."""
        if self._filled:
            self._end()
        with self._on_disk():
            self._handle.flush()
            os.fsync(self._handle.fileno())
        if hasattr(os, "posix_fadvise"):
            # Nobody reads it back here, and memory that is used again takes a fifth of the time of fresh memory.
            os.posix_fadvise(self._handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """End the file with a mark that nothing is missing: an empty last segment."""
        if self._filled:
            self._end()
        self._segment = self._begin(is_last=True)
        self._end()
        self.flush()
        self._handle.close()

    def abandon(self) -> None:
        """Without that mark: the session broke off, perhaps because the disk is full."""
        with suppress(JournalError):
            self.flush()
        with suppress(OSError):
            self._handle.close()

    def _begin(self, is_last: bool = False) -> AEADEncryptionContext:
        place = NUMBER.pack(self._number, is_last)
        segment = Cipher(self._cipher, GCM(place)).encryptor()
        segment.authenticate_additional_data(self._run + place)
        return segment

    def _end(self) -> None:
        self._segment.finalize()
        tag, sealed = self._segment.tag, self._buffer[: self._filled]
        # Before it is written: a segment that could not be is not ended again.
        self._number, self._filled = self._number + 1, 0
        self._segment = self._begin()
        with self._on_disk():
            for piece in (SIZE.pack(len(sealed) + len(tag)), sealed, tag):
                self._handle.write(piece)

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(f"{self._file}: evidence could not be written ({error}); {ROOM_ADVICE}") from None


class SealedContents:
    """What was written into a sealed file: a segment is decrypted when somebody reads there, and only the last stays.

    DataError where it is of another run or was changed, or, unless it may, ends early: a process may have died.
    """

    def __init__(self, file: Path, key: bytes, run: bytes, *, may_end_early: bool = False) -> None:
        self._file, self._cipher, self._run, self._may_end_early = file, AESGCM(key), run, may_end_early
        self._places, self._starts = [0], [0]
        """Where each segment begins that was met so far, and the next one: in the file, and in what was written."""
        self._is_over = False
        self._kept = -1, b""

    def read(self, start: int = 0, size: int | None = None) -> bytes:
        """Less than asked for where it ends."""
        return b"".join(self.pieces(start, size))

    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[memoryview]:
        number, end = bisect_right(self._starts, start) - 1, None if size is None else start + size
        while end is None or start < end:
            if (segment := self._segment(number)) is None:
                return
            first = self._starts[number]
            piece = memoryview(segment)[start - first : None if end is None else end - first]
            yield piece
            start, number = start + len(piece), number + 1

    def _segment(self, number: int) -> bytes | None:
        """None behind the end."""
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
        found = _opened(self._cipher, sealed, self._run, number)
        if found is None:
            raise DataError(f"{self._file}: it is of another run or another start, or was changed")
        segment, is_last = found
        if is_last and not is_whole_file:
            raise DataError(f"{self._file}: something was added behind its end")
        if is_next:
            self._places.append(end)
            self._starts.append(self._starts[-1] + len(segment))
            self._is_over = is_last
        self._kept = number, segment
        return segment

    def _sealed(self, place: int) -> tuple[bytes, int, bool]:
        """(a segment as it lies there, nothing where it is torn; where it ends; whether the file does, too)."""
        try:
            with self._file.open("rb") as handle:
                handle.seek(place)
                head = handle.read(SIZE.size)
                size = SIZE.unpack(head)[0] if len(head) == SIZE.size else 0
                sealed = handle.read(size)
                return (sealed if len(sealed) == size else b""), handle.tell(), not handle.read(1)
        except OSError as error:
            raise DataError(f"{self._file}: this part of the evidence is missing ({type(error).__name__})") from error


def _opened(cipher: AESGCM, sealed: bytes, run: bytes, number: int) -> tuple[bytes, bool] | None:
    for is_last in (False, True):
        place = NUMBER.pack(number, is_last)
        try:
            return cipher.decrypt(place, sealed, run + place), is_last
        except InvalidTag:
            continue
    return None


def _file_key(secret: X25519PrivateKey, other: bytes, public: bytes, sealing: bytes, run: bytes, name: str) -> bytes:
    shared = secret.exchange(X25519PublicKey.from_public_bytes(other))
    info = join(b"plumbob evidence", run, name.encode(), public, sealing)
    return HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=info).derive(shared)


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
        X25519PublicKey.from_public_bytes(public)
        return cls(Certificate.parse(bytes.fromhex(certificate)), public)

    def to_json(self) -> bytes:
        return msgspec.json.encode(_StoredAuditor(self.certificate.der.hex(), self.sealing.hex()))


class AuditorKeys:
    """The keys on the auditor's own machine: the identity that signs, and the key that opens."""

    def __init__(self, folder: Path) -> None:
        refuse_loose(folder / SECRET_FILE, "an auditor's keys are made by: plumbob auditor init NAME")
        self.identity = Identity.load(folder)
        self._secret = X25519PrivateKey.from_private_bytes((folder / SECRET_FILE).read_bytes())

    @classmethod
    def create(cls, folder: Path, name: str) -> Self:
        """Make new keys; never over old ones."""
        Identity.create(folder, name)
        write_private(folder / SECRET_FILE, X25519PrivateKey.generate().private_bytes_raw())
        made = cls(folder)
        (folder / PUBLIC_FILE).write_bytes(made.public.to_json())
        return made

    @property
    def public(self) -> Auditor:
        return Auditor(self.identity.certificate, self._secret.public_key().public_bytes_raw())

    def file_key(self, public: bytes, run: bytes, name: str) -> bytes:
        """The key of one sealed file of one run."""
        return _file_key(self._secret, public, public, self.public.sealing, run, name)
