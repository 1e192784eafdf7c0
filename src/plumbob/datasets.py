"""The data sets under the name that scripts import; their code is in the lab, because no party needs them."""

from plumbob.lab.datasets import Dataset, describe, load, names, usual_split, write_tables

__all__ = ["Dataset", "describe", "load", "names", "usual_split", "write_tables"]
