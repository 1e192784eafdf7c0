"""An invitation: one line to paste, with a party's name, certificate and address.

It is not secret, and it is not proof either: whoever can change it on its way can put in another certificate. So both
sides read the fingerprints to each other over a separate channel, a telephone say.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Self

import msgspec

from plumbob.errors import IdentityError
from plumbob.net.address import Address
from plumbob.net.identity import Certificate

PREFIX = "plumbob-invite-1."
CHECKSUM_BYTES = 8
LARGEST_TOKEN = 8192  # characters; ours have about 800


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    certificate: bytes
    address: str = ""


@dataclass(frozen=True)
class Invitation:
    """What a peer must know of a party before it can meet it."""

    certificate: Certificate
    address: str | None = None

    @property
    def name(self) -> str:
        return self.certificate.name

    def token(self) -> str:
        """One line, with a checksum against what mail programs and pasting do to it."""
        content = msgspec.json.encode(_Content(self.name, self.certificate.der, self.address or ""))
        packed = base64.urlsafe_b64encode(content + _checksum(content)).decode().rstrip("=")
        return PREFIX + packed

    @classmethod
    def parse(cls, token: str) -> Self:
        """Raises IdentityError unless it is exactly what `token` gives."""
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
