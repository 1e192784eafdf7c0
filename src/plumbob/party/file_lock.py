"""Several processes of one party at one small file: what one reads and writes, no other one changes meanwhile."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plumbob.net.identity import make_private_folder


@contextmanager
def alone_at(file: Path) -> Iterator[None]:
    """Wait for whoever is there; who dies lets the next one in."""
    make_private_folder(file.parent)
    handle = os.open(file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
