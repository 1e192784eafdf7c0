"""The lab's web application: a page with a plan's controls, what `check` says about it, and a list of runs.

serve(Lab(runs, plan), gate, listener, announce)      # returns when it is stopped

It listens on the loopback address only, and guard.py decides who gets in.
"""

import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from plumbob.checking.check import check
from plumbob.errors import DataError, PlanError, PlumbobError, TransportError
from plumbob.lab.page import drafts
from plumbob.lab.page.drafts import Draft, PlanAnswer
from plumbob.lab.page.guard import HOST, Guard, LabAccess
from plumbob.lab.page.runs import Runs
from plumbob.plan import Plan
from plumbob.report.decision import decision_on_plan, summary_page
from plumbob.report.plan_page import findings_page
from plumbob.report.templates import environment
from plumbob.version import __version__

KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
SECONDS_TO_CLOSE = 2
REMEMBERED = 256
"""How many checked plans have pages; whoever asks for an older one's is told to check the plan again."""
# A report is one file with its own style and, where it has one, its own script. It is shown apart from the lab: without
# the lab's origin it can neither read the lab's answers nor send it anything.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox allow-scripts"
)
TEMPLATES = environment("plumbob.lab.page")


@dataclass
class Lab:
    """Everything that one lab knows: its runs, the plan that it opens with, and the plans that were checked."""

    runs: Runs
    first: Plan
    checked: dict[str, Plan] = field(default_factory=dict)

    async def page(self, request: Request) -> Response:
        """The page; `?run=NAME` opens it on that run's plan."""
        name = request.query_params.get("run")
        plan = self.first if name is None else self.runs.record(name).parsed_plan
        listed = await anyio.to_thread.run_sync(lambda: list(self.runs.listed()))
        content = {"controls": drafts.controls_of(plan), "runs": listed, "folder": self.runs.folder, "run": name}
        return _html(TEMPLATES.get_template("lab.html").render(version=__version__, **content))

    async def asset(self, request: Request) -> Response:
        """A file of the page or of the report."""
        return asset(request.path_params["name"])

    async def check(self, request: Request) -> Response:
        """What a plan tells whom, or what is wrong with the plan: that is an answer too, not an error."""
        body = await _json(request)
        name, draft = request.query_params.get("run"), None
        try:
            draft = Draft.of(body)
            like = self.first if name is None else self.runs.record(name).parsed_plan
            plan = drafts.plan_of(draft, like)
            # In a thread: a plan of many parties and rows takes seconds.
            answer = await anyio.to_thread.run_sync(drafts.answer, plan)
            self._keep(plan)
        except PlanError as error:
            answer = PlanAnswer(tuple(str(error).splitlines()))
        html = TEMPLATES.get_template("answer.html").render(answer=answer)
        beside = {} if draft is None else {"defaults": drafts.defaults_of(draft), "unused": drafts.unused(draft)}
        return JSONResponse({"html": html, "hash": answer.hash, **beside})

    def _keep(self, plan: Plan) -> None:
        self.checked.pop(plan.hash(), None)
        self.checked[plan.hash()] = plan
        for old in list(self.checked)[:-REMEMBERED]:
            del self.checked[old]

    def _plan(self, request: Request) -> Plan:
        found = self.checked.get(request.path_params["hash"])
        if found is None:
            raise DataError("this plan was not checked here lately; open its page from the lab again")
        return found

    async def plan(self, request: Request) -> Response:
        """A checked plan as the file that all parties sign."""
        named = {"Content-Disposition": 'attachment; filename="plan.toml"'}
        return PlainTextResponse(self._plan(request).to_toml(), headers=named)

    async def findings(self, request: Request) -> Response:
        """All findings of a checked plan with their reasons, as a page."""
        plan = self._plan(request)
        return _report(await anyio.to_thread.run_sync(lambda: findings_page(plan, check(plan), __version__)))

    async def plan_summary(self, request: Request) -> Response:
        """The decision sheet of a checked plan, as a page."""
        plan = self._plan(request)
        sheet = await anyio.to_thread.run_sync(lambda: summary_page(decision_on_plan(plan, check(plan), __version__)))
        return _report(sheet)

    async def report(self, request: Request) -> Response:
        """A run's report."""
        return _report(await anyio.to_thread.run_sync(self.runs.report, request.path_params["name"]))

    async def summary(self, request: Request) -> Response:
        """A run's decision sheet."""
        return _report(await anyio.to_thread.run_sync(self.runs.summary, request.path_params["name"]))


def application(lab: Lab, gate: LabAccess, announce: Callable[[str], None]) -> Guard:
    """All routes, behind the guard, which announces the next address whenever one was used."""
    home = gate.home.rstrip("/")

    def route(path: str, work: Callable[[Request], Awaitable[Response]], method: str = "GET") -> Route:
        return Route(f"{home}/{path}", work, methods=[method])

    routes = [
        route("", lab.page),
        route("assets/{name}", lab.asset),
        route("check", lab.check, "POST"),
        route("plans/{hash}/plan.toml", lab.plan),
        route("plans/{hash}/findings", lab.findings),
        route("plans/{hash}/summary", lab.plan_summary),
        route("runs/{name}/report", lab.report),
        # Reports link to their decision sheet by this name.
        route("runs/{name}/summary.html", lab.summary),
    ]
    handlers: dict[Any, Any] = {PlumbobError: _refused, ArithmeticError: _beyond, ClientDisconnect: _gone}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), gate, announce)


def asset(name: str) -> Response:
    """A file of the page or of the report; nothing else in the package has a name here."""
    found = {
        path.name: path
        for room in ("report", "lab.page")
        for path in files(f"plumbob.{room}").joinpath("assets").iterdir()
    }
    kind = KINDS.get(Path(name).suffix)
    if name not in found or kind is None:
        return PlainTextResponse("there is no such file\n", 404)
    return Response(found[name].read_bytes(), media_type=kind)


def bound(port: int) -> socket.socket:
    """A socket on this machine's own address; port 0 takes a free one."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        # At once: whoever is quick to open the address that is printed next waits a moment, and is not refused.
        listener.listen()
    except OSError as error:
        listener.close()
        raise TransportError(f"port {port} is not available ({error.strerror}); give another one, or none") from error
    return listener


def serve(lab: Lab, gate: LabAccess, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. No request is logged: its address may hold the token."""
    config = uvicorn.Config(
        application(lab, gate, announce),
        access_log=False,
        log_level="error",
        server_header=False,
        date_header=False,
        limit_concurrency=64,
        timeout_graceful_shutdown=SECONDS_TO_CLOSE,
    )
    uvicorn.Server(config).run(sockets=[listener])


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise DataError("expected JSON") from error


async def _refused(_request: Request, error: PlumbobError) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _beyond(_request: Request, _error: ArithmeticError) -> Response:
    return JSONResponse({"error": drafts.BEYOND}, 400)


async def _gone(_request: Request, _error: ClientDisconnect) -> Response:
    return JSONResponse({"error": "expected less"}, 413)


def _html(page: str) -> Response:
    return Response(page, media_type="text/html")


def _report(page: str) -> Response:
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY})
