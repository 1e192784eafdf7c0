"""`plumbob check` from the outside, what it costs, and jobs of other systems."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from plumbob.cli.check import code_of
from plumbob.crypto.lattice import sets
from plumbob.party.estimate import estimate, key_memory
from plumbob.plan import Plan
from plumbob.protocol.account import seal_bytes
from plumbob.protocol.journal import Resumed
from plumbob.protocol.messages import HEADER
from plumbob.protocol.shares.shape import RunShape
from plumbob.protocol.shares.sizes import sent_in_a_run
from plumbob.protocol.shares.training import SharesParty
from plumbob.run_folder import RunFolder
from tests.command_line import CommandLine
from tests.protocol.support import shares_plan, trained

SAMPLES = Path(__file__).parent.parent / "examples" / "moving-in"
LEAKY = ["--rows", "27000", "--features", "11,12", "--batch-size", "64", "--epochs", "30", "--protocol", "exchange"]
SPLIT = {"features": (11, 12), "rows": 27_000}
FIELDS = {"attack", "by", "against", "target", "verdict", "why", "reference", "fix", "rate", "baseline", "interval"}
TINY = shlex.split("--features 15,15 --set key_bits=512 --set test_only_keys=true --epochs 1 --data breast-cancer")


# Check.


def test_rows_that_a_party_aligned_are_judged(tmp_path: Path, cli: CommandLine) -> None:
    """They come from the party's folder where the plan does not say how many rows there are, and only there."""
    folder = tmp_path / "party" / "aligned"
    folder.mkdir(parents=True)
    ids = [f"p{row}" for row in range(300)]
    (folder / "features+label.json").write_text(json.dumps({"ids": ids, "order_hash": "", "sizes": {}}))
    home = ["--home", str(folder.parent)]
    found = cli.answer("check", "--features", "3,4", "--estimate", *home, code=4)
    assert (found["rows"], found["estimate"]["rows"]) == (300, 300)
    assert "The plan does not say how many rows there are; 300 were aligned." in found["notes"]
    assert found["plan_hash"] == Plan.for_columns((3, 4)).hash()
    assert cli.answer("check", "--features", "3,4", "--rows", "500", *home, code=4)["rows"] == 500
    assert cli.answer("check", "--features", "3,4,5", *home, code=4)["rows"] == 0


def test_a_leaking_plan_is_exit_code_3(cli: CommandLine) -> None:
    """The JSON object is printed as well, with every field of a finding."""
    result = cli.answer("check", *LEAKY, code=3)
    assert result["notes"]
    assert set(result["findings"][0]) >= FIELDS
    stacked = [one for one in result["findings"] if one["attack"] == "label-stacked"]
    assert stacked[0]["verdict"] == "leaks"
    assert stacked[0]["by"] == "features"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["--protocol", "exchange"], 3),
        (["--protocol", "shares"], 4),
        (["--protocol", "shares", "--open", "own"], 4),
        (["--protocol", "clear"], 3),
    ],
    ids=str,
)
def test_exit_codes_keep_honest_and_cheating_apart(cli: CommandLine, flags: list[str], code: int) -> None:
    """3 where honest parties learn something, 4 where only a cheating one does; held-out rows are scored rows."""
    usual = LEAKY[:4] if "shares" in flags else LEAKY
    result = cli.answer("check", *usual, *flags, code=code)
    leaking = {one["assumes"] for one in result["findings"] if one["verdict"] == "leaks"}
    assert ("honest" in leaking) == (code == 3)
    assert bool(leaking) == (code != 0)
    assert [block["assumes"] for block in result["headlines"].values()] == ["honest", "cheating"]


def test_what_degrades_is_exit_code_4_if_strict(cli: CommandLine) -> None:
    """Nothing leaks, but something may: only `--strict` minds."""
    noisy = [*LEAKY, "--noise", "std", "--set", "noise_std=40", "--set", "row_norm=1", "--most-rows", "5"]
    cli.answer("check", *noisy)
    cli.answer("check", *noisy, "--strict", code=4)


@pytest.mark.parametrize(("attack", "code"), [("chosen-column", 0), ("chosen-labels", 4)])
def test_what_no_plan_prevents_changes_no_exit_code(attack: str, code: int) -> None:
    """If strict, every plan would fail by it, and the code would tell no plan from another."""
    found = {"attack": attack, "verdict": "degrades", "assumes": "cheating"}
    assert (code_of({"findings": [found]}, False), code_of({"findings": [found]}, True)) == (0, code)


def test_flags_win_over_the_file(cli: CommandLine, tmp_path: Path) -> None:
    """One file, asked about in two ways; the parties' names are the plan's own."""
    path = tmp_path / "joint.toml"
    tree = Plan.for_columns((11, 12), rows=27_000).to_toml().replace("label = {", "bank = {", 1)
    path.write_text(tree)
    assert cli.answer("check", str(path), code=4)["findings"][0]["by"] == "bank"
    cli.answer("check", str(path), "--protocol", "exchange", "--batch-size", "8", code=3)


def test_words_for_people(cli: CommandLine) -> None:
    """Verdicts, numbers and what to type; never that something is safe."""
    cli("check", *LEAKY)
    short = cli.out
    assert short.startswith("If everyone keeps to the protocol:")
    assert "What helps: --protocol shares" in short
    assert "No verdict is a proof of safety" not in short
    cli("check", *LEAKY, "--verbose")
    text = cli.out
    assert len(text) > 2 * len(short)
    assert "No verdict is a proof of safety" in text
    assert not re.search(r"\bsafe\b", text)


