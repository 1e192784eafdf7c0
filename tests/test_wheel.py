"""The wheel as users get it: installed into a bare environment without a compiler, it runs the demo natively."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it names, and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    [wheel] = (ROOT / "dist").glob("*.whl")  # Made by `make wheel`.
    # A compiler that always fails: whatever had to be built from source would not be installed.
    environment = {**os.environ, "CC": "false", "CXX": "false"}
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True, env=environment, capture_output=True)
    return folder


@pytest.mark.wheel
@pytest.mark.timeout(900)
def test_the_demo_runs_from_the_wheel(bare: Path, tmp_path: Path) -> None:
    """Away from the sources, the installed command trains, attacks, defends and writes its report."""
    command = [str(bare / "bin" / "plumbob"), "demo", "--out", str(tmp_path / "demo"), "--quiet"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "with engine native" in page
    assert "With shares it reads none." in page


@pytest.mark.wheel
def test_the_wheel_brings_its_data(bare: Path, tmp_path: Path) -> None:
    """Away from the sources, the bundled credit data are read, and who made them is said beside them."""
    script = "from plumbob import datasets as d; print(len(d.load('loans', 'all')[1])); print(d.LOANS_FILE.parent)"
    command = [str(bare / "bin" / "python"), "-c", script]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    rows, folder = finished.stdout.splitlines()
    assert rows == "4000"
    assert "CC BY 4.0" in (Path(folder) / "ATTRIBUTION.txt").read_text(encoding="utf-8")
