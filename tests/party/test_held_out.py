"""After training, the label party learns how good the model is on held-out rows; the others count what they answer."""

import threading
from pathlib import Path

import pytest

from plumbob.commands import party_runs
from plumbob.party import alignment, prediction, signature
from plumbob.party.home import Home
from plumbob.party.rows import encoded_width, own_table
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.run_folder import RunFolder
from tests.party.test_proposal import ROWS, homes

__all__ = ["homes"]


@pytest.fixture
def plan(homes: tuple[Path, Path]) -> Path:
    """Signed by both, with a quarter of the rows held out."""
    keys = {
        "protocol": "exchange",
        "bins": 4,
        "test_share": 0.25,
        "batch_size": 40,
        "epochs": 2,
        "test_only_keys": True,
    }
    draft = Plan.for_columns((1, 1), key_bits=512, **keys)
    parties = draft.replace(
        parties=tuple(
            type(party)(name, party.role, 1) for name, party in zip(("bank", "fund"), draft.parties, strict=True)
        )
    )
    widths = [encoded_width(own_table(Home.open(folder), parties), parties) for folder in homes]
    agreed = parties.replace(features=widths)
    ids = tuple(sorted(f"c{row}" for row in range(20, ROWS)))
    for home in map(Home.open, homes):
        alignment.keep(home, agreed, Alignment(ids, "0" * 64, len(ids), {"bank": ROWS, "fund": ROWS}))
        signature.sign(home, agreed, accepts_leaks=True)
    file = homes[0].parent / "joint.toml"
    file.write_text(agreed.to_toml())
    return file


def trained(folders: tuple[Path, Path], plan: Path) -> list[dict[str, object]]:
    """What each side prints."""
    results: list[dict[str, object]] = [{}, {}]

    def work(place: int) -> None:
        results[place] = party_runs.train(folders[place], plan, False, True, lambda words: None, allow_test_keys=True)

    threads = [threading.Thread(target=work, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


def test_the_label_party_gets_the_quality(homes: tuple[Path, Path], plan: Path) -> None:
    """Joint and alone, on the held-out rows; the other party gets none, and has booked the rows that it answered."""
    bank, fund = trained(homes, plan)
    quality = bank["quality"]
    assert isinstance(quality, dict)
    assert set(quality["held-out rows"]) == {"joint", "local-only"}
    assert bank["test_rows"] == 55
    assert fund["quality"] == {}
    agreed = Plan.load(plan)
    assert prediction.Ledger.of(Home.open(homes[1]), agreed).answered() == 55
    assert RunFolder(Path(str(bank["out"]))).record().quality == quality


def test_a_limit_on_answers_leaves_a_finished_run(homes: tuple[Path, Path], plan: Path) -> None:
    """The fund answers nothing above its limit: the model is there, its quality is not."""
    settings = homes[1] / "party.toml"
    settings.write_text(settings.read_text().replace("most_rows = 0", "most_rows = 10"))
    bank, fund = trained(homes, plan)
    assert (bank["status"], fund["status"]) == ("finished", "finished")
    assert bank["quality"] == {}
