"""Which engine works: by name, or automatically the fastest one of this machine."""

import importlib.util
import warnings
from collections.abc import Callable
from functools import cache

from plumbob.crypto.engines.interface import Engine, ProductShape, cores
from plumbob.crypto.engines.python import PythonEngine
from plumbob.errors import CryptoError

__all__ = ["Engine", "ProductShape", "choose", "cores", "cuda_is_usable", "native_is_built"]

NAMES = ("auto", "native", "python", "ray", "cuda")
USUAL = ProductShape(rows=256, columns=32, bits=20)


def choose(name: str = "auto", threads: int | None = None, shape: ProductShape = USUAL) -> Engine:
    """The engine of that name, on `threads` threads (None: every core).

    `auto` is the fastest one on this machine. Only where several fast ones are usable is there something to measure,
    and then for steps of this shape. A cluster is somebody's: it is used only when it is asked for.
    """
    if name not in NAMES:
        raise CryptoError(f"engine {name!r}: expected one of {', '.join(NAMES)}")
    makers: dict[str, Callable[[int | None], Engine]] = {"native": _native, "ray": _ray, "cuda": _cuda}
    chosen = _automatic(threads, shape) if name == "auto" else name
    return makers[chosen](threads) if chosen in makers else PythonEngine()


def _automatic(threads: int | None, shape: ProductShape) -> str:
    usable = tuple(name for name, is_usable in (("native", native_is_built), ("cuda", cuda_is_usable)) if is_usable())
    if not usable:
        _say_once_that_native_is_missing()
        return "python"
    if len(usable) == 1:
        return usable[0]
    from plumbob.crypto.calibration import fastest  # It makes keys, which are made of engines.

    return fastest(usable, threads, shape)


def _native(threads: int | None) -> Engine:
    if not native_is_built():
        raise CryptoError("engine 'native' was not built here: install a C++ compiler and reinstall; or use 'python'")
    from plumbob.crypto.engines.native import NativeEngine  # Only here may the compiled kernel be needed.

    return NativeEngine(threads=threads)


def _ray(threads: int | None) -> Engine:
    from plumbob.crypto.engines.cluster import RayEngine

    return RayEngine(_native(threads) if native_is_built() else PythonEngine())


def _cuda(threads: int | None) -> Engine:
    from plumbob.crypto.engines.cuda.engine import CudaEngine  # It says what is missing, the GPU or CuPy.

    return CudaEngine()


@cache
def native_is_built() -> bool:
    """Whether the compiled kernel can be imported."""
    try:
        from plumbob.crypto.engines import _kernel  # noqa: F401  # Imported to see whether it is there.
    except ImportError:
        return False
    return True


@cache
def cuda_is_usable() -> bool:
    """Whether CuPy can be imported and sees a device."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        runtime = importlib.import_module("cupy").cuda.runtime
        return int(runtime.getDeviceCount()) > 0
    except (ImportError, RuntimeError):  # Without a driver, or with one that is too old.
        return False


@cache
def _say_once_that_native_is_missing() -> None:
    warnings.warn(
        "the native kernel was not built; falling back to the Python engine, which is several times slower. "
        "Install a C++ compiler and reinstall plumbob for speed",
        RuntimeWarning,
        stacklevel=4,
    )
