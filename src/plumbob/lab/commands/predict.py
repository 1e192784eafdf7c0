"""`predict` and `export`: what a finished model is for; weights that were never opened stay so."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from plumbob.caller import Result
from plumbob.errors import BudgetExceededError, DataError
from plumbob.lab.simulate import JointModel
from plumbob.lab.simulate.export import ScorecardScale, export, refuse_unfinished
from plumbob.lab.simulate.files import load_new_rows
from plumbob.lab.simulate.id_columns import IdColumns
from plumbob.model.links import log_odds
from plumbob.net.identity import write_over
from plumbob.party.held_out import read_trained_rows
from plumbob.party.scores import unusual_lines, write_scores
from plumbob.plan import Plan
from plumbob.protocol.limits import most_scored_rows
from plumbob.protocol.part import ModelPart
from plumbob.run_folder import RunFolder


def predict(
    folder: Path,
    data: Sequence[str],
    *,
    out: Path,
    ids: IdColumns = None,
    gaps: Sequence[str] = (),
    is_strict: bool = False,
    data_dir: Path | None = None,
) -> Result:
    """Predict with all parties' parts and new rows, which are here."""
    refuse_absent_parts(folder)
    model = JointModel.load(folder)
    label_party = model.plan.label_party.name
    loaded = load_new_rows(model, data, ids, data_dir, tuple(gaps), is_strict)
    row_ids = loaded.tables[label_party].ids
    unusual = [
        line
        for party, unseen in loaded.unseen.items()
        for line in unusual_lines(party, unseen, loaded.rare[party], len(row_ids))
    ]
    held_out = read_trained_rows(RunFolder(folder), label_party) if loaded.has_ids else None
    scored = _rows_ever_scored(RunFolder(folder), model.plan, row_ids, held_out or {})
    scores = model.scores(loaded.tables)
    _keep_scored(RunFolder(folder), label_party, scored)
    remarks = [loaded.left_out, *loaded.summary_lines(model.plan), *unusual]
    result = write_scores(out, row_ids, scores, model.classes, remarks, log_odds(model.plan, scores), held_out)
    return {
        **result,
        "unseen": {party: unseen for party, unseen in loaded.unseen.items() if unseen},
    }


def _rows_ever_scored(run: RunFolder, plan: Plan, ids: Sequence[str], held_out: Mapping[str, bool]) -> set[str]:
    """The ids of all rows that this run's model has scored, these included.

    BudgetExceededError beyond the plan's limit: between organisations the parties that answer refuse more rows.
    """
    file = run.scored_file(plan.label_party.name)
    before = set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()
    before |= {identity for identity, is_held_out in held_out.items() if is_held_out}
    scored, limit = before.union(ids), most_scored_rows(plan, run.record().rows)
    if limit and len(scored) > limit:
        raise BudgetExceededError(
            f"the plan allows {limit:,} scored rows in all, {len(before):,} were scored, and"
            f" {len(scored) - len(before):,} more are asked for; score fewer rows, or train with a larger --most-rows"
        )
    return scored


def _keep_scored(run: RunFolder, party: str, ids: Collection[str]) -> None:
    write_over(run.scored_file(party), "".join(f"{identity}\n" for identity in sorted(ids)).encode())


def export_model(folder: Path, to: str, party: str | None, out: Path | None, scale: ScorecardScale) -> Result:
    """Write the file and say where it is."""
    refuse_absent_parts(folder, party)
    target = export(folder, to, party, out, scale)
    return {"out": str(target), "to": to, "party": party, "lines": [str(target), *_lost_in_export(folder, party)]}


def _lost_in_export(folder: Path, party: str | None) -> list[str]:
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
