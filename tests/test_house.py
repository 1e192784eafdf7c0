"""The rules of the house: which room may import which, how light the cellar is, and the tree of errors."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import plumbob
from plumbob import arrays, errors

# From the top of the house to its ground: a room may import any room further down, and none on its own floor.
FLOORS = (
    {"cli"},
    # The lab: nothing below it may import it, so that a party's process never loads an attack.
    {"lab.commands"},
    {"lab.bench", "lab.demo"},
    {"lab.page"},
    {"lab.reports"},
    {"lab.paper"},
    {"lab.audit"},
    {"lab.attacks", "lab.simulate"},
    # The party floor: all that `plumbob party` and `plumbob check` load.
    {"commands"},
    {"party"},
    {"verb"},
    {"report"},
    {"jobs"},
    {"checking"},
    {"protocol"},
    {"net", "privacy", "crypto", "model", "data"},
    {"run_folder"},
    {"record"},
    {"plan", "datasets"},
    {"errors", "arrays", "callbacks", "counting", "terminal"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The front doors offer names from every room and are imported by none: the package itself, and `plumbob.attacks`.
DOORS = {"__init__", "attacks", "lab.__init__"}

HOUSE = Path(plumbob.__file__).parent
FILES = sorted(path.relative_to(HOUSE) for path in HOUSE.rglob("*.py"))


def room_of(file: Path) -> str:
    """The first part of a file's path inside the package, without its ending; in the lab the first two."""
    parts = file.with_suffix("").parts
    return ".".join(parts[:2]) if parts[0] == "lab" else parts[0]


def room_named(name: str) -> str:
    """The room of a dotted name inside the package."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "lab" else parts[0]


def imported_names(source: str, file: Path) -> Iterator[str]:
    """Every dotted name of the house that a file imports, at any depth of its code."""
    package = ["plumbob", *file.parent.parts]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def broken_rules(source: str, file: Path) -> list[str]:
    """One sentence for each import that goes up, or across to a room on the same floor."""
    room = room_of(file)
    if room in DOORS:
        return []
    found = []
    for name in imported_names(source, file):
        house, _, rest = name.partition(".")
        target = room_named(rest)
        # `from plumbob import __version__` opens no room.
        if house != "plumbob" or target == room or target.startswith("__"):
            continue
        if target not in FLOOR_OF:
            found.append(f"{file} imports {name}, which is no room below it")
        elif FLOOR_OF[target] <= FLOOR_OF[room]:
            found.append(f"{file} imports {name}: {room} stands no higher than {target}")
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_file_is_in_a_known_room(file: Path) -> None:
    """A new room must be given its floor before it is built."""
    assert room_of(file) in {*FLOOR_OF, *DOORS}


@pytest.mark.parametrize("file", FILES, ids=str)
def test_imports_go_one_way(file: Path) -> None:
    """Each room imports only rooms further down, also inside functions."""
    assert broken_rules((HOUSE / file).read_text(), file) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("crypto/keys.py", "from plumbob.model import logistic"),
        ("crypto/keys.py", "from ..model import logistic"),
        ("crypto/engines/native.py", "from ... import plan, protocol"),
        ("model/logistic.py", "def late():\n    import plumbob.lab.simulate"),
        ("party/training.py", "from plumbob.lab import attacks"),
        ("checking/check.py", "def late():\n    from plumbob.lab.attacks import PASSIVE"),
        ("report/run.py", "from plumbob import attacks"),
        ("errors.py", "from . import plan"),
        ("lab/page/page.py", "from plumbob.lab.bench import run"),
        ("data/table.py", "from plumbob import VerticalLogisticRegression"),
        ("data/table.py", "import plumbob"),
    ],
)
def test_a_wrong_import_is_seen(file: str, line: str) -> None:
    """The test above would notice an import that goes up or across, however it is written."""
    assert broken_rules(line, Path(file)) != []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("cli/root.py", "from plumbob import __version__\nfrom plumbob.lab import bench"),
        ("crypto/keys.py", "from plumbob.errors import CryptoError\nfrom . import fixed_point\nimport numpy.linalg"),
        ("crypto/engines/native.py", "from ..keys import PublicKey\nfrom ...errors import CryptoError"),
        ("__init__.py", "from plumbob.lab.simulate import VerticalLogisticRegression"),
    ],
)
def test_a_right_import_is_allowed(file: str, line: str) -> None:
    """Downwards, and within a room, everything may be imported."""
    assert broken_rules(line, Path(file)) == []


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
    for node in ast.parse((HOUSE / file).read_text()).body:
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


def test_crypto_needs_numpy_and_gmpy2_only() -> None:
    """`import plumbob.crypto` loads the standard library, numpy, gmpy2 and nothing else."""
    program = (
        "import sys; before = set(sys.modules); import plumbob.crypto\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(finished.stdout.split()) - sys.stdlib_module_names
    # Compiled parts of numpy enter their run time under names of its own.
    loaded = {name for name in loaded if not name.startswith(("cython_runtime", "_cython_"))}
    assert loaded <= {"plumbob", "numpy", "gmpy2"}


@pytest.mark.parametrize(
    ("parent", "children"),
    [
        ("PlumbobError", {"PlanError", "DataError", "CryptoError", "TransportError", "PrivacyError", "ProtocolError"}),
        ("PrivacyError", {"UnsafePlanError", "BudgetExceededError"}),
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
