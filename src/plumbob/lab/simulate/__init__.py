"""All parties in one process, without a short cut past the bytes; and the scikit-learn estimator on top of it."""

from pathlib import Path

from plumbob.lab.simulate.training import JointModel, Run, train

__all__ = ["JointModel", "Run", "load", "train"]


def load(folder: str | Path) -> JointModel:
    """The model of a run's folder, where all parties' parts are here."""
    return JointModel.load(Path(folder))
