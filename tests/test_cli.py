"""The command line parses, calls and prints. Long work behind it is replaced here; training is real, with tiny keys."""

import csv
import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import plumbob
from plumbob import __version__
from plumbob.cli import INTERRUPTED
from plumbob.errors import ROOM_ADVICE, CryptoError
from plumbob.lab.attacks import Attack, Claim, Condition, View
from plumbob.plan import KEYS, Plan, toml_value
from plumbob.record import Finding
from plumbob.run_folder import RunFolder
from tests.command_line import CommandLine, call

HEAVY = {"cryptography", "gmpy2", "narwhals", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}
RESULT = {"out": "demo", "joint": 0.75, "lines": ["one  line [as it is]", "x" * 200]}

TINY = shlex.split("--features 15,15 --batch-size 128 --epochs 2 --set key_bits=512 --set test_only_keys=true")
SHARES = [*TINY[:2], "--epochs", "2", "--protocol", "shares"]
"""The same of `shares`, which has no keys and batches to choose."""
VERBS = [
    ["demo"],
    ["check"],
    ["train"],
    ["audit"],
    ["predict"],
    ["party", "receipt"],
    ["report"],
    ["export"],
    ["lab"],
    ["plan", "new"],
    ["plan", "show"],
    ["party", "init"],
    ["party", "invite"],
    ["party", "join"],
    ["party", "doctor"],
]

Progress = Callable[[str], None]


@pytest.fixture(autouse=True)
def no_real_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the modules that do the work by one that answers at once."""

    def demo(out: Path, progress: Progress) -> dict[str, object]:
        progress(f"writing to {out}")
        return {**RESULT, "out": str(out)}

    put_in_place(monkeypatch, "demo", demo)


def put_in_place(monkeypatch: pytest.MonkeyPatch, name: str, run: Callable[..., dict[str, object]]) -> None:
    """Make `from plumbob import NAME` give a module with nothing but this `run`."""
    module = types.ModuleType(f"plumbob.lab.{name}")
    module.__dict__["run"] = run
    monkeypatch.setitem(sys.modules, f"plumbob.lab.{name}", module)
    monkeypatch.setattr(f"plumbob.lab.{name}", module, raising=False)


def test_version(cli: CommandLine) -> None:
    """`--version` prints the name and the version."""
    assert cli("--version") == 0
    assert cli.out == f"plumbob {__version__}\n"


@pytest.mark.parametrize("arguments", [["nothing-like-this"], ["demo", "--nothing-like-this"], ["demo", "surplus"]])
def test_wrong_usage_is_exit_code_2(cli: CommandLine, arguments: list[str]) -> None:
    """What cannot be parsed leaves with 2 and says so on standard error only."""
    assert cli(*arguments) == 2
    printed = cli.read()
    assert printed.out == ""
    assert "Usage" in printed.err


def test_json_is_one_object(cli: CommandLine) -> None:
    """With `--json` standard output is one JSON object and the progress is elsewhere."""
    assert cli("demo", "--json") == 0
    printed = cli.read()
    assert json.loads(printed.out) == {"out": "demo", "joint": 0.75}
    assert printed.err == "writing to demo\n"


def test_lines_are_printed_as_they_are(cli: CommandLine) -> None:
    """Outside a terminal nothing is coloured, wrapped or taken for markup."""
    assert cli("demo") == 0
    assert cli.read() == ("one  line [as it is]\n" + "x" * 200 + "\n", "writing to demo\n")


def test_quiet_silences_progress(cli: CommandLine) -> None:
    """`--quiet` leaves standard error empty and the result in place."""
    assert cli("demo", "--quiet") == 0
    assert cli.read() == ("one  line [as it is]\n" + "x" * 200 + "\n", "")


def test_demo_writes_where_it_is_told(cli: CommandLine, tmp_path: Path) -> None:
    """`--out` reaches the demo; without it the folder is `demo`."""
    cli("demo", "--out", str(tmp_path), "--json", "--quiet")
    assert json.loads(cli.out)["out"] == str(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG], ids=errno.errorcode.get)
def test_a_disk_without_room_has_its_advice(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Whichever file the system refuses to write, the message says what to do."""

    def refused(*_arguments: object) -> dict[str, object]:
        raise OSError(number, os.strerror(number), "report.html")

    put_in_place(monkeypatch, "demo", refused)
    assert cli("demo") == 1
    assert cli.err == f"plumbob: report.html: {os.strerror(number)}; {ROOM_ADVICE}\n"


