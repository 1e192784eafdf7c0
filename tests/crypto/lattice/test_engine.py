"""The engine is chosen by name, and where the kernel is missing the reference serves."""

import sys

import pytest

from plumbob.crypto.lattice import choose
from plumbob.errors import CryptoError


def test_an_unknown_engine_is_refused() -> None:
    """The names that exist are listed."""
    with pytest.raises(CryptoError, match="expected one of auto, native, python, ray"):
        choose("abacus")


def test_without_the_kernel_the_reference_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` falls back to the reference, and `native` says what is missing."""
    monkeypatch.setitem(sys.modules, "plumbob.crypto.lattice.native", None)
    assert choose("auto").name == choose("python").name == "python"
    with pytest.raises(CryptoError, match="install a C\\+\\+ compiler"):
        choose("native")
