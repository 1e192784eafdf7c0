"""The theorems as experiments, in the paper's order, then what goes beyond it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from plumbob.lab.paper.defences import averaging, noise, packing
from plumbob.lab.paper.features import batch_of_one, geometry, hardness, merging, other_curves
from plumbob.lab.paper.frames import ExperimentOutcome
from plumbob.lab.paper.labels import criterion, minimax, no_features, parties, piecewise, stacked, starts
from plumbob.lab.paper.page import Book, Chapter, Group
from plumbob.lab.paper.runs import Effort, ResultStore
from plumbob.report.quality import Fact


@dataclass(frozen=True)
class Experiment:
    """One experiment, and its heading on the page."""

    name: str
    heading: str
    run: Callable[[Effort], ExperimentOutcome]


EXPERIMENTS = (
    Experiment("merging", "One column, value by value (Lemma 3.4, Theorem 3.5, Remark 4.9)", merging),
    Experiment("hardness", "Several columns: a rotation stays open (Theorem 3.6)", hardness),
    Experiment("no-features", "A label party without columns (Theorem 4.1)", no_features),
    Experiment("criterion", "The criterion, and how long it holds (Lemma 4.4 to Theorem 4.6)", criterion),
    Experiment("starts", "Starting weights (Theorem 4.8, large random starts)", starts),
    Experiment("parties", "Many parties (Theorem 4.10)", parties),
    Experiment("packing", "Hidden sums in replies (Algorithm 2, section 5.2)", packing),
    Experiment("noise", "Utility and drift under noise (Lemma 6.3, Theorems 6.4 and 6.6)", noise),
    Experiment("minimax", "Minimax (Theorem E.3)", minimax),
    Experiment("piecewise", "Piecewise (Theorem F.2)", piecewise),
    Experiment("other-curves", "One column under minimax and piecewise (E.2, F.1)", other_curves),
    Experiment("stacked", "Beyond: all steps' equations together", stacked),
    Experiment("geometry", "Beyond: everything but the rotation", geometry),
    Experiment("averaging", "Beyond: averaging against noise", averaging),
    Experiment("batch-of-one", "Beyond: batches of one row", batch_of_one),
)


def book_of(results: ResultStore, effort: Effort, experiments: tuple[Experiment, ...] = EXPERIMENTS) -> Book:
    """Run what is not in the store yet, and judge it."""
    outcomes: dict[str, ExperimentOutcome] = {}
    for place, experiment in enumerate(experiments, start=1):
        effort.tell(f"{experiment.name} ({place} of {len(experiments)})")
        settings = {"experiment": experiment.name, "seeds": len(effort.all_seeds), "quick": effort.is_quick}
        outcomes[experiment.name] = results.get_or_run(settings, ExperimentOutcome, partial(experiment.run, effort))
    return Book(
        "attacks",
        "The paper's theorems, tried",
        "Each theorem of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, as a small experiment, and "
        "what goes beyond it.",
        [claim for outcome in outcomes.values() for claim in outcome.claims],
        [_chapter(one, outcomes[one.name]) for one in experiments],
        [frame for outcome in outcomes.values() for frame in outcome.frames],
        list(_facts(outcomes)),
    )


def _chapter(experiment: Experiment, outcome: ExperimentOutcome) -> Chapter:
    return Chapter(experiment.heading, (), [Group("", outcome.frames)], outcome.claims)


def _facts(outcomes: Mapping[str, ExperimentOutcome]) -> Iterator[Fact]:
    """Large numbers on what goes furthest beyond the paper, if it was tried."""
    values = {claim.name: claim.values for outcome in outcomes.values() for claim in outcome.claims}
    if "stacked" in values:
        auc = values["stacked"]["reshuffled"]
        yield Fact("AUC of labels in large batches", f"{auc:.3f}", "batches of 64, 12 columns, all epochs' equations")
    if "geometry" in values:
        error = values["geometry"]["values"]
        yield Fact("error of several columns", f"{error:.0e}", "once a few rows are known")
    if "batch-of-one" in values:
        error = values["batch-of-one"]["largest_error"]
        yield Fact("error with batches of one", f"{error:.0e}", "which the paper calls safe")