# Training what leaks.


def test_train_refuses_a_plan_that_leaks(cli: CommandLine, tmp_path: Path) -> None:
    """The refusal names the worst findings before anything is written; accepted, it trains and the record says so."""
    out = tmp_path / "run"
    train = ["train", *TINY, "--protocol", "exchange", "--batch-size", "8", "--out", str(out)]
    assert cli(*train) == 1
    said = cli.err
    assert "label-sign by features" in said
    assert "--accept-leaks" in said
    assert not out.exists()
    result = cli.answer(*train, "--accept-leaks", "--batch-size", "128")
    assert result["accepted_leaks"] is True
    assert RunFolder(out).record().accepted_leaks


@pytest.mark.parametrize("protocol", ["clear", "shares"])
def test_train_does_not_refuse_what_is_not_shown_to_leak(cli: CommandLine, tmp_path: Path, protocol: str) -> None:
    """A plan without a finding that leaks is trained without a word."""
    usual = [*TINY, "--set", "key_bits=640", "--set", "batches=full"] if protocol == "clear" else TINY[:2] + TINY[-4:]
    flags = [*usual, "--protocol", protocol, "--out", str(tmp_path)]
    assert cli.answer("train", *flags)["accepted_leaks"] is False


# Cost.


def test_bytes_of_lattices_are_exact_but_for_repeated_tests() -> None:
    """Each key whose test is repeated, one in fifty, adds a challenge; nothing else is missing."""
    plan = Plan.for_columns((2, 3), protocol="shares", open="own", epochs=2, seed=3)
    sent = sum(party.bytes_sent for party in trained(plan).record.parties)
    counted = sum(one.times * (HEADER.size + one.size) for one in sent_in_a_run(plan, 40, signed=False))
    repeated = sent - counted
    # Opened weights: three signatures each way.
    assert estimate(plan.replace(rows=40)).bytes_sent == counted + 6 * (HEADER.size + seal_bytes(2))
    assert 0 <= repeated < 8 * 2 * sets.SLOTS.polynomial_bytes


@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)], ids=str)
def test_the_estimate_knows_what_keys_take(split: tuple[int, ...]) -> None:
    """All keys are there before the first pass: their polynomials, at their owners and evaluators, are what it says."""
    plan = shares_plan(split, epochs=2)
    held: list[int] = []

    class Weighing(SharesParty):
        def settle_keys(self, resumed: Resumed | None) -> None:
            super().settle_keys(resumed)
            own, tested = self.keys.own.values(), self.keys.tested.values()
            residues = [key.secret for key in own] + [key.residues for key in tested]
            public = [*(key.public for key in own), *(key.public for key in tested)]
            held.append(sum(each.nbytes for each in residues) + sum(map(len, public)))

    trained(plan, instead={party.name: Weighing for party in plan.learners})
    assert sum(held) == key_memory(RunShape(plan, 40))


def test_estimate_is_printed(cli: CommandLine) -> None:
    """Minutes, megabytes and memory of `shares`; any other protocol is refused in one sentence."""
    cost = cli.answer("check", "--features", "11,12", "--rows", "27000", "--estimate", code=4)["estimate"]
    assert cost["steps"] == 16
    assert cost["megabytes_sent"] == pytest.approx(175, rel=0.01)
    assert 0.0 < cost["minutes"] < 1.0
    assert 50 < cost["peak_memory_mib"] < 5_000
    assert cli("check", *LEAKY, "--estimate") == 1
    assert '--estimate: expected protocol = "shares", got "exchange"; leave --estimate out' in cli.err


# Moving in.


def test_a_job_is_checked(cli: CommandLine) -> None:
    """An arbiter that is one of the parties leaks at any setting, and all that was read is in the answer."""
    job = ["check", "--from-fate", str(SAMPLES / "fate1_hetero_lr.json"), "--features", "11,12", "--rows", "27000"]
    result = cli.answer(*job, code=3)
    assert any("without masks" in note for note in result["notes"])
    assert {"key": "key_bits", "value": 1024, "source": "file"}.items() <= _entry(result, "key_bits").items()
    assert isinstance(result["ignored"], list)
    result = cli.answer(*job, "--set", "batches=fixed", "--set", "start=xavier", code=3)
    leaking = [finding["attack"] for finding in result["findings"] if finding["verdict"] == "leaks"]
    assert {"arbiter-key", "keys"} <= set(leaking)


def test_a_job_moves_here(cli: CommandLine, tmp_path: Path) -> None:
    """`plan new` turns a job into a plan that leaks nothing, and lists what is different in it."""
    job, out = str(SAMPLES / "fate1_hetero_lr.json"), tmp_path / "moved.toml"
    result = cli.answer("plan", "new", "--from-fate", job, "--features", "11,12", "--out", str(out))
    assert any(line.startswith("protocol: arbiter") for line in result["differences"])
    plan = Plan.load(out)
    assert (plan.protocol, plan.open, plan.l2, plan.key_bits) == ("shares", "never", 0.01, 2048)
    cli.answer("check", str(out), "--rows", "27000", code=4)


def _entry(result: dict[str, Any], key: str) -> dict[str, Any]:
    return next(one for one in result["read"] if one["key"] == key)
