"""The rows that a simulated run trained on and held out: a file beside the label party's part.

Only rows with an id of their own are kept. Rows that are known by their place would be taken for rows of another file.
"""

import csv

from plumbob.data import held_out_rows
from plumbob.errors import DataError
from plumbob.lab.simulate.files import LoadedTables
from plumbob.lab.simulate.training import Run
from plumbob.party.scores import SAID
from plumbob.run_folder import RunFolder

HEADER = ["id", "held_out"]


def keep_rows(run: Run, loaded: LoadedTables, folder: RunFolder) -> None:
    """Keep the rows for the label party alone, like its part; nothing where rows have no ids."""
    if not loaded.has_ids:
        return
    name = run.model.plan.label_party.name
    folder.make_party_folder(name)
    file = folder.rows_file(name)
    file.touch(mode=0o600)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(HEADER)
        writer.writerows((identity, SAID[is_held_out]) for identity, is_held_out in _rows_of(run, loaded).items())


def kept_rows(folder: RunFolder, party: str) -> dict[str, bool] | None:
    """Whether each row that was there in training was held out; None where nobody kept that."""
    file = folder.rows_file(party)
    if not file.exists():
        return None
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    if rows[:1] != [HEADER] or any(len(row) != 2 or row[1] not in (SAID[True], SAID[False]) for row in rows[1:]):
        raise DataError(f"{file}: expected an id and yes or no in each line; it is damaged, delete it")
    return {identity: said == SAID[True] for identity, said in rows[1:]}


def _rows_of(run: Run, loaded: LoadedTables) -> dict[str, bool]:
    """Whether each row was held out; a row of a test file that is also in the training file was trained on."""
    name, plan = run.model.plan.label_party.name, run.model.plan
    ids = loaded.tables[name].ids
    _, held_out = held_out_rows(ids, plan.held_out(len(ids)), bytes.fromhex(run.record.seed))
    tested = dict.fromkeys(loaded.test[name].ids if loaded.test else (), True)
    return tested | dict.fromkeys(ids, False) | dict.fromkeys((ids[row] for row in held_out.tolist()), True)
