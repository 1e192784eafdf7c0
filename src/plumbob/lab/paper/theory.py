"""The theorems as experiments, in the paper's order, then what goes beyond it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from plumbob.lab.paper import features, labels, protection
from plumbob.lab.paper.findings import Book, Chapter, ExperimentOutcome, Group, Headline
from plumbob.lab.paper.readings import Effort, ResultStore


@dataclass(frozen=True)
class Experiment:
    """One experiment, under the name of its file."""

    name: str
    heading: str
    run: Callable[[Effort], ExperimentOutcome]


EXPERIMENTS = (
    Experiment("merging", "One column, value by value (Lemma 3.4, Theorem 3.5, Remark 4.9)", features.merging),
    Experiment("hardness", "Several columns: a rotation stays open (Theorem 3.6)", features.hardness),
    Experiment("no-features", "A label party without columns (Theorem 4.1)", labels.no_features),
    Experiment("criterion", "The criterion, and how long it holds (Lemma 4.4 to Theorem 4.6)", labels.criterion),
    Experiment("starts", "Starting weights (Theorem 4.8, large random starts)", labels.starts),
    Experiment("parties", "Many parties (Theorem 4.10)", labels.parties),
    Experiment("packing", "Hidden sums in replies (Algorithm 2, section 5.2)", protection.packing),
    Experiment("noise", "Utility and drift under noise (Lemma 6.3, Theorems 6.4 and 6.6)", protection.noise),
    Experiment("minimax", "Minimax (Theorem E.3)", labels.minimax),
    Experiment("piecewise", "Piecewise (Theorem F.2)", labels.piecewise),
    Experiment("other-curves", "One column under minimax and piecewise (E.2, F.1)", features.other_curves),
    Experiment("stacked", "Beyond: all steps' equations together", labels.stacked),
    Experiment("geometry", "Beyond: everything but the rotation", features.geometry),
    Experiment("averaging", "Beyond: averaging against noise", protection.averaging),
    Experiment("batch-of-one", "Beyond: batches of one row", features.batch_of_one),
)


def book_of(results: ResultStore, effort: Effort, experiments: tuple[Experiment, ...] = EXPERIMENTS) -> Book:
    """Run what is not in the store yet, and judge it."""
    found = {}
    for place, experiment in enumerate(experiments, start=1):
        effort.tell(f"{experiment.name} ({place} of {len(experiments)})")
        settings = {"experiment": experiment.name, "seeds": len(effort.all_seeds), "quick": effort.is_quick}
        found[experiment] = ExperimentOutcome.from_dict(
            results.get_or_run(f"attacks {experiment.name}", settings, partial(_stored, experiment, effort))
        )
    return Book(
        "attacks",
        "The paper's theorems, tried",
        "Each theorem of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, as a small experiment, and "
        "what goes beyond it.",
        tuple(claim for outcome in found.values() for claim in outcome.claims),
        tuple(_chapter(experiment, outcome) for experiment, outcome in found.items()),
        tuple(figure for outcome in found.values() for figure in outcome.figures),
        tuple(_headlines(found.values())),
    )


def _headlines(outcomes: Iterable[ExperimentOutcome]) -> Iterator[Headline]:
    """Headlines on what goes furthest beyond the paper, if it was tried."""
    values = {claim.name: claim.values for outcome in outcomes for claim in outcome.claims}
    if "stacked" in values:
        auc = values["stacked"]["reshuffled"]
        yield Headline(
            "AUC of labels in large batches", f"{auc:.3f}", "batches of 64, 12 columns, all epochs' equations"
        )
    if "geometry" in values:
        error = values["geometry"]["values"]
        yield Headline("error of several columns", f"{error:.0e}", "once a few rows are known")
    if "batch-of-one" in values:
        error = values["batch-of-one"]["largest_error"]
        yield Headline("error with batches of one", f"{error:.0e}", "which the paper calls safe")


def _stored(experiment: Experiment, effort: Effort) -> dict[str, Any]:
    return experiment.run(effort).to_dict()


def _chapter(experiment: Experiment, outcome: ExperimentOutcome) -> Chapter:
    sentences = tuple(
        f"{claim.says} Measured ({claim.reading}): {claim.measured}; {claim.verdict}." for claim in outcome.claims
    )
    return Chapter(experiment.heading, sentences, (Group("", outcome.figures),))
