"""What `check` said of a plan when this party signed it, kept beside the signature: the run's page shows that."""

from dataclasses import replace
from pathlib import Path

import msgspec

from plumbob import __version__
from plumbob.checking.judgement import PlanJudgement
from plumbob.net.identity import make_private_folder, write_over
from plumbob.party.home import Home
from plumbob.plan import Plan
from plumbob.record import Finding, LedgerCurve, RunRecord


class KeptJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `check` said of a run with this many rows, by the rules of one version."""

    plumbob: str
    rows: int
    test_rows: int
    predicted: list[Finding]
    ledger: list[LedgerCurve]
    judgement: PlanJudgement

    def is_about(self, record: RunRecord) -> bool:
        return (self.plumbob, self.rows, self.test_rows) == (record.plumbob, record.rows, record.test_rows)


def keep_judgement(home: Home, plan: Plan, rows: int) -> None:
    """Of a plan that is being signed, on the aligned rows."""
    from plumbob.checking.filing import judgement_of_run, with_predictions
    from plumbob.protocol.outcome import unfinished_record

    held_out = plan.held_out(rows)
    # As in the run's record: whoever gets no score has tested no row.
    test_rows = held_out if home.identity.name == plan.label_party.name else 0
    run = with_predictions(replace(unfinished_record(plan, rows - held_out, ""), test_rows=test_rows))
    kept = KeptJudgement(__version__, run.rows, test_rows, run.predicted, run.ledger, judgement_of_run(run))
    file = _file(home, plan)
    make_private_folder(file.parent)
    write_over(file, msgspec.json.encode(kept))


def judged_record(home: Home, record: RunRecord) -> tuple[RunRecord, PlanJudgement]:
    """With what `check` predicts; judged again only where it was signed for other rows, or by another version."""
    try:
        kept = msgspec.json.decode(_file(home, record.parsed_plan).read_bytes(), type=KeptJudgement)
    except (OSError, msgspec.DecodeError):
        kept = None
    if kept is not None and kept.is_about(record):
        return replace(record, predicted=kept.predicted, ledger=kept.ledger), kept.judgement
    # Late: no rule is needed to show what was judged before.
    from plumbob.checking.filing import judgement_of_run, with_predictions

    judged = with_predictions(record)
    return judged, judgement_of_run(judged)


def _file(home: Home, plan: Plan) -> Path:
    return home.signed / f"{plan.hash()}.judged.json"
