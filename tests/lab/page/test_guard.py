"""Who may talk to the lab: whoever was shown its address, from its own page; everybody else is refused."""

import re

import pytest

pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install '.[lab]'")

from plumbob.lab.page.guard import LARGEST_BODY, POLICY, LabAccess
from plumbob.lab.page.server import bound
from tests.lab.page.conftest import OpenLab

READ = ("", "assets/lab.js", "assets/style.css", "plans/0/plan.toml", "runs/run/report")


def test_the_door_hands_out_a_cookie_for_the_token(lab: OpenLab) -> None:
    """The token buys a cookie that scripts cannot read and other sites cannot send, and leaves the address bar."""
    answer = lab.door
    assert answer is not None
    assert answer.status == 303
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", f"Path={lab.home}"} <= set(re.split("; ", cookie))
    assert lab.token not in cookie + answer.headers["location"]


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=wrong", "?token={half}", "?token={token}x", "?Token={token}", "?token={token}"]
)
def test_a_wrong_or_used_token_opens_nothing(lab: OpenLab, query: str) -> None:
    """Nothing but the whole token opens the door, and that works once; whoever comes too late is told why."""
    answer = lab.ask("GET", "/" + query.format(token=lab.token, half=lab.token[:20]), Cookie=None)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert b"works once" in answer.body


Row = tuple[str, str, dict[str, str | None], int]
COOKIES = (None, "", "plumbob-lab-1=x", "{name}=wrong", "{name}={token}", "{name}", "\x01=\x02")
# A name that was made to point here (DNS rebinding).
HOSTS: tuple[str | None, ...] = (
    "evil.example",
    "evil.example:{port}",
    "localhost:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "",
)
ORIGINS = (None, "null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1:{port}")
# What a form of another page can send.
FORMS = (None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
OUTSIDE = ("../server.py", "..%2Fserver.py", "%2e%2e/server.py", "/etc/passwd", "lab.py", "__init__.py")
REFUSED: list[Row] = [
    *(("GET", path, {"Cookie": cookie}, 403) for path in READ for cookie in COOKIES),
    ("POST", "check", {"Cookie": None}, 403),
    *(("GET", "", {"Host": host}, 421) for host in HOSTS),
    *(("POST", "check", {"Origin": origin}, 403) for origin in ORIGINS),
    *(("POST", "check", {"Content-Type": kind}, 415) for kind in FORMS),
    ("GET", "", {"Sec-Fetch-Site": "cross-site"}, 403),
    ("GET", "", {"Sec-Fetch-Site": "same-site"}, 403),
    # A browser asks whether a page of another origin may.
    ("OPTIONS", "check", {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, 403),
    *(("GET", f"assets/{name}", {}, 404) for name in OUTSIDE),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), REFUSED)
def test_everybody_else_is_refused(
    lab: OpenLab, method: str, path: str, headers: dict[str, str | None], status: int
) -> None:
    """Each request has everything that the lab's page sends but for one thing, and is refused for it."""
    names = {"name": lab.cookie.partition("=")[0], "token": lab.token, "port": lab.port}
    sent = {name: value and value.format(**names) for name, value in headers.items()}
    answer = lab.ask(method, lab.home + path, {} if method == "POST" else None, **sent)
    assert answer.status == status
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_another_host_cannot_use_the_token(lab: OpenLab) -> None:
    """A name that was made to point here opens no door."""
    assert lab.ask("GET", f"/?token={lab.token}", Host="evil.example").status == 421


def test_the_cookie_alone_is_not_enough(lab: OpenLab) -> None:
    """Another path than the lab's own, which other servers on this machine cannot know, has nothing."""
    assert lab.ask("GET", "/runs/run/report").status == 403
    assert lab.ask("GET", "/assets/lab.js").status == 403
    assert lab.get("", Sec_Fetch_Site="same-origin").status == 200


def test_too_much_is_refused(lab: OpenLab) -> None:
    """A body above the limit, or of a length that nobody tells, is not read."""
    assert lab.post("check", b"[" + b" " * LARGEST_BODY + b"]").status == 413
    assert lab.post("check", None, Transfer_Encoding="chunked").status == 413
    assert lab.post("check", b" " * (LARGEST_BODY - 2) + b"[]").status == 200


@pytest.mark.parametrize("path", ["", "assets/lab.css", "nothing", "runs/run/report"])
def test_every_answer_carries_the_policy(lab: OpenLab, path: str) -> None:
    """Nothing may be kept, framed, sniffed or referred; scripts and styles are the lab's own files."""
    headers = lab.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_refusals_carry_it_too(lab: OpenLab) -> None:
    """The headers are also on what is said to strangers."""
    assert lab.get("", Cookie=None).headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("name", ["..", "../x", "..%2F..%2Fx", "run", "%2e%2e"])
def test_only_this_labs_runs_are_served(lab: OpenLab, name: str) -> None:
    """A name that is not in the list of runs is no way to any other folder."""
    for part in ("report", "summary.html"):
        assert lab.get(f"runs/{name}/{part}").status in (400, 404)


def test_only_this_machine_can_reach_it() -> None:
    """The socket is bound to the loopback address, whatever port is asked for."""
    with bound(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_secrets_are_new_each_time_and_not_printed() -> None:
    """Two labs share nothing, and a gate shows none of it by accident."""
    one, two = LabAccess(1), LabAccess(1)
    secrets = {one.token, one.session, one.room, two.token, two.session, two.room}
    assert len(secrets) == 6
    assert min(len(secret) for secret in secrets) >= 20
    assert not [secret for secret in secrets if secret in repr(one) + repr(two)]
