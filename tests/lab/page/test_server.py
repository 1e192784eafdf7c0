"""What the lab answers, asked over the network as its page does, and how it starts and stops."""

import json
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install '.[lab]'")

from plumbob.checking.check import check
from plumbob.commands import receipt
from plumbob.errors import PlumbobError, TransportError
from plumbob.lab.commands import lab as command
from plumbob.lab.page.drafts import fitted_defaults
from plumbob.lab.page.server import MOST_LISTENERS, bound
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from tests.lab.page.conftest import EXCHANGE, QUICK, OpenLab


@dataclass(frozen=True)
class Finished:
    """A run by the plan's own protocol, and what it told: all of it, and what it tells who heard the first events."""

    name: str
    events: list[tuple[int, str, dict[str, Any]]]
    rest: list[tuple[int, str, dict[str, Any]]]


@pytest.fixture(scope="module")
def finished(lab: OpenLab) -> Finished:
    """One for all tests that only look at it."""
    name = lab.run(is_calculated=False, epochs=2)
    events = lab.events(name)
    return Finished(name, events, lab.events(name, after=events[3][0]))


def test_findings_are_those_of_check(lab: OpenLab) -> None:
    """The page shows what `plumbob check` says about the same plan, and no more."""
    draft = lab.draft(batch_size=64)
    answer = lab.post("check", draft).json
    plan = Plan.from_toml(lab.post("plan", draft).body.decode())
    assert plan.batch_size == 64
    assert answer["plan_hash"] == plan.hash()
    found = [(one["attack"], one["by"], one["verdict"], one["why"]) for one in answer["findings"]]
    assert found == [(one.attack, one.by, one.verdict, one.why) for one in check(plan)]


def test_a_mistake_is_an_answer(lab: OpenLab) -> None:
    """A plan that cannot be run comes back with its mistakes, each beside its key."""
    answer = lab.post("check", lab.draft(**EXCHANGE | {"noise": "std", "test_share": 2.0}))
    assert answer.status == 200
    assert {mistake["key"] for mistake in answer.json["mistakes"]} == {"test_share", "noise_std"}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"draft": 1}', b"[" * 30_000, b'{"attack": [], "by": {}}']
)
@pytest.mark.parametrize("path", ["check", "estimate", "explain", "plan", "runs"])
def test_nonsense_is_refused(lab: OpenLab, path: str, body: bytes) -> None:
    """Whatever is sent, the answer is a refusal in words, never a traceback."""
    answer = lab.post(path, body)
    assert answer.status in (200, 400)
    words = answer.json.get("error") or answer.json["mistakes"][0]["text"]
    assert "expected" in words


def test_an_estimate(lab: OpenLab) -> None:
    """Minutes and megabytes of `shares`; another protocol gets a sentence."""
    assert lab.post("estimate", lab.draft(protocol="shares")).json["bytes_sent"] > 0
    assert "expected protocol" in lab.post("estimate", lab.draft(**QUICK)).json["error"]


def test_a_run_leaves_an_ordinary_folder(lab: OpenLab, finished: Finished) -> None:
    """A run with the plan's real protocol leaves record, report, parts and transcripts for other verbs."""
    folder = lab.out / finished.name
    record = RunFolder(folder).record()
    assert record.is_finished
    assert record.protocol == "exchange"
    assert {finding.attack for finding in record.findings} >= {"label-sign", "packing", "label-chosen-rows"}
    assert receipt.run(folder)["consistent"]
    assert lab.get(f"runs/{finished.name}/report").body == (folder / "report.html").read_bytes()
    assert tomllib.loads(lab.get(f"runs/{finished.name}/plan").body.decode())["crypto"]["protocol"] == "exchange"


def test_a_run_tells_what_happens(lab: OpenLab, finished: Finished) -> None:
    """Epochs, each attack, and each finding as it is in the record afterwards; then the end."""
    kinds = [kind for _, kind, _ in finished.events]
    assert kinds.count("epoch") == 2
    assert kinds[-1] == "done"
    record = RunFolder(lab.out / finished.name).record()
    findings = [one for _, kind, one in finished.events if kind == "finding"]
    told = {(one["attack"], one["by"], one["target"]): one["rate"] for one in findings}
    assert told == {(one.attack, one.by, one.target): one.rate for one in record.findings}
    live = [one["auc"] for _, kind, one in finished.events if kind == "epoch"]
    assert live == pytest.approx([epoch["auc"] for epoch in record.epochs])


def test_a_page_that_lost_its_connection_goes_on(finished: Finished) -> None:
    """Numbers grow; who says what was heard last gets the rest, and nothing twice."""
    numbers = [number for number, _, _ in finished.events]
    assert numbers == sorted(set(numbers))
    assert finished.rest == finished.events[4:]


def test_a_calculated_run_says_so(lab: OpenLab) -> None:
    """In the clear nothing is encrypted: the record, the receipt and the list say it; findings are of the protocol."""
    name = lab.run(**fitted_defaults()["shares"], protocol="shares", noise="none", row_norm=0.0)
    record = RunFolder(lab.out / name).record()
    assert record.protocol == "shares"
    assert record.epochs == []
    printed = receipt.run(lab.out / name)
    assert printed["key_bits"] is None
    assert "Calculated in the clear" in str(printed["warnings"])
    (listed,) = [run for run in lab.get("runs").json["runs"] if run["name"] == name]
    assert listed["is_calculated"]
    assert {finding.verdict for finding in record.findings if finding.attack == "label-sign"} == {"not applicable"}


