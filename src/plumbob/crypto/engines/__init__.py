"""Choosing an engine: by name, or automatically the fastest one of this machine."""

import warnings
from functools import cache

from plumbob.crypto.engines.interface import Engine, ProductShape, cores
from plumbob.errors import EngineError

__all__ = ["Engine", "ProductShape", "choose", "cores", "native_is_built"]

NAMES = ("auto", "native", "python", "ray")
REMOVED = {"cuda": "the engine for GPUs was removed: one core with lattices is faster; leave --engine out"}


def choose(name: str = "auto", threads: int | None = None) -> Engine:
    """The engine of that name, on `threads` threads (None: every core); `auto` is the kernel where it was built.

    `ray` spreads the products of lattices only (`crypto.lattice.cluster`); everything else is done on this machine.
    """
    if name in REMOVED:
        raise EngineError(f"engine {name!r}: {REMOVED[name]}")
    if name not in NAMES:
        raise EngineError(f"engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "python":
        return _python_engine()
    if not native_is_built():
        if name == "native":
            raise EngineError(
                "engine 'native' was not built here: install a C++ compiler and reinstall; or use 'python'"
            )
        _say_once_that_native_is_missing()
        return _named(_python_engine(), name)
    from plumbob.crypto.engines.native import NativeEngine  # Only here may the compiled kernel be needed.

    return _named(NativeEngine(threads=threads), name)


def _python_engine() -> Engine:
    from plumbob.crypto.engines.python import PythonEngine  # Where the kernel is, nobody needs it.

    return PythonEngine()


def _named(engine: Engine, name: str) -> Engine:
    """Give the engine the name by which products of lattices are sent to the cluster."""
    if name == "ray":
        vars(engine)["name"] = name
    return engine


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
        "the native kernel was not built; falling back to the Python engine, which is many times slower. "
        "Install a C++ compiler and reinstall plumbob for speed",
        RuntimeWarning,
        stacklevel=3,
    )
