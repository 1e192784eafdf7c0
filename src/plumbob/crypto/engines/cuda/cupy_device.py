"""The driver's device on an NVIDIA GPU: CuPy compiles the kernels (NVRTC, with a cache on disk) and starts them."""

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plumbob.crypto.engines.cuda.device import Array

cupy: Any = importlib.import_module("cupy")  # It comes without types.

TABLE_SHARE = 24  # A table of powers takes at most this part of the device's memory.


class CupyDevice:
    """The current GPU. Every thread of the program has a stream of its own, so that two parties' work overlaps."""

    xp = cupy
    lanes = (4, 8, 16, 32)

    def __init__(self) -> None:
        self._modules: dict[Any, Any] = {}
        self._functions: dict[tuple[Any, str], Any] = {}
        self._streams = threading.local()
        self._lock = threading.Lock()
        self.processors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
        # Tensor cores multiply bytes since Turing, and in the shape that channels.cu wants since Ampere.
        self.has_channels = int(cupy.cuda.Device().compute_capability) >= 80
        self.largest_table = int(cupy.cuda.Device().mem_info[1]) // TABLE_SHARE

    def launch(self, shape: Any, kernel: str, threads: int, arguments: tuple[Any, ...]) -> None:
        blocks = -(-threads // shape.block)
        self._function(shape, kernel)((blocks,), (shape.block,), arguments)

    def working(self) -> Any:
        return self._pair[0]  # Entered, a stream is the one that everything goes to.

    def wait(self) -> None:
        cupy.cuda.Device().synchronize()

    @contextmanager
    def aside(self) -> Iterator[None]:
        side = self._pair[1]
        side.wait_event(cupy.cuda.get_current_stream().record())
        with side:
            yield

    def rejoin(self) -> None:
        cupy.cuda.get_current_stream().wait_event(self._pair[1].record())

    def fetch(self, array: Array) -> Any:
        return fetched(array, self._pair[0])

    def fetch_aside(self, array: Array) -> Any:
        return fetched(array, self._pair[1])

    @property
    def _pair(self) -> tuple[Any, Any]:
        if not hasattr(self._streams, "pair"):
            self._streams.pair = tuple(cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        pair: tuple[Any, Any] = self._streams.pair
        return pair

    def _function(self, shape: Any, kernel: str) -> Any:
        function = self._functions.get((shape, kernel))
        if function is None:
            with self._lock:
                if shape not in self._modules:
                    flags = ("-std=c++17", *(f"-D{name}={value}" for name, value in shape.macros().items()))
                    self._modules[shape] = cupy.RawModule(code=shape.source(), options=flags)
                function = self._functions[shape, kernel] = self._modules[shape].get_function(kernel)
        return function


def fetched(array: Array, stream: Any) -> Any:
    """On the host. To wait inside a copy would keep other threads from launching anything."""
    stream.synchronize()
    with stream:
        return array.get()
