"""What a party's process really imports, from its first line to its last: the party floor, and nothing above it."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import plumbob
from plumbob import party
from plumbob.party.sealing import PUBLIC_FILE
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from tests.party.kept import accountable
from tests.party.processes import PATIENCE
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, shares_plan, tables_for

# Python runs a module of this name before anything else; this one writes down each import as it begins.
WITNESS = """
import atexit, os, sys
_log = os.open(os.environ["IMPORTS_SEEN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def _note(event, arguments):
    if event == "import":
        os.write(_log, arguments[0].encode() + b"\\n")
sys.addaudithook(_note)
# importlib.import_module, by which names are imported late, raises no such event.
atexit.register(lambda: os.write(_log, "".join(name + "\\n" for name in list(sys.modules)).encode()))
"""
PROGRAM = "from plumbob.cli import main; main()"
# The packages of every extra, as they are imported where that differs from the name they are installed by.
IMPORTED_AS = {
    "python-flint": "flint",
    "scikit-learn": "sklearn",
    "pyyaml": "yaml",
    "pytest-timeout": "pytest_timeout",
    "pytest-xdist": "xdist",
}


ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def imported_as(requirements: Iterable[str]) -> set[str]:
    """The names under which required packages are imported."""
    installed = {re.split(r"[\[><=]", line)[0].strip().lower() for line in requirements}
    return {IMPORTED_AS.get(name, name).replace("-", "_") for name in installed}


def packages_of_extras() -> set[str]:
    """Everything that only an extra installs."""
    return imported_as(line for lines in PROJECT["optional-dependencies"].values() for line in lines)


def packages_on_the_page() -> set[str]:
    """What docs/operations.md says that a training party loads."""
    page = " ".join((ROOT / "docs" / "operations.md").read_text(encoding="utf-8").split())
    [listed] = re.findall(r"`party train` loads (.*?), and what these load themselves", page)
    return set(re.findall(r"`(\w+)`", listed))


# pyarrow itself imports pandas wherever it finds it, as it does beside these tests; the house asks for it nowhere.
FORBIDDEN = packages_of_extras() - {"pandas"}
# The lab, the engine for a cluster, and the readers of other systems' job files.
UPSTAIRS = (
    "plumbob.lab",
    "plumbob.attacks",
    "plumbob.crypto.lattice.cluster",
    "plumbob.jobs",
)
# What a run of `shares` never needs, and what another party's run, another verb or the page of a red team does.
NOT_FOR_SHARES = (
    "plumbob.checking",
    "plumbob.plan.encodings",
    "plumbob.plan.study",
    "plumbob.plan.study_mistakes",
    "plumbob.privacy",
    "plumbob.protocol.alignment",
    "plumbob.protocol.prediction",
    "plumbob.report.charts",
    "plumbob.report.page",
    "plumbob.report.templates",
    "plumbob.report.run",
    "plumbob.retired",
)
HOUSE = Path(plumbob.__file__).parent
MOST = 16_850, 110
"""Lines and files of this package: what has to be read to review a `party train` of `shares`. Neither may grow."""
MOST_WITH_NOISE_AND_EVIDENCE = 18_640, 120
"""The same for a plan with noise for whole rows, whose evidence is kept, and whose scores wait for a replay."""


class Witness:
    """Starts commands whose every import is written down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "sitecustomize.py").write_text(WITNESS)

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        """Start `plumbob WORDS` in its own interpreter."""
        places = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(places),
            "IMPORTS_SEEN": str(self.folder / name),
        }
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def imported(self, name: str) -> set[str]:
        """What that command imported, or tried to."""
        return set((self.folder / name).read_text().split())


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    """A witness in a folder that holds nothing else."""
    folder = tmp_path / "imports"
    folder.mkdir()
    return Witness(folder)


def assert_party_floor_only(imported: set[str]) -> None:
    """No module of the lab, of a cluster, of a GPU or of a job reader, no scikit-learn, nothing of an extra."""
    assert "plumbob.plan" in imported, "nothing was written down"
    assert {name for name in imported if name.startswith(UPSTAIRS)} == set()
    assert {name for name in imported if name.partition(".")[0] in FORBIDDEN} == set()


