"""All parties in one process, exchanging the same bytes as on a network; and the scikit-learn estimator on top."""

from pathlib import Path

from plumbob.lab.simulate.training import JointModel, Run, train

__all__ = ["JointModel", "Run", "load", "train"]


def load(folder: str | Path) -> JointModel:
    """Load the model of a run's folder that holds all parties' parts."""
    return JointModel.load(Path(folder))
