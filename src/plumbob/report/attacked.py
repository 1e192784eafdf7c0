"""What a red team found in a run, as charts and tables of its page: a party's own page has none of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plumbob.checking.filing import Agreement, agreements
from plumbob.checking.findings import reasons
from plumbob.counting import decimal, percent, plain, share
from plumbob.record import Finding, RunRecord
from plumbob.report.charts import Axis, Chart, Series
from plumbob.report.tables import PageTable
from plumbob.report.verdicts import JUDGED

ADVANTAGE = (
    "Reached: the share of labels recovered correctly, for scores and features R². Advantage: the "
    "part of what the best baseline leaves unknown that the attack finds out, at the lower end of its 95 % interval."
)


@dataclass(frozen=True)
class RedTeam:
    """What attacks reached in a run, and how that compares with what `check` had said."""

    charts: Sequence[Chart]
    findings: PageTable
    reasons: Sequence[str]
    conditions: PageTable
    """What the theorems require, and how it was in this run."""
    kept: str
    """How often `check` was right; empty where it had said nothing."""
    broken: Sequence[str]
    """Where it was not."""
    agreement: PageTable


def red_team(record: RunRecord) -> RedTeam | None:
    """What was found; None where nobody attacked, or no attack had anything to work on."""
    findings = [finding for finding in record.findings if finding.verdict in JUDGED]
    if not findings:
        return None
    compared = agreements(record.predicted, findings) if record.predicted else []
    return RedTeam(
        charts=list(attack_bars(findings)),
        findings=findings_table(findings),
        reasons=list(reasons(findings)),
        conditions=conditions_table(findings),
        kept=agreement_sentence(compared) if compared else "",
        broken=[str(item) for item in compared if not item.is_kept],
        agreement=agreement_table(compared),
    )


def findings_table(findings: Sequence[Finding]) -> PageTable:
    """The findings as a table, the decisive ones first."""
    header = ["attack", "verdict", "reached", "baseline", "by", "against", "target", "AUC", "AUC baseline", "advantage"]
    rows = [
        [
            *(finding.attack, finding.verdict),
            *(share(value) for value in (finding.rate, finding.baseline)),
            *(finding.by, finding.against, finding.target),
            *(decimal(value) for value in (finding.auc, finding.baseline_auc)),
            percent(None if finding.advantage is None else max(0.0, finding.advantage)),
        ]
        for finding in findings
    ]
    return PageTable(header, rows, ADVANTAGE)


def conditions_table(findings: Sequence[Finding]) -> PageTable:
    """A table of what the theorems require, and how it was in this run."""
    header = ["attack", "by", "verdict", "condition", "value", "needed", "met", "reference"]
    rows = [
        [
            *(finding.attack, finding.by, finding.verdict, condition["name"]),
            *(plain(condition["value"]), condition["needed"]),
            *("yes" if condition["is_met"] else "no", condition["reference"]),
        ]
        for finding in findings
        for condition in finding.conditions
    ]
    return PageTable(header, rows)


def attack_bars(findings: Sequence[Finding]) -> Iterator[Chart]:
    """Attacks beside their baselines, one chart for labels and one for the rest."""
    measured = [finding for finding in findings if finding.rate is not None]
    for is_labels, title, axis in (
        (True, "Labels recovered correctly, attack by attack", "share of labels"),
        (False, "Scores and columns reconstructed, attack by attack", "share explained (R²)"),
    ):
        drawn = [finding for finding in measured if (finding.target == "labels") == is_labels]
        if drawn:
            yield Chart(
                title,
                "The mark across each bar is the best that the attacker could do without the attack: only what lies "
                "beyond it was learnt.",
                Axis(""),
                Axis(axis, low=0.0, high=1.0, unit="percent"),
                [
                    Series("attack", [finding.rate for finding in drawn]),
                    Series("best baseline", [finding.baseline for finding in drawn], is_reference=True),
                ],
                [_attack_name(finding, drawn) for finding in drawn],
            )


def _attack_name(finding: Finding, among: Sequence[Finding]) -> str:
    """The attack's name, with its attacker's where there are several."""
    name = finding.attack if len({other.by for other in among}) == 1 else f"{finding.attack} by {finding.by}"
    return name if finding.target in ("labels", "features") else f"{name}, {finding.target}"


def agreement_table(items: Sequence[Agreement]) -> PageTable:
    """Prediction beside outcome, one line per finding."""
    rows = [
        [item.attack, item.predicted or "-", item.found, item.word, item.by, item.against, item.target]
        for item in items
    ]
    return PageTable(["attack", "predicted", "found", "so", "by", "against", "target"], rows)


def agreement_sentence(items: Sequence[Agreement]) -> str:
    """A sentence on how often `check` was right."""
    right = sum(item.is_kept for item in items)
    return f"{right} of {len(items)} verdicts came out as `check` had predicted from the plan alone."
