"""A lab as people have it: a process of its own, asked over the network, seen in a real browser."""

import http.client
import importlib.util
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import browser, new_tab, one_tab, tab  # noqa: F401  # Fixtures are found by their names here.

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")


@dataclass
class Answer:
    """An answer of the lab."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class OpenLab:
    """A running lab, and somebody who has its address."""

    process: subprocess.Popen[str]
    port: int
    token: str
    folder: Path
    said: str
    cookie: str = ""
    door: Answer | None = None
    """What the token bought; it works once."""
    again: str = ""
    """The address that was printed when the first one was used."""
    home: str = ""

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


def draft(**keys: str) -> dict[str, Any]:
    """What the page sends: two parties, and some keys."""
    return {"names": ["bank", "processor"], "columns": ["5", "18"], "keys": {"rows": "3200", **keys}}


def opened(folder: Path, *words: str) -> OpenLab:
    """Start `plumbob lab`, and come in by its door."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from plumbob.cli import main; main()", "lab", str(folder), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = process.stdout.readline()
    found = ADDRESS.search(said)
    assert found is not None, said + process.stdout.read()
    lab = OpenLab(process, int(found[1]), found[2], folder, said)
    door = lab.ask("GET", f"/?token={lab.token}")
    lab.door = door
    lab.home = door.headers["location"]
    lab.cookie = door.headers["set-cookie"].partition(";")[0]
    lab.said += process.stdout.readline()
    lab.again = process.stdout.readline().split()[-1]
    return lab


@pytest.fixture(scope="module")
def open_lab() -> Iterator[Callable[..., OpenLab]]:
    """A function that opens a lab on a folder; all are closed at the end of the module, as Ctrl-C would."""
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("jinja2") is None:
        pytest.skip("the lab's extra is not installed (pip install '.[lab]'): it is not tested")
    labs = []

    def start(folder: Path, *words: str) -> OpenLab:
        labs.append(opened(folder, *words))
        return labs[-1]

    yield start
    for lab in labs:
        lab.process.send_signal(signal.SIGINT)
        lab.process.wait(120)
        assert lab.process.stdout is not None
        lab.process.stdout.close()


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., OpenLab], tmp_path_factory: pytest.TempPathFactory) -> OpenLab:
    """One lab for a module, on an empty folder."""
    return open_lab(tmp_path_factory.mktemp("lab"))
