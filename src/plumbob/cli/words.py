"""Arguments that may be a file or PARTY=FILE, told apart."""

from pathlib import Path

import typer

TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def one_plan(files: list[str]) -> Path | None:
    """The plan's file, if one is named."""
    if len(files) > 1:
        raise typer.BadParameter(f"expected one plan, got {', '.join(files)}; files with data are given as PARTY=FILE")
    return Path(files[0]) if files else None


def refuse_nameless(words: list[str]) -> None:
    """A table must say whose it is; without that it would be taken for a plan or for a data set's name."""
    if nameless := [word for word in words if "=" not in word and word.lower().endswith(TABLE_ENDINGS)]:
        first = nameless[0]
        raise typer.BadParameter(
            f"{', '.join(nameless)}: whose table is it? files with data are given as PARTY=FILE, such as"
            f" {Path(first).name.partition('.')[0]}={first}"
        )


def told_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """(paths, PARTY=FILE pairs): `--data a=1.csv b=2.csv` leaves its second pair among the arguments."""
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]
