"""What the driver asks of a device: to compile the kernels for a shape, to launch them, and to keep order."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from plumbob.crypto.engines.cuda.channels import ChannelShape

FILES = ("lanes.h", "numbers.h", "kernels.cu")
BLOCK = 128  # Threads of a block.

Array = Any  # Of the device's array module: cupy's, or numpy's where it is emulated.


class DeviceShape(NamedTuple):
    """What the kernels are compiled for."""

    limbs: int
    degree: int
    threads: int

    def macros(self) -> dict[str, int]:
        """The names that the source expects."""
        return {
            "LIMBS": self.limbs,
            "DEGREE": self.degree,
            "THREADS": self.threads,
            "LANE_LIMBS": self.limbs // self.threads,
            "BLOCK": BLOCK,
        }

    @property
    def block(self) -> int:
        return BLOCK

    def source(self) -> str:
        """All of it, as one text: a compiler's cache sees every change."""
        folder = Path(__file__).parent
        return "\n".join((folder / name).read_text() for name in FILES)


class Device(Protocol):
    """Where kernels run."""

    @property
    def xp(self) -> Any:
        """The module whose arrays kernels take."""

    @property
    def processors(self) -> int:
        """How many work beside each other."""

    @property
    def lanes(self) -> Sequence[int]:
        """How many may share a number."""

    @property
    def largest_table(self) -> int:
        """Bytes that one table may take."""

    @property
    def has_channels(self) -> bool:
        """Whether channels.cu runs there."""

    def launch(self, shape: DeviceShape | ChannelShape, kernel: str, threads: int, arguments: tuple[Any, ...]) -> None:
        """Start a kernel on at least this many threads."""

    def working(self) -> AbstractContextManager[Any]:
        """What is launched inside is in this thread's own order, beside what other threads launch."""

    def wait(self) -> None:
        """Until all that was launched is done."""

    def aside(self) -> AbstractContextManager[None]:
        """What is launched inside starts after everything before it, and runs beside everything after it."""

    def rejoin(self) -> None:
        """What is launched from now on starts after everything aside."""

    def fetch(self, array: Array) -> Any:
        """An array on the host, once what this thread launched is done."""

    def fetch_aside(self, array: Array) -> Any:
        """An array that was made aside, on the host."""
