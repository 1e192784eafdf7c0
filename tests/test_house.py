"""The rules of the house that no linter knows: names, docstrings, the tree of errors, and how light the cellar is."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

import plumbob
from plumbob import arrays, data, errors
from plumbob.plan import PROTOCOLS
from tests.mutations import FAULTS

HOUSE = Path(plumbob.__file__).parent
FILES = sorted(path.relative_to(HOUSE) for path in HOUSE.rglob("*.py"))


@cache
def tree_of(file: Path) -> ast.Module:
    """A file of the house, parsed once for all tests."""
    return ast.parse((HOUSE / file).read_text())


def test_few_files_share_a_name() -> None:
    """Whoever looks for a file by its name finds three at most; a package's own file is found by its folder."""
    names = Counter(file.name for file in FILES if file.name != "__init__.py")
    assert {name: count for name, count in names.items() if count > 3} == {}


def test_vectors_and_matrices_are_two_types() -> None:
    """Where a row of numbers is due, mypy refuses a table of them."""
    assert get_args(arrays.Vector) != get_args(arrays.Matrix)


def test_a_type_has_a_name_of_its_own() -> None:
    """No two modules declare a type of the same name: one word, one meaning."""
    modules: dict[str, list[str]] = {}
    for file in FILES:
        for name in declared_types(file):
            modules.setdefault(name.lstrip("_"), []).append(str(file))
    assert {name: files for name, files in modules.items() if len(files) > 1} == {}


def declared_types(file: Path) -> Iterator[str]:
    """The classes of a module, and its other names for types; a TypeVar means something in its module only."""
    for node in tree_of(file).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            is_variable = isinstance(node.value, ast.Call)
            if re.fullmatch("_?[A-Z][a-z]+([A-Z][a-z]+)*", target.id) and not is_variable:
                yield target.id


def test_an_ignored_rule_carries_its_reason() -> None:
    """A mark that silences a checker is followed by a sentence that says why."""
    silenced = re.compile(r"#\s*(noqa|type: ignore)")
    reasoned = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])  # \S")
    bare = [
        f"{file}:{number}"
        for file in FILES
        for number, line in enumerate((HOUSE / file).read_text().splitlines(), 1)
        if silenced.search(line) and not reasoned.search(line)
    ]
    assert bare == []


def test_crypto_needs_numpy_only() -> None:
    """`import plumbob.crypto` loads the standard library, numpy and nothing else."""
    program = (
        "import sys; before = set(sys.modules); import plumbob.crypto\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(finished.stdout.split()) - sys.stdlib_module_names
    # Compiled parts of numpy enter their run time under names of its own.
    loaded = {name for name in loaded if not name.startswith(("cython_runtime", "_cython_"))}
    assert loaded <= {"plumbob", "numpy"}


@pytest.mark.parametrize("face", [data], ids=lambda face: face.__name__)
def test_a_name_that_is_imported_when_it_is_asked_for_is_no_module(face: Any) -> None:
    """A module that is imported would stand in the place of a function of the same name."""
    modules = {file.stem for file in Path(face.__file__).parent.glob("*.py")}
    assert not modules & set(face.__all__)


@pytest.mark.parametrize(
    ("parent", "children"),
    [
        ("PlumbobError", {"PlanError", "DataError", "CryptoError", "TransportError", "PrivacyError", "ProtocolError"}),
        ("PrivacyError", {"UnsafePlanError", "BudgetExceededError", "ScoresWaitError"}),
        ("ProtocolError", {"LocalProtocolError", "RemoteProtocolError"}),
    ],
)
def test_the_tree_of_errors(parent: str, children: set[str]) -> None:
    """The branches that callers rely on are where the style guide puts them, and no others beside them."""
    found = {error.__name__ for error in our_errors() if error.__base__ is getattr(errors, parent)}
    assert found == children


def test_every_error_is_ours() -> None:
    """One `except PlumbobError` catches everything that is raised on purpose, and each error says what it is for."""
    for error in our_errors():
        assert issubclass(error, errors.PlumbobError)
        assert error.__doc__


def our_errors() -> list[type]:
    """Every class that the module of errors defines."""
    return [item for item in vars(errors).values() if isinstance(item, type) and item.__module__ == errors.__name__]


def test_a_protocol_is_asked_for_its_properties_not_for_its_name() -> None:
    """Outside the plan's own rules and other systems' words, few places compare the name of a protocol or opening."""
    names = {*PROTOCOLS, "never", "own"}
    found = [
        f"{file}:{node.lineno}"
        for file in FILES
        if file.parts[0] not in ("plan", "jobs")
        for node in ast.walk(tree_of(file))
        # A party's role may be called as the protocol that needs it.
        if isinstance(node, ast.Compare) and ".role" not in ast.unparse(node)
        for side in (node.left, *node.comparators)
        for one in ast.walk(side)
        if isinstance(one, ast.Constant) and one.value in names
    ]
    assert len(found) < 10, found


# Of the standard library and of the systems whose files are read.
NAMES_ELSEWHERE = {"train_test_split", "get_dag", "spu_pb2", "ProtocolKind", "REF2K", "c5"}


def test_what_a_docstring_names_exists() -> None:
    """A name between backquotes is one that the code has: renaming leaves no sentence about something that is gone."""
    sources = {file: (HOUSE / file).read_text() for file in FILES}
    known = {word for text in sources.values() for word in re.findall(r"\w+", re.sub(r"`[^`\n]*`", "", text))}
    known |= {part for file in FILES for part in file.with_suffix("").parts} | NAMES_ELSEWHERE
    for folder in ("benchmarks", "tools"):
        known |= {part for file in (HOUSE.parents[1] / folder).rglob("*.py") for part in file.with_suffix("").parts}
    unknown = [
        f"{file}: {name}"
        for file in FILES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for name in re.findall(r"`([A-Za-z_][\w.]*)(?:\(\))?`", ast.get_docstring(node) or "")
        if not {*name.split(".")} <= known
    ]
    assert unknown == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["name"]))
def test_every_fault_can_still_be_planted(fault: dict[str, Any]) -> None:
    """A fault of mutations.toml stands where its line stands; what notices it is there, too."""
    assert (HOUSE / fault["file"]).read_text(encoding="utf-8").count(fault["line"]) == 1
    for tests in fault["tests"]:
        file, _, name = tests.partition("::")
        place = Path(__file__).parent / file
        assert place.exists()
        assert not name or f"def {name}(" in place.read_text(encoding="utf-8")
