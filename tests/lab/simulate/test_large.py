"""Tables larger than the memory that a process may have."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

ROWS, COLUMNS = 20_000, 100
# MiB beyond what a small run took; the numbers of both parties are 30.5.
ROOM = 30

PROGRAM = """
import resource, sys
from pathlib import Path
from plumbob.data import ColumnChoices
from plumbob.lab.commands import TrainingHere, predict, train
from plumbob.data import store
from plumbob.plan import Plan
from plumbob.lab import transcript
from plumbob.lab.simulate import quality

folder, room, mapped_from = Path(sys.argv[1]), int(sys.argv[2]) * 2**20, int(sys.argv[3])
store.MAPPED_FROM, store.ROWS_AT_ONCE, quality.MANY_ROWS = mapped_from, 2048, 1000
transcript.UNCOMPRESSED_FROM = 2**20
# A job of its own for each test: a finished run is not replaced.
out = folder / f"from {mapped_from}"
out.mkdir()

def whole_job(name, features):
    data = [f"{party}={folder / name}-{party}.parquet" for party in ("label", "features")]
    plan = Plan.for_columns((features, features), protocol="clear", epochs=1, batch_size=500, seed=1)
    asked = TrainingHere(plan, {}, data, "id", "y", ColumnChoices(), (), None, out / name, accept_leaks=True)
    train.run(asked, quiet=True)
    predict.predict(out / name, data, out=folder / "scores.csv", ids="id")

whole_job("small", 3)
status = Path("/proc/self/status").read_text().split()
used = int(status[status.index("VmData:") + 1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))
whole_job("large", int(sys.argv[4]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of both parties: few rows and many, those of the second in the opposite order."""
    made = tmp_path_factory.mktemp("files")
    for name, rows, columns in (("small", 1000, 3), ("large", ROWS, COLUMNS)):
        generator = np.random.default_rng(0)
        ids = [f"p{row:06d}" for row in range(rows)]
        for party in ("label", "features"):
            numbers = {f"{party}{place}": generator.normal(size=rows) for place in range(columns)}
            label = {"y": generator.integers(0, 2, rows)} if party == "label" else {}
            order = ids if party == "label" else ids[::-1]
            parquet.write_table(pa.table({"id": order, **label, **numbers}), made / f"{name}-{party}.parquet")
    return made


def finished(folder: Path, mapped_from: int) -> subprocess.CompletedProcess[str]:
    """The whole job in a process that may not have more private memory than that."""
    arguments = [str(folder), str(ROOM), str(mapped_from), str(COLUMNS)]
    # The small job starts all of Arrow's threads: one that started under the limit would take its stack from the room.
    few_threads = {**os.environ, "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, env=few_threads)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits private memory apart from mapped files")
def test_a_table_may_be_larger_than_memory(folder: Path) -> None:
    """Reading, aligning, training, judging, saving and predicting fit a limit that the table itself exceeds."""
    done = finished(folder, 2**20)
    assert done.returncode == 0, done.stderr
    assert len((folder / "scores.csv").read_text().splitlines()) == ROWS + 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits private memory apart from mapped files")
def test_the_limit_is_one(folder: Path) -> None:
    """With everything in memory the same job does not fit."""
    stopped = finished(folder, 2**40)
    assert stopped.returncode == 1
    # numpy's and Arrow's words, and Arrow's where the room ends with the stack of one more thread.
    assert any(words in stopped.stderr for words in ("MemoryError", "Failed to launch worker thread"))
