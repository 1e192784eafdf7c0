"""The device code on the CPU: the same source, compiled by a C++ compiler, with a group's lanes in an array, or with a
block's threads taking turns.
"""

import ctypes
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.crypto.engines.cuda.channels import ChannelShape
from plumbob.crypto.engines.cuda.device import DeviceShape

BLOCKS = Path(__file__).parent / "blocks.h"


class EmulatedDevice:
    """Kernels as functions of a shared library; one library for each shape, made when it is first needed."""

    xp = np

    processors = 1

    def __init__(self, compiler: str, folder: Path, lanes: Sequence[int]) -> None:
        """`lanes` are numbers of lanes that may share a number; 0 among them allows channels."""
        self.lanes = [count for count in lanes if count] or [4]
        self.has_channels = 0 in lanes
        self.largest_table = 1 << 20 if 0 in lanes else 0
        self._compiler = compiler
        self._folder = folder
        self._libraries: dict[DeviceShape | ChannelShape, ctypes.CDLL] = {}
        self.launches: list[tuple[str, int]] = []

    def launch(self, shape: DeviceShape | ChannelShape, kernel: str, threads: int, arguments: tuple[Any, ...]) -> None:
        self.launches.append((kernel, threads))
        library, given = self._library(shape), [native(argument) for argument in arguments]
        if isinstance(shape, DeviceShape):
            getattr(library, kernel)(*given)
        else:
            words = (ctypes.c_uint64 * 11)(*(argument.value for argument in given))
            library.launch_blocks(getattr(library, kernel), ctypes.c_uint32(threads // shape.block), words)

    def working(self) -> AbstractContextManager[None]:
        return nullcontext()

    def wait(self) -> None:
        """Nothing runs beside."""

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rejoin(self) -> None:
        """Everything is done in the order in which it is launched."""

    def fetch(self, array: Any) -> Any:
        return array

    def fetch_aside(self, array: Any) -> Any:
        return array

    def _library(self, shape: DeviceShape | ChannelShape) -> ctypes.CDLL:
        if shape not in self._libraries:
            path = self._folder / (f"{type(shape).__name__}-" + "-".join(map(str, shape)) + ".so")
            if not path.exists():
                self._compile(shape, path)
            self._libraries[shape] = ctypes.CDLL(str(path))
        return self._libraries[shape]

    def _compile(self, shape: DeviceShape | ChannelShape, path: Path) -> None:
        text = shape.source() if isinstance(shape, DeviceShape) else BLOCKS.read_text() + shape.source()
        flags = [f"-D{name}={value}" for name, value in shape.macros().items()]
        options = ["-x", "c++", "-std=c++17", "-O1", "-fPIC", "-shared", "-DEMULATED", *flags]
        subprocess.run([self._compiler, *options, "-o", str(path), "-"], input=text, text=True, check=True)


def native(argument: Any) -> Any:
    """What ctypes takes: the address of an array, or a number."""
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, np.uint32):
        return ctypes.c_uint32(int(argument))
    return ctypes.c_int32(int(argument)) if isinstance(argument, np.int32) else ctypes.c_void_p(int(argument))
