"""Arguments that may be a file or PARTY=FILE, told apart."""

from pathlib import Path

import typer


def one_plan(files: list[str]) -> Path | None:
    """The plan's file, if one is named."""
    if len(files) > 1:
        raise typer.BadParameter(f"expected one plan, got {', '.join(files)}; files with data are given as PARTY=FILE")
    return Path(files[0]) if files else None


def told_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """(paths, PARTY=FILE pairs): `--data a=1.csv b=2.csv` leaves its second pair among the arguments."""
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]
