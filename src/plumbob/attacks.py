"""The attacks under the name that scripts import; their code, and the list of these names, are in the lab."""

from plumbob.lab.attacks import *  # noqa: F403  # One list of names is enough.
from plumbob.lab.attacks import __all__ as __all__
