"""Which engine works: the native kernel where it was built, otherwise the Python reference; a GPU if it is named."""

import warnings
from functools import cache

from plumbob.crypto.engines.interface import Engine, cores
from plumbob.crypto.engines.python import PythonEngine
from plumbob.errors import CryptoError

__all__ = ["Engine", "choose", "cores", "native_is_built"]

NAMES = ("auto", "native", "python", "cuda")


def choose(name: str = "auto", threads: int | None = None) -> Engine:
    """The engine of that name; `auto` is the fastest one that is installed. `threads` None means every core."""
    if name not in NAMES:
        raise CryptoError(f"engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "python":
        return PythonEngine()
    if name == "cuda":
        from plumbob.crypto.engines.cuda.engine import CudaEngine  # CuPy takes a second to load.

        return CudaEngine()
    if not native_is_built():
        if name == "native":
            raise CryptoError(
                "engine 'native' was not built here: install a C++ compiler and reinstall; or use 'python'"
            )
        _say_once_that_native_is_missing()
        return PythonEngine()
    from plumbob.crypto.engines.native import NativeEngine  # Only here may the compiled kernel be needed.

    return NativeEngine(threads=threads)


@cache
def native_is_built() -> bool:
    """Whether the compiled kernel can be imported."""
    try:
        from plumbob.crypto.engines import _kernel  # noqa: F401  # Imported to see whether it is there.
    except ImportError:
        return False
    return True


@cache
def _say_once_that_native_is_missing() -> None:
    warnings.warn(
        "the native kernel was not built: the Python engine serves, several times slower. "
        "Install a C++ compiler and reinstall plumbob for speed",
        RuntimeWarning,
        stacklevel=3,
    )
