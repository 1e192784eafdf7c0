"""`auditor init` and `auditor replay`: what an auditor does, on a machine of its own."""

from pathlib import Path

from plumbob.caller import IN_PYTHON, Caller, Outcome
from plumbob.data import Batch
from plumbob.errors import DataError
from plumbob.party.evidence import FOLDER, HEAD, read_head
from plumbob.party.replay import replay, source_of
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.statements import part_in_training, sign_statement, write_statement
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder

STATEMENT = "statement.json"


def init_auditor(name: str, out: Path) -> Outcome:
    """Make new keys on the auditor's machine."""
    made = AuditorKeys.create(out, name)
    fingerprint = made.public.fingerprint
    lines = [
        f"fingerprint: {fingerprint}",
        f"give {out / PUBLIC_FILE} to the party, which names it as evidence_key in its party.toml",
        f"keep the rest of {out}: whoever has it can open evidence and sign statements in your name",
    ]
    return Outcome({"fingerprint": fingerprint, "public": str(out / PUBLIC_FILE), "lines": lines})


def replay_run(
    run: Path,
    auditor: Path,
    *,
    table: Path | None = None,
    id: str = "id",
    label: str = "",
    training: Path | None = None,
    out: Path | None = None,
    caller: Caller = IN_PYTHON,
) -> Outcome:
    """Open a run's evidence, compute the run again and sign what was found, in one process."""
    keys, file = AuditorKeys(auditor), out or run / STATEMENT
    if file.exists():
        raise DataError(f"{file}: there is a statement already, which stays as it is; name another file with --out")
    head = run / FOLDER / HEAD
    if read_head(head).auditor != keys.public.fingerprint:
        raise DataError(f"{head}: this evidence is sealed for another auditor")

    def progress(batch: Batch, steps: int) -> None:
        caller.at(f"replayed {batch.step} of {steps}")

    source = None if table is None else source_of(table, id, label)
    trained = _trained_part(run, training)
    statement = replay(run, keys, source, progress, trained)
    write_statement(file, sign_statement(keys, statement))
    party = statement["party"]
    lines = [
        statement["verdict"],
        f"{file}: signed, for everybody who relies on {party}: plumbob party receipt RUN --statement {file.name}",
    ]
    exit_code = {True: 0, False: 5, None: 1}[statement["honest"]]
    return Outcome({**statement, "statement": str(file), "lines": lines}, exit_code)


def _trained_part(session: Path, statement: Path | None) -> str:
    """The model part in the training's signed statement: the one named, or the one beside the session's run."""
    head, beside = read_head(session / FOLDER / HEAD), session.resolve().parent.parent / STATEMENT
    if statement is None and (head.purpose != "predict" or not beside.exists()):
        return ""
    try:
        return part_in_training(statement or beside, Plan.load(RunFolder(session).plan_file), head.party)
    except DataError:
        if statement is not None:
            raise
        # What lies there is not signed yet, or by somebody else: the verdict says that nothing was compared.
        return ""
