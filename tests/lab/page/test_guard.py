"""Who may talk to the lab: whoever was shown its address, from its own page; everybody else is refused."""

import re

import pytest

pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install '.[lab]'")

from plumbob.lab.page.guard import LARGEST_BODY, POLICY, LabAccess
from plumbob.lab.page.server import bound
from tests.lab.page.conftest import OpenLab

READ = ("", "assets/lab.js", "assets/style.css", "plans/0/plan.toml", "runs/run/report")
WRITTEN = ("check",)


def test_the_door_hands_out_a_cookie_for_the_token(lab: OpenLab) -> None:
    """The token buys a cookie that scripts cannot read and other sites cannot send, and leaves the address bar."""
    answer = lab.door
    assert answer is not None
    assert answer.status == 303
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", f"Path={lab.home}"} <= set(re.split("; ", cookie))
    assert lab.token not in cookie + answer.headers["location"]


def test_the_token_works_once(lab: OpenLab) -> None:
    """Whoever finds the address later gets no cookie, and is told why."""
    again = lab.ask("GET", f"/?token={lab.token}", Cookie=None)
    assert again.status == 403
    assert "set-cookie" not in again.headers
    assert b"works once" in again.body


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token={half}", "?token={token}x", "?Token={token}"])
def test_a_wrong_token_is_refused(lab: OpenLab, query: str) -> None:
    """Nothing but the whole token opens the door."""
    words = query.format(token=lab.token, half=lab.token[:20])
    answer = lab.ask("GET", f"/{words}", Cookie=None)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "cookie", [None, "", "plumbob-lab-1=x", "{name}=wrong", "{name}={token}", "{name}", "\x01=\x02"]
)
@pytest.mark.parametrize("path", READ)
def test_nothing_is_read_without_the_cookie(lab: OpenLab, path: str, cookie: str | None) -> None:
    """Neither page nor script nor data is given to whoever does not hold the cookie."""
    name = lab.cookie.partition("=")[0]
    worn = cookie.format(name=name, token=lab.token) if cookie else cookie
    assert lab.get(path, Cookie=worn).status == 403


@pytest.mark.parametrize("path", WRITTEN)
def test_nothing_is_written_without_the_cookie(lab: OpenLab, path: str) -> None:
    """Nothing happens at the word of whoever does not hold the cookie."""
    assert lab.post(path, {}, Cookie=None).status == 403


def test_the_cookie_alone_is_not_enough(lab: OpenLab) -> None:
    """Another path than the lab's own, which other servers on this machine cannot know, has nothing."""
    assert lab.ask("GET", "/runs/run/report").status == 403
    assert lab.ask("GET", "/assets/lab.js").status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", "127.0.0.1:1", ""]
)
def test_another_host_is_refused(lab: OpenLab, host: str) -> None:
    """A name that was made to point here (DNS rebinding) gets nothing, with the cookie or with the token."""
    name = host.format(port=lab.port)
    assert lab.get("", Host=name).status == 421
    assert lab.ask("GET", f"/?token={lab.token}", Host=name).status == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
@pytest.mark.parametrize("path", WRITTEN)
def test_another_origin_changes_nothing(lab: OpenLab, path: str, origin: str | None) -> None:
    """What may change something must come from the lab's own page."""
    assert lab.post(path, {}, Origin=origin and origin.format(port=lab.port)).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_page_reads_nothing(lab: OpenLab, site: str) -> None:
    """Where the browser says that another page asked, also one on this machine, it gets nothing."""
    assert lab.get("", Sec_Fetch_Site=site).status == 403
    assert lab.get("", Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_cannot_write(lab: OpenLab, kind: str | None) -> None:
    """Only JSON is read: a form on another page cannot send it."""
    assert lab.post("check", {}, Content_Type=kind).status == 415


def test_nobody_else_is_told_that_they_may_read(lab: OpenLab) -> None:
    """There is no answer to a browser that asks whether another origin may."""
    answer = lab.ask("OPTIONS", f"{lab.home}check", Origin="http://evil.example", Access_Control_Request_Method="POST")
    assert answer.status == 403
    for path in ("", "runs/run/report"):
        assert not [name for name in lab.get(path).headers if name.startswith("access-control")]


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


@pytest.mark.parametrize(
    "name", ["../server.py", "..%2Fserver.py", "%2e%2e/server.py", "/etc/passwd", "lab.py", "__init__.py"]
)
def test_only_the_pages_own_files_are_served(lab: OpenLab, name: str) -> None:
    """A path leads to none but the assets."""
    assert lab.get(f"assets/{name}").status == 404


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
