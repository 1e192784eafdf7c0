"""Addresses on a network, as people write them: HOST:PORT, and the proxy in front of the rest."""

import re
import urllib.parse
from dataclasses import dataclass, field
from typing import Self

from plumbob.errors import TransportError

LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
HOST = re.compile(rf"(?=.{{1,253}}\Z){LABEL}(?:\.{LABEL})*")
SIX = re.compile(r"[0-9A-Fa-f:.]{2,45}")


@dataclass(frozen=True)
class Address:
    """A host and a port; prints as people write it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, *, any_port: bool = False) -> Self:
        """Parse `host:port`, `1.2.3.4:port` or `[::1]:port`; port 0, where allowed, is one that the system chooses."""
        host, colon, port = text.rpartition(":")
        six = host.startswith("[") and host.endswith("]")
        host = host[1:-1] if six else host
        right_host = SIX.fullmatch(host) if six else HOST.fullmatch(host)
        lowest = 0 if any_port else 1
        if not colon or not right_host or not re.fullmatch(r"[0-9]{1,5}", port) or not lowest <= int(port) <= 65535:
            raise TransportError(f'"{text[:80]}": expected HOST:PORT, for example bank.example:7700 or [::1]:7700')
        return cls(host, int(port))


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy that can CONNECT; its credentials are not printed."""

    address: Address
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse `http://[user:password@]host:port`; errors never repeat the text, which may hold a password."""
        try:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme != "http" or parts.path not in ("", "/") or parts.query or parts.fragment:
                raise ValueError("not of this shape")
            host = parts.hostname or ""
            address = Address.parse(str(Address(host, parts.port or 0)))
        except (ValueError, TransportError):
            raise TransportError("proxy: expected http://[user:password@]host:port") from None
        user, password = parts.username, parts.password
        if user is not None and password is None:
            raise TransportError("proxy: a user without a password; expected http://user:password@host:port")
        return cls(address, _plain(user), _plain(password))


def _plain(text: str | None) -> str | None:
    return None if text is None else urllib.parse.unquote(text)
