"""A transcript of one party's run: enough to rebuild the view of a party with columns; of an arbiter, what it read.

Batches follow from the seed and the plan, the weights of every step from the start and the sums. On disk it is one
numpy file without pickled objects, compressed unless it is large.
"""

import struct
import tokenize
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.errors import DataError
from plumbob.plan import Plan

FORMAT = 1
UNCOMPRESSED_FROM = 2**20  # Bytes of features.
# What numpy and the library below it raise when a file is not what it should be.
DAMAGES = (
    OSError,
    KeyError,
    ValueError,
    EOFError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
    OverflowError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True, repr=False, eq=False)
class Transcript:
    """The side of a party with columns.

    `sums` holds, per step, what its gradient is the mean of: residuals @ X, own part included.
    """

    party: str
    plan: str
    seed: bytes
    X: Matrix
    y: NDArray[np.int8] | None
    start: Vector
    sums: Matrix
    weights: Vector
    own_noise: Matrix | None = None
    """What own draws of noise add to the sums, where they return; whoever drew them can take them out again."""
    flipped: NDArray[np.bool_] | None = None
    """Which labels randomised response turned over, at the label party, which knows."""
    frames: dict[str, list[bytes]] = field(default_factory=dict)
    """Every message from each peer, byte for byte, if they were kept; they stay in memory."""

    def save(self, path: Path) -> None:
        """Write the transcript; `path` ends in .npz."""
        optional: dict[str, Any] = {"y": self.y, "own_noise": self.own_noise, "flipped": self.flipped}
        # Many rows hardly become smaller, and squeezing them takes longer than training in the clear.
        write = np.savez if self.X.nbytes >= UNCOMPRESSED_FROM else np.savez_compressed
        # Rows and labels: wherever the file is copied to, nobody else reads it.
        path.touch(mode=0o600)
        write(
            path,
            format=np.array(FORMAT),
            party=np.array(self.party),
            plan=np.array(self.plan),
            seed=np.frombuffer(self.seed, dtype=np.uint8),
            X=self.X,
            start=self.start,
            sums=self.sums,
            weights=self.weights,
            **{name: values for name, values in optional.items() if values is not None},
        )

    @classmethod
    def load(cls, path: Path) -> "Transcript":
        """Read it back; anything else than what `save` writes is refused."""
        try:
            # Opened here, because numpy leaves a damaged file open.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            if int(arrays["format"]) != FORMAT:
                raise DataError(f"{path}: expected transcript format {FORMAT}, got {int(arrays['format'])}")
            return cls(
                party=str(arrays["party"]),
                plan=str(arrays["plan"]),
                seed=arrays["seed"].tobytes(),
                X=arrays["X"],
                y=arrays.get("y"),
                start=arrays["start"],
                sums=arrays["sums"],
                weights=arrays["weights"],
                own_noise=arrays.get("own_noise"),
                flipped=arrays.get("flipped"),
            )
        except DAMAGES as error:
            raise DataError(f"{path}: expected a transcript of a run; it is missing, cut short or damaged") from error


def flipped_labels(plan: Plan, y: NDArray[np.int8] | None, signs: Vector | None) -> NDArray[np.bool_] | None:
    """Which labels (0/1) differ from those that training used; None where none could."""
    if plan.label_flip_epsilon == 0 or y is None or signs is None:
        return None
    is_flipped: NDArray[np.bool_] = (signs > 0) != (y == 1)
    return is_flipped


@dataclass(frozen=True, repr=False, eq=False)
class ArbiterTranscript:
    """An arbiter's side: it has no rows, and reads only sums that a plan leaves unmasked."""

    party: str
    plan: str
    sums: dict[str, Matrix] = field(default_factory=dict)
    """The unmasked sums of every step, by party."""
    frames: dict[str, list[bytes]] = field(default_factory=dict)
    """Every message from each party, byte for byte, if they were kept; they stay in memory."""

    def save(self, path: Path) -> None:
        """Write the transcript; `path` ends in .npz."""
        arrays: dict[str, Any] = {f"seen/{name}": values for name, values in self.sums.items()}
        arrays |= {"format": np.array(FORMAT), "party": np.array(self.party), "plan": np.array(self.plan)}
        path.touch(mode=0o600)
        np.savez_compressed(path, **arrays)
