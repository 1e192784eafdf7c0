"""`plumbob check` from the outside, what it costs, and jobs of other systems."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plumbob.commands.check import exit_code
from plumbob.commands.estimate import estimate, key_memory
from plumbob.crypto.lattice import sets
from plumbob.plan import Plan
from plumbob.protocol.messages import HEADER, Kind
from plumbob.protocol.schedules import training_schedule
from plumbob.protocol.shares.shape import LatticeShape
from plumbob.protocol.shares.training import LatticeParty
from plumbob.run_folder import RunFolder
from tests.command_line import CommandLine
from tests.protocol.support import trained
from tests.protocol.test_lattice_shares import lattice_plan

SAMPLES = Path(__file__).parent.parent / "examples" / "moving-in"
LEAKY = ["--rows", "27000", "--features", "11,12", "--batch-size", "64", "--epochs", "30", "--protocol", "exchange"]
SPLIT = {"features": (11, 12), "rows": 27_000}
FIELDS = {"attack", "by", "against", "target", "verdict", "why", "reference", "fix", "rate", "baseline", "interval"}
TINY = ["--features", "15,15", "--key-bits", "512", "--test-only-keys", "--epochs", "1", "--data", "breast-cancer"]


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


def test_an_id_column_is_named_as_for_train(tmp_path: Path, cli: CommandLine) -> None:
    """One name, or PARTY=COLUMN for each party; a party that is left out is named."""
    file = tmp_path / "own.csv"
    file.write_text("client,a,b\n" + "".join(f"p{row},{row % 7},{row % 5}\n" for row in range(60)))
    words = ["check", "--features", "3,2", "--rows", "60", "--data", f"features={file}"]
    for named in (["--id", "client"], ["--id", "label=number", "--id", "features=client"]):
        assert cli.answer(*words, *named, code=4)["rows"] == 60
    assert cli(*words, "--id", "label=number") == 1
    assert "no id column for features, only for label; add --id features=COLUMN" in cli.err


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
        (["--protocol", "shares", "--test-share", "0.2", "--predicted", "0"], 4),
        (["--protocol", "shares", "--predicted", "0"], 0),
        (["--protocol", "shares", "--predicted", "0", "--strict"], 0),
        (["--protocol", "shares", "--open", "own", "--predicted", "0"], 4),
        (["--protocol", "clear"], 3),
    ],
    ids=str,
)
def test_exit_codes_keep_honest_and_cheating_apart(cli: CommandLine, flags: list[str], code: int) -> None:
    """3 where honest parties learn something, 4 where only a cheating one does; held-out rows are scored rows."""
    result = cli.answer("check", *LEAKY, *flags, code=code)
    leaking = {one["assumes"] for one in result["findings"] if one["verdict"] == "leaks"}
    assert ("honest" in leaking) == (code == 3)
    assert bool(leaking) == (code != 0)
    assert [block["assumes"] for block in result["headlines"].values()] == ["honest", "cheating"]


def test_what_degrades_is_exit_code_4_if_strict(cli: CommandLine) -> None:
    """Nothing leaks, but something may: only `--strict` minds."""
    noisy = [*LEAKY, "--noise", "std", "--noise-std", "40", "--row-norm", "1", "--predicted", "0"]
    cli.answer("check", *noisy)
    cli.answer("check", *noisy, "--strict", code=4)


@pytest.mark.parametrize(("attack", "code"), [("chosen-column", 0), ("chosen-labels", 4)])
def test_what_no_plan_prevents_changes_no_exit_code(attack: str, code: int) -> None:
    """If strict, every plan would fail by it, and the code would tell no plan from another."""
    found = {"attack": attack, "verdict": "degrades", "assumes": "cheating"}
    assert (exit_code({"findings": [found]}, False), exit_code({"findings": [found]}, True)) == (0, code)


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


def test_a_story_with_numbers(cli: CommandLine) -> None:
    """`--explain` tells one attack with this plan's numbers, and keeps the exit code."""
    assert cli("check", *LEAKY, "--explain", "label-stacked") == 3
    text = cli.out
    assert text.startswith("label-stacked: ")
    assert "27,000 labels" in text
    assert cli("check", *LEAKY, "--explain", "label-magic") == 1


def test_runs_add_up(cli: CommandLine) -> None:
    """Eight runs of three epochs tell as much as one of twenty-four."""
    flags = [*LEAKY, "--batch-size", "256", "--start", "xavier", "--epochs", "3", "--tolerance-labels", "0.3"]
    flags += ["--predicted", "0"]
    cli.answer("check", *flags)
    cli.answer("check", *flags, "--runs", "8", code=3)


# Training what leaks.


