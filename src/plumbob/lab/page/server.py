"""The lab's web application: a page, its requests, and the stream of a run's events. Loopback only.

serve(Lab(runs, tools, first), port)      # returns when it is stopped
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import anyio.to_thread
import msgspec
import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from plumbob import __version__
from plumbob.errors import DataError, PlanError, PlumbobError, TransportError
from plumbob.lab.page import drafts, drawings
from plumbob.lab.page.drafts import CheckedPlans, Parts, controls, fitted_defaults, shapes_here
from plumbob.lab.page.drawings import picture
from plumbob.lab.page.guard import HOST, Guard, LabAccess
from plumbob.lab.page.own_tables import LARGEST_FILE, OWN, OwnTables, TableReading, TablesRead
from plumbob.lab.page.runs import Runs, RunSlot
from plumbob.plan import Plan
from plumbob.report.plan_page import GLOSSARY

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
EXPLAINED = ("attack", "by", "target")
MOST_LISTENERS = 8
"""Most streams that may be open at once: a few pages, not a flood."""
SECONDS_TO_CLOSE = 2
# A report is one file with its own style and, where it has one, its own script. It is shown apart from the lab: without
# the lab's origin it can neither read the lab's answers nor send it anything.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox allow-scripts"
)


@dataclass(frozen=True)
class Tools:
    """What the command line provides: its own estimate, and the command that runs a job in a process."""

    estimate: Callable[[Plan], dict[str, Any]]
    worker: Sequence[str]


@dataclass
class Lab:
    """Everything that one lab knows."""

    runs: Runs
    tools: Tools
    first: dict[str, Any]
    """The state of the controls when the page is first opened."""
    data_dir: Path | None = None
    workroom: RunSlot = field(init=False)
    tables: OwnTables = field(default_factory=OwnTables)
    checked: CheckedPlans = field(default_factory=CheckedPlans)
    last: Any = None
    """The controls as they were checked last, for whoever opens the page again, in another browser too."""
    listeners: int = 0

    def __post_init__(self) -> None:
        self.workroom = RunSlot(self.tools.worker)
        self._one_estimate = asyncio.Lock()

    # The page.

    async def page(self, _request: Request) -> Response:
        return asset("index.html")

    async def asset(self, request: Request) -> Response:
        return asset(request.path_params["name"])

    async def start(self, _request: Request) -> Response:
        """The data that the page needs once."""
        work = self.workroom.work
        return JSONResponse(
            {
                "version": __version__,
                "controls": controls(),
                "fitted": fitted_defaults(),
                "glossary": [asdict(entry) for entry in GLOSSARY],
                "tables": self.tables.listed(),
                "largest_file": LARGEST_FILE,
                "data": list(shapes_here(self.data_dir)),
                "first": self.first,
                "last": self.last or self.first,
                "opened": self.runs.opened is not None,
                "work": None if work is None else work.name,
                "folder": str(self.runs.folder),
            }
        )

    # The user's own tables.

    async def keep_table(self, request: Request) -> Response:
        """Keep one party's file; the answer lists the files that are here, with their columns' names."""
        name = unquote(request.headers.get("x-file-name", ""))
        await self.tables.keep(request.path_params["place"], name, request.stream())
        return JSONResponse({"tables": await anyio.to_thread.run_sync(self.tables.listed)}, 201)

    async def _tables_read(self, parts: Parts) -> TablesRead | None:
        """What own tables give, if the draft is about them."""
        if parts.data != OWN:
            return None
        return await anyio.to_thread.run_sync(self.tables.read, parts.names, parts.reading, parts.keys)

    async def _plan(self, body: object) -> Plan:
        parts = Parts.of(body)
        return drafts.asked(parts, await self._tables_read(parts))

    # A plan.

    async def check(self, request: Request) -> Response:
        """Findings, or what is wrong with the plan: that is an answer too, not an error."""
        body = await _json(request)
        tables: TablesRead | None = None
        try:
            parts = Parts.of(body)
            self.last = body
            tables = await self._tables_read(parts)
            plan = drafts.asked(parts, tables)
            # In a thread: a plan of many parties and rows takes seconds, in which a run can still be cancelled.
            answer = await anyio.to_thread.run_sync(drafts.checked, plan)
            self.checked.keep(plan)
        except PlanError as error:
            answer = {"mistakes": drafts.mistakes(error)}
        return JSONResponse({**answer, "tables": None if tables is None else asdict(tables)})

    async def estimate(self, request: Request) -> Response:
        """Estimate minutes and megabytes; the first estimate for a kind of key takes a second or two."""
        plan = await self._plan(await _json(request))
        async with self._one_estimate:
            return JSONResponse(await anyio.to_thread.run_sync(self.tools.estimate, plan))

    async def explain(self, request: Request) -> Response:
        """The story and picture of one attack."""
        body = await _json(request)
        if not isinstance(body, dict) or not all(isinstance(body.get(name), str) for name in EXPLAINED):
            raise DataError(f"expected a draft, and words for {', '.join(EXPLAINED)}")
        plan = await self._plan(body.get("draft"))
        drawn = await anyio.to_thread.run_sync(picture, plan, *(body[name] for name in EXPLAINED))
        return JSONResponse(asdict(drawn))

    async def plan(self, request: Request) -> Response:
        """The controls as a plan's file."""
        return PlainTextResponse((await self._plan(await _json(request))).to_toml())

    async def findings(self, request: Request) -> Response:
        """The findings of a plan that was checked here, as a page; with `download`, as a file to save."""
        plan = self.checked.plan(request.path_params["hash"])
        page = await anyio.to_thread.run_sync(drafts.findings, plan)
        is_saved = "download" in request.query_params
        return _page(page, _as_attachment(f"findings-{plan.hash()[:8]}.html") if is_saved else {})

    async def plan_summary(self, request: Request) -> Response:
        """The decision sheet of a plan that was checked here, as a page."""
        plan = self.checked.plan(request.path_params["hash"])
        return _page(await anyio.to_thread.run_sync(drafts.summary, plan))

    # Runs.

    async def begin(self, request: Request) -> Response:
        """Start a run; refused while another is under way."""
        body = await _json(request)
        if not isinstance(body, dict) or not isinstance(body.get("is_calculated"), bool):
            raise DataError("expected a request and whether to compute it in the clear")
        parts = Parts.of(body.get("draft"))
        plan = drafts.asked(parts, await self._tables_read(parts))
        if not parts.data:
            raise DataError("there are no data to run on: choose a data set")
        name, folder = self.runs.next(plan.protocol)
        is_own = parts.data == OWN
        job = {
            "plan": plan.to_toml(),
            "data": self.tables.given(parts.names) if is_own else [parts.data],
            "reading": msgspec.to_builtins(parts.reading if is_own else TableReading()),
            "data_dir": None if self.data_dir is None else str(self.data_dir),
            "out": str(folder),
            "is_calculated": body["is_calculated"],
        }
        await self.workroom.start(name, job)
        return JSONResponse({"name": name}, 201)

    async def cancel(self, request: Request) -> Response:
        """Stop the run that is under way, if there is one."""
        await _json(request)
        await self.workroom.cancel()
        return JSONResponse({})

    async def events(self, request: Request) -> Response:
        """The events of the run of this name; a page that lost its connection says what it heard last."""
        work = self.workroom.work
        if work is None or work.name != request.path_params["name"]:
            raise DataError("there is no such run here; its folder may hold what it left")
        if self.listeners >= MOST_LISTENERS:
            return JSONResponse({"error": "too many pages are watching"}, 503)
        heard = request.headers.get("last-event-id", "")
        after = int(heard) if heard.isdigit() and len(heard) < 16 else 0

        async def stream() -> AsyncIterator[ServerSentEvent]:
            with self._listening():
                async for event in work.after(after):
                    yield ServerSentEvent(json.dumps(event.content), event=event.kind, id=str(event.number))

        return EventSourceResponse(stream())

    @contextmanager
    def _listening(self) -> Iterator[None]:
        self.listeners += 1
        try:
            yield
        finally:
            self.listeners -= 1

    async def listed(self, _request: Request) -> Response:
        """All runs of this lab, with the chart that compares them."""
        listed = await anyio.to_thread.run_sync(lambda: list(self.runs.listed()))
        return JSONResponse({"runs": listed, "chart": drawings.comparison(listed)})

    async def curve(self, request: Request) -> Response:
        """The curve of the epochs so far of the run under way."""
        work = self.workroom.work
        if work is None or work.name != request.path_params["name"]:
            raise DataError("there is no such run here")
        epochs = [event.content for event in work.events if event.kind == "epoch"]
        return JSONResponse({"chart": drawings.curve(epochs)})

    async def report(self, request: Request) -> Response:
        """A run's page as it lies in its folder, isolated from the lab's own origin."""
        name = request.path_params["name"]
        is_saved = "download" in request.query_params
        return _page(self.runs.report(name), _as_attachment(f"{name}-report.html") if is_saved else {})

    async def summary(self, request: Request) -> Response:
        return _page(self.runs.summary(request.path_params["name"]))

    async def run_plan(self, request: Request) -> Response:
        name = request.path_params["name"]
        return PlainTextResponse(self.runs.record(name).plan, headers=_as_attachment(f"{name}-plan.toml"))

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """End the run and delete the copies of tables when the lab closes."""
        yield
        await self.workroom.cancel()
        self.tables.close()


