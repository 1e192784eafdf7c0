"""The demo, the lab, the paper's experiments and the benchmark."""

from pathlib import Path
from typing import Annotated

import typer

from plumbob.cli.help import verb
from plumbob.cli.options import DataDir, Json, Quiet
from plumbob.cli.output import ending_at_ctrl_c, progress, show
from plumbob.cli.root import COMPLETING, app

SHELLS = ("bash", "zsh", "fish")

# zsh reads a file of its `fpath` at the first Tab, as the function that completes: the first Tab must complete, too.
FIRST_TAB = '\n[[ $funcstack[1] == _plumbob ]] && _plumbob_completion "$@"\n'


@verb(app, "demo", example="plumbob demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.", file_okay=False)] = Path("demo"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model three ways (exchange, exchange with noise, shares), attack each run and compare the results."""
    from plumbob.lab import demo as work

    show(work.run(out, progress(quiet)), as_json)


@verb(app, "lab", example="plumbob lab --open")
def lab(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="RUN_DIR", help="Run to open: shows its report and loads its plan for editing."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the lab's runs.", file_okay=False)] = Path("lab-runs"),
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 = any free one.", min=0, max=65535)] = 0,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open a page on this machine to try out plans, watch runs and attacks, and compare runs."""
    from plumbob.lab.commands import lab as work

    options = work.LabOptions(folder, out, port, opens, data_dir)
    # Not even --quiet hides the address: without it nobody gets in.
    work.run(options, lambda result: show(result, as_json), progress(quiet))


@verb(app, "paper", example="plumbob paper attacks --quick --out paper")
def paper(
    part: Annotated[
        str, typer.Argument(metavar="mnist|credit|attacks", help="A data set of section 7, or the theorems.")
    ],
    out: Annotated[
        Path, typer.Option(help="Output folder; run again with the same folder to continue.", file_okay=False)
    ],
    preset: Annotated[
        str | None,
        typer.Option(help="Which reading of section 7 to use (default: both).", metavar="figures|text|both"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of every setting.", min=1)] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed, and only the undefended and one defended run.")
    ] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper's figures, claims and theorems, beside what the paper says."""
    from plumbob.lab.commands import paper as work

    options = work.PaperOptions(preset, seeds, quick, data_dir)
    with ending_at_ctrl_c():
        show(work.run(part, options, out, progress(quiet)), as_json)


@verb(app, "bench", example="plumbob bench --quick")
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions: seconds, not minutes.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Time one training iteration with each engine that is installed."""
    from plumbob.lab import bench as work

    show(work.run(quick, progress(quiet)), as_json)


@verb(app, "completion", example="plumbob completion bash >> ~/.bash_completion")
def completion(
    shell: Annotated[
        str, typer.Argument(metavar="bash|zsh|fish", help="Your shell.", autocompletion=lambda: list(SHELLS))
    ],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the lines that make your shell complete Plumbob's verbs and flags."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # Every version has it there.

    if shell not in SHELLS:
        raise typer.BadParameter(f"expected {', '.join(SHELLS)}, got {shell}")
    script = get_completion_script(prog_name="plumbob", complete_var=COMPLETING, shell=shell)
    if shell == "zsh":
        script += FIRST_TAB
    show({"script": script, "lines": [script]}, as_json)
