"""The rules of the house: which room may import which, how light the cellar is, and the tree of errors."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import plumbob
from plumbob import arrays, errors
from plumbob.plan import PROTOCOLS

# From the top of the house to its ground: a room may import any room further down, and none on its own floor.
FLOORS = (
    {"cli"},
    # The lab: nothing below it may import it, so that a party's process never loads an attack.
    {"lab.commands"},
    {"lab.demo"},
    {"lab.page"},
    {"lab.reports"},
    {"lab.paper"},
    {"lab.audit"},
    {"lab.attacks", "lab.simulate"},
    {"lab.exchange", "lab.clear", "lab.bounds"},
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
    {"extras"},
    {"errors", "arrays", "callbacks", "counting", "terminal"},
    # Names that are gone: whoever is asked for one looks here, errors included.
    {"retired"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The front doors offer names from every room and are imported by none: the package itself, and `plumbob.attacks`.
DOORS = {"__init__", "attacks", "lab.__init__"}

HOUSE = Path(plumbob.__file__).parent
FILES = sorted(path.relative_to(HOUSE) for path in HOUSE.rglob("*.py"))


@cache
def tree_of(file: Path) -> ast.Module:
    """A file of the house, parsed once for all tests."""
    return ast.parse((HOUSE / file).read_text())


def room_of(file: Path) -> str:
    """The first part of a file's path inside the package, without its ending; in the lab the first two."""
    parts = file.with_suffix("").parts
    return ".".join(parts[:2]) if parts[0] == "lab" else parts[0]


def room_named(name: str) -> str:
    """The room of a dotted name inside the package."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "lab" else parts[0]


def imported_names(tree: ast.Module, file: Path) -> Iterator[str]:
    """Every dotted name of the house that a file imports, at any depth of its code."""
    package = ["plumbob", *file.parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def broken_rules(tree: ast.Module, file: Path) -> list[str]:
    """One sentence for each import that goes up, or across to a room on the same floor."""
    room = room_of(file)
    if room in DOORS:
        return []
    found = []
    for name in imported_names(tree, file):
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


def test_few_files_share_a_name() -> None:
    """Whoever looks for a file by its name finds three at most; a package's own file is found by its folder."""
    names = Counter(file.name for file in FILES if file.name != "__init__.py")
    assert {name: count for name, count in names.items() if count > 3} == {}


def test_every_file_is_in_a_known_room() -> None:
    """A new room must be given its floor before it is built."""
    assert {room_of(file) for file in FILES} <= {*FLOOR_OF, *DOORS}


def test_imports_go_one_way() -> None:
    """Each room imports only rooms further down, also inside functions."""
    assert [rule for file in FILES for rule in broken_rules(tree_of(file), file)] == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("crypto/keys.py", "from plumbob.model import logistic"),
        ("crypto/keys.py", "from ..model import logistic"),
        ("crypto/lattice/native.py", "from ... import plan, protocol"),
        ("model/logistic.py", "def late():\n    import plumbob.lab.simulate"),
        ("party/training.py", "from plumbob.lab import attacks"),
        ("checking/check.py", "def late():\n    from plumbob.lab.attacks import PASSIVE"),
        ("report/run.py", "from plumbob import attacks"),
        ("errors.py", "from . import plan"),
        ("lab/page/page.py", "from plumbob.lab.demo import run"),
        ("data/table.py", "from plumbob import VerticalLogisticRegression"),
        ("data/table.py", "import plumbob"),
    ],
)
def test_a_wrong_import_is_seen(file: str, line: str) -> None:
    """The test above would notice an import that goes up or across, however it is written."""
    assert broken_rules(ast.parse(line), Path(file)) != []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("cli/root.py", "from plumbob import __version__\nfrom plumbob.lab import demo"),
        ("crypto/keys.py", "from plumbob.errors import CryptoError\nfrom . import fixed_point\nimport numpy.linalg"),
        ("crypto/lattice/native.py", "from ..keys import PublicKey\nfrom ...errors import CryptoError"),
        ("__init__.py", "from plumbob.lab.simulate import VerticalLogisticRegression"),
    ],
)
def test_a_right_import_is_allowed(file: str, line: str) -> None:
    """Downwards, and within a room, everything may be imported."""
    assert broken_rules(ast.parse(line), Path(file)) == []


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


NEW_VERB = """

@dataclass(frozen=True)
class Wave(PartyVerb, words="party wave", section=SET_UP):
    \"\"\"Wave at the peers.\"\"\"

    times: Annotated[int, Flag("How often.")] = 1

    def do(self, caller: Caller) -> Result:
        return {"times": self.times, "lines": ["waved"]}
"""
NEW_KEY = """    tides: int = MODEL.key(3, "how often the tide turns", low=0)

    protocol: str"""
