"""Write docs/results.md from what `plumbob bench --json` measured.

    plumbob bench --json > benchmarks/results.json
    python tools/results.py

The tests hold that the page is what this makes of the file.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "results.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads(MEASURED.read_text(encoding="utf-8"))), encoding="utf-8")


def page(measured: dict[str, Any]) -> str:
    """The whole page."""
    return "\n".join([*head(measured), *iterations(measured), *passes(measured), *claims()]) + "\n"


def head(measured: dict[str, Any]) -> Iterator[str]:
    """What was measured, where, and how to do the same."""
    machine = measured["machine"]
    yield from (
        "# Results",
        "",
        "Made by `tools/results.py` from what `plumbob bench` measured. To get the same table for your machine:",
        "",
        "```sh",
        "plumbob bench --json > benchmarks/results.json",
        "python tools/results.py",
        "```",
        "",
        f"Plumbob {measured['plumbob']} on {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}, {machine['system']}; {measured['rounds']} rounds. The machine's load was "
        f"{machine['load']}: where it is above the number of cores, read the processor's seconds, not the clock's.",
        "",
    )


def iterations(measured: dict[str, Any]) -> Iterator[str]:
    """A table with a line for each engine and width."""
    yield from (
        "## One iteration of `exchange`",
        "",
        f"Both directions of Protocol 1 for a batch of {measured['rows']} rows, Paillier with "
        f"{measured['key_bits']}-bit keys: encrypt, multiply with the features, pack, mask, decrypt.",
        "",
        "| engine | columns | seconds | processor seconds | encrypt | product | pack | mask | decrypt |",
        "|---|---|---|---|---|---|---|---|---|",
    )
    for engine, by_columns in measured["engines"].items():
        for columns, stages in by_columns.items():
            names = ("total", "processor", "encrypt", "product", "pack", "mask and randomise", "decrypt")
            cells = [f"{stages[name]:.3f}" for name in names]
            yield f"| {engine} | {columns} | {' | '.join(cells)} |"
    yield ""


def passes(measured: dict[str, Any]) -> Iterator[str]:
    """A line for each shape of `shares`."""
    if not measured["lattice_pass_s"]:
        return
    yield from (
        "## One pass of `shares`",
        "",
        "All lattice products of one pass between two parties, in processor seconds of one thread.",
        "",
        "| engine, rows x (columns of each party) | processor seconds |",
        "|---|---|",
    )
    for name, seconds in measured["lattice_pass_s"].items():
        yield f"| {name} | {seconds:.3f} |"
    yield ""


def claims() -> Iterator[str]:
    """Where the other numbers of these pages come from."""
    yield from (
        "## Other numbers, and what shows them",
        "",
        "| number | command |",
        "|---|---|",
        "| what a plan leaks, and what it will cost here | `plumbob check PLAN --estimate` |",
        "| quality: joint, local-only and pooled model side by side | `plumbob train PLAN --data DATASET` |",
        "| what attacks reach, beside their baselines | `plumbob audit PLAN --data DATASET` |",
        "| each defence on the same data | `plumbob audit PLAN --data DATASET --defences` |",
        "| the paper's figures and theorems | `plumbob paper mnist --out paper`, `credit`, `attacks` |",
        "| speed against other libraries | `make bench-peers`; see [Benchmarks](benchmarks.md) |",
        "| cost against rows, columns and cores | `python benchmarks/scale/growth.py`; see [Scale](scale.md) |",
    )


if __name__ == "__main__":
    main()
