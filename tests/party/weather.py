"""A network of namespaces with bad weather: lost packets, delay, a narrow line, and links that go down.

Each party has a network namespace with one TUN device. Real IP packets of the kernel's TCP are read from these devices
here, and dropped, held back and passed on as the weather says: what `tc netem` does, on kernels that do not have it.
"""

import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TUN = Path("/dev/net/tun")
SET_DEVICE = 0x400454CA  # TUNSETIFF
TUN_WITHOUT_HEADER = 0x1001  # IFF_TUN | IFF_NO_PI
LONGEST_PACKET = 65536


@dataclass(frozen=True)
class Weather:
    """The weather on every party's line, in each direction."""

    loss: float = 0.015
    seconds: float = 0.1
    """Seconds on the way; a round trip takes two of these."""
    bits_a_second: float = 1e6
    longest_queue: float = 1.0
    """Seconds of packets that wait for the line; beyond that they are dropped."""


class Network:
    """Namespaces named after the parties, all in one net; use it in a `with` block."""

    def __init__(self, names: Sequence[str], weather: Weather, seed: int = 1) -> None:
        self.hosts = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        self.spaces = {name: f"plumbob-{os.getpid()}-{number}" for number, name in enumerate(names, 1)}
        self.passed = self.lost = 0
        self._devices = {name: f"pb{os.getpid() % 100000}-{number}" for number, name in enumerate(names, 1)}
        self._weather = weather
        self._random = random.Random(seed)
        self._tunnels: dict[bytes, int] = {}
        self._free_at: dict[int, float] = {}
        self._under_way: list[tuple[float, int, int, bytes]] = []
        self._order = itertools.count()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)

    @staticmethod
    def what_is_missing() -> str:
        """Why there can be no such network here, or nothing."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        if shutil.which("ip") is None:
            return "`ip` is missing: install iproute2"
        if not TUN.exists():
            return f"{TUN} is missing: the kernel has no TUN devices"
        return ""

    def __enter__(self) -> "Network":
        for name, host in self.hosts.items():
            space, device = self.spaces[name], self._devices[name]
            ip("netns", "add", space)
            self._tunnels[bytes(map(int, host.split(".")))] = tunnel(device)
            ip("link", "set", device, "netns", space)
            ip("-n", space, "address", "add", f"{host}/24", "dev", device)
            ip("-n", space, "link", "set", "lo", "up")
            self.set_link(name, is_up=True)
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ended.set()
        self._thread.join()
        for number in self._tunnels.values():
            os.close(number)
        for space in self.spaces.values():
            ip("netns", "delete", space)

    def set_link(self, name: str, *, is_up: bool) -> None:
        """Pull the party's cable, or put it back."""
        ip("-n", self.spaces[name], "link", "set", self._devices[name], "up" if is_up else "down")

    def _carry(self) -> None:
        while not self._ended.is_set():
            pause = min(0.1, self._under_way[0][0] - time.monotonic()) if self._under_way else 0.1
            for number in select.select(list(self._tunnels.values()), [], [], max(pause, 0))[0]:
                self._take(number)
            self._deliver()

    def _take(self, source: int) -> None:
        with suppress(OSError):
            packet = os.read(source, LONGEST_PACKET)
            target = self._tunnels.get(packet[16:20])
            if packet[0] >> 4 != 4 or target is None:
                # Not between two of us: the kernel asks for routers, for example.
                return
            now, weather = time.monotonic(), self._weather
            begins = max(now, self._free_at.get(source, 0.0))
            if self._random.random() < weather.loss or begins - now > weather.longest_queue:
                self.lost += 1
                return
            self._free_at[source] = begins + 8 * len(packet) / weather.bits_a_second
            arrives = self._free_at[source] + weather.seconds
            heapq.heappush(self._under_way, (arrives, next(self._order), target, packet))

    def _deliver(self) -> None:
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            *_, target, packet = heapq.heappop(self._under_way)
            # A device that is down takes nothing.
            with suppress(OSError):
                os.write(target, packet)
                self.passed += 1


def tunnel(device: str) -> int:
    """A new TUN device, open here."""
    number = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(number, SET_DEVICE, struct.pack("16sH", device.encode(), TUN_WITHOUT_HEADER))
    return number


def ip(*words: str) -> None:
    """Run `ip` with these words; a complaint ends the test."""
    subprocess.run(["ip", *words], check=True)
