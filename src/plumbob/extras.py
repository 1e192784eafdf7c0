"""What only an extra installs: whoever asks for it and does not have it reads one sentence instead of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

from plumbob.errors import PlumbobError

EXTRA_OF = {
    "flint": "lab",
    "gmpy2": "lab",
    "matplotlib": "lab",
    "sklearn": "lab",
    "starlette": "lab",
    "uvicorn": "lab",
}
"""The packages by the name that they are imported under."""


@contextmanager
def named_extras(what: str) -> Iterator[None]:
    """Raise PlumbobError with the extra to install where an import inside does not find one of its packages."""
    try:
        yield
    except ModuleNotFoundError as error:
        absent = (error.name or "").partition(".")[0]
        if absent not in EXTRA_OF:
            raise
        raise PlumbobError(
            f"{what} needs {absent}, which the plain installation leaves out: pip install 'plumbob[{EXTRA_OF[absent]}]'"
            f", or '.[{EXTRA_OF[absent]}]' in Plumbob's source folder"
        ) from None
