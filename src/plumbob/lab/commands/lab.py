"""`lab`: opens the local web page, and lends it what the command line can do."""

import importlib.util
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbob.callbacks import Tell
from plumbob.errors import PlumbobError
from plumbob.lab.commands import OpenLab
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from plumbob.verb import Result

if TYPE_CHECKING:
    from plumbob.lab.page.server import Lab

NEEDED = ("sse_starlette", "starlette", "uvicorn")
WORKER = (sys.executable, "-m", "plumbob.lab.commands.lab_worker")


def run(options: OpenLab, announce: Callable[[Result], None], tell: Tell) -> None:
    """Serve until Ctrl-C; the address is announced as soon as it can be opened."""
    refuse_without_extra()
    # Late: the message above must come also where none of these can be imported.
    from plumbob.lab.page.guard import LabAccess
    from plumbob.lab.page.server import bound, serve

    lab = lab_for(options.folder, options.out, options.data_dir)
    with bound(options.port) as listener:
        gate = LabAccess(listener.getsockname()[1])
        lines = [f"The lab is open at {gate.address}"]
        announce({"address": gate.address, "port": gate.port, "out": str(options.out), "lines": lines})
        tell(f"Only this machine can reach it; runs are kept in {options.out}. Ctrl-C closes it.")
        if options.opens:
            _open_browser(gate.address)
        # Ctrl-C is how it is meant to end.
        with suppress(KeyboardInterrupt):
            serve(
                lab,
                gate,
                listener,
                lambda address: tell(f"To open it again, for example after closing the browser: {address}"),
            )
    tell("The lab is closed.")


def lab_for(folder: Path | None, out: Path, data_dir: Path | None) -> "Lab":
    """A lab whose controls hold a run's plan, or a first one."""
    from plumbob.lab.page.drafts import FIRST, chosen, shape_like
    from plumbob.lab.page.runs import Runs
    from plumbob.lab.page.server import Lab, Tools

    if folder is None:
        first = chosen(FIRST, FIRST.rows, shape_like(FIRST.rows, FIRST.columns))
    else:
        record = RunFolder(folder).record()
        plan = record.parsed_plan
        rows = plan.rows or record.rows
        first = chosen(plan, rows, shape_like(rows, plan.columns))
    return Lab(Runs(out, folder), Tools(_estimator(), WORKER), first, data_dir)


def refuse_without_extra() -> None:
    """Refuse to start without the lab's extra, with the words that install it."""
    if absent := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise PlumbobError(
            f"the lab needs {', '.join(absent)}, which the plain installation leaves out: "
            "pip install '.[lab]' in Plumbob's source folder"
        )


def _estimator() -> Callable[[Plan], dict[str, Any]]:
    """An estimator, imported late, because it loads the kernel."""

    def estimated(plan: Plan) -> dict[str, Any]:
        from plumbob.commands.estimate import estimate

        return asdict(estimate(plan))

    return estimated


def _open_browser(address: str) -> None:
    import webbrowser

    # In a thread, because some browsers' starters return only when the browser does.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
