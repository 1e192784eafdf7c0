"""What every worker shares: the JSON lines it speaks, the clock, and the data all peers are measured on.

A worker is one process inside one peer's environment. It reads one JSON object a line, does what `do` says, and
answers with one JSON object a line; seconds are taken around the peer's own calls only. This file uses the standard
library alone and runs on Python 3.8, because some peers need an old interpreter.

The clear integers are checked once, in `setup`: a worker whose sums are wrong is not measured.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, Protocol, Tuple

ROWS = 256
FEATURE_BITS = 19  # Sign included: 16 fraction bits, |x| < 4.
RESIDUAL_BITS = 23  # Sign included: 20 fraction bits, |residual| < 4.

Answer = Dict[str, Any]
Integers = List[int]
Rows = List[Integers]


class Peer(Protocol):
    """One library at its best: integers in, integers out. Ciphertexts are whatever the library has."""

    notes: Dict[str, str]

    def setup(self, bits: int) -> None:
        """Make a key, and whatever is made once for a key."""

    def prepare(self, matrix: Rows) -> Any:
        """Bring a clear matrix into the library's form; not timed."""

    def encrypt(self, values: Integers) -> Any:
        """Encrypt with fresh randomness."""

    def product(self, encrypted: Any, prepared: Any) -> Any:
        """Ciphertext vector times clear matrix."""

    def mask(self, sums: Any, masks: Integers) -> Any:
        """Add one mask to each sum, and fresh randomness where the library can."""

    def decrypt(self, encrypted: Any) -> Integers:
        """Open; the values as the library gives them, signs restored."""

    def mask_bits(self, bits: int) -> int:
        """How many bits a mask may have."""


def unmask(opened: Integers, masks: Integers) -> Integers:
    """What the learner does last; an adapter with a method of this name has a way of its own."""
    return [value - mask for value, mask in zip(opened, masks)]


def serve(peer: Peer) -> None:
    """Answer requests until the input ends."""
    pin_to_core()
    session = Session(peer)
    # A library may print; only answers may reach the driver.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(session.answer(json.loads(line))) + "\n")
        answers.flush()


def pin_to_core() -> None:
    """One core, where the driver asked for one: some libraries start threads and offer no switch."""
    core = os.environ.get("BENCH_CORE")
    if core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})


class Session:
    """A peer with a key and one encrypted batch."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.bits = 0
        self.batch: Any = None
        self.unmask: Callable[[Integers, Integers], Integers] = getattr(peer, "unmask", unmask)
        self.prepared: Dict[Tuple[int, int, bool], Any] = {}

    def answer(self, request: Answer) -> Answer:
        arguments = {key: value for key, value in request.items() if key != "do"}
        try:
            answer: Answer = getattr(self, "do_" + request["do"])(**arguments)
        except Exception as error:
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {str(error)[:200]}".split("\n")[0]}
        return answer

    def do_setup(self, bits: int) -> Answer:
        self.bits = bits
        _, seconds, _ = timed(lambda: self.peer.setup(bits))
        self.check_sums(columns=3)
        self.batch = self.peer.encrypt(residuals(ROWS))
        return {"seconds": seconds, "notes": self.peer.notes}

    def do_encrypt(self, count: int) -> Answer:
        values = residuals(count)
        return timing(lambda: self.peer.encrypt(values))

    def do_product(self, columns: int, rows: int = ROWS, signed: bool = True) -> Answer:
        prepared = self.matrix(rows, columns, signed)
        return timing(lambda: self.peer.product(self.batch, prepared))

    def do_decrypt(self, count: int) -> Answer:
        encrypted = self.peer.encrypt(residuals(count))
        return timing(lambda: self.peer.decrypt(encrypted))

    def do_iteration(self, columns: int) -> Answer:
        """One direction, in parts; a step has two of them."""
        prepared = self.matrix(ROWS, columns, True)
        values, masks = residuals(ROWS), random_masks(columns, self.peer.mask_bits(self.bits))
        encrypted, *encrypt = timed(lambda: self.peer.encrypt(values))
        sums, *product = timed(lambda: self.peer.product(encrypted, prepared))
        masked, *mask = timed(lambda: self.peer.mask(sums, masks))
        opened, *decrypt = timed(lambda: self.peer.decrypt(masked))
        _, *last = timed(lambda: self.unmask(opened, masks))
        parts = {"encrypt": encrypt, "product": product, "mask": mask, "decrypt": decrypt, "unmask": last}
        return {
            "parts": {name: {"seconds": both[0], "cpu_seconds": both[1]} for name, both in parts.items()},
            "seconds": sum(both[0] for both in parts.values()),
            "cpu_seconds": sum(both[1] for both in parts.values()),
        }

    def do_own(self, what: str, **arguments: Any) -> Answer:
        """A figure that only our own adapter has."""
        answer: Answer = getattr(self.peer, what)(**arguments)
        return answer

    def matrix(self, rows: int, columns: int, signed: bool) -> Any:
        key = (rows, columns, signed)
        if key not in self.prepared:
            self.prepared[key] = self.peer.prepare(features(rows, columns, signed))
        return self.prepared[key]

    def check_sums(self, columns: int) -> None:
        """Refuse to time a library that this adapter does not drive correctly."""
        values, matrix = residuals(ROWS), features(ROWS, columns, True)
        masks = random_masks(columns, self.peer.mask_bits(self.bits))
        sums = self.peer.product(self.peer.encrypt(values), self.peer.prepare(matrix))
        opened = self.peer.decrypt(self.peer.mask(sums, masks))
        clear = [sum(value * row[column] for value, row in zip(values, matrix)) for column in range(columns)]
        if self.unmask(opened, masks) != clear:
            raise ArithmeticError("the sums differ from the clear ones: fix the adapter")


def timing(work: Callable[[], Any]) -> Answer:
    _, seconds, cpu_seconds = timed(work)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds}


def timed(work: Callable[[], Any]) -> Tuple[Any, float, float]:
    """The result, wall seconds and processor seconds of one call."""
    cpu_start, start = time.process_time(), time.perf_counter()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - cpu_start


def features(rows: int, columns: int, signed: bool) -> Rows:
    """Uniform, and never zero: one peer refuses to multiply by zero, and no other may gain from skipping it."""
    source, top = random.Random(columns), 2 ** (FEATURE_BITS - 1) - 1
    matrix = [[source.randint(1, top) for _ in range(columns)] for _ in range(rows)]
    return [[source.choice((-1, 1)) * entry for entry in row] for row in matrix] if signed else matrix


def residuals(count: int) -> Integers:
    source, top = random.Random(count), 2 ** (RESIDUAL_BITS - 1) - 1
    return [source.randint(-top, top) for _ in range(count)]


def random_masks(count: int, bits: int) -> Integers:
    """Wide enough that no sum changes the sign, so that every library opens sum + mask as it is."""
    source = random.Random(bits)
    return [source.getrandbits(bits - 1) + 2 ** (bits - 1) for _ in range(count)]
