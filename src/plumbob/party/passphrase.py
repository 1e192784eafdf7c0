"""The passphrase of a party's key: from the environment, as for a service, or asked for once at the terminal."""

import getpass
import os
import sys
from functools import cache

from plumbob.errors import IdentityError

VARIABLE = "PLUMBOB_PASSPHRASE"
NEW_VARIABLE = "PLUMBOB_NEW_PASSPHRASE"


@cache
def passphrase() -> str:
    """The passphrase of the key as it is; asked for once per process."""
    return os.environ.get(VARIABLE) or _ask("passphrase of this party's key: ", VARIABLE)


def new_passphrase(variable: str = VARIABLE) -> str:
    """A passphrase for the key from now on, typed twice: behind a typing error nobody could open the key."""
    if given := os.environ.get(variable):
        return given
    first = _ask("new passphrase for this party's key: ", variable)
    if _ask("once more: ", variable) != first:
        raise IdentityError("the two passphrases differ; type this again")
    return first


def _ask(prompt: str, variable: str) -> str:
    if not sys.stdin.isatty():
        raise IdentityError(
            f"the key needs a passphrase, and nobody sits here to type it; put it into the variable {variable}"
        )
    return getpass.getpass(prompt)
