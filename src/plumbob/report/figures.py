"""The charts of a run, from what its record holds; nothing is measured here."""

from collections.abc import Iterator, Sequence

from plumbob.counting import counted
from plumbob.record import AttackCurve, Finding, LedgerCurve, RunRecord
from plumbob.report.chart import Axis, Chart, Series

SHARE = "share of the unknowns that the equations can fix"
FEWEST_POINTS = 3
"""Of a line: fewer are as well said by the numbers in the tables."""
ATTACKED = ("leaks", "degrades", "blocked")


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


def attack_bars(findings: Sequence[Finding]) -> Iterator[Chart]:
    """Attacks beside their baselines, one chart for labels and one for the rest."""
    told = [one for one in findings if one.rate is not None and one.verdict in ATTACKED]
    for is_labels, title, axis in (
        (True, "Labels recovered correctly, attack by attack", "share of labels"),
        (False, "Scores and columns reconstructed, attack by attack", "share explained (R²)"),
    ):
        shown = [one for one in told if (one.target == "labels") == is_labels]
        if shown:
            yield Chart(
                title,
                "The mark across each bar is the best that the attacker could do without the attack: only what lies "
                "beyond it was learnt.",
                Axis(""),
                Axis(axis, low=0.0, high=1.0, unit="percent"),
                [
                    Series("attack", [one.rate for one in shown]),
                    Series("best baseline", [one.baseline for one in shown], is_reference=True),
                ],
                "bars",
                [_attack_name(one, shown) for one in shown],
            )


def _attack_name(one: Finding, among: Sequence[Finding]) -> str:
    """With the attacker's name where there are several."""
    name = one.attack if len({other.by for other in among}) == 1 else f"{one.attack} by {one.by}"
    return name if one.target in ("labels", "features") else f"{name}, {one.target}"


def epoch_charts(curves: Sequence[AttackCurve]) -> Iterator[Chart]:
    """Attacks by epoch, one chart for each attacker and kind of target, where there are enough epochs for a line."""
    grouped: dict[tuple[str, str, bool], list[AttackCurve]] = {}
    for one in curves:
        if len(one.epochs) >= FEWEST_POINTS:
            grouped.setdefault((one.by, one.against, one.target == "labels"), []).append(one)
    for (by, against, is_labels), group in grouped.items():
        what = "labels" if is_labels else "columns and scores"
        yield Chart(
            f"What {by} could claim of {against}'s {what}, had training ended earlier",
            "Each attack on what was seen up to an epoch's end, with 95 % intervals; dashed, what needs no attack.",
            Axis("epoch"),
            Axis("labels recovered correctly" if is_labels else "explained (R²)", low=0.0, high=1.0, unit="percent"),
            [*(curve_series(one, one.attack if is_labels else f"{one.attack}, {one.target}") for one in group),
             *references(group)],
        )  # fmt: skip


def curve_series(one: AttackCurve, name: str) -> Series:
    """A curve by epoch with its intervals."""
    return Series(name, one.rates, one.epochs, one.low, one.high)


def references(group: Sequence[AttackCurve]) -> Iterator[Series]:
    """What can be had without the attack: the best baseline, and the more frequent class."""
    longest = max(group, key=lambda one: len(one.epochs)).epochs
    best = max(one.baseline for one in group)
    yield Series("best baseline", [best] * len(longest), longest, is_reference=True)
    guessing = group[0].guessing
    if guessing is not None and guessing < best - 0.01:
        yield Series("larger class", [guessing] * len(longest), longest, is_reference=True)


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
    """A chart that shows how often what was predicted happened."""
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
