"""The lab's access control: only the person who was shown its address may use it, from the lab's own page.

The address holds a token, which works once and is exchanged for a cookie: whoever finds it later, in a browser's
history for example, has nothing. The next address is then printed, for whoever closes the browser. Any page in the same
browser can send requests to this machine, so that four more things are asked of each one:

1. the Host that it names is ours: a foreign name that was made to point to 127.0.0.1 (DNS rebinding) is refused;
2. it lies below a path that only the lab's page knows. Cookies do not tell ports apart, but they do tell paths apart,
   so that another server on this machine is never sent ours;
3. it was not sent by another site's page, where the browser says so (Sec-Fetch-Site);
4. if it brings something, it has our Origin and is JSON, which no form of another page can send.

No answer may be kept, framed, or read by another origin.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
LARGEST_BODY = 64 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
READING = ("GET", "HEAD")
OWN_SITE = (None, "same-origin", "none")  # None: an old browser, or none at all; "none": typed by a person.
CLOSED = "Each address works once, for whoever opened the lab: use the last one that `plumbob lab` printed."


@dataclass(repr=False)
class LabAccess:
    """One lab's address and secrets, new at each start; the token is a new one after each use."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    room: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """The first part of every path, except that of the first page."""

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def address(self) -> str:
        """The address printed for the person at this machine; it opens the lab."""
        return f"{self.origin}/?token={self.token}"

    @property
    def home(self) -> str:
        return f"/{self.room}/"

    @property
    def cookie(self) -> str:
        return f"plumbob-lab-{self.port}"

    def renew(self) -> None:
        """Draw a new token; the old one opens nothing any more."""
        self.token = secrets.token_urlsafe(32)

    def is_token(self, query: bytes) -> bool:
        """Whether the token is right, in constant time: how much of a guess is right must not show."""
        given = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        return secrets.compare_digest(given.encode(), self.token.encode())

    def is_session(self, cookies: str) -> bool:
        """Whether the cookie is the one that was handed out for the token."""
        try:
            jar = SimpleCookie(cookies)
        except CookieError:
            return False
        given = jar[self.cookie].value if self.cookie in jar else ""
        return secrets.compare_digest(given.encode(), self.session.encode())


class Guard:
    """Wraps the application: refuses, exchanges tokens, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, gate: LabAccess, announce: Callable[[str], None]) -> None:
        self.app = app
        self.gate = gate
        self._announce = announce

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self.answer(scope)
            await (answer or self.app)(scope, _limit(receive), _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    def answer(self, scope: Scope) -> Response | None:
        """The answer to a request that is not let in; None lets it in."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        if headers.get("host") != self.gate.host:
            return PlainTextResponse(f"expected the host {self.gate.host}\n", 421)
        if path == "/" and method == "GET" and self.gate.is_token(scope["query_string"]):
            return self._open_lab()
        if not path.startswith(self.gate.home) or not self.gate.is_session(headers.get("cookie", "")):
            return PlainTextResponse(f"{CLOSED}\n", 403)
        if headers.get("sec-fetch-site") not in OWN_SITE:
            return PlainTextResponse("another page asked for this\n", 403)
        return None if method in READING else self._unfit(headers)

    def _open_lab(self) -> Response:
        """Redirect to the lab's page, so that the token does not stay in the address bar."""
        self.gate.renew()
        self._announce(self.gate.address)
        answer = RedirectResponse(self.gate.home, 303)
        answer.set_cookie(
            self.gate.cookie, self.gate.session, path=self.gate.home, httponly=True, samesite="strict", secure=False
        )
        return answer

    def _unfit(self, headers: Headers) -> Response | None:
        """The refusal of a request that brings something, if its origin or body is wrong."""
        if headers.get("origin") != self.gate.origin:
            return PlainTextResponse("expected a request of the lab's own page\n", 403)
        if headers.get("content-type") != "application/json":
            return PlainTextResponse("expected JSON\n", 415)
        length = headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return PlainTextResponse(f"expected at most {LARGEST_BODY} bytes, and to be told how many\n", 413)
        return None


def _limit(receive: Receive) -> Receive:
    """A body of which no more than the limit is read, whatever length was announced."""
    read = 0

    async def receive_some() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if read > LARGEST_BODY else message

    return receive_some


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                # A report has a policy of its own.
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
