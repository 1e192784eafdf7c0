"""Jobs of other systems: what is read of them, and what is refused; `samples.py` has a small job of each kind."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from plumbob import cli
from plumbob.errors import PlanError
from plumbob.jobs import System, judge, plan_to_check, plan_to_move, read_job
from plumbob.record import Finding
from tests.jobs.samples import names, sample
from tests.jobs.table import TABLE, lines


def test_the_table_is_frozen() -> None:
    """Each value of each job has its source, and what we cannot see is no all-clear; see `table.py` for a new one."""
    assert list(lines()) == TABLE.read_text(encoding="utf-8").split("\n")


def stored(folder: Path, content: str, name: str = "job.json") -> Path:
    """A file in the folder."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def conf(name: str = "hetero_lr_0", /, **parameters: Any) -> str:
    """A small job of FATE 1.x."""
    return json.dumps({"role": {}, "component_parameters": {"common": {name: parameters}}})


def parties(*key_bits: int) -> str:
    """A small job of FATE 1.x in which each party states its own keys."""
    own = [{"0": {"hetero_lr_0": {"encrypt_param": {"key_length": bits}}}} for bits in key_bits]
    return json.dumps({"component_parameters": {"role": dict(zip(("guest", "host"), own, strict=True))}})


def dag(component: str = "coordinated_lr", **task: Any) -> str:
    """A small job of FATE 2.x."""
    return json.dumps({"dag": {"tasks": {"lr_0": {"component_ref": component, "parameters": {}, **task}}}})


def node(name: str, domain: str = "ml.train", **attributes: str) -> str:
    """A component of SecretFlow."""
    values = [{"s": value} for value in attributes.values()]
    return json.dumps({"domain": domain, "name": name, "attr_paths": list(attributes), "attrs": values})


NO_JOB = "trains no vertical logistic regression; provide a"
CATALOGUE = {"domain": "ml.train", "name": "ss_sgd_train", "attrs": [{"name": "epochs", "type": "AT_INT"}]}
REFUSED: list[tuple[System, str, str]] = [
    ("FATE", json.dumps({"components": {"lr_0": {"module": "HeteroLR"}}}), NO_JOB),
    ("FATE", conf("hetero_secureboost_0"), NO_JOB),
    ("FATE", conf("homo_lr_0"), NO_JOB),
    ("FATE", conf("hetero_linr_0"), NO_JOB),
    ("FATE", json.dumps({**json.loads(conf()), "job_parameters": {"common": {"job_type": "predict"}}}), NO_JOB),
    ("FATE", dag("coordinated_linr"), NO_JOB),
    ("FATE", dag(inputs={"data": {"test_data": {}}}), NO_JOB),
    ("FATE", json.dumps({**json.loads(dag()), "kind": "bfia"}), NO_JOB),
    ("FATE", "[1, 2]", NO_JOB),
    ("FATE", "", NO_JOB),
    ("SecretFlow", node("psi"), NO_JOB),
    ("SecretFlow", node("ss_sgd", domain="ml.predict"), NO_JOB),
    ("SecretFlow", json.dumps({"name": "ml", "comps": [CATALOGUE]}), NO_JOB),
    ("FATE", node("ss_sgd_train", epochs="3"), "use --from-secretflow"),
    ("SecretFlow", conf(batch_size="many"), "use --from-fate"),
    ("SecretFlow", node("ss_sgd_train", reg_type="linear"), "regression linear is another model"),
    ("SecretFlow", node("ss_glm_train", link_type="Log"), "link log is another model"),
    ("FATE", dag("hetero_lr"), r"2\.0\.0-alpha, which is not read"),
    *(
        ("FATE", conf(batch_size=size), r"hetero_lr_0\.batch_size: expected a whole number")
        for size in ("many", True, 1.5, [3, 4], {"a": 1})
    ),
    ("FATE", conf(encrypt_param={"method": "IterativeAffine"}), r"encrypt_param\.method: expected one of paillier"),
    ("FATE", parties(2048, 256), r"hetero_lr_0\.encrypt_param\.key_length: the file has different values"),
    (
        "FATE",
        dag(parameters={"epochs": 3}).replace(
            '"tasks"', '"party_tasks": {"host_2": {"tasks": {"lr_0": {"parameters": {"epochs": 9}}}}}, "tasks"'
        ),
        r"lr_0\.epochs: the file has different",
    ),
    ("FATE", conf(learning_rate="nan"), r"hetero_lr_0\.learning_rate: expected a number"),
    ("FATE", conf(shuffle="perhaps"), r"hetero_lr_0\.shuffle: expected true or false"),
    ("FATE", conf(penalty={"a": 1}), r"hetero_lr_0\.penalty: expected a name"),
    ("FATE", '{"cells": []}', r"a program may do more .*print\(pipeline.get_dag\(\)\)"),
    ("SecretFlow", '{"cells": []}', r"a program may do more .*MessageToJson\(node\)"),
    ("FATE", "a: &a {x: 1}\nb: {<<: *a}", "a merge key"),
    ("FATE", "a: [", "neither JSON nor YAML"),
    ("FATE", '{"a": ', "neither JSON nor YAML"),
    ("FATE", "{[1]: 2}", "neither JSON nor YAML"),
    # Short files that stand for endless ones, and deep ones.
    ("FATE", "\n".join(f"a{n}: &a{n} [{', '.join(['x' if n == 0 else f'*a{n - 1}'] * 10)}]" for n in range(9)), "more"),
    ("FATE", "[" * 5000, "nested deeper"),
    ("FATE", '{"a":' * 5000, "nested deeper"),
    ("FATE", "- " * 3000, "nested deeper"),
    ("FATE", json.dumps([[0] * 600] * 600), "more than 200,000 values"),
    ("FATE", "#" * 2**19, "more than the 262,144 characters"),
    ("FATE", " " * 2**23 + "{}", "the limit is"),
]


