"""The arrays of numbers that every room passes on: a vector has one axis, a matrix two (rows are samples).

They are different types: where a row of numbers is due, mypy refuses a table of them. What numpy itself returns has
no known number of axes in most cases, and may be given either name.
"""

import numpy as np

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
