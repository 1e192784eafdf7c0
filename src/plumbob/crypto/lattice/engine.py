"""Choosing the engine for polynomials: the kernel where it was built, the reference otherwise, or a cluster."""

from plumbob.crypto.lattice.interface import LatticeEngine
from plumbob.errors import EngineError

NAMES = ("auto", "native", "python", "ray")


def choose(name: str = "auto", threads: int | None = None) -> LatticeEngine:
    """The engine of that name, on `threads` threads (None: every core)."""
    if name not in NAMES:
        raise EngineError(f"lattice engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "python":
        return _reference_engine()
    if name == "ray":
        from plumbob.crypto.lattice.cluster import RayLatticeEngine  # It is made of products, which engines calculate.

        return RayLatticeEngine(choose("auto", threads))
    try:
        from plumbob.crypto.lattice.native import NativeLatticeEngine  # Only here may the compiled kernel be needed.
    except ImportError:
        if name == "native":
            raise EngineError(
                "lattice engine 'native' was not built here: install a C++ compiler and reinstall; or use 'python'"
            ) from None
        return _reference_engine()
    return NativeLatticeEngine(threads=threads)


def _reference_engine() -> LatticeEngine:
    from plumbob.crypto.lattice.reference import ReferenceEngine  # Where the kernel is, nobody needs it.

    return ReferenceEngine()
