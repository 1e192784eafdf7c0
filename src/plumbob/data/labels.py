"""Labels of any two classes as 0 and 1."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Labels
from plumbob.data.amounts import is_number
from plumbob.data.csv_files import FLAGS
from plumbob.errors import DataError


def code_labels(given: NDArray[Any], positive: str | None = None) -> tuple[Labels, tuple[Any, Any]]:
    """Labels as 0/1 and the two classes, the positive one second: the one that is named, or the second when sorted."""
    if given.ndim != 1:
        raise DataError(f"expected one label for each row, got an array of {given.ndim} dimensions")
    may_lack = given.dtype.kind not in "Uib"
    if may_lack and (missing := sum(value is None or value != value for value in given.tolist())):
        have = "has" if missing == 1 else "have"
        raise DataError(f"{missing} of {len(given)} rows {have} no label; fill in the labels, or remove those rows")
    try:
        written = _as_written(given)
        classes = np.unique(written)
    except TypeError:
        raise DataError(f"the labels of {len(given)} rows mix texts and numbers; expected two classes") from None
    if len(classes) != 2:
        raise DataError(
            f"expected two classes of labels in {len(given)} rows, got {len(classes)}; is this the label column?"
        )
    first, second = classes.tolist()
    is_second = np.asarray(written == classes[1])
    if positive is None or str(second) == positive:
        return is_second.astype(np.int8), (first, second)
    if str(first) != positive:
        raise DataError(f"--positive {positive}: expected one of the label's two classes, {first} and {second}")
    return (~is_second).astype(np.int8), (second, first)


def _as_written(given: NDArray[Any]) -> NDArray[Any]:
    """Labels that a file holds as text: whole numbers, numbers and flags become what they say."""
    if given.dtype.kind != "U":
        return given
    distinct = set(np.unique(given).tolist())
    if distinct <= set(FLAGS):
        return np.array([text.lower() == "true" for text in given.tolist()])
    if not all(map(is_number, distinct)):
        return given
    return given.astype(np.int64 if all(re.fullmatch(r"\s*[+-]?\d+\s*", text) for text in distinct) else np.float64)
