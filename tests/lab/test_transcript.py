"""Transcripts: read back as they were written, and nothing else is read."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbob.errors import DataError
from plumbob.lab.transcript import ArbiterTranscript, Transcript
from tests.protocol.support import plan_for, trained


def example(**changes: object) -> Transcript:
    """A transcript with something in every field."""
    values: dict[str, object] = {
        "party": "bank",
        "plan": 'title = "ü"\n',
        "seed": bytes(range(32)),
        "X": np.arange(12.0).reshape(4, 3),
        "y": np.array([0, 1, 1, 0], dtype=np.int8),
        "start": np.array([0.1, -0.2, 0.3]),
        "sums": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, np.pi]]),
        "weights": np.array([1.0, 2.0, 3.0]),
    }
    return Transcript(**(values | changes))  # type: ignore[arg-type]  # The types are those of the fields.


def same(left: Transcript, right: Transcript) -> bool:
    """Whether two transcripts agree field by field, with types."""
    for name in ("X", "start", "sums", "weights"):
        first, second = getattr(left, name), getattr(right, name)
        if not np.array_equal(first, second) or first.dtype != second.dtype or first.shape != second.shape:
            return False
    labels = (left.y is None) == (right.y is None) and (left.y is None or np.array_equal(left.y, right.y))  # type: ignore[arg-type]  # Both or none.
    return labels and (left.party, left.plan, left.seed) == (right.party, right.plan, right.seed)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"y": None},
        {"seed": b""},
        {"X": np.zeros((4, 0)), "sums": np.zeros((2, 0)), "start": np.zeros(0)},
    ],
    ids=["whole", "no labels", "no seed", "no columns"],
)
def test_saving_and_loading(tmp_path: Path, changes: dict[str, object]) -> None:
    """What was saved is loaded, bit for bit."""
    path = tmp_path / "transcript.npz"
    example(**changes).save(path)
    assert same(Transcript.load(path), example(**changes))


def test_what_an_arbiter_read_is_kept(tmp_path: Path) -> None:
    """What it read is kept by party, with the plan, and nothing else: no rows, no labels, no weights."""
    path = tmp_path / "transcript.npz"
    sums = {"fund": np.ones((2, 2)), "a-b_c": np.zeros((2, 1))}
    ArbiterTranscript("judge", "a plan", sums).save(path)
    with np.load(path) as stored:
        assert set(stored.files) == {"format", "party", "plan", "seen/fund", "seen/a-b_c"}
        assert np.array_equal(stored["seen/fund"], sums["fund"])
    with pytest.raises(DataError, match="expected a transcript of a run"):
        Transcript.load(path)


@pytest.mark.parametrize("protocol", ["clear", "exchange", "arbiter", "shares"])
def test_a_real_runs_transcripts_survive(tmp_path: Path, protocol: str) -> None:
    """Every party's transcript of every protocol reads back as it was."""
    run = trained(plan_for((2, 3), protocol=protocol, epochs=1))
    for name, transcript in run.transcripts.items():
        transcript.save(tmp_path / f"{name}.npz")
        assert same(Transcript.load(tmp_path / f"{name}.npz"), transcript)


@given(st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    """Cut short or with changed bytes: DataError, or, where the change touched nothing that counts, the same values."""
    path = tmp_path / "damaged.npz"
    example().save(path)
    stored = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        stored = stored[: data.draw(st.integers(0, len(stored) - 1))]
    for _ in range(data.draw(st.integers(1, 4)) if stored else 0):
        stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(stored)
    with contextlib.suppress(DataError):
        assert Transcript.load(path).party == "bank"


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    """A missing file is a DataError: there is nothing to load."""
    with pytest.raises(DataError, match="missing, cut short or damaged"):
        Transcript.load(tmp_path / "nowhere.npz")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """A file with Python objects in it is refused, and their code does not run."""
    path = tmp_path / "objects.npz"
    np.savez(path, format=np.array(1), party=np.array([Bomb()], dtype=object))
    with pytest.raises(DataError):
        Transcript.load(path)
    assert not Bomb.went_off


class Bomb:
    """Says so when it is unpickled."""

    went_off = False

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return set_off, ()


def set_off() -> None:
    """What a pickled file would call."""
    Bomb.went_off = True


@pytest.mark.parametrize("stored", [{"format": np.array(2)}, {}, {"format": np.array(1)}, {"format": np.array("x")}])
def test_another_format_is_refused(
    tmp_path: Path, stored: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]
) -> None:
    """A file of another version, or without the fields, is refused."""
    path = tmp_path / "other.npz"
    np.savez(path, **stored)  # type: ignore[arg-type]  # numpy's own stub mistakes the names for its flags.
    with pytest.raises(DataError):
        Transcript.load(path)


def test_a_single_array_is_no_transcript(tmp_path: Path) -> None:
    """numpy's other format is refused too."""
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(DataError):
        Transcript.load(tmp_path / "array.npy")


def test_it_prints_nothing_of_what_it_holds() -> None:
    """Features, labels and weights stay out of logs."""
    assert "3.14" not in repr(example())
    assert "bank" not in repr(example())