TRAINED_WITH_IT = """
import warnings
from sklearn.metrics import roc_auc_score
warnings.simplefilter("ignore")
from plumbob import VerticalLogisticRegression, datasets
X, y = datasets.load("breast-cancer")
model = VerticalLogisticRegression(protocol="clear", sigmoid="soft").fit(X, y)
print(roc_auc_score(y, model.decision_function(X)))
"""
# The installed package must not come before the copy.
IN_THE_COPY = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path.insert(0, {source!r})
{program}
"""


def copy_of_the_house(folder: Path) -> Path:
    """A copy of the source, to be changed; compiled files come along, because files keep their times."""
    source = folder / "src"
    shutil.copytree(HOUSE, source / "plumbob", ignore=shutil.ignore_patterns("*.so"))
    for name in ("plumbob.crypto._kernel", "plumbob.lab.exchange.engines._paillier"):
        kernel = import_module(name).__file__
        assert kernel is not None
        shutil.copy(kernel, source.joinpath(*name.split(".")).parent)
    return source


def said_in_the_copy(source: Path, *words: str) -> str:
    """What a command of the changed house prints."""
    return printed_in_the_copy(source, f'sys.argv = ["plumbob", *{words!r}]; from plumbob.cli import main; main()')


def printed_in_the_copy(source: Path, program: str) -> str:
    """What a program prints that imports the changed house."""
    program = IN_THE_COPY.format(source=str(source), program=program)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_a_new_verb_is_a_class_and_a_line(tmp_path: Path) -> None:
    """One file for the command, its flags, its help and its JSON; a line in `Home` makes it a method."""
    source = copy_of_the_house(tmp_path)
    declared, home = source / "plumbob/party/verbs/__init__.py", source / "plumbob/party/home.py"
    declared.write_text(declared.read_text() + NEW_VERB)
    assert json.loads(said_in_the_copy(source, "party", "wave", "--times", "3", "--json")) == {"times": 3}
    assert "Wave at the peers." in said_in_the_copy(source, "party", "--help")
    line = "    invite = verb(Invite)\n"
    assert line in home.read_text()
    changed = home.read_text().replace(line, f"{line}    wave = verb(Wave)\n")
    home.write_text(changed.replace("    Train,\n", "    Train,\n    Wave,\n"))
    shown = printed_in_the_copy(source, "from plumbob.party import Home; print(Home.wave.__doc__)")
    assert shown == "Wave at the peers.\n"


def test_a_new_key_is_one_field(tmp_path: Path) -> None:
    """One file for the key in the plan, its limits, its comment, its flag and the flag's help."""
    source = copy_of_the_house(tmp_path)
    settings = source / "plumbob/plan/settings.py"
    assert "    protocol: str" in settings.read_text()
    settings.write_text(settings.read_text().replace("    protocol: str", NEW_KEY, 1))
    written = said_in_the_copy(source, "plan", "new", "--tides", "5")
    assert re.search(r"tides = 5 +# how often the tide turns", written)
    assert "How often the tide turns" in said_in_the_copy(source, "check", "--help-all")


def test_a_new_sigmoid_is_one_entry(tmp_path: Path) -> None:
    """One file for the curve, its name in the plan and on the command line, its verdicts and its training in clear."""
    source = copy_of_the_house(tmp_path)
    sigmoids = source / "plumbob/plan/sigmoids.py"
    last = '            Sigmoid("exact",'
    assert last in sigmoids.read_text()
    soft = '            Sigmoid("soft", lambda scores: 0.5 * scores / (1.0 + abs(scores)), 0.5, 1.0, math.inf),\n'
    sigmoids.write_text(sigmoids.read_text().replace(last, soft + last))
    assert 'sigmoid = "soft"' in said_in_the_copy(source, "plan", "new", "--protocol", "clear", "--sigmoid", "soft")
    assert float(printed_in_the_copy(source, TRAINED_WITH_IT)) > 0.9


# Where a message is added: its number, its place among the messages, and who sends it.
NEW_MESSAGE = {
    "protocol/messages.py": ("    QUERY = 30", "    MOOD = 99  # How the sender feels\n    QUERY = 30"),
    "protocol/shares/schedule.py": (
        """receiver, size, "step 0")\n""",
        """receiver, size, "step 0")\n            yield Due(Kind.MOOD, 0, sender, receiver, 4, "step 0")\n""",
    ),
    "protocol/shares/training.py": (
        "        self.share_start()\n",
        """        self.share_start()
        for channel in self.holders.channels.values():
            channel.send(Kind.MOOD, 0, b"glad")
        self.moods = [channel.receive(Kind.MOOD, 0) for channel in self.holders.channels.values()]
""",
    ),
}
TRAINED_WITH_MOODS = """
import numpy as np
from plumbob.data import split_array
from plumbob.lab.simulate import train
from plumbob.plan import Plan
from plumbob.protocol.schedules import training_schedule
from plumbob.protocol.shares.training import LatticeParty
finish, moods = LatticeParty.finish, []
LatticeParty.finish = lambda party: (moods.extend(party.moods), finish(party))
X = np.random.default_rng(1).normal(size=(40, 2))
plan = Plan.for_columns((1, 1), protocol="shares", epochs=1)
train(plan, dict(zip(("label", "features"), split_array(X, (X.sum(1) > 0).astype(float), (1, 1)))))
print(moods, [due.size for due in training_schedule(plan, 40).messages() if due.kind.name == "MOOD"])
"""


def test_a_new_message_is_its_number_its_place_and_its_sender(tmp_path: Path) -> None:
    """The channel, the estimate and the listing follow from the schedule: nothing else is told of a new message."""
    source = copy_of_the_house(tmp_path)
    for name, (old, new) in NEW_MESSAGE.items():
        text = (source / "plumbob" / name).read_text()
        assert text.count(old) == 1
        (source / "plumbob" / name).write_text(text.replace(old, new))
    assert printed_in_the_copy(source, TRAINED_WITH_MOODS) == "[b'glad', b'glad'] [4, 4]\n"
