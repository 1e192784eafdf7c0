"""Plans and run folders of version 1, as that version wrote them: they load and mean what they meant."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import plumbob
from plumbob import cli
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder

FOLDER = Path(__file__).parent / "fixtures" / "version-1"
HASHES = {
    "clear": "9dcd1209c71898eed7d6032f27990d55ea8687adf31fbec42e3e09cce45ea282",
    "exchange": "cc31e9a30bb677d2096925a40f316a5b90a9e1106ef33b831e06b762ab82e85d",
    "arbiter": "bd66e04c743a0f7138a042c059a3af5534b426c1d402205486a0177d0c568224",
    "shares": "4e641cc59e417be9e58dd8d6e121250f81599b17679877448dbe0d7d8fcf91a0",
    "never": "11be28b2204e5e1d2069bb8bdc34a2d533c7ded1547d2a5a33196d4c8323a12c",
}
SPARSE_HASH = "d535c721f7192ca2e42c7c52319b8b591648abf61c86a1f6cc4e1ac3cf6b6d94"
DATA = [f"--data=bank={FOLDER / 'bank.csv'}", f"--data=fund={FOLDER / 'fund.csv'}", "--id=id"]


@pytest.fixture(params=HASHES)
def name(request: pytest.FixtureRequest) -> str:
    """One earlier run of each protocol, and one whose weights were never opened."""
    return str(request.param)


@pytest.fixture
def folder(name: str, tmp_path: Path) -> Path:
    """A copy of the earlier run, because reports are written beside it."""
    shutil.copytree(FOLDER / name, tmp_path / name)
    return tmp_path / name


def printed(*words: str) -> dict[str, object]:
    """What a verb says to programs."""
    ended = CliRunner().invoke(cli.app, [*words, "--json"])
    assert ended.exit_code == 0, ended.output
    answer: dict[str, object] = json.loads(ended.stdout)
    return answer


def test_an_earlier_plan_keeps_its_hash(name: str) -> None:
    """Signatures are over the hash: it is the one that version 1 computed, also after the plan was written again."""
    plan = Plan.load(FOLDER / name / "plan.toml")
    assert plan.hash() == HASHES[name]
    assert Plan.from_toml(plan.to_toml()).hash() == HASHES[name]


def test_an_earlier_plan_that_says_little_means_what_it_meant() -> None:
    """A file without a version has the earlier defaults."""
    plan = Plan.load(FOLDER / "sparse.toml")
    assert plan.hash() == SPARSE_HASH
    assert (plan.sigmoid, plan.scale, plan.scheme, plan.epochs) == ("taylor", "standard", "paillier", 10)
    assert (plan.batches, plan.learning_rate, plan.open, plan.feature_bits) == ("reshuffled", 0.1, "own", 16)


def test_an_earlier_record_loads(name: str) -> None:
    """The record's plan is the one that was trained."""
    record = RunFolder(FOLDER / name).record()
    assert record.is_finished
    assert record.plan_hash == Plan.from_toml(record.plan).hash() == HASHES[name]


def test_an_earlier_model_loads(name: str) -> None:
    """`plumbob.load` gives the model back, with the weights that were saved."""
    model = plumbob.load(FOLDER / name)
    stored = json.loads((FOLDER / name / "parties" / "fund" / "part.json").read_text())
    weights = model.parts["fund"].weights
    assert (weights is None) == (name == "never")
    if weights is not None:
        np.testing.assert_array_equal(weights, stored["weights"])


def test_an_earlier_run_is_reported(folder: Path) -> None:
    """Its page is written again from its record."""
    printed("report", str(folder))
    assert (folder / "report.html").stat().st_size > 10_000


def test_an_earlier_run_has_its_receipt(name: str, folder: Path) -> None:
    """The receipt names the plan that was trained, and that the record agrees with it."""
    receipt = printed("receipt", str(folder))
    assert receipt["plan_hash"] == HASHES[name]
    assert receipt["plan_agrees"] is True


def test_an_earlier_model_scores_new_rows(folder: Path, tmp_path: Path) -> None:
    """Every protocol's model still predicts, from weights and from shares of them."""
    out = tmp_path / "scores.csv"
    printed("predict", str(folder), *DATA, "--out", str(out))
    assert len(out.read_text().splitlines()) == 49
