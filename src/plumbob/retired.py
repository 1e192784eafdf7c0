"""What 0.1.0 had and Plumbob no longer has, each with one sentence that says what to do instead.

Every verb, flag, key of a plan, setting of party.toml and public Python name of 0.1.0 is a line of
tests/frozen/surface.txt. Whoever deletes one copies its line into `RETIRED`, in the same commit, and writes a sentence
beside the line. The command line, the readers of plans and settings, and the Python modules then answer with that
sentence; tests/frozen/test_surface.py tries every row, and says which line has none. A module or class that loses its
first name also gets a `__getattr__`, as plumbob/record.py and `plumbob.party.Home` have one.

A row also covers what was inside: the row of a verb covers the verb's flags, the row of a class its methods. One row
`--flag` covers this flag, and `--no-flag`, at every verb. A sentence starts with a small letter and has no full stop,
because the name and a colon or semicolon stand before it.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

ATTACKS = "plumbob.attacks.ATTACKS lists all attacks; `is_passive` says which need a view and no run of their own"
ONE_CLAIM = "plumbob.attacks.Claim is about whatever its `target` says; `Claim.of_labels` makes one about labels"
ONE_KIND = "an `Attack` with `act` in place of `read` has runs of its own"
CHOOSE = "scores.csv has each row's probability: choose your own threshold there"
NO_RANGES = 'no range is stated any more; with noise = "rows", scale = "whitened" estimates ranges under noise'
NO_DIRECTION = "bin the column before, for example with optbinning, and leave the bins as numbers"
NO_STEPS = "bins are told apart one by one; a difference of neighbouring weights is the step"
BY_PLACE = "give every file a column that says which rows belong together, and name it with --id"
NO_LABEL = "rows without a label are left out, and said"
NO_TABLE = "write it above, without the heading [table]"
GAPS = "a gap has a column of its own; without a promise about rows nothing else becomes of it"
LEVELS = "each level of a text is a column; leave the text out of the columns if it is none of the features"
PLAIN = "each column of numbers stands as it is, beside its bins"
ONE_ROW_EACH = "an id is on one row: bring each person's rows into one before, with pandas or in the database"
OPENING = "write it in [opening]"
SAMPLES = "leave epochs = 0: the public rule then takes samples of the rows first; other numbers take all rows"
SMALLEST_SET = "every run takes the smallest parameter set that withstands what its plan opens"
NEWEST = "leave the newest rows out of the files, and score them after training with `predict`"
REMAINDER = "rows left over join the last batch; leave them out of the file to drop them"
REPLY_SLOTS = 'a packed reply holds all that fit; replies = "paper" hands back one sum at a time'
STUDY = "write it in [study]; a plan of parties has no such key"
REPLAY = "`plumbob auditor replay RUN --auditor KEYS` opens the evidence, replays and signs, on the auditor's machine"

RETIRED: dict[str, str] = {
    "plumbob party align --new": "each `plumbob party align` begins anew",
    "--by-place": BY_PLACE,
    "--unlabelled": NO_LABEL,
    "party.toml unlabelled": NO_LABEL,
    "--as": "name the columns that are text with --category; write numbers as 1234.5, dates as 2026-11-16",
    "--defences": "audit one plan for each defence, and read their reports side by side",
    "--delete-unstarted": "delete the folder of a run that never started",
    "--dictionary": NO_RANGES,
    "--full-passes": SAMPLES,
    "--lattice-set": SMALLEST_SET,
    "--remainder": REMAINDER,
    "--reply-slots": REPLY_SLOTS,
    "--held-out-by": NEWEST,
    "--split-by": NEWEST,
    "plan [data] held_out_by": NEWEST,
    "--missing": GAPS,
    "--categorical": LEVELS,
    "--plain": PLAIN,
    "plan [data] missing": GAPS,
    "plan [data] categorical": LEVELS,
    "plan [data] plain": PLAIN,
    "plumbob.VerticalLogisticRegression(missing)": GAPS,
    "plumbob.VerticalLogisticRegression(categorical)": LEVELS,
    "plumbob.VerticalLogisticRegression(plain)": PLAIN,
    "plan [crypto] lattice_set": SMALLEST_SET,
    "plan [crypto] reply_slots": REPLY_SLOTS,
    "plan [model] full_passes": SAMPLES,
    "plan [model] remainder": REMAINDER,
    "plumbob.VerticalLogisticRegression(full_passes)": SAMPLES,
    "plumbob.VerticalLogisticRegression(lattice_set)": SMALLEST_SET,
    "plumbob.VerticalLogisticRegression(remainder)": REMAINDER,
    "plumbob.VerticalLogisticRegression(reply_slots)": REPLY_SLOTS,
    "--duplicates": ONE_ROW_EACH,
    "--help-all": "--help shows every flag, and --set KEY=VALUE changes any key of the plan",
    "--encrypted": "`audit` always runs the protocol that the plan names",
    "--engine": "there is one engine, the kernel; `cluster` in party.toml names a Ray cluster for large products",
    "--monotone": NO_DIRECTION,
    "--pdf": "open the page in a browser and print it",
    "--range": NO_RANGES,
    "--steps": NO_STEPS,
    "party.toml [peers.NAME] address": "`plumbob party join TOKEN --address HOST:PORT` says where a peer is dialled",
    "party.toml [table] category": NO_TABLE,
    "party.toml [table] columns": NO_TABLE,
    "party.toml [table] drop": NO_TABLE,
    "party.toml [table] duplicates": ONE_ROW_EACH,
    "party.toml duplicates": ONE_ROW_EACH,
    "party.toml [table] monotone": NO_DIRECTION,
    "party.toml [table] na": NO_TABLE,
    "party.toml [table] positive": NO_TABLE,
    "party.toml [table] ranges": NO_RANGES,
    "party.toml [table] steps": NO_STEPS,
    "party.toml [table] unlabelled": NO_LABEL,
    "party.toml [table] weight": NO_TABLE,
    "party.toml id_column": "it is called `id`",
    "party.toml label_column": "it is called `label`",
    "party.toml label_epsilon": "no noise between organisations is for labels alone; `most_epsilon` limits rows",
    "party.toml [table] types": "list the columns that are text in `category`; write 1234.5 and 2026-11-16",
    "party.toml engine": "there is one engine, the kernel; `cluster` names a Ray cluster for large products",
    "plan [crypto] feature_bits": STUDY,
    "plan [crypto] key_bits": STUDY,
    "plan [crypto] protocol": STUDY,
    "plan [crypto] replies": STUDY,
    "plan [crypto] residual_bits": STUDY,
    "plan [crypto] test_only_keys": STUDY,
    "plan [crypto] unmasked_gradients_for_the_arbiter": STUDY,
    "plan [crypto] most_rows": OPENING,
    "plan [crypto] open": OPENING,
    "plumbob attack": "`plumbob audit RUN_DIR` attacks a run that is there",
    "plumbob auditor open": REPLAY,
    "plumbob auditor sign": REPLAY,
    "plumbob.attacks.ACTIVE": ATTACKS,
    "plumbob.attacks.ActiveAttack": ONE_KIND,
    "plumbob.attacks.LabelClaim": ONE_CLAIM,
    "plumbob.attacks.PASSIVE": ATTACKS,
    "plumbob.attacks.Reached": "an attack claims values, and the auditor scores them",
    "plumbob.attacks.STAGED": ATTACKS,
    "plumbob.attacks.StagedAttack": ONE_KIND,
    "plumbob.attacks.ValueClaim": ONE_CLAIM,
    "plumbob.attacks.WeightsClaim": ONE_CLAIM,
    "plumbob bench": "`python -m benchmarks` in the source folder prints the tables of docs/benchmarks.md",
    "plumbob completion": "`plumbob --install-completion` sets up your shell",
    "plumbob check --data": "`check` judges a plan by its numbers; `plumbob audit` attacks a run on your rows",
    "plumbob check --explain": "`plumbob check --verbose` prints the numbers behind every finding",
    "plumbob check --id": "`check` reads no table",
    "plumbob check --label": "`check` reads no table",
    "plumbob check --predicted": "`--most-rows` says how many rows may ever be scored, and what it says is kept",
    "plumbob check --runs": "multiply the epochs: runs on the same rows tell as much as one that is as long",
    "plumbob lab --data-dir": "`plumbob audit` trains on data sets",
    "plumbob lab --out": "`plumbob lab FOLDER` lists the runs in a folder",
    "plumbob party train --allow-test-keys": "between organisations every key is as long as it must be",
    "plumbob party auditor-key": "`plumbob auditor init NAME` makes an auditor's keys, on the auditor's machine",
    "plumbob party passphrase": "`plumbob party renew --passphrase` encrypts the key with a new passphrase",
    "plumbob party predict --cost": CHOOSE,
    "plumbob party predict --local-if-away": "score with a model of your own columns, trained by a tool of your choice",
    "plumbob party predict --threshold": CHOOSE,
    "plumbob party replay": REPLAY,
    "plumbob plan hash": "`plumbob plan show PLAN` prints the plan with its hash",
    "plumbob predict --cost": CHOOSE,
    "plumbob predict --threshold": CHOOSE,
    "plumbob.record.AttackCurve": "audit a study with fewer epochs to see what an attack reaches by then",
    "plumbob.record.LedgerCurve": "`check` counts equations against unknowns, and prints both with --verbose",
    "plumbob.record.Promise": "`plumbob paper attacks` measures the paper's theorems",
    "plumbob receipt": "`plumbob party receipt` shows and compares receipts",
    "plumbob runs": "`plumbob lab FOLDER` lists the runs in a folder, and `plumbob party status` those of a party",
    "plumbob.VerticalLogisticRegression(engine)": "there is one engine, the kernel; leave it out",
}

FLAGS_OF_STUDIES = (
    "as-in-the-paper",
    "batch-size",
    "batches",
    "feature-bits",
    "features",
    "heuristic",
    "intercept",
    "key-bits",
    "label-flip-epsilon",
    "learning-rate",
    "momentum",
    "noise-std",
    "protocol",
    "replies",
    "residual-bits",
    "row-norm",
    "scale",
    "seed",
    "sigmoid",
    "start",
    "test-only-keys",
    "unmasked-gradients-for-the-arbiter",
)
RETIRED |= {
    f"plumbob party propose --{flag}": "it is a study's: `plumbob train` sets it; parties tell their own columns"
    for flag in FLAGS_OF_STUDIES
}

# Keys of a plan that are rarely set have no flag of their own.
RARE_KEYS = (
    "title",
    "auditors",
    "batches",
    "class-weight",
    "delta",
    "feature-bits",
    "heuristic",
    "intercept",
    "key-bits",
    "label-flip-epsilon",
    "learning-rate",
    "momentum",
    "noise-std",
    "rare",
    "replies",
    "residual-bits",
    "row-norm",
    "row-weights",
    "scale",
    "seed",
    "sigmoid",
    "start",
    "test-only-keys",
    "tolerance-features",
    "tolerance-labels",
    "unmasked-gradients-for-the-arbiter",
)
RETIRED |= {f"--{flag}": f"type --set {flag.replace('-', '_')}=VALUE" for flag in RARE_KEYS}
RETIRED |= {
    f"plumbob {verb} --days": "type --set days=VALUE"
    for verb in ("audit", "check", "party propose", "plan new", "train")
}
RETIRED |= {
    f"plumbob plan new --{flag}": "`plumbob party propose` fits a plan to tables; so does `plumbob train` without one"
    for flag in ("category", "columns", "data", "drop", "id", "label", "na", "positive", "weight")
}
RETIRED |= {
    f"plumbob.party.Home.{name}": f"call plumbob.party.{name}(home, ...)"
    for name in (
        *("init", "invite", "renew", "propose", "doctor", "align", "sign"),
        *("train", "predict", "serve", "status", "forget"),
    )
}

Given = ParamSpec("Given")
Result = TypeVar("Result")


def advice(entry: str) -> str | None:
    """What to do instead of a line of the surface, or None where nothing is known about it."""
    return next((RETIRED[row] for row in _rows_about(entry) if row in RETIRED), None)


def gone(entry: str, what: str) -> str | None:
    """The words about a verb, flag, key or setting that is gone, or None; `what` names its kind."""
    found = advice(entry)
    return None if found is None else f"there is no such {what} any more; {found}"


def gone_from_plan(name: str) -> str | None:
    """The words about a key of the plan that is named without its section, as in Python, or None."""
    rows = (row for row in RETIRED if row.startswith("plan ") and row.endswith(f" {name}"))
    return next((gone(row, "key") for row in rows), None)


def no_attribute(owner: str, name: str) -> AttributeError:
    """The error about a name that a module or a class does not have, with the advice if it once had the name."""
    found = advice(f"{owner}.{name}")
    return AttributeError(f"{owner} has no attribute {name!r}" + (f" any more; {found}" if found else ""))


def refuse_retired(owner: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """A function that answers a parameter which is gone with the advice instead of Python's own TypeError."""

    def around(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @wraps(function)
        def called(*values: Given.args, **named: Given.kwargs) -> Result:
            for name in named:
                if found := advice(f"{owner}({name})"):
                    raise TypeError(f"{owner} has no parameter {name!r} any more; {found}")
            return function(*values, **named)

        return called

    return around


def _rows_about(entry: str) -> Iterator[str]:
    """The rows that may cover a line: the line itself, the same flag of every verb, and what the line is inside of."""
    words, is_flag, flag = entry.rpartition(" --")
    if not is_flag:
        yield entry
        yield entry.replace("(", ".").rpartition(".")[0]
        return
    for name in (flag, flag.removeprefix("no-")):
        yield from (f"{words} --{name}", f"--{name}")
    yield words
