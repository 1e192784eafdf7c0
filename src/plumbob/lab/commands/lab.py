"""`lab`: opens the local web page."""

import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

from plumbob.caller import Caller
from plumbob.errors import DataError
from plumbob.lab.page.drafts import FIRST
from plumbob.lab.page.guard import LabAccess
from plumbob.lab.page.runs import Runs
from plumbob.lab.page.server import Lab, bound, serve
from plumbob.run_folder import RunFolder


def run(folder: Path, port: int, opens: bool, caller: Caller) -> None:
    """Serve until Ctrl-C; the address is announced as soon as it can be opened."""
    tell = caller.tell
    lab = lab_for(folder)
    # Ctrl-C is how it is meant to end, from the moment when the address is there to read.
    with bound(port) as listener, suppress(KeyboardInterrupt):
        gate = LabAccess(listener.getsockname()[1])
        lines = [f"The lab is open at {gate.address}"]
        # Not even --quiet hides the address: without it nobody gets in.
        caller.show({"address": gate.address, "port": gate.port, "folder": str(folder), "lines": lines})
        tell("Only this machine can reach it. Ctrl-C closes it.")
        if opens:
            _open_browser(gate.address)
        serve(
            lab,
            gate,
            listener,
            lambda address: tell(f"To open it again, for example after closing the browser: {address}"),
        )
    tell("The lab is closed.")


def lab_for(folder: Path) -> Lab:
    """A lab that lists the runs of a folder; on the folder of one run, its controls hold that run's plan."""
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder; name a run's, or one that holds runs")
    runs = Runs(folder)
    return Lab(runs, RunFolder(folder).record().parsed_plan if runs.is_one else FIRST)


def _open_browser(address: str) -> None:
    # In a thread, because some browsers' starters return only when the browser does.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
