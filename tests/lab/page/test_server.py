"""What the lab answers, asked over the network as its page does, and how it starts and stops."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest

pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install '.[lab]'")

from plumbob.checking.check import check
from plumbob.checking.filing import with_predictions
from plumbob.errors import DataError, TransportError
from plumbob.lab.commands import lab as command
from plumbob.lab.page.server import REMEMBERED, REPORT_POLICY, Lab, bound
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import FINISHED
from plumbob.run_folder import RunFolder
from tests.lab.page.conftest import OpenLab, draft


def put(folder: Path, plan: Plan, status: str = FINISHED) -> Path:
    """A run of this plan that ended so, with what its plan says."""
    folder.mkdir(parents=True)
    quality: dict[str, dict[str, dict[str, float | None]]] = {"test": {"joint": {"auc": 0.765}}}
    RunFolder(folder).keep(with_predictions(replace(unfinished_record(plan, 1000, status), quality=quality)))
    return folder


def test_the_answer_is_that_of_check(lab: OpenLab) -> None:
    """The page shows both headlines of `plumbob check` about the same plan, and the plan can be downloaded."""
    told = lab.post("check", draft(protocol="exchange", batch_size="8")).json
    plan = Plan.from_toml(lab.get(f"plans/{told['hash']}/plan.toml").text)
    assert (plan.batch_size, plan.hash()) == (8, told["hash"])
    headlines = check(plan).headlines
    for block in (headlines.honest, headlines.cheating):
        assert block.heading in told["html"]
        for line in block.lines:
            assert line.says.replace("'", "&#39;") in told["html"]
    assert 'class="badge leaks"' in told["html"]
    assert "protocol=shares" in told["html"]


def test_its_pages_are_shown_apart(lab: OpenLab) -> None:
    """Findings and decision sheet of a checked plan, without the lab's own origin; another hash has none."""
    hashed = lab.post("check", draft()).json["hash"]
    for page in ("findings", "summary"):
        answer = lab.get(f"plans/{hashed}/{page}")
        assert answer.headers["content-security-policy"] == REPORT_POLICY
        assert "leaks" in answer.text
        assert lab.get(f"plans/{'0' * 64}/{page}").status == 400


def test_only_the_last_plans_are_remembered(tmp_path: Path) -> None:
    """However long somebody moves a control, the lab stays small."""
    lab: Lab = command.lab_for(tmp_path)
    for rows in range(REMEMBERED + 5):
        lab._keep(Plan.for_columns((1, 1), rows=rows + 10))
    assert len(lab.checked) == REMEMBERED


def test_a_mistake_is_an_answer(lab: OpenLab) -> None:
    """A plan that cannot be run comes back with every mistake, and no page."""
    answer = lab.post("check", draft(test_share="2", l2="-3"))
    assert answer.status == 200
    assert answer.json["hash"] == ""
    assert "test_share" in answer.json["html"]
    assert "l2" in answer.json["html"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"names": 1}', b"[" * 30_000])
def test_nonsense_is_refused(lab: OpenLab, body: bytes) -> None:
    """Whatever is sent, the answer is a refusal in words, never a traceback."""
    answer = lab.post("check", body)
    assert answer.status in (200, 400)
    assert "expected" in (answer.json.get("error") or answer.json["html"])


def test_words_of_others_stay_text(lab: OpenLab) -> None:
    """A name or a number that somebody sent is escaped in the answer."""
    told = lab.post("check", {**draft(), "names": ["bank", "<img src=x>"]}).json
    assert "<img" not in told["html"]


def test_runs_are_listed_with_their_pages(open_lab: Callable[..., OpenLab], tmp_path: Path) -> None:
    """Runs at most two levels below open their reports and decision sheets; hostile titles are words."""
    leaking = Plan.for_columns((11, 12), title="<b>Hostile</b> & 'quoted'", protocol="exchange", batch_size=8)
    put(tmp_path / "one", leaking)
    put(tmp_path / "party" / "runs", Plan.for_columns((11, 12)), "interrupted at step 3 of 9 \u202eskcart")
    (put(tmp_path / "bad", leaking) / "run.json").write_text("{}")
    lab = open_lab(tmp_path)
    page = lab.get("").text
    assert "&lt;b&gt;Hostile&lt;/b&gt;" in page
    assert "<b>Hostile" not in page
    # A mark that turns the words around is seen as one.
    assert "\u202e" not in page
    assert "\ufffdskcart" in page
    assert "0.765" in page
    assert "interrupted at step 3 of 9" in page
    for name in ("one", "party--runs"):
        for part in ("report", "summary.html"):
            answer = lab.get(f"runs/{name}/{part}")
            assert answer.status == 200
            assert answer.headers["content-security-policy"] == REPORT_POLICY
    assert "runs/bad/report" not in page
    changed = lab.get("?run=one").text
    assert '<option value="exchange" selected>' in changed
    assert lab.get("?run=nowhere").status == 400


def test_it_opens_on_a_run(open_lab: Callable[..., OpenLab], tmp_path: Path) -> None:
    """Its plan is in the controls, its report there to read."""
    put(tmp_path / "run", Plan.for_columns((3, 4), protocol="exchange", batch_size=77))
    lab = open_lab(tmp_path / "run")
    assert 'value="77"' in lab.get("").text
    assert lab.get("runs/run/report").status == 200


def test_for_scripts_it_says_one_object(tmp_path: Path) -> None:
    """With `--json` the first line has the address, and nothing follows it on either stream."""
    words = [sys.executable, "-c", "from plumbob.cli import main; main()", "lab", "--json", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
    assert said["address"].startswith(f"http://127.0.0.1:{said['port']}/?token=")
    assert said["folder"] == "."
    assert list(tmp_path.iterdir()) == []


def test_the_browser_is_opened_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is opened at the address, without waiting for it."""
    opened: Queue[str] = Queue()
    monkeypatch.setattr("webbrowser.open", opened.put)
    command._open_browser("http://127.0.0.1:1/")
    assert opened.get(timeout=120) == "http://127.0.0.1:1/"


def test_a_lab_that_closes_has_logged_nothing(open_lab: Callable[..., OpenLab], tmp_path: Path) -> None:
    """All that the lab ever says is its address, the next one, and two lines about itself."""
    lab = open_lab(tmp_path)
    lab.ask("GET", "/?token=guess", Cookie=None)
    lab.post("check", b"{")
    lab.process.send_signal(signal.SIGINT)
    assert lab.process.stdout is not None
    rest = lab.process.stdout.read()
    assert lab.process.wait(120) == 0
    assert lab.said.count("\n") == 2
    assert rest.splitlines() == ["The lab is closed."]
    assert lab.cookie.partition("=")[2] not in lab.said + rest


def test_a_taken_port_is_said_so() -> None:
    """The error about a taken port says what to do."""
    with bound(0) as listener, pytest.raises(TransportError, match="give another one"):
        bound(listener.getsockname()[1])


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(DataError, match="there is no such folder"):
        command.lab_for(tmp_path / "nowhere")
