"""A lab as people have it: a process of its own, asked over the network, seen in a real browser."""

import http.client
import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from plumbob.lab.page.drafts import fitted_defaults
from tests.browser.conftest import browser, new_tab, one_tab, tab  # noqa: F401  # Fixtures are found by their names here.

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")
# The demo's plan: open enough to show what is at stake.
EXCHANGE = {**fitted_defaults()["exchange"], "protocol": "exchange", "batch_size": 20, "epochs": 5, "row_norm": 1.0}
# For options that are really carried out: tiny keys, one short epoch.
QUICK = {**EXCHANGE, "intercept": False, "epochs": 1, "batch_size": 91, "key_bits": 512, "test_only_keys": True}


@dataclass
class Answer:
    """An answer of the lab."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class OpenLab:
    """A running lab, and somebody who has its address."""

    process: subprocess.Popen[str]
    port: int
    token: str
    out: Path
    said: str
    cookie: str = ""
    door: Answer | None = None
    """What the token bought; it works once."""
    again: str = ""
    """The address that was printed when the first one was used."""
    home: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.home}"

    def ask(self, method: str, path: str, body: object = None, **headers: str | None) -> Answer:
        """One request, with everything that the lab's page would send but for what is named here; None leaves out."""
        usual: dict[str, str | None] = {"Cookie": self.cookie or None}
        if method == "POST":
            usual |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in {**usual, **named}.items() if value is not None}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=150)
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", self.home + path, **headers)

    def post(self, path: str, body: object, **headers: str | None) -> Answer:
        return self.ask("POST", self.home + path, body, **headers)

    def draft(self, **keys: Any) -> dict[str, Any]:
        """What the page holds first, on a data set that is quicker to train on, with some keys changed."""
        first: dict[str, Any] = self.get("start").json["first"]
        quicker = {"data": "breast-cancer", "rows": 455, "features": [8, 22]}
        return {**first, **quicker, "keys": {**first["keys"], **keys}}

    def events(self, name: str, after: int = 0) -> list[tuple[int, str, dict[str, Any]]]:
        """Everything that a run tells, to its end."""
        told = self.get(f"runs/{name}/events", Last_Event_ID=str(after)).body.decode()
        found = []
        for block in told.replace("\r\n", "\n").split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
            if "event" in fields:
                found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
        return found

    def long_run(self) -> str:
        """Begin a run that nobody would wait for; its name, once its folder is there."""
        draft = self.draft(**{**QUICK, "epochs": 5000, "batch_size": 5})
        name: str = self.post("runs", {"draft": draft, "is_calculated": False}).json["name"]
        while not (self.out / name / "run.json").exists():
            assert self.process.poll() is None
            time.sleep(0.05)
        return name

    def run(self, is_calculated: bool = True, **keys: Any) -> str:
        """Carry out a small run to its end; its name."""
        answer = self.post("runs", {"draft": self.draft(**{**QUICK, **keys}), "is_calculated": is_calculated})
        assert answer.status == 201, answer.body
        name: str = answer.json["name"]
        self.events(name)
        return name


def opened(out: Path, *words: str) -> OpenLab:
    """Start `plumbob lab`, and come in by its door."""
    command = [sys.executable, "-c", "from plumbob.cli import main; main()", "lab", "--out", str(out), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = process.stdout.readline()
    found = ADDRESS.search(said)
    assert found is not None, said + process.stdout.read()
    lab = OpenLab(process, int(found[1]), found[2], out, said)
    door = lab.ask("GET", f"/?token={lab.token}")
    lab.door = door
    lab.home = door.headers["location"]
    lab.cookie = door.headers["set-cookie"].partition(";")[0]
    lab.said += process.stdout.readline()
    lab.again = process.stdout.readline().split()[-1]
    return lab


@pytest.fixture(scope="module")
def open_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., OpenLab]]:
    """A function that opens a lab; all are closed at the end of the module, as Ctrl-C would."""
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("sse_starlette") is None:
        pytest.skip("the lab's extra is not installed (pip install '.[lab]'): it is not tested")
    labs = []

    def start(*words: str) -> OpenLab:
        labs.append(opened(tmp_path_factory.mktemp("lab") / "lab-runs", *words))
        return labs[-1]

    yield start
    for lab in labs:
        lab.process.send_signal(signal.SIGINT)
        lab.process.wait(120)
        assert lab.process.stdout is not None
        lab.process.stdout.close()


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., OpenLab]) -> OpenLab:
    """One lab for a module."""
    return open_lab()
