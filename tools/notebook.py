"""Run the example notebook: `python tools/notebook.py` writes examples/notebook/first-model.ipynb with its outputs.

With a file's name, everything that this run showed is written there instead; the tests compare the two.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "notebook" / "first-model.ipynb"
SECONDS = 600
LARGEST_OUTPUT = 40_000
"""Characters: a whole report would make the file too large to read; the cell shows it when it is run."""
PATH = re.compile(r"/\S+/(\S+\.py:\d+)")


def main(out: Path | None) -> None:
    """Run it in its own folder, or in that of the file to write."""
    notebook = executed((out or NOTEBOOK).parent)
    if out is None:
        tidy(notebook)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    (out or NOTEBOOK).write_text(f"{text}\n", encoding="utf-8")


def executed(folder: Path) -> Any:
    """The notebook with the outputs of this run; a cell that raises ends it."""
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]  # It has no types.
    with tempfile.TemporaryDirectory() as sockets:
        # Sockets in a folder: no port that another program could have, and nobody else can listen.
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/kernel")
        client = NotebookClient(notebook, km=manager, timeout=SECONDS, resources={"metadata": {"path": str(folder)}})
        # So that it is ended, and its sockets closed, with the last cell.
        client.owns_km = True
        return client.execute()


def tidy(notebook: Any) -> None:
    """Without what is this machine's, and without what is too large for the file."""
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if len(data.get("text/html", "")) > LARGEST_OUTPUT:
                del data["text/html"]
            if "text" in output:
                output["text"] = PATH.sub(r"\1", output["text"])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
