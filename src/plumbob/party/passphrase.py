"""The passphrase of a party's key: from the environment, from a file descriptor, or asked for once at the terminal."""

import getpass
import os
import sys
from functools import cache

from plumbob.errors import IdentityError

VARIABLE = "PLUMBOB_PASSPHRASE"
NEW_VARIABLE = "PLUMBOB_NEW_PASSPHRASE"
DESCRIPTOR = "_FD"  # Behind either name: the number of a file descriptor whose first line it is.


@cache
def passphrase() -> str:
    """The passphrase of the key as it is; asked for once per process."""
    return _given(VARIABLE) or _typed("passphrase of this party's key: ", VARIABLE)


def new_passphrase(variable: str = VARIABLE) -> str:
    """A passphrase for the key from now on, typed twice: behind a typing error nobody could open the key."""
    if given := _given(variable):
        return given
    first = _typed("new passphrase for this party's key: ", variable)
    if _typed("once more: ", variable) != first:
        raise IdentityError("the two passphrases differ; type this again")
    return first


def _given(variable: str) -> str:
    if number := os.environ.get(f"{variable}{DESCRIPTOR}"):
        try:
            with os.fdopen(int(number), encoding="utf-8") as lines:
                return lines.readline().rstrip("\n")
        except (ValueError, OSError) as error:
            raise IdentityError(
                f"{variable}{DESCRIPTOR}={number}: expected the number of an open file descriptor with the passphrase "
                f"on its first line ({type(error).__name__})"
            ) from None
    return os.environ.get(variable, "")


def _typed(prompt: str, variable: str) -> str:
    if not sys.stdin.isatty():
        raise IdentityError(
            f"the key needs a passphrase, and nobody sits here to type it; put it into {variable}, or the number of "
            f"a file descriptor that has it into {variable}{DESCRIPTOR}"
        )
    return getpass.getpass(prompt)
