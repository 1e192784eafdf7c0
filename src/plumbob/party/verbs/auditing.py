"""`party auditor-key`, `auditor open`, `auditor sign` and `party replay`: what an auditor does, and where."""

from pathlib import Path

import msgspec

from plumbob.data import Batch
from plumbob.errors import DataError
from plumbob.net.identity import write_over
from plumbob.party.evidence import FOLDER, HEAD, read_head
from plumbob.party.replay import replay, source_of
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.statements import part_in_training, sign_statement, write_statement
from plumbob.party.verbs import AuditorKey, OpenHead, ReplayRun, SignStatement
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from plumbob.verb import Caller, Result

STATEMENT = "statement.json"


def auditor_key(asked: AuditorKey) -> Result:
    """Make new keys on the auditor's machine."""
    made = AuditorKeys.create(asked.out, asked.name)
    fingerprint = made.public.fingerprint
    lines = [
        f"fingerprint: {fingerprint}",
        f"give {asked.out / PUBLIC_FILE} to the party, which names it as evidence_key in its party.toml",
        f"keep the rest of {asked.out}: whoever has it can open evidence and sign statements",
    ]
    return {"fingerprint": fingerprint, "public": str(asked.out / PUBLIC_FILE), "lines": lines}


def open_head(asked: OpenHead) -> Result:
    """Unwrap the keys of one run's evidence."""
    auditor, head = AuditorKeys(asked.auditor), read_head(asked.head)
    if head.auditor != auditor.public.fingerprint:
        raise DataError(f"{asked.head}: this evidence is sealed for another auditor")
    try:
        opened = {name: auditor.file_key(bytes.fromhex(one), head.run_bytes, name) for name, one in head.keys.items()}
    except ValueError as error:
        raise DataError(f"{asked.head}: one of its keys is none; ask {head.party} for its evidence again") from error
    keys = {name: key.hex() for name, key in opened.items()}
    write_over(asked.out, msgspec.json.encode(keys))
    line = f"{asked.out}: the keys of {head.party}'s evidence of this one run; delete it after the replay"
    return {"out": str(asked.out), "party": head.party, "files": len(keys), "lines": [line]}


def sign(asked: SignStatement) -> Result:
    """Sign a statement, on the auditor's machine."""
    signed = sign_statement(AuditorKeys(asked.auditor), asked.statement)
    return {**signed.statement, "lines": [f"signed: {signed.statement['verdict']}"]}


def replay_run(asked: ReplayRun, caller: Caller) -> Result:
    """Compute the run again, on the party's premises."""
    try:
        keys = msgspec.json.decode(asked.key.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(f"{asked.key}: expected the keys that plumbob auditor open wrote") from error

    def progress(batch: Batch, steps: int) -> None:
        caller.at(f"replayed {batch.step} of {steps}")

    source = None if asked.table is None else source_of(asked.table, asked.id_column, asked.label_column)
    opened = {name: bytes.fromhex(key) for name, key in keys.items()}
    trained = _trained_part(asked.run, asked.training)
    statement = replay(asked.run, opened, source, progress, asked.engine, trained)
    file = asked.out or asked.run / STATEMENT
    write_statement(file, statement)
    lines = [
        statement["verdict"],
        f"{file}: for the auditor to sign, on its own machine: plumbob auditor sign {file.name}",
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
