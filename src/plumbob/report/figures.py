"""The charts of a run, from what its record holds; nothing is measured here."""

from collections.abc import Iterator, Sequence

from plumbob.counting import counted
from plumbob.record import LedgerCurve, RunRecord
from plumbob.report.chart import Axis, Chart, Series

SHARE = "share of the unknowns that the equations can fix"
FEWEST_POINTS = 3
"""Fewest points of a line: fewer are better read in the tables."""


def ledger_charts(curves: Sequence[LedgerCurve]) -> Iterator[Chart]:
    """Equations against unknowns, step by step: labels as numbers, scores and columns as shares."""
    busy = [one for one in curves if not _is_idle(one)]
    labels = [one for one in busy if one.unknown == "labels"]
    if labels:
        yield _labels_ledger(labels)
    others = [one for one in busy if one.unknown != "labels" and one.unknowns]
    if others:
        yield _values_ledger(others)


def idle_ledgers(curves: Sequence[LedgerCurve]) -> Iterator[str]:
    """A sentence for each party that gets no equation at all: a line at zero would say no more."""
    for one in curves:
        if _is_idle(one):
            yield f"{one.party} gets no equation about {one.about}'s {counted(one.unknowns, one.unknown[:-1])}."


def _is_idle(one: LedgerCurve) -> bool:
    return not any(one.equations)


def _labels_ledger(curves: Sequence[LedgerCurve]) -> Chart:
    series = []
    for one in curves:
        series.append(Series(f"{one.party}: all equations", one.equations, one.steps))
        bound = "" if one.is_exact else " at most"
        series.append(Series(f"{one.party}: independent{bound}", one.independent, one.steps))
    most = max(curves, key=lambda one: one.unknowns)
    unknown = Series("labels to find out", [most.unknowns] * len(most.steps), most.steps, is_reference=True)
    says = " ".join(_ledger_sentence(one) for one in curves)
    return Chart(
        f"Equations about {most.about}'s labels, step by step{_planned_words(curves)}",
        f"{says} Where the independent equations reach the dashed line, no label is left open.",
        Axis("step"),
        Axis("equations so far", low=0.0),
        [*series, unknown],
    )


def _ledger_sentence(one: LedgerCurve) -> str:
    fixed = next((step for step, count in zip(one.steps, one.independent, strict=True) if count >= one.unknowns), None)
    end = f"{one.party} gets {one.equations[-1]:,} equations about {one.unknowns:,} labels"
    return f"{end}; by step {fixed} they can fix all of them." if fixed else f"{end}, too few to fix all of them."


def _values_ledger(curves: Sequence[LedgerCurve]) -> Chart:
    series = [
        Series(
            f"{one.party} on {one.about}'s {one.unknown}",
            [count / one.unknowns for count in one.independent],
            one.steps,
        )
        for one in curves
    ]
    longest = max(curves, key=lambda one: len(one.steps)).steps
    everything = Series("everything", [1.0] * len(longest), longest, is_reference=True)
    return Chart(
        f"Equations about scores and columns, step by step{_planned_words(curves)}",
        "Independent equations as a share of what they are about: a score for each row and epoch, or all columns up to "
        "a rotation.",
        Axis("step"),
        Axis(SHARE, low=0.0, high=1.0, unit="percent"),
        [*series, everything],
    )


def _planned_words(curves: Sequence[LedgerCurve]) -> str:
    return " (as planned)" if any(one.is_planned for one in curves) else ""


def quality_charts(record: RunRecord) -> Iterator[Chart]:
    """AUC after each epoch, beside what the label party has alone and what pooling would give."""
    points = [(epoch["epoch"], epoch.get("auc")) for epoch in record.epochs]
    known = [(int(at), auc) for at, auc in points if at is not None and auc is not None]
    if len(known) < FEWEST_POINTS:
        return
    rows, models = next(iter(record.quality.items()), ("rows", {}))
    epochs = [at for at, _ in known]
    others = [(name, models[name].get("auc")) for name in ("local-only", "pooled") if name in models]
    yield Chart(
        f"AUC on the {rows} after each epoch",
        "The joint model beside logistic regression on the label party's own columns, and on everybody's.",
        Axis("epoch"),
        Axis("AUC", high=1.0),
        [
            Series("joint", [auc for _, auc in known], epochs),
            *(Series(name, [auc] * len(epochs), epochs, is_reference=True) for name, auc in others if auc is not None),
        ],
    )


def calibration_chart(record: RunRecord) -> Iterator[Chart]:
    """A chart of the share of positives by predicted probability."""
    if any(len(points) > 1 for points in record.calibration.values()):
        yield Chart(
            "Calibration",
            "Rows in groups of equal size, by their probability: of rows to which the model gives 20 %, about 20 % "
            "should be positive. A line on the diagonal is right.",
            Axis("mean probability"),
            Axis("share of positives", high=1.0),
            [
                *(
                    Series(name, [point[1] for point in points], [point[0] for point in points])
                    for name, points in record.calibration.items()
                ),
                Series("right", [0.0, 1.0], [0.0, 1.0], is_reference=True),
            ],
        )
