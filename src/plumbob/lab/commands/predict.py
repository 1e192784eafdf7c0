"""`predict`: scores of new rows, to a CSV file; weights that were never opened stay so."""

from dataclasses import dataclass
from pathlib import Path

from plumbob.lab.commands.export import refuse_absent_parts
from plumbob.lab.commands.train import Inputs
from plumbob.lab.simulate import JointModel
from plumbob.lab.simulate.files import load_new_rows
from plumbob.lab.simulate.training_rows import kept_rows
from plumbob.party.scores import threshold_of, unusual_lines, write_scores
from plumbob.run_folder import RunFolder

BY_PLACE = (
    "Rows were paired by their place in the parties' files, not by an id: if the files are not in the same order, "
    "these scores are of nobody."
)


@dataclass(frozen=True)
class Choices:
    """What becomes of unusual rows, and from which probability on a row is positive."""

    threshold: str | None = None
    cost: str | None = None
    gaps: tuple[str, ...] = ()
    is_strict: bool = False


def run(folder: Path, inputs: Inputs, out: Path, choices: Choices = Choices()) -> dict[str, object]:  # noqa: B008  # Frozen.
    """All parties' parts are here, and so are their new rows."""
    refuse_absent_parts(folder)
    model = JointModel.load(folder)
    label_party = model.plan.label_party.name
    threshold = threshold_of(choices.threshold, choices.cost, model.parts[label_party])
    loaded = load_new_rows(model, inputs.data, inputs.id_columns, inputs.data_dir, choices.gaps, choices.is_strict)
    ids = loaded.tables[label_party].ids
    unusual = [
        line
        for party, unseen in loaded.unseen.items()
        for line in unusual_lines(party, unseen, loaded.rare[party], len(ids))
    ]
    scores = model.scores(loaded.tables)
    held_out = kept_rows(RunFolder(folder), label_party) if loaded.has_ids else None
    remarks = [BY_PLACE if loaded.is_by_place else "", loaded.left_out, *unusual]
    result = write_scores(out, ids, scores, model.classes, remarks, threshold, model.plan, held_out)
    return {
        **result,
        "by_place": loaded.is_by_place,
        "unseen": {party: unseen for party, unseen in loaded.unseen.items() if unseen},
    }
