"""The wheel as users get it: installed into a bare environment without a compiler, it runs the demo natively."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OF_THE_LAB = ("gmpy2", "flint", "sklearn", "matplotlib", "starlette")


Command = list[str | Path]


def installed(folder: Path, extra: str = "") -> Path:
    """An environment with the wheel, what it names, and nothing else; returns the folder of its commands."""
    venv.create(folder, with_pip=True)
    [wheel] = (ROOT / "dist").glob("*.whl")  # Made by `make wheel`.
    # A compiler that always fails: whatever had to be built from source would not be installed.
    environment = {**os.environ, "CC": "false", "CXX": "false"}
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", f"{wheel}{extra}"]
    subprocess.run(install, check=True, env=environment, capture_output=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands that an organisation installs."""
    return installed(tmp_path_factory.mktemp("bare"))


@pytest.mark.wheel
@pytest.mark.timeout(900)
def test_a_party_needs_nothing_of_the_lab(bare: Path, tmp_path: Path) -> None:
    """Without the extra `lab` a plan is checked, a party made and the package imported; the demo names the extra."""
    for module in OF_THE_LAB:
        assert subprocess.run([bare / "python", "-c", f"import {module}"], capture_output=True).returncode == 1, module
    party: Command = [bare / "plumbob", "party", "init", "bank", "--home", str(tmp_path / "bank")]
    checked: Command = [bare / "plumbob", "check", "--features", "11,12", "--rows", "27000"]
    imported: Command = [bare / "python", "-c", "import plumbob; plumbob.Plan"]
    for command in (checked, party, imported):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        # Nobody is honest by the default plan alone: 4 says that only a cheat reads something.
        assert done.returncode in (0, 4), done.stderr
    refused = subprocess.run([bare / "plumbob", "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "[lab]" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.wheel
@pytest.mark.timeout(900)
def test_the_demo_runs_from_the_wheel(tmp_path: Path) -> None:
    """Away from the sources, the command with the extra trains, attacks, defends and writes its report."""
    folder = installed(tmp_path / "with-lab", "[lab]")
    command = [str(folder / "plumbob"), "demo", "--out", str(tmp_path / "demo"), "--quiet"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "With shares it reads none." in page


@pytest.mark.wheel
def test_the_wheel_brings_its_data(bare: Path, tmp_path: Path) -> None:
    """Away from the sources, the bundled credit data are read, and who made them is said beside them."""
    script = "from plumbob.lab import datasets as d; print(len(d.load('loans', 'all')[1])); print(d.LOANS_FILE.parent)"
    command = [str(bare / "python"), "-c", script]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    rows, folder = finished.stdout.splitlines()
    assert rows == "4000"
    assert "CC BY 4.0" in (Path(folder) / "ATTRIBUTION.txt").read_text(encoding="utf-8")
