"""The lab's charts, drawn like those of the report: which values of which runs."""

import math
from collections.abc import Sequence
from typing import Any

from plumbob.report.chart import Axis, Chart, Series, figure

METRICS = {
    "auc": ("AUC", "On the test part, after each epoch. Higher is better."),
    "log_loss": ("Log loss", "On the same rows. Lower is better."),
}


def curve(epochs: Sequence[dict[str, Any]]) -> str:
    """A chart of the joint model's quality after each epoch so far."""
    if not epochs:
        return ""
    numbers = [float(one["epoch"]) for one in epochs]
    return "".join(
        figure(
            Chart(title, says, Axis("epoch"), Axis(title), [Series("joint model", _column(epochs, name), numbers)]),
            f"curve-{place}",
        )
        for place, (name, (title, says)) in enumerate(METRICS.items())
    )


def comparison(runs: Sequence[dict[str, Any]]) -> str:
    """A chart of utility against leakage, one point per run that was attacked and finished."""
    found: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        if run["auc"] is not None and run["labels"] is not None:
            found.setdefault(run["protocol"], []).append(run)
    series = [_points(protocol, some) for protocol, some in found.items()]
    if not series:
        return ""
    chart = Chart(
        "Utility against leakage",
        "One point per run. Higher is a better model, further left gives less away: the top left corner is best.",
        Axis("of what was unknown, found out by the best attack", low=0.0, high=1.0, unit="percent"),
        Axis("AUC of the joint model", low=_below([one for some in series for one in some.y]), high=1.0),
        series,
        "points",
    )
    return str(figure(chart, "comparison-chart"))


def _points(protocol: str, runs: Sequence[dict[str, Any]]) -> Series:
    names = [run["folder"] if run["noise"] == "none" else f"{run['folder']}, {run['noise']} noise" for run in runs]
    return Series(protocol, _column(runs, "auc"), [_leakage(run) for run in runs], labels=names)


def _below(values: Sequence[float | None]) -> float:
    """A round number somewhat below the smallest, so that differences can be seen."""
    smallest = min(value for value in values if value is not None)
    return max(0.0, math.floor(10 * (smallest - 0.02)) / 10)


def _leakage(run: dict[str, Any]) -> float:
    return max(float(kind["advantage"]) for kind in (run["labels"], run["values"]) if kind is not None)


def _column(rows: Sequence[dict[str, Any]], name: str) -> list[float | None]:
    return [row[name] for row in rows]
