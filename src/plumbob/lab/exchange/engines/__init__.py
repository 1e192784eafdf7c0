"""Choosing an engine for Paillier: by name, or the fastest one of this machine."""

from functools import cache

from plumbob.errors import EngineError
from plumbob.lab.exchange.engines.interface import Engine, ProductShape
from plumbob.lab.exchange.engines.python import PythonEngine

__all__ = ["Engine", "ProductShape", "choose", "kernel_serves"]

NAMES = ("auto", "native", "python")


def choose(name: str = "auto", threads: int | None = None) -> Engine:
    """The engine of that name, on `threads` threads (None: every core).

    `auto` is the kernel where the processor has one of its instruction sets, else gmpy2's integers.
    """
    if name not in NAMES:
        raise EngineError(f"engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "python" or (name == "auto" and not kernel_serves()):
        return PythonEngine()
    if not kernel_serves():
        raise EngineError("engine 'native': this processor has neither AVX2 nor AVX-512 IFMA; use 'python'")
    from plumbob.lab.exchange.engines.native import NativeEngine  # Only here is the compiled kernel needed.

    return NativeEngine(threads=threads)


@cache
def kernel_serves() -> bool:
    """Whether Paillier's kernel was built and has a path for this machine."""
    try:
        from plumbob.lab.exchange.engines import _paillier
    except ImportError:
        return False
    return bool(_paillier.available_paths())
