"""`export`: writes the model, or one party's part of it, for other programs."""

from pathlib import Path

from plumbob.errors import DataError
from plumbob.lab.commands import Export
from plumbob.lab.simulate.export import ScorecardScale, export, refuse_unfinished
from plumbob.protocol.part import ModelPart
from plumbob.run_folder import RunFolder
from plumbob.verb import Result


def run(asked: Export) -> Result:
    """Write the file and say where it is."""
    folder, party = asked.folder, asked.party
    refuse_absent_parts(folder, party)
    scale = ScorecardScale(asked.base_score, asked.odds, asked.pdo)
    target = export(folder, asked.to, party, asked.out, scale)
    return {"out": str(target), "to": asked.to, "party": party, "lines": [str(target), *_remarks(folder, party)]}


def _remarks(folder: Path, party: str | None) -> list[str]:
    """A remark where whole rows were limited: that is no sum over columns, so no exported form has it."""
    run = RunFolder(folder)
    names = [one.name for one in run.plan().learners] if party is None else [party]
    parts = (ModelPart.load(run.part_file(name)) for name in names)
    if not any(part.whitening is not None and part.whitening.norm for part in parts):
        return []
    return [
        'Training shortened long rows (noise = "rows"), and `plumbob predict` does so too. The exported model cannot,'
        " so its scores of such rows are larger."
    ]


def refuse_absent_parts(folder: Path, party: str | None = None) -> None:
    """Refuse to export parts that are not here: a folder of a run on a network holds its owner's only."""
    plan = refuse_unfinished(folder).parsed_plan
    needed = plan.learners if party is None else (plan.party(party),)
    held = [one.name for one in plan.learners if RunFolder(folder).part_file(one.name).exists()]
    if absent := [one.name for one in needed if one.name not in held]:
        raise DataError(
            f"{folder}: the part of {', '.join(absent)} is not here, only that of {', '.join(held) or 'nobody'}; use"
            " `plumbob export --party NAME` for that one, and `plumbob party predict` to score with the others"
        )
