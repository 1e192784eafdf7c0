"""The theorems as experiments, in the paper's order, then what goes beyond it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from plumbob.lab.paper.defences import averaging, noise, packing
from plumbob.lab.paper.features import batch_of_one, geometry, hardness, merging, other_curves
from plumbob.lab.paper.frames import ExperimentOutcome
from plumbob.lab.paper.labels import criterion, minimax, no_features, parties, piecewise, stacked, starts
from plumbob.lab.paper.page import Book, Chapter, Group
from plumbob.lab.paper.runs import Effort, ResultStore


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
    chapters = []
    for place, experiment in enumerate(experiments, start=1):
        effort.tell(f"{experiment.name} ({place} of {len(experiments)})")
        settings = {"experiment": experiment.name, "seeds": len(effort.all_seeds), "quick": effort.is_quick}
        outcome = results.get_or_run(settings, ExperimentOutcome, partial(experiment.run, effort))
        chapters.append(Chapter(experiment.heading, (), [Group("", outcome.frames)], outcome.claims))
    return Book(
        "attacks",
        "The paper's theorems, tried",
        "Each theorem of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, as a small experiment, and "
        "what goes beyond it.",
        chapters,
    )
