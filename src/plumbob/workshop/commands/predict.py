"""`predict`: scores of new rows, to a CSV file; weights that were never opened stay so."""

from pathlib import Path

from plumbob.commands.scores import write_scores
from plumbob.workshop.commands.export import refuse_absent_parts
from plumbob.workshop.commands.train import Inputs
from plumbob.workshop.simulation import JointModel
from plumbob.workshop.simulation.files import load_new_rows


def run(folder: Path, inputs: Inputs, out: Path) -> dict[str, object]:
    """All parties' parts are here, and so are their new rows."""
    refuse_absent_parts(folder)
    model = JointModel.load(folder)
    loaded = load_new_rows(model, inputs.data, inputs.id_column, inputs.data_dir)
    ids = loaded.tables[model.plan.label_party.name].ids
    return write_scores(out, ids, model.scores(loaded.tables), model.classes, remark=loaded.left_out)
