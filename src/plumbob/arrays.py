"""Types for arrays of numbers: a vector has one axis, a matrix two (rows are samples).

They are different types: where a row of numbers is due, mypy refuses a table of them. What numpy itself returns has
no known number of axes in most cases, and may be given either name.
"""

import numpy as np
from numpy.typing import NDArray

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Flags = NDArray[np.bool_]
Labels = NDArray[np.int8]
"""Labels, 0 or 1 for each row."""
Places = NDArray[np.intp]
"""Numbers of rows or columns, from 0."""
Texts = NDArray[np.object_]
"""A text for each row; None where it is missing."""