@pytest.mark.parametrize(("system", "content", "words"), REFUSED)
def test_what_is_no_job_is_refused(tmp_path: Path, system: System, content: str, words: str) -> None:
    """One sentence says what the file is not, and what to provide."""
    with pytest.raises(PlanError, match=words):
        read_job(stored(tmp_path, content), system)


def test_a_program_is_refused_and_never_run(tmp_path: Path) -> None:
    """A script could open anything; the error has the line that prints its job."""
    with pytest.raises(PlanError, match="a program may do more"):
        read_job(stored(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')", "job.py"), "FATE")
    assert not (tmp_path / "ran").exists()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """Nothing hangs, and nothing endless is read."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(PlanError, match="this is no file"):
            read_job(path, "FATE")
    with pytest.raises(PlanError, match="there is no such file"):
        read_job(tmp_path / "none.json", "FATE")


def test_yaml_makes_texts_only(tmp_path: Path) -> None:
    """A tag that would build an object is a text, so its file holds no job."""
    with pytest.raises(PlanError, match=NO_JOB):
        read_job(stored(tmp_path, "a: !!python/object/apply:os.abort []"), "FATE")


def test_yaml_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyYAML the error names the extra, and JSON is still read."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(PlanError, match=r"\.\[lab\]"):
        read_job(stored(tmp_path, "dag: {}"), "FATE")
    assert read_job(sample("fate-2-silent.json"), "FATE").keys["epochs"] == 20


def test_json_needs_neither_yaml_nor_the_lab() -> None:
    """A job in JSON is judged without PyYAML and without anything of the lab."""
    code = (
        "import sys; from pathlib import Path; from plumbob.jobs import judge, plan_to_check, read_job\n"
        f"job = read_job(Path({str(sample('fate-1-sshe.json'))!r}), 'FATE')\n"
        "plan, job = plan_to_check(job, {}); judge(job, plan)\n"
        "print([name for name in sys.modules if name == 'yaml' or name.startswith('plumbob.lab')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("file", "version", "key_bits", "l2", "may_be_fixed"),
    [
        ("fate-1-batches.json", None, 1024, 1.0, True),
        ("fate-1-batches.json", "1.7.2", 1024, 1.0, False),
        ("fate-1-batches.json", "v1.11.4", 2048, 1.0, False),
        ("fate-1-sshe.json", "1.7.3", 2048, 0.0, False),
        ("fate-1-sshe.json", "1.8.0", 2048, 1.0, False),
    ],
)
def test_defaults_follow_the_version(
    file: str, version: str | None, key_bits: int, l2: float, may_be_fixed: bool
) -> None:
    """Keys are longer from 1.11.4 on, SSHE has a penalty from 1.8 on, and an unknown version may cut batches once."""
    job = read_job(sample(file), "FATE", version)
    assert (job.keys["key_bits"], job.keys["l2"], job.may_be_fixed) == (key_bits, l2, may_be_fixed)


@pytest.mark.parametrize(("version", "words"), [("1.7.1", r"known from 1\.7\.2 on"), ("new", "expected the other")])
def test_versions_that_we_do_not_know_are_refused(version: str, words: str) -> None:
    """FATE cut batches once before 1.7.2, which leaks more: later defaults must not stand for earlier ones."""
    with pytest.raises(PlanError, match=words):
        read_job(sample("fate-1-batches.json"), "FATE", version)


# Verdicts that no plan has.


def findings(file: Path, rows: int = 5000) -> list[Finding]:
    """A job's findings on 1 and 10 columns."""
    plan, job = plan_to_check(read_job(file, "FATE"), {"features": (1, 10), "rows": rows})
    return judge(job, plan)


@pytest.mark.parametrize(
    ("rate", "verdict", "known"), [(20, "degrades", "0.018 equations"), (0, "leaks", "0.786 equations")]
)
def test_decoys_hide_most_of_a_batch(tmp_path: Path, rate: int, verdict: str, known: str) -> None:
    """What leaks without decoys has few equations per label behind many of them."""
    settings: dict[str, Any] = {
        "alpha": 0.02,
        "learning_rate": 0.3,
        "batch_size": 100,
        "max_iter": 8,
        "masked_rate": rate,
    }
    file = stored(tmp_path, conf(**settings, shuffle=True))
    found = next(one for one in findings(file) if one.attack == "label-stacked")
    assert found.verdict == verdict
    assert known in found.why


def test_the_worse_of_two_versions_is_shown(tmp_path: Path) -> None:
    """Where nobody knows whether batches are cut once, columns that fix a batch still leak."""
    found = findings(stored(tmp_path, conf(batch_size=10, max_iter=7, learning_rate=0.3)))
    assert "leaks" in {one.verdict for one in found if "label-sign" in one.attacks}


def test_a_batch_larger_than_the_table_is_all_rows(tmp_path: Path) -> None:
    """A batch larger than the table counts as all rows, as both systems take it."""
    assert findings(stored(tmp_path, conf(batch_size=9000)), rows=500)


def test_a_moved_plan_lists_what_is_different() -> None:
    """What the job says and the plan's own rules do not take over stands there once, with the reason."""
    moved = plan_to_move(read_job(sample("fate-1-batches.json"), "FATE"), {"features": (3, 4)})
    assert (moved.plan.l2, moved.plan.intercept) == (1.0, True)
    assert moved.differences == (
        "epochs: 100 in the job, a public rule here: follows from the protocol",
        "learning_rate: 0.01 in the job, a public rule here: follows from the protocol",
        "start: xavier in the job, zero here: training begins at zero",
        "batches: reshuffled in the job, full here: follows from the protocol",
        "key_bits: 1024 in the job, lattice keys here: follows from the protocol",
        "protocol: arbiter in the job, shares here: nobody sees a gradient, and nobody holds a key for the others",
        "arbiter: the job needs one, the plan does not",
    )


# The command.


def check(file: str, *flags: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of `plumbob check` on a file."""
    system = "--from-fate" if file.startswith("fate") else "--from-secretflow"
    words = ["plumbob", "check", system, str(sample(file)), "--rows", "5000", *flags, "--json", "--quiet"]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as left:
            cli.main()
    return left.value.code if isinstance(left.value.code, int) else 0, json.loads(printed.getvalue())


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("secretflow-kuscia-job.yaml", 0),
        ("secretflow-semi2k-dealer.json", 0),
        ("secretflow-glm.json", 0),
        ("secretflow-component-id.json", 0),
        ("secretflow-train-and-predict.json", 4),
        ("fate-1-sshe.json", 4),
        ("secretflow-semi2k.json", 4),
        ("secretflow-silent.json", 4),
        ("secretflow-several.json", 4),
        ("secretflow-hands-out.json", 4),
        ("secretflow-unknown-setting.json", 4),
        ("secretflow-ref2k.json", 3),
        ("secretflow-other-models.json", 4),
        ("secretflow-reported-weights.json", 4),
        ("secretflow-hess-two-nodes.json", 4),
        ("secretflow-hess-mock.json", 3),
        ("secretflow-hess-plain.json", 3),
        ("fate-2-answer-of-flow.json", 3),
        ("secretflow-vertical-large-batch.json", 3),
        ("fate-1-no-encryption.json", 3),
        ("fate-1-sshe-no-encryption.json", 3),
        ("fate-1-arbiter-is-host.json", 3),
    ],
)
def test_only_what_is_seen_whole_is_called_safe(file: str, code: int) -> None:
    """3 for what leaks, 4 for what cannot be seen, 0 otherwise."""
    assert check(file)[0] == code


def test_scores_show_an_only_column() -> None:
    """FATE scores the rows that it trained on: beside the guest's own part, each score is the host's only column."""
    code, result = check("fate-1-sshe.json", "--features", "10,1")
    found = next(one for one in result["findings"] if one["verdict"] == "leaks" and one["assumes"] == "honest")
    assert (code, found["attack"], found["target"]) == (3, "prediction-equations", "features")
    honest = result["headlines"]["honest"]
    assert (found["fix"] in honest["remedy"], honest["without_remedy"]) == (True, "")
    assert "has no setting against it" in found["fix"]


def test_a_flag_that_contradicts_the_job_is_shown() -> None:
    """The verdict is then about another job than the file's."""
    _, result = check("fate-1-silent.json", "--set", "key_bits=2048")
    assert any("the job says 1024, judged with 2048 because you said so" in note for note in result["notes"])
    assert result["no_all_clear"] == ["The file itself is not judged: flags change its job."]
    _, result = check("fate-1-silent.json", "--set", "key_bits=1024")
    assert not any("because you said so" in note for note in result["notes"])


STAYS = ("chosen-labels", "altered-shares", "prediction-equations")


@pytest.mark.parametrize("file", ["fate-1-sshe.json", "secretflow-train-and-predict.json"])
def test_some_leaks_stay_whatever_is_set(file: str) -> None:
    """Jobs that open nothing but scores leak these to a party that cheats, and nothing else."""
    assert {found["attack"] for found in check(file)[1]["findings"] if found["verdict"] == "leaks"} <= {*STAYS}


@pytest.mark.parametrize("file", names())
def test_advice_is_in_the_other_systems_words(file: str) -> None:
    """Our flags mean nothing there."""
    _, result = check(file)
    fixes = "\n".join(found["fix"] for found in result["findings"])
    assert "--" not in fixes.replace("plumbob plan new --from-", "")
    # What leaks in the job that hides most is stopped by no setting of any other.
    stays = [found for found in result["findings"] if found["attack"] in STAYS]
    assert all("has no setting against it" in found["fix"] for found in stays if found["fix"])
    assert not any("--noise" in note for note in result["notes"])


def test_real_jobs_are_read_or_refused() -> None:
    """Where jobs of other people are at hand: no error but ours, and no arbiter that is a party passes."""
    data = os.environ.get("PLUMBOB_DATA")
    folder = None if data is None else Path(data).parent / "real-jobs"
    if folder is None or not folder.is_dir():
        pytest.skip("no real job files here: they lie beside the folder that PLUMBOB_DATA names")
    jobs = 0
    for path in (path for path in sorted(folder.rglob("*")) if path.is_file()):
        try:
            job = read_job(path, "SecretFlow" if "secret" in str(path) else "FATE")
        except PlanError:
            continue
        jobs += 1
        plan, job = plan_to_check(job, {})
        is_party = set(job.parties.arbiter) & {*job.parties.label, *job.parties.features}
        assert not is_party or any(one.verdict == "leaks" for one in judge(job, plan)), path.name
    assert jobs