def test_party_train_loads_little_beside_its_protocol(tmp_path: Path, witness: Witness) -> None:
    """No rule of `check`, no other protocol's program, nothing that draws a page."""
    plan = shares_plan(epochs=2, open="never", test_share=0.2)
    organisations = Organisations(plan, tables_for(plan, *made_up()), tmp_path)
    for name in trained(witness, organisations):
        run = RunFolder(organisations.run_folder(name))
        assert run.record().is_finished
        left = {file.name for file in run.path.rglob("*") if file.is_file()}
        # No page, and no row in the clear: what could be made again from the record, or by nobody else, is not kept.
        [peer] = set(organisations.names) - {name}
        journal = {"journal.db", "journal.lock", "status.json"}
        # Both sides' last signatures, of the one session.
        seals = f"{run.record().account['session'][:16]}.json"
        # The label party's scores of held-out rows, by id: its own business, and not asked for again.
        known = {"held-out-scores.json", "rows.csv"} if name == organisations.names[0] else set()
        own = {"part.json", "columns.json"}
        always = {"plan.toml", "run.json", "receipt.json", f"{peer}.signature", seals, *own, *journal}
        assert left == always | known
        loaded = witness.imported(name)
        assert_party_floor_only(loaded)
        required = imported_as(PROJECT["dependencies"])
        assert {module.partition(".")[0] for module in loaded} & required == packages_on_the_page()
        assert {module for module in loaded if module.startswith(NOT_FOR_SHARES)} == set()
        assert_within(loaded, *MOST)


def test_noise_and_evidence_load_little_more(tmp_path: Path, witness: Witness) -> None:
    """The same with noise for rows, evidence and release after a replay: no replay runs beside the keys."""
    noisy = shares_plan(epochs=2, open="never", test_share=0.2, noise="rows")
    plan, _ = accountable(noisy, tmp_path, release="replayed")
    settings = {name: {"evidence_key": str(tmp_path / f"auditor-{name}" / PUBLIC_FILE)} for name, _ in plan.auditors}
    organisations = Organisations(plan, tables_for(plan, *made_up()), tmp_path, settings=settings)
    for name in trained(witness, organisations):
        loaded = witness.imported(name)
        assert_party_floor_only(loaded)
        assert not [module for module in loaded if module.startswith(("plumbob.checking", "plumbob.party.replay"))]
        assert_within(loaded, *MOST_WITH_NOISE_AND_EVIDENCE)


def trained(witness: Witness, organisations: Organisations) -> Iterator[str]:
    """The name of each party, once `party train` has come to a good end there."""
    words = {}
    for name in organisations.names:
        home = organisations.home(name)
        party.sign(home, organisations.plan_file, accept_leaks=True, accept_cheating=True, accept_evidence=True)
        words[name] = ("party", "train", str(organisations.plan_file), "--home", str(home))
    yield from finished(witness, words)


def assert_within(loaded: set[str], most_lines: int, most_files: int) -> None:
    """No more lines of this package, in no more files, than may be loaded."""
    files = {file for module in loaded if (file := file_of(module)) is not None}
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert (lines <= most_lines, len(files) <= most_files) == (True, True), (lines, len(files))


def file_of(module: str) -> Path | None:
    """Where a module of this package is written; None for others, and for the compiled kernel."""
    package, *inside = module.split(".")
    if package != "plumbob":
        return None
    place = HOUSE.joinpath(*inside)
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.exists()), None)


def finished(witness: Witness, words: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """The name of each command, started all at once, when it has come to a good end."""
    processes = {name: witness.start(name, *told) for name, told in words.items()}
    try:
        for name, process in processes.items():
            _, complaint = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, complaint
            yield name
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()


@pytest.mark.parametrize("options", [("--estimate",), ("--verbose", "--json")], ids=str)
def test_check_imports_the_party_floor_only(tmp_path: Path, witness: Witness, options: tuple[str, ...]) -> None:
    """A verdict from a plan's numbers needs no code of an attack."""
    plan = tmp_path / "plan.toml"
    plan.write_text(Plan.for_columns((11, 12), rows=27_000).to_toml())
    process = witness.start("check", "check", str(plan), *options)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode in {0, 3, 4}, complaint
    assert_party_floor_only(witness.imported("check"))


def test_an_import_of_the_lab_would_be_seen(tmp_path: Path, witness: Witness) -> None:
    """The witness writes down what the lab's own verbs import."""
    process = witness.start("predict", "predict", str(tmp_path))
    process.communicate(timeout=PATIENCE)
    assert any(name.startswith("plumbob.lab") for name in witness.imported("predict"))
