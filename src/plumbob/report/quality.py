"""How good a run's model is: the figures, tables and charts of its quality; nothing is measured here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from plumbob.counting import decimal, plain
from plumbob.record import RunRecord
from plumbob.report.charts import Axis, Chart, Series
from plumbob.report.tables import PageTable

METRICS = {
    "auc": "AUC",
    "ks": "KS",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "accuracy": "accuracy",
    "majority": "majority",
}
FEWEST_POINTS = 3
"""Fewest points of a line: fewer are better read in the tables."""
Models = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Fact:
    """One large number: what it is, its value, and a remark."""

    what: str
    value: str
    remark: str


def gain_in_words(record: RunRecord) -> Iterator[str]:
    """What the joint model adds to the label party's own columns, and what pooling would add; one for each test."""
    name = record.parsed_plan.label_party.name
    for rows, models in record.quality.items():
        alone, joint, pooled = (models.get(model, {}).get("auc") for model in ("local-only", "joint", "pooled"))
        if joint is None or alone is None:
            continue
        more = f"On the {rows}, the joint model has an AUC of {decimal(joint)}: {_apart(joint, alone)} {name} reaches"
        further = f", and {_apart(joint, pooled)} one model of all columns in one place" if pooled is not None else ""
        yield f"{more} alone ({decimal(alone)}){further}."


def _apart(value: float, other: float) -> str:
    difference = round(value - other, 3)
    if not difference:
        return "as much as"
    return f"{decimal(abs(difference))} {'more' if difference > 0 else 'less'} than"


def quality_facts(record: RunRecord) -> Iterator[Fact]:
    """The AUC of the label party alone, of the joint model, and of all columns pooled."""
    names = {"local-only": f"{record.parsed_plan.label_party.name} alone", "joint": "joint model"}
    names["pooled"] = "all columns pooled"
    for rows, models in record.quality.items():
        for model, name in names.items():
            values = models.get(model, {})
            if values.get("auc") is not None:
                interval = _interval(values, "auc")
                remark = f"; 95 %: {interval}; log loss {decimal(values.get('log_loss'))}" if interval else ""
                yield Fact(name, decimal(values["auc"]), f"AUC on the {rows}{remark}")


def quality_table(rows: str, models: Models, metrics: Sequence[str] = tuple(METRICS)) -> PageTable:
    """A table with one line per model."""
    lines = [[model, *(with_interval(values, name) for name in metrics)] for model, values in models.items()]
    is_known = any(values.get("auc_low") is not None for values in models.values())
    remark = "In brackets the 95 % interval." if is_known else ""
    return PageTable([f"on the {rows}", *(METRICS[name] for name in metrics)], lines, remark)


def with_interval(values: Mapping[str, float | None], name: str) -> str:
    """A metric and, where it is known, its 95 % interval."""
    interval = _interval(values, name)
    return decimal(values.get(name)) + (f" ({interval})" if interval else "")


def _interval(values: Mapping[str, float | None], name: str) -> str:
    low, high = values.get(f"{name}_low"), values.get(f"{name}_high")
    return "" if low is None or high is None else f"{decimal(low)} to {decimal(high)}"


def epochs_table(record: RunRecord) -> PageTable:
    """A table with one line per epoch, of the joint model."""
    names = [name for name in METRICS if name != "majority"]
    lines = [[plain(epoch["epoch"]), *(decimal(epoch.get(name)) for name in names)] for epoch in record.epochs]
    return PageTable(["epoch", *(METRICS[name] for name in names)], lines)


def quality_charts(record: RunRecord) -> Iterator[Chart]:
    """AUC after each epoch beside what the label party has alone and what pooling would give; calibration."""
    points = [(epoch["epoch"], epoch.get("auc")) for epoch in record.epochs]
    known = [(int(at), auc) for at, auc in points if at is not None and auc is not None]
    if len(known) >= FEWEST_POINTS:
        rows, models = next(iter(record.quality.items()), ("rows", {}))
        epochs = [at for at, _ in known]
        others = [(name, models[name].get("auc")) for name in ("local-only", "pooled") if name in models]
        level = [Series(name, [auc] * len(epochs), epochs, is_reference=True) for name, auc in others if auc]
        yield Chart(
            f"AUC on the {rows} after each epoch",
            "The joint model beside logistic regression on the label party's own columns, and on everybody's.",
            Axis("epoch"),
            Axis("AUC", high=1.0),
            [Series("joint", [auc for _, auc in known], epochs), *level],
        )
    if any(len(points) > 1 for points in record.calibration.values()):
        lines = [
            Series(name, [point[1] for point in points], [point[0] for point in points])
            for name, points in record.calibration.items()
        ]
        yield Chart(
            "Calibration",
            "Rows in groups of equal size, by their probability: of rows to which the model gives 20 %, about 20 % "
            "should be positive. A line on the diagonal is right.",
            Axis("mean probability"),
            Axis("share of positives", high=1.0),
            [*lines, Series("right", [0.0, 1.0], [0.0, 1.0], is_reference=True)],
        )