def test_one_run_at_a_time_and_it_can_be_cancelled(lab: OpenLab) -> None:
    """A second run is refused with a reason, and so are more watching pages than a person has open.

    Cancelling ends the run for whoever watches it, and its folder says how far it came.
    """
    name = lab.long_run()
    second = lab.post("runs", {"draft": lab.draft(), "is_calculated": True})
    assert second.status == 400
    assert "under way" in second.json["error"]
    with ExitStack() as connections:
        watchers = [connections.enter_context(watching(lab, name)) for _ in range(MOST_LISTENERS)]
        assert lab.get(f"runs/{name}/events").status == 503
        assert lab.post("cancel", {}).status == 200
        told = b""
        while b"event: cancelled" not in told:
            told += watchers[0].recv(4000)
    assert RunFolder(lab.out / name).record().status.startswith("interrupted")
    assert lab.post("cancel", {}).status == 200


def watching(lab: OpenLab, name: str) -> socket.socket:
    """A connection on which the run's events come: the first of them was sent."""
    watcher = socket.create_connection(("127.0.0.1", lab.port), timeout=120)
    lines = [f"GET {lab.home}runs/{name}/events HTTP/1.1", f"Host: 127.0.0.1:{lab.port}", f"Cookie: {lab.cookie}"]
    watcher.sendall("\r\n".join([*lines, "", ""]).encode())
    assert watcher.recv(100).startswith(b"HTTP/1.1 200")
    watcher.recv(2000)
    return watcher


def test_no_data_no_run(lab: OpenLab) -> None:
    """Numbers alone can be checked, not run."""
    draft = {**lab.draft(), "data": "", "rows": 1000}
    assert lab.post("check", draft).json["findings"]
    answer = lab.post("runs", {"draft": draft, "is_calculated": True})
    assert answer.status == 400
    assert "choose a data set" in answer.json["error"]


def test_it_opens_on_a_run(lab: OpenLab, finished: Finished, open_lab: Callable[..., OpenLab]) -> None:
    """Its plan is in the controls, its data set found by its numbers, its report there to read."""
    on_run = open_lab(str(lab.out / finished.name))
    start = on_run.get("start").json
    assert start["opened"]
    assert start["first"]["keys"]["batch_size"] == QUICK["batch_size"]
    assert start["first"]["data"] == "breast-cancer"
    assert on_run.get("runs/opened/report").body == lab.get(f"runs/{finished.name}/report").body


def test_for_scripts_it_says_one_object(tmp_path: Path) -> None:
    """With `--json` the first line has the address, and nothing follows it on either stream."""
    command = [sys.executable, "-c", "from plumbob.cli import main; main()", "lab", "--json", "--quiet"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
    assert said["address"].startswith(f"http://127.0.0.1:{said['port']}/?token=")
    assert said["out"] == "lab-runs"
    # Nothing was run, so nothing was written.
    assert list(tmp_path.iterdir()) == []


def test_the_browser_is_opened_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is opened at the address, without waiting for it."""
    opened: Queue[str] = Queue()
    monkeypatch.setattr("webbrowser.open", opened.put)
    command._open_browser("http://127.0.0.1:1/")
    assert opened.get(timeout=120) == "http://127.0.0.1:1/"


def test_a_lab_that_closes_takes_its_run_along_and_logs_nothing(open_lab: Callable[..., OpenLab]) -> None:
    """Ctrl-C while a run is under way ends both, with code 0, and the run's folder says so.

    All that the lab ever says is its address, the next one, and two lines about itself.
    """
    lab = open_lab()
    lab.ask("GET", "/?token=guess", Cookie=None)
    lab.post("check", b"{")
    name = lab.long_run()
    lab.process.send_signal(signal.SIGINT)
    assert lab.process.stdout is not None
    rest = lab.process.stdout.read()
    assert lab.process.wait(120) == 0
    assert lab.said.count("\n") == 2
    assert rest.splitlines() == ["The lab is closed."]
    assert lab.cookie.partition("=")[2] not in lab.said + rest
    assert RunFolder(lab.out / name).record().status.startswith("interrupted")


def test_a_taken_port_is_said_so() -> None:
    """The error about a taken port says what to do."""
    with bound(0) as listener, pytest.raises(TransportError, match="give another one"):
        bound(listener.getsockname()[1])


def test_without_the_extra_it_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra there is no traceback about a module that nobody asked for."""
    monkeypatch.setattr(command, "NEEDED", ("no_such_module_here",))
    with pytest.raises(PlumbobError, match=r"pip install '\.\[lab\]' in Plumbob's source folder"):
        command.refuse_without_extra()


def test_nothing_heavy_is_loaded_before_the_door_is_open(tmp_path: Path) -> None:
    """The attacks, scikit-learn and tables are loaded when they are needed: the lab starts at once."""
    program = (
        "import sys; from pathlib import Path\n"
        "from plumbob.lab.commands.lab import lab_for; import plumbob.lab.page.server\n"
        f"lab_for(None, Path({str(tmp_path)!r}), None)\n"
        "print(*sorted({'sklearn', 'pyarrow', 'plumbob.lab.attacks', 'flint'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == []
