"""`auditor init` and `auditor replay`: what an auditor does, on a machine of its own."""

from pathlib import Path

from plumbob.data import Batch
from plumbob.errors import DataError
from plumbob.party.evidence import FOLDER, HEAD, read_head
from plumbob.party.replay import replay, source_of
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.statements import part_in_training, sign_statement, write_statement
from plumbob.party.verbs import InitAuditor, ReplayRun
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from plumbob.verb import Caller, Result

STATEMENT = "statement.json"


def init_auditor(asked: InitAuditor) -> Result:
    """Make new keys on the auditor's machine."""
    made = AuditorKeys.create(asked.out, asked.name)
    fingerprint = made.public.fingerprint
    lines = [
        f"fingerprint: {fingerprint}",
        f"give {asked.out / PUBLIC_FILE} to the party, which names it as evidence_key in its party.toml",
        f"keep the rest of {asked.out}: whoever has it can open evidence and sign statements in your name",
    ]
    return {"fingerprint": fingerprint, "public": str(asked.out / PUBLIC_FILE), "lines": lines}


def replay_run(asked: ReplayRun, caller: Caller) -> Result:
    """Open a run's evidence, compute the run again and sign what was found, in one process."""
    auditor, file = AuditorKeys(asked.auditor), asked.out or asked.run / STATEMENT
    if file.exists():
        raise DataError(f"{file}: there is a statement already, which stays as it is; name another file with --out")
    head = asked.run / FOLDER / HEAD
    if read_head(head).auditor != auditor.public.fingerprint:
        raise DataError(f"{head}: this evidence is sealed for another auditor")

    def progress(batch: Batch, steps: int) -> None:
        caller.at(f"replayed {batch.step} of {steps}")

    source = None if asked.table is None else source_of(asked.table, asked.id_column, asked.label_column)
    trained = _trained_part(asked.run, asked.training)
    statement = replay(asked.run, auditor, source, progress, trained)
    write_statement(file, sign_statement(auditor, statement))
    party = statement["party"]
    lines = [
        statement["verdict"],
        f"{file}: signed, for everybody who relies on {party}: plumbob party receipt RUN --statement {file.name}",
    ]
    return {**statement, "statement": str(file), "lines": lines}


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