def test_train_refuses_a_plan_that_leaks(cli: CommandLine, tmp_path: Path) -> None:
    """The refusal names the worst findings before anything is written; accepted, it trains and the record says so."""
    out = tmp_path / "run"
    train = ["train", *TINY, "--protocol", "exchange", "--batch-size", "8", "--reply-slots", "1", "--out", str(out)]
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
    flags = [*TINY, "--key-bits", "640", "--protocol", protocol, "--batch-size", "128", "--out", str(tmp_path)]
    assert cli.answer("train", *flags)["accepted_leaks"] is False


# Cost.


def without_signatures(plan: Plan) -> int:
    """The estimate's bytes of a run on 40 rows, but for the signatures, which a simulation leaves out."""
    messages = training_schedule(plan.replace(test_share=0.0), 40).messages()
    return estimate(plan, rows=40).bytes_sent - sum(HEADER.size + due.size for due in messages if due.kind is Kind.SEAL)


def test_bytes_of_lattices_are_exact_but_for_repeated_tests() -> None:
    """Each key whose test is repeated, one in fifty, adds a challenge; nothing else is missing."""
    plan = Plan.for_columns((2, 3), protocol="shares", open="own", epochs=2, seed=3)
    sent = sum(party.bytes_sent for party in trained(plan).record.parties)
    repeated = sent - without_signatures(plan)
    assert 0 <= repeated < 8 * 2 * sets.SLOTS.polynomial_bytes


@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)], ids=str)
def test_the_estimate_knows_what_keys_take(split: tuple[int, ...]) -> None:
    """All keys are there before the first pass: their polynomials, at their owners and evaluators, are what it says."""
    plan = lattice_plan(split, epochs=2)
    held: list[int] = []

    class Weighing(LatticeParty):
        def prepare(self) -> None:
            super().prepare()
            keys = self.products.keys
            residues = [key.secret for key in keys.own.values()] + [key.residues for key in keys.tested.values()]
            public = [*keys.own_public.values(), *keys.peers_public.values()]
            held.append(sum(each.nbytes for each in residues) + sum(map(len, public)))

    trained(plan, instead={party.name: Weighing for party in plan.learners})
    assert sum(held) == key_memory(LatticeShape(plan, 40))


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
    result = cli.answer(*job, "--batches", "fixed", "--start", "xavier", code=3)
    leaking = [finding["attack"] for finding in result["findings"] if finding["verdict"] == "leaks"]
    assert set(leaking) == {"arbiter-key", "keys"}


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


# What a party knows at home, and what it means to predict.


def test_a_partys_own_table_sharpens_the_verdicts(cli: CommandLine, tmp_path: Path) -> None:
    """A table whose columns predict the label perfectly leaves an attack little to add; the file is only read."""
    path = tmp_path / "own.csv"
    lines = [f"{row},{row % 2 + row / 1000},{row % 7},{row % 2}" for row in range(600)]
    path.write_text("\n".join(["id,a,b,y", *lines]))
    before = path.read_bytes()
    flags = ["check", "--rows", "600", "--features", "2,3", "--batch-size", "16", "--epochs", "3"]
    flags += ["--protocol", "exchange", "--learning-rate", "0.5"]
    without = cli.answer(*flags, code=3)
    stacked = next(one for one in without["findings"] if one["attack"] == "label-stacked")
    assert stacked["verdict"] == "leaks"
    own = ["--data", str(path), "--id", "id", "--label", "y"]
    sharper = cli.answer(*flags, *own, code=4)
    stacked = next(one for one in sharper["findings"] if one["attack"] == "label-stacked")
    assert stacked["verdict"] == "degrades"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_whose_table_it_is_must_be_clear(cli: CommandLine, tmp_path: Path) -> None:
    """Of several feature parties, the file must name one."""
    path = tmp_path / "own.csv"
    path.write_text("a,b\n1,2\n3,4\n5,7\n")
    flags = ["check", "--rows", "3", "--features", "2,2,2", "--protocol", "exchange", "--batches", "full"]
    assert cli(*flags, "--data", str(path)) == 1
    assert "expected PARTY=FILE with one of features, features-2" in cli.err
    assert cli(*flags, "--data", f"features={path}", "--quiet") in (0, 3)


def test_predicted_rows_are_judged(cli: CommandLine) -> None:
    """As many rows are judged as the plan allows, with a limit to recommend."""
    shares = ["check", "--rows", "27000", "--features", "11,12"]
    result = cli.answer(*shares, code=4)
    fixes = {one["fix"] for one in result["findings"] if one["attack"] == "prediction-equations" and one["fix"]}
    assert fixes == {"--most-rows 23"}
    # A limit takes equations away, but not what a label party that breaks the protocol reads with each score.
    limited = cli.answer(*shares, "--most-rows", "23", code=4)
    open_ones = {one["attack"] for one in limited["findings"] if one["verdict"] in ("leaks", "degrades")}
    assert "altered-shares" in open_ones
    assert "prediction-equations" not in open_ones
