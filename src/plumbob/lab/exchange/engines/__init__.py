"""Choosing an engine for Paillier: by name, or the fastest one of this machine."""

import os

from plumbob.crypto.kernel import INSTRUCTIONS
from plumbob.errors import EngineError
from plumbob.lab.exchange.engines import _paillier
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.engines.native import NativeEngine
from plumbob.lab.exchange.engines.python import PythonEngine

__all__ = ["PaillierEngine", "choose", "kernel_serves"]

NAMES = ("auto", "native", "python")


def choose(name: str = "auto", threads: int | None = None) -> PaillierEngine:
    """The engine of that name, on `threads` threads (None: every core).

    `auto` is the kernel where the processor has one of its instruction sets, else gmpy2's integers.
    """
    if name not in NAMES:
        raise EngineError(f"engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "python" or (name == "auto" and not kernel_serves()):
        return PythonEngine()
    if not kernel_serves():
        raise EngineError("engine 'native': this processor has neither AVX2 nor AVX-512 IFMA; use 'python'")
    return NativeEngine(threads=threads)


def kernel_serves() -> bool:
    """Whether Paillier's kernel has a path for this machine."""
    paths = _paillier.available_paths()
    return bool(paths) and os.environ.get(INSTRUCTIONS, paths[0]) in ("", *paths)
