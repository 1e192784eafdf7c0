"""Benchmarks are run by hand and rarely: what they take from the package must still be there."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_imported_names_exist(file: Path) -> None:
    """Every name that a benchmark imports at its top; further down it may ask what an older checkout has."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("plumbob", "benchmarks"):
            module = import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    import_module(f"{node.module}.{name.name}")