def application(lab: Lab, gate: LabAccess, announce: Callable[[str], None]) -> Guard:
    """All routes, behind the guard, which announces the next address whenever one was used."""
    home = gate.home.rstrip("/")

    def route(path: str, work: Callable[[Request], Awaitable[Response]], method: str = "GET") -> Route:
        return Route(f"{home}/{path}", work, methods=[method])

    routes = [
        route("", lab.page),
        route("assets/{name}", lab.asset),
        route("start", lab.start),
        route("tables/{place:int}", lab.keep_table, "POST"),
        route("check", lab.check, "POST"),
        route("estimate", lab.estimate, "POST"),
        route("explain", lab.explain, "POST"),
        route("plan", lab.plan, "POST"),
        route("findings/{hash}", lab.findings),
        route("findings/{hash}/summary", lab.plan_summary),
        route("runs", lab.listed),
        route("runs", lab.begin, "POST"),
        route("cancel", lab.cancel, "POST"),
        route("runs/{name}/events", lab.events),
        route("runs/{name}/curve", lab.curve),
        route("runs/{name}/report", lab.report),
        route("runs/{name}/summary.html", lab.summary),
        route("runs/{name}/plan", lab.run_plan),
    ]
    handlers: dict[Any, Any] = {PlumbobError: _said, ArithmeticError: _beyond, ClientDisconnect: _gone}
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lab.lifespan), gate, announce)


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
        lifespan="on",
        limit_concurrency=64,
        timeout_graceful_shutdown=SECONDS_TO_CLOSE,
    )
    uvicorn.Server(config).run(sockets=[listener])


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise DataError("expected JSON") from error


async def _said(_request: Request, error: PlumbobError) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _beyond(_request: Request, _error: ArithmeticError) -> Response:
    return JSONResponse({"error": drafts.BEYOND}, 400)


async def _gone(_request: Request, _error: ClientDisconnect) -> Response:
    return JSONResponse({"error": "expected less"}, 413)


def _page(page: str, more: dict[str, str] | None = None) -> Response:
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY, **(more or {})})


def _as_attachment(name: str) -> dict[str, str]:
    """Headers for a download; names are ours: digits, letters and dashes."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}
