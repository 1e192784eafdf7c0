"""`predict`: writes scores of new rows to a CSV file; weights that were never opened stay so."""

from pathlib import Path

from plumbob.lab.commands import PredictHere
from plumbob.lab.commands.export import refuse_absent_parts
from plumbob.lab.simulate import JointModel
from plumbob.lab.simulate.files import load_new_rows
from plumbob.lab.simulate.quality import kept_rows
from plumbob.party.scores import threshold_of, unusual_lines, write_scores
from plumbob.run_folder import RunFolder
from plumbob.verb import Result
from plumbob.verb.table_flags import pairing_of

BY_PLACE = (
    "Rows were paired by their place in the parties' files, not by an id: if the files are not in the same order, "
    "these scores are of nobody."
)


def run(folder: Path, data: list[str], asked: PredictHere) -> Result:
    """Predict with all parties' parts and new rows, which are here."""
    refuse_absent_parts(folder)
    model = JointModel.load(folder)
    label_party = model.plan.label_party.name
    threshold = threshold_of(asked.threshold, asked.cost, model.parts[label_party])
    ids = pairing_of(asked.id_words, asked.is_by_place)
    loaded = load_new_rows(model, data, ids, asked.data_dir, tuple(asked.gaps), asked.strict)
    row_ids = loaded.tables[label_party].ids
    unusual = [
        line
        for party, unseen in loaded.unseen.items()
        for line in unusual_lines(party, unseen, loaded.rare[party], len(row_ids))
    ]
    scores = model.scores(loaded.tables)
    held_out = kept_rows(RunFolder(folder), label_party) if loaded.has_ids else None
    remarks = [BY_PLACE if loaded.is_by_place else "", loaded.left_out, *unusual]
    judged = RunFolder(folder).record().calibration.get("joint", [])
    result = write_scores(asked.out, row_ids, scores, model.classes, remarks, threshold, model.plan, held_out, judged)
    return {
        **result,
        "by_place": loaded.is_by_place,
        "unseen": {party: unseen for party, unseen in loaded.unseen.items() if unseen},
    }
