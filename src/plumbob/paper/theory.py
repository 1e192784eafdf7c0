"""Every theorem as an experiment, in the paper's order, then what goes beyond it."""

from collections.abc import Callable, Mapping

from plumbob.paper import features, labels, protection
from plumbob.paper.findings import Outcome
from plumbob.paper.quality import Effort
from plumbob.paper.shelf import Shelf

EXPERIMENTS: Mapping[str, Callable[[Effort], Outcome]] = {
    "merging": features.merging,
    "hardness": features.hardness,
    "no-features": labels.no_features,
    "criterion": labels.criterion,
    "starts": labels.starts,
    "parties": labels.parties,
    "packing": protection.packing,
    "noise": protection.noise,
    "minimax": labels.minimax,
    "piecewise": labels.piecewise,
    "other-curves": features.other_curves,
    "stacked": labels.stacked,
    "geometry": features.geometry,
    "averaging": protection.averaging,
    "batch-of-one": features.batch_of_one,
}


def outcomes(shelf: Shelf, effort: Effort) -> dict[str, Outcome]:
    """All of them; what is on the shelf is not run again."""
    found = {}
    for place, (name, experiment) in enumerate(EXPERIMENTS.items(), start=1):
        effort.tell(f"{name} ({place} of {len(EXPERIMENTS)})")
        settings = {"experiment": name, "seeds": len(effort.all_seeds), "quick": effort.is_quick}
        stored = shelf.recalled(f"attacks {name}", settings, lambda experiment=experiment: experiment(effort).to_dict())
        found[name] = Outcome.from_dict(stored)
    return found