def test_our_errors_become_a_message(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PlumbobError leaves with 1 and its message, without a traceback."""

    def refuse(out: Path, progress: Progress) -> dict[str, object]:
        raise CryptoError("expected a key of 2048 bits, got 1024; make a new one")

    put_in_place(monkeypatch, "demo", refuse)
    assert cli("demo", "--json") == 1
    assert cli.read() == ("", "plumbob: expected a key of 2048 bits, got 1024; make a new one\n")


SHOW_LOADED = """
import contextlib, io, json, sys
from plumbob.cli import main
loaded = {}
for verb in json.loads(sys.argv[1]):
    sys.argv = ["plumbob", *verb, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        main()
    assert "Usage: " + " ".join(["plumbob", *verb]) in shown.getvalue()
    loaded[" ".join(verb)] = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps(loaded))
"""


def test_start_up_is_light() -> None:
    """Parsing loads none of the libraries that do the work, so that every verb starts at once."""
    words = [sys.executable, "-c", SHOW_LOADED, json.dumps([[], *VERBS])]
    loaded = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert len(loaded) == len(VERBS) + 1
    assert "typer" in loaded[""]
    assert {verb: sorted(HEAVY & set(names)) for verb, names in loaded.items() if HEAVY & set(names)} == {}


# Plans.


def test_plan_new_reads_back(cli: CommandLine, tmp_path: Path) -> None:
    """What `plan new` writes is the plan that its flags describe, and `hash` and `show` agree on it."""
    file = tmp_path / "deep" / "joint.toml"
    words = "--names bank,fund --protocol exchange --set intercept=false --set 'heuristic={ T = 5 }' --l2 0.5"
    made = cli.answer("plan", "new", "--out", str(file), *shlex.split(words))
    plan = Plan.load(file)
    assert [party.name for party in plan.learners] == ["bank", "fund"]
    assert (plan.protocol, plan.intercept, plan.heuristic.T, plan.l2) == ("exchange", False, 5, 0.5)
    assert made["hash"] == plan.hash()
    assert cli.answer("plan", "show", str(file))["hash"] == plan.hash()
    assert cli("plan", "show", str(file)) == 0
    printed = cli.out
    assert Plan.from_toml(printed) == plan
    assert plan.hash() in printed


def test_plan_new_overwrites_nothing(cli: CommandLine, tmp_path: Path) -> None:
    """A plan that may be signed already is not lost by a second call."""
    file = tmp_path / "joint.toml"
    file.write_text("precious")
    assert cli("plan", "new", "--out", str(file)) == 1
    assert "there is a file already" in cli.err
    assert file.read_text() == "precious"


def test_every_key_can_be_typed(cli: CommandLine) -> None:
    """The usual keys by a flag, all of them by `--set`: both are made from the plan's own list."""
    for key in KEYS:
        flag = [f"--{key.name.replace('_', '-')}", str(key.default)]
        by_name = ["--set", f"{key.name}={toml_value(key.default)}"]
        for words in (flag, by_name) if key.is_usual else (by_name,):
            # Some defaults need one another; here only parsing counts.
            assert cli("plan", "new", *words) in (0, 1)
    assert "No such option" not in cli.err
    assert "unknown" not in cli.err


@pytest.mark.parametrize(("typed", "value"), [(".3", 0.3), ("0.3", 0.3), ("3e-1", 0.3), ("+.3", 0.3), ("0", 0.0)])
def test_a_number_is_typed_as_people_write_it(cli: CommandLine, typed: str, value: float) -> None:
    """The plan's file wants a digit before the point; whoever types a key need not."""
    assert cli.answer("plan", "new", "--set", f"l2={typed}")["plan"]["l2"] == value


def test_wrong_key_is_explained(cli: CommandLine) -> None:
    """The plan's own message, one line a mistake."""
    assert cli("plan", "new", "--protocol", "exchagne", "--epochs", "-1") == 1
    printed = cli.read()
    assert printed.out == ""
    assert 'did you mean "exchange"?' in printed.err
    assert "model.epochs" in printed.err


# Training and what follows from it.


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of each protocol on bundled data, made by the real command line."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("clear", "exchange", "shares", "arbiter"):
        out = ["--out", str(folder / name), "--json", "--quiet", "--accept-leaks"]
        out += ["--open", "own"] if name == "shares" else []
        usual = SHARES if name == "shares" else [*TINY, "--protocol", name]
        words = [*usual, "--data", "breast-cancer", "--set", "seed=4"]
        assert call("train", *words, *out) == 0
    return folder


@pytest.mark.parametrize("protocol", ["clear", "exchange", "shares", "arbiter"])
def test_train_leaves_a_whole_run(runs: Path, protocol: str) -> None:
    """Record, plan, parts, transcripts and report lie in the folder, and quality is in the record."""
    folder = runs / protocol
    record = RunFolder(folder).record()
    assert record.is_finished
    assert set(record.quality["test part"]) == {"joint", "local-only", "pooled"}
    assert Plan.load(folder / "plan.toml").hash() == record.plan_hash
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    for party in ("label", "features"):
        assert (folder / "parties" / party / "part.json").is_file()
        assert (folder / "parties" / party / "transcript.npz").is_file()


def test_train_prints_quality_side_by_side(cli: CommandLine, tmp_path: Path) -> None:
    """Three models stand beside seven numbers, some with an interval; progress goes to stderr; a flag wins."""
    plan = tmp_path / "joint.toml"
    plan.write_text(Plan.for_columns((15, 15), protocol="exchange", batch_size=64).to_toml())
    out = str(tmp_path / "run")
    train = ["train", str(plan), "--data", "breast-cancer", "--protocol", "clear", "--out", out, "--accept-leaks"]
    assert cli(*train) == 0
    printed = cli.read()
    models = [line for line in printed.out.splitlines() if line.startswith(("joint ", "local-only ", "pooled "))]
    assert [len(re.split(r" {2,}", line)) for line in models] == [3, 3, 3]
    assert all(re.search(r"\(0\.\d{3} to [01]\.\d{3}\)", line) for line in models)
    assert "on the test part" in printed.out
    assert "step 70 of 70" in printed.err
    assert RunFolder(Path(out)).record().protocol == "clear"


def test_report_is_made_again(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """The record alone gives the same pages, beside it or anywhere else; what is no run is refused."""
    page, elsewhere = runs / "arbiter" / "report.html", tmp_path / "page.html"
    before = page.read_bytes()
    page.unlink()
    summary = runs / "arbiter" / "summary.html"
    assert cli.answer("report", str(runs / "arbiter")) == {
        "report": str(page),
        "summary": str(summary),
        "bytes": len(before),
    }
    assert page.read_bytes() == before
    assert "Plumbob decision sheet" in summary.read_text()
    assert cli.answer("report", str(runs / "arbiter"), "--out", str(elsewhere))["report"]
    assert elsewhere.read_bytes() == before
    assert (tmp_path / "page-summary.html").read_bytes() == summary.read_bytes()
    assert cli("report", str(tmp_path)) == 1
    assert cli("report", str(runs / "arbiter"), "--out", str(tmp_path / "no" / "page.html")) == 1
    assert "cannot be written" in cli.err


def test_receipt_counts_and_compares(cli: CommandLine, runs: Path) -> None:
    """What was on, how often, and that both ends hashed the same bytes; weak keys are named in words."""
    receipt = cli.answer("party", "receipt", str(runs / "exchange"))
    assert (receipt["keys"], receipt["key_bits"], receipt["key_profile"]) == ("paillier", 512, "test-only")
    assert receipt["randomness"] == "kernel"
    # Nobody signed it: it agrees with itself, and that is all.
    assert (receipt["consistent"], receipt["verified"]) == (True, False)
    assert {stream["verdict"] for stream in receipt["streams"]} == {"same at both ends"}
    assert all(party["messages_sent"] > 0 and party["bytes_sent"] > 0 for party in receipt["parties"])
    assert cli("party", "receipt", str(runs / "exchange")) == 0
    assert "for tests only" in cli.out


def test_receipt_notices_a_difference(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """Bytes that were changed on the way, or a plan that was changed afterwards, are exit code 1."""
    record = json.loads((runs / "exchange" / "run.json").read_text())
    record["parties"][0]["received_streams"]["features"] = "0" * 64
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert cli("party", "receipt", str(tmp_path)) == 1
    assert "features -> label: DIFFERS" in cli.out
    record = json.loads((runs / "exchange" / "run.json").read_text())
    record["plan"] = record["plan"].replace("epochs = 2", "epochs = 3")
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert cli("party", "receipt", str(tmp_path), "--json") == 1
    assert json.loads(cli.out)["plan_agrees"] is False


@pytest.mark.parametrize("protocol", ["clear", "shares"])
def test_predict_writes_scores(cli: CommandLine, runs: Path, tmp_path: Path, protocol: str) -> None:
    """One line a row with id, log-odds, probability and class."""
    file = tmp_path / "scores.csv"
    result = cli.answer("predict", str(runs / protocol), "--data", "breast-cancer", "--out", str(file))
    with file.open() as opened:
        rows = list(csv.DictReader(opened))
    assert list(rows[0]) == ["id", "score", "probability of 1", "predicted"]
    assert len(rows) == result["rows"] == 114
    for row in rows:
        assert (float(row["score"]) > 0) == (float(row["probability of 1"]) > 0.5) == (row["predicted"] == "1")


def test_predict_on_weights_that_stay_shared(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """`open = "never"` predicts what opened weights would."""
    shared, opened = tmp_path / "shared.csv", tmp_path / "opened.csv"
    train = ["train", *SHARES, "--data", "breast-cancer", "--set", "seed=4"]
    train += ["--open", "never"]
    cli.answer(*train, "--out", str(tmp_path / "run"))
    cli.answer("predict", str(tmp_path / "run"), "--data", "breast-cancer", "--out", str(shared))
    cli.answer("predict", str(runs / "shares"), "--data", "breast-cancer", "--out", str(opened))

    def scores(file: Path) -> list[float]:
        with file.open() as lines:
            return [float(row["score"]) for row in csv.DictReader(lines)]

    assert scores(shared) == pytest.approx(scores(opened), abs=1e-3)


def test_export(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """The verb writes where it is told and says where."""
    file = tmp_path / "model.json"
    assert cli.answer("export", str(runs / "arbiter"), "--out", str(file))["out"] == str(file)
    assert len(json.loads(file.read_text())["coefficients"]) == 30
    assert cli("export", str(runs / "arbiter"), "--to", "pickle") == 1


@pytest.mark.parametrize("verb", [["export"], ["predict", "--data", "breast-cancer"]], ids=lambda verb: verb[0])
def test_one_partys_own_side_says_whose_part_is_here(
    cli: CommandLine, runs: Path, tmp_path: Path, verb: list[str]
) -> None:
    """The folder of a run on a network is not damaged because the others' parts are elsewhere."""
    own = tmp_path / "run"
    shutil.copytree(runs / "exchange", own, ignore=shutil.ignore_patterns("features"))
    assert cli(*verb, str(own)) == 1
    assert "the part of features is not here, only that of label; use" in cli.err
    assert cli("export", str(own), "--party", "label") == 0
    assert cli("export", str(own), "--party", "labl") == 1
    assert 'did you mean "label"?' in cli.err


def test_files_after_one_data_flag(cli: CommandLine, tmp_path: Path) -> None:
    """`--data a=1.csv b=2.csv` and `--data a=1.csv --data b=2.csv` mean the same, for training and prediction."""
    plan, pairs = people(tmp_path)
    common = ["--id", "id", "--label", "late", "--quiet", "--accept-leaks"]
    spread = ["train", plan, "--data", pairs[0], pairs[1], *common, "--out", str(tmp_path / "a")]
    repeated = ["train", plan, "--data", pairs[0], "--data", pairs[1], *common, "--out", str(tmp_path / "b")]
    assert cli(*spread) == 0
    assert cli(*repeated) == 0
    first, second = RunFolder(tmp_path / "a").record(), RunFolder(tmp_path / "b").record()
    assert first.parties == second.parties
    file = tmp_path / "scores.csv"
    scored = ["predict", str(tmp_path / "a"), "--data", *pairs, "--id", "id", "--out", str(file)]
    assert cli(*scored) == 0
    assert file.read_text().splitlines()[1].startswith("p0,")


def test_interrupted_run_is_marked(tmp_path: Path) -> None:
    """Ctrl-C leaves a record that says how far the run came, no traceback, and exit code 130."""
    program = "from plumbob.cli import main; main()"
    flags = [*TINY, "--protocol", "exchange", "--epochs", "100000", "--data", "breast-cancer"]
    command = [sys.executable, "-c", program, "train", *flags, "--accept-leaks", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # The first lines are about the table.
        assert any("step" in line for line in iter(process.stderr.readline, ""))
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        process.wait(timeout=120)
    assert process.returncode == INTERRUPTED == 130
    assert_marked(tmp_path, rest)


def assert_marked(out: Path, said: str) -> None:
    """The record of a run that was interrupted says how far it came, and nothing else is left of it."""
    record = RunFolder(out).record()
    assert "Traceback" not in said
    assert record.status.startswith("interrupted at step ")
    assert record.steps > 0
    assert not (out / "parties").exists()


# Attacks.


def beliefs_of(view: View) -> Claim:
    """Gives whoever holds more than one column the labels that a plain solve of each step suggests."""
    beliefs = np.full(view.rows, np.nan)
    for batch, X, _, sums in view.steps() if view.has_sums else ():
        beliefs[batch.rows] = -np.linalg.lstsq(X.T, sums, rcond=None)[0]
    condition = Condition("rank <b>", 3.0, "at least 2", True, "Lemma 0")
    return Claim.of_labels(beliefs, conditions=(condition,))


@pytest.fixture
def toy_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names for one attack, no other that is acted out, and no rule: the real ones have tests of their own."""
    names = ("label-toy", "label-other")
    toys = tuple(Attack(name, "features", beliefs_of, "Criterion 0") for name in names)
    monkeypatch.setattr("plumbob.lab.audit.redteam.ATTACKS", toys)
    monkeypatch.setattr("plumbob.lab.audit.redteam.all_findings", lambda _: [])


AUDIT = ["audit", *TINY, "--protocol", "clear", "--data", "breast-cancer", "--set", "learning_rate=0.01"]
# With a seed: one batch order in many lets even this noise be averaged by luck.
NOISE = shlex.split("--noise std --set noise_std=50 --set row_norm=1 --set seed=3")


@pytest.mark.usefixtures("toy_attacks")
def test_audit_of_a_plan_that_leaks(cli: CommandLine, tmp_path: Path) -> None:
    """Exit code 3, the object is printed all the same, and record and report hold the findings."""
    flags = ["--batch-size", "15", "--epochs", "1", "--set", "tolerance_labels=0", "--out", str(tmp_path)]
    assert cli(*AUDIT, *flags, "--only", "label-toy", "--json", "--quiet") == 3
    printed = cli.read()
    assert printed.err == ""
    result = json.loads(printed.out)
    (found,) = result["findings"]
    assert (found["attack"], found["by"], found["against"]) == ("label-toy", "features", "label")
    assert (found["target"], found["verdict"]) == ("labels", "leaks")
    assert found["rate"] > found["baseline"]
    assert result["attacks_not_run"] == ["label-other"]
    assert result["notes"]
    assert RunFolder(tmp_path).record().findings == [msgspec.convert(found, Finding)]
    page = (tmp_path / "report.html").read_text()
    assert found["why"] in page
    assert "rank &lt;b&gt;" in page


@pytest.mark.usefixtures("toy_attacks")
def test_audit_of_a_plan_that_holds(cli: CommandLine, tmp_path: Path) -> None:
    """Exit code 0; for people, theory stands beside practice."""
    assert cli(*AUDIT, *NOISE, "--out", str(tmp_path), "--verbose") == 0
    printed = cli.read()
    assert "label-toy by features" in printed.err
    assert "theory beside practice" in printed.out
    assert printed.out.count("blocked") >= 2
    assert str(tmp_path / "report.html") in printed.out


@pytest.mark.usefixtures("toy_attacks")
def test_a_partial_audit_settles_nothing(cli: CommandLine, tmp_path: Path) -> None:
    """Exit code 4 where nothing leaks, the attacks that were not run by name, and no green verdict on the page."""
    assert cli(*AUDIT, *NOISE, "--out", str(tmp_path), "--only", "label-toy") == 4
    assert "These attacks were not run: label-other" in cli.out
    page = (tmp_path / "report.html").read_text()
    assert "This audit is partial" in page
    assert "so this settles nothing" in page
    assert 'class="verdict blocked"' not in page


def test_attacks_that_read_nothing_are_not_taken_for_safety(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """With `shares` nobody sees a gradient: it is said why no attack was run, and how to run those that apply."""
    folder = tmp_path / "run"
    shutil.copytree(runs / "shares", folder)
    cli.read()
    assert cli("audit", str(folder), "--only", "label-sign") == 4
    printed = cli.out
    assert "no attack was run: in this run nobody sees what the attacks named by --only read" in printed
    assert printed.endswith("to run every attack, leave --only out\n")


def audited(cli: CommandLine, *words: str) -> dict[str, Any]:
    """The JSON object of an audit, whatever it found."""
    cli.read()
    assert cli("audit", *words, "--json", "--quiet") in (0, 3, 4)
    result: dict[str, Any] = json.loads(cli.read().out)
    return result


@pytest.mark.usefixtures("toy_attacks")
def test_audit_of_a_recorded_run(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """`--only a b` and `--only a --only b` mean the same; a plan's keys and data are refused beside a run."""
    folder = tmp_path / "run"
    shutil.copytree(runs / "exchange", folder)
    found = audited(cli, str(folder))["findings"]
    toys = [one for one in found if one["stage"] == "training"]
    assert {one["attack"] for one in toys} == {"label-toy", "label-other"}
    spread = audited(cli, str(folder), "--only", "label-toy", "label-other")
    repeated = audited(cli, "--only", "label-toy", "--only", "label-other", str(folder))
    assert spread["findings"] == repeated["findings"] == toys
    one = audited(cli, str(folder), "--only", "label-toy")
    assert {finding["attack"] for finding in one["findings"]} == {"label-toy"}
    for words in (["--epochs", "3"], ["--data", "breast-cancer"]):
        assert cli("audit", str(folder), *words) == 2
        assert "a recorded run has its plan and data" in " ".join(cli.err.split())


@pytest.mark.usefixtures("toy_attacks")
def test_findings_of_a_recorded_run_are_kept(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """Findings are in the record and on the page, and only once when the audit is repeated."""
    folder = tmp_path / "run"
    shutil.copytree(runs / "clear", folder)
    found = audited(cli, str(folder))["findings"]
    record = RunFolder(folder).record()
    assert record.findings == [msgspec.convert(one, Finding) for one in found]
    assert "label-toy" in (folder / "report.html").read_text()
    audited(cli, str(folder))
    assert RunFolder(folder).record().notes == record.notes


@pytest.mark.usefixtures("toy_attacks")
def test_findings_of_one_attack_do_not_drop_those_of_the_others(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """A page that showed a leak shows it still when another attack was run again."""
    folder = tmp_path / "run"
    shutil.copytree(runs / "clear", folder)
    audited(cli, str(folder))
    before = RunFolder(folder).record().findings
    assert {finding.attack for finding in before} == {"label-toy", "label-other"}
    shown = audited(cli, str(folder), "--only", "label-toy")["findings"]
    assert {finding["attack"] for finding in shown} == {"label-toy"}
    after = RunFolder(folder).record().findings
    assert sorted(after, key=str) == sorted(before, key=str)


@pytest.mark.usefixtures("toy_attacks")
def test_attacks_that_do_not_exist(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """Refused before anything is trained, with the names that there are."""
    assert cli("audit", str(runs / "clear"), "--only", "magic") == 1
    assert cli(*AUDIT, "--only", "magic", "--out", str(tmp_path / "run")) == 1
    printed = cli.read()
    assert printed.err.count("there is no attack magic; choose from label-toy, label-other") == 2
    assert not (tmp_path / "run").exists()
    assert cli("audit", str(runs / "clear"), str(runs / "shares")) == 2


@pytest.mark.usefixtures("toy_attacks")
def test_attack_without_a_recording(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    """A folder that holds a record only is refused in a sentence, and so is half a transcript."""
    shutil.copytree(runs / "clear", tmp_path / "run")
    file = tmp_path / "run" / "parties" / "features" / "transcript.npz"
    file.write_bytes(file.read_bytes()[:200])
    assert cli("audit", str(tmp_path / "run")) == 1
    assert "cut short or damaged" in cli.err
    file.unlink()
    assert cli("audit", str(tmp_path / "run")) == 1
    assert "nothing was recorded of features" in cli.err


# Bad input, each through the real command line.


def people(folder: Path) -> tuple[str, list[str]]:
    """A plan and two files that fit it: the bank has a number, the fund a number and a word."""
    keys = {"protocol": "clear", "batch_size": 18, "epochs": 1, "seed": 2, "rare": 1}
    parties = {"bank": {"role": "label", "features": 1}, "fund": {"role": "features", "features": 2}}
    plan = folder / "joint.toml"
    plan.write_text(Plan.from_dict({"parties": parties}).replace(**keys).to_toml())
    return str(plan), [f"bank={bank_file(folder)}", f"fund={fund_file(folder)}"]


def bank_file(folder: Path, **cells: str) -> Path:
    """Twenty people with income and label; `cells` puts something else into the first row."""
    rows = [{"id": f"p{row}", "income": str(row * 3 % 7), "late": str(row % 2)} for row in range(20)]
    return write_rows(folder / "bank.csv", rows, cells)


def fund_file(folder: Path, start: int = 0, **cells: str) -> Path:
    """The same people's shares and rank."""
    numbers = range(start, start + 20)
    rows = [{"id": f"p{row}", "shares": str(row * 5 % 11), "rank": ("gold", "iron")[row % 2]} for row in numbers]
    return write_rows(folder / "fund.csv", rows, cells)


def write_rows(path: Path, rows: list[dict[str, str]], cells: dict[str, str]) -> Path:
    """A CSV file, with these cells put into its first row."""
    rows[0] |= cells
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def one_class(folder: Path) -> None:
    """A bank whose customers are all late."""
    rows = [{"id": f"p{row}", "income": str(row), "late": "1"} for row in range(20)]
    write_rows(folder / "bank.csv", rows, {})


BAD_INPUT: dict[str, tuple[Callable[[Path], object], list[str], str]] = {
    "infinity": (
        lambda folder: fund_file(folder, shares="inf"),
        [],
        "fund: column 'shares': 1 of 20 numbers is infinite or too large",
    ),
    "text": (
        lambda folder: fund_file(folder, shares="hush-4711"),
        [],
        "column 'shares': 1 of 20 cells is not a number, the first in row 1",
    ),
    "repeated id": (lambda folder: fund_file(folder, id="p7"), [], "fund: 1 of 20 rows repeat the id"),
    "one class": (one_class, [], "bank: expected two classes of labels in 20 rows, got 1"),
    "nobody in common": (lambda folder: fund_file(folder, start=500), [], "have no id in common"),
    "batch too large": (lambda folder: None, ["--batch-size", "21"], "batch_size 21 is more than the 20 training rows"),
    "too few columns": (lambda folder: None, ["--features", "2,2"], "bank: the plan says 2 columns, its data give 1"),
    "key too small": (
        lambda folder: None,
        ["--protocol", "exchange", "--set", "key_bits=1024"],
        "expected 2048 or 3072, got 1024",
    ),
    "unknown key": (lambda folder: None, ["--set", "sigmoid=tailor"], 'did you mean "taylor"?'),
    "protocol cannot": (
        lambda folder: None,
        ["--protocol", "exchange", "--set", "sigmoid=piecewise"],
        'which carries "taylor"',
    ),
    "no such column": (lambda folder: None, ["--id", "number"], "bank: no column 'number'"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_explained(cli: CommandLine, tmp_path: Path, case: str) -> None:
    """A clear message, exit code 1, nothing on standard output or the disk, and no value of anybody's table."""
    plan, pairs = people(tmp_path)
    spoil, flags, message = BAD_INPUT[case]
    spoil(tmp_path)
    train = ["train", plan, "--data", *pairs, "--id", "id", "--label", "late", "--out", str(tmp_path / "run")]
    assert cli(*train, *flags) == 1
    printed = cli.read()
    assert printed.out == ""
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert not any(value in printed.err for value in ("4711", "gold", "p7"))
    assert not (tmp_path / "run").exists()


def test_a_run_that_fails_leaves_the_one_before_it(cli: CommandLine, tmp_path: Path) -> None:
    """The earlier run stays in its own folder until another has finished in its place; other files stay too."""
    plan, pairs = people(tmp_path)
    run = tmp_path / "run"
    train = ["train", plan, "--data", *pairs, "--id", "id", "--label", "late", "--out", str(run), "--accept-leaks"]
    assert cli(*train) == 0
    first = (run / "run.json").read_bytes()
    (run / "notes.txt").write_text("mine")
    cli.read()
    assert cli(*train, "--new", "--epochs", "3", "--set", "learning_rate=1000000") == 1
    said = cli.err
    assert "training diverges" in said
    assert f"the run that was there before is in {run / 'earlier-run'}" in said
    assert RunFolder(run).record().status.startswith("failed ")
    assert RunFolder(run).record().accepted_leaks
    assert not (run / "parties").exists()
    assert (run / "earlier-run" / "run.json").read_bytes() == first
    predict = ["--data", *pairs, "--id", "id", "--out", str(tmp_path / "scores.csv")]
    assert cli("predict", str(run / "earlier-run"), *predict) == 0
    assert cli(*train) == 0
    assert RunFolder(run).record().is_finished
    assert not (run / "earlier-run").exists()
    assert (run / "notes.txt").read_text() == "mine"


def test_too_little_memory_is_said_in_a_sentence(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Too little memory is one sentence and exit code 1, without a traceback."""

    def too_much(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Plan, "load", too_much)
    assert cli("plan", "show", str(tmp_path / "joint.toml")) == 1
    assert "not enough memory" in cli.err


def test_unseen_category_at_prediction(cli: CommandLine, tmp_path: Path) -> None:
    """Taken as a rare one and counted, not shown; with --strict the rows are refused."""
    plan, pairs = people(tmp_path)
    run = str(tmp_path / "run")
    assert cli("train", plan, "--data", *pairs, "--id", "id", "--label", "late", "--out", run, "--accept-leaks") == 0
    fund_file(tmp_path, rank="platinum")
    cli.read()
    predict = ["predict", run, "--data", *pairs, "--id", "id", "--out", str(tmp_path / "scores.csv")]
    assert cli(*predict, "--strict") == 1
    refused = cli.read()
    assert "levels or gaps that training never saw in 20 rows: 'rank' (1)" in refused.err
    assert not (tmp_path / "scores.csv").exists()
    assert cli(*predict) == 0
    counted = cli.read()
    assert "levels or gaps that training never saw in 20 rows" in counted.out
    assert (tmp_path / "scores.csv").exists()
    assert "platinum" not in refused.err + counted.out


@pytest.mark.parametrize(
    "verb",
    [["party", "receipt"], ["export"], ["predict", "--data", "breast-cancer"]],
    ids=lambda verb: verb[0],
)
def test_not_the_folder_of_a_run(cli: CommandLine, tmp_path: Path, verb: list[str]) -> None:
    """A folder without a run, or with a damaged one, is refused in a sentence."""
    assert cli(*verb, str(tmp_path)) == 1
    (tmp_path / "run.json").write_text("{}")
    assert cli(*verb, str(tmp_path)) == 1
    printed = cli.read()
    assert printed.out == ""
    assert printed.err.count("plumbob: ") == 2


@pytest.mark.parametrize("verb", ["train", "predict", "export", "plan new"])
def test_output_that_cannot_be_written(cli: CommandLine, runs: Path, tmp_path: Path, verb: str) -> None:
    """A file stands where a folder is needed: a sentence, not a traceback."""
    (tmp_path / "file").write_text("")
    out = ["--out", str(tmp_path / "file" / "deeper" / "out")]
    arguments = {
        "train": ["train", *TINY, "--protocol", "clear", "--accept-leaks", "--data", "breast-cancer"],
        "predict": ["predict", str(runs / "clear"), "--data", "breast-cancer"],
        "export": ["export", str(runs / "clear")],
        "plan new": ["plan", "new"],
    }
    assert cli(*arguments[verb], *out) == 1
    printed = cli.read()
    assert printed.out == ""
    assert printed.err.startswith("plumbob: ")
    assert printed.err.count("\n") == 1


def test_the_papers_settings_have_a_flag(cli: CommandLine) -> None:
    """They are written out, and what else is said wins; without the flag, `clear` is trained as `shares`."""
    plan = cli.answer("plan", "new", "--as-in-the-paper", "--set", "learning_rate=0.3")["plan"]
    assert plan["protocol"] == "exchange"
    assert {key: plan[key] for key in plumbob.PAPER} == {**plumbob.PAPER, "learning_rate": 0.3}
    usual = plumbob.Plan.for_columns((1, 1))
    clear = cli.answer("plan", "new", "--protocol", "clear")["plan"]
    fixed = {key: getattr(usual, key) for key in plumbob.PAPER}
    assert {key: clear[key] for key in plumbob.PAPER} == {**fixed, "open": "own"}
