"""The verbs that train and predict with all parties on this machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plumbob.cli.flag_groups import with_flag_groups
from plumbob.cli.help import verb
from plumbob.cli.options import (
    Cost,
    DataDir,
    DataOption,
    IdColumnWords,
    IsByPlace,
    Json,
    Quiet,
    StrictRows,
    Threshold,
)
from plumbob.cli.output import ending_at_ctrl_c, show
from plumbob.cli.root import app
from plumbob.cli.training_flags import TrainingFlags
from plumbob.cli.words import refuse_nameless, told_apart
from plumbob.commands.flags import with_plan_flags
from plumbob.commands.table_flags import TableFlags


@verb(
    app,
    "train",
    example="plumbob train joint.toml --data breast-cancer --out run",
)
@with_plan_flags
@with_flag_groups
def train(
    given: TrainingFlags,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Train with all parties on this machine, exchanging the same bytes as over a network.

    The joint model is compared with local-only and pooled ones.

    If it is interrupted, run the same command again to resume.
    """
    from plumbob.lab.commands import train as work

    plan, inputs, options = given.work(given.paths, keys, table, quiet)
    with ending_at_ctrl_c():
        show(work.run(plan, inputs, given.out, options), as_json)


@verb(
    app,
    "predict",
    example="plumbob predict run --data breast-cancer --out scores.csv",
)
def predict(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="Folder of a run.")],
    data: DataOption = [],  # noqa: B006  # Typer copies it.
    id_words: IdColumnWords = [],  # noqa: B006  # Typer copies it.
    is_by_place: IsByPlace = False,
    out: Annotated[Path, typer.Option(help="CSV file to write.", dir_okay=False)] = Path("scores.csv"),
    threshold: Threshold = None,
    cost: Cost = None,
    gaps: Annotated[
        list[str],
        typer.Option(
            "--na", help="Cell that means a gap, besides those given for training; may be repeated.", metavar="MARK"
        ),
    ] = [],  # noqa: B006  # Typer copies it.
    is_strict: StrictRows = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score new rows and write a CSV file (for a named data set, its test split).

    Its columns are id, score, probability and predicted class.
    """
    folders, pairs = told_apart(words)
    refuse_nameless([*data, *folders])
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    from plumbob.commands.tables import pairing_of
    from plumbob.lab.commands import predict as work
    from plumbob.lab.commands.train import Inputs

    inputs = Inputs([*data, *pairs], pairing_of(id_words, is_by_place), data_dir=data_dir)
    choices = work.Choices(threshold, cost, tuple(gaps), is_strict)
    show(work.run(Path(folders[0]), inputs, out, choices), as_json)
