"""What the GPU's engine reaches, each result checked against Python's own integers on fresh random inputs.

    python benchmarks/gpu/run.py --out benchmarks/gpu             # writes results.json and RESULTS.md there
    python benchmarks/gpu/run.py --out DIR --package              # also whole steps and an epoch, beside `native`

Needs numpy and CuPy alone; with --package also plumbob itself, its native kernel built, and thus gmpy2. Rates are of
work on the device, inputs and outputs in its memory, unless a line says otherwise. Nothing is asserted about time.
"""

import argparse
import datetime
import importlib.util
import json
import math
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import cupy
import numpy as np

ENGINE = Path(__file__).parents[2] / "src/plumbob/crypto/engines/cuda"
KEY_BITS = 2048
WINDOW, SPARE_BITS, BASES = 8, 128, 272


def load(name: str) -> ModuleType:
    """A module of the engine, by its path: the package around it would ask for gmpy2."""
    whole_name = f"plumbob.crypto.engines.cuda.{name}"
    spec = importlib.util.spec_from_file_location(whole_name, ENGINE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[whole_name] = module
    spec.loader.exec_module(module)
    return module


# Each after those that it imports.
words, _, _, kernels, cupy_device = map(load, ("words", "channels", "device", "driver", "cupy_device"))


class Bench:
    def __init__(self) -> None:
        self.device = cupy_device.CupyDevice()
        self.driver = kernels.Driver(self.device)
        self.p, self.q = prime(KEY_BITS // 2), prime(KEY_BITS // 2)
        self.n = self.p * self.q
        self.ring = self.driver.ring(self.n, 2)
        self.halves = [self.driver.ring(root, 2) for root in (self.p, self.q)]
        self.squares = self.driver.joint((self.p, 2), (self.q, 2))
        self.primes = self.driver.joint((self.p, 1), (self.q, 1))
        self.results: dict[str, Any] = {}

    def note(self, name: str, value: float, unit: str, **more: Any) -> None:
        self.results[name] = {"value": value, "unit": unit, **more}
        print(f"{name}: {value:.6g} {unit} {more or ''}", flush=True)

    # Products

    def products(self) -> None:
        general = secrets.randbits(4095) | 1 << 4094 | 1
        count = self.device.processors * 12 * 8 * 4
        cases = (
            ("products modulo a general 4096-bit number", self.driver.ring(general, 1), "repeat_products", 1000),
            ("products modulo n**2, n of 2048 bits, n-adic", self.ring, "repeat_products", 1000),
            ("squarings modulo n**2, n of 2048 bits, n-adic", self.ring, "fold_powers", 1000),
            ("products modulo p**2, p of 1024 bits, p-adic", self.halves[0], "repeat_products", 2000),
        )
        for name, ring, kernel, repetitions in cases:
            values = [secrets.randbelow(ring.modulus) for _ in range(64)]
            few = self.driver._enter(ring, integers(values, ring.words))
            elements = cupy.ascontiguousarray(cupy.tile(few, (count // 64, 1)))
            out = cupy.empty_like(elements)
            if kernel == "fold_powers":
                u32 = kernels.u32
                shape = (u32(1), u32(0), u32(count), u32(2), u32(repetitions - 1))
                exponent = (1 << (repetitions - 1)) + 1
            else:
                shape = (kernels.u32(repetitions),)
                exponent = repetitions + 1
            arguments = (ring.constants, out, elements, *shape)
            milliseconds = self.timed(partial(self.driver._run, ring, kernel, count, arguments))
            sample = secrets.choice(range(count // 64))
            got = to_ints(self.driver._leave(ring, out[64 * sample : 64 * sample + 64]))
            assert got == [pow(value, exponent, ring.modulus) for value in values], name
            self.note(name, count * repetitions / milliseconds / 1e3, "million / s")

    def chained(self) -> None:
        """The same in channels, where tensor cores do most of it: numbers squared again and again."""
        cases = (("n**2, n of 2048 bits", self.ring), ("p**2, p of 1024 bits", self.halves[0]))
        for name, ring in cases:
            repetitions = 1000
            values = [secrets.randbelow(ring.modulus) for _ in range(64)]
            entered = self.driver._enter(ring, integers(values, ring.words))
            few = self.driver._numbers(ring.channels, 64)
            self.driver._run_channels(ring.channels, "enter_channels", 64, (few, entered))
            for count in (64, self.device.processors * 64):
                numbers = cupy.ascontiguousarray(cupy.tile(few, (count // 64, 1)))
                chains = kernels.Chains(count, 1, 0, count, 1, 0, repetitions)
                square = partial(self.driver._fold_in_channels, ring, ring.channels, numbers, chains)
                milliseconds = self.timed(square)
                got = to_ints(self.driver._leave(ring, square()[count - 64 :]))
                assert got == [pow(value, 1 << repetitions, ring.modulus) for value in values], name
                if count == 64:
                    note = f"one squaring in a chain modulo {name}, in channels"
                    self.note(note, 1e3 * milliseconds / repetitions, "us")
                else:
                    rate = count * repetitions / milliseconds / 1e3
                    self.note(f"squarings modulo {name}, in channels", rate, "million / s")

    # Encryption and randomisers

    def encryption(self, rows: int) -> None:
        digits = -(-(KEY_BITS // 2 + SPARE_BITS) // WINDOW)
        bases = [pow(secrets.randbelow(ring.root - 2) + 1, ring.root, ring.modulus) for ring in self.halves]
        tables = []
        for ring, base in zip(self.halves, bases, strict=True):
            powers = [base]
            while len(powers) < digits:
                powers.append(pow(powers[-1], 1 << WINDOW, ring.modulus))
            tables.append(self.driver.table(ring, integers(powers, ring.words), WINDOW))
        plain = [secrets.randbelow(1 << 26) - (1 << 25) for _ in range(256)]
        embedded = integers([(1 + value % self.n * self.n) for value in plain], self.ring.words)
        messages = cupy.ascontiguousarray(cupy.tile(embedded, (rows // 256, 1)))
        drawn = [random_bytes(rows, digits) for _ in tables]

        def encrypt(exponents: Sequence[Any]) -> Any:
            parts = [self.driver.look_up(table, one) for table, one in zip(tables, exponents, strict=True)]
            return self.driver.multiply(self.ring, messages, self.driver.join(self.squares, *parts))

        there = [cupy.asarray(one) for one in drawn]
        ciphertexts = encrypt(there)
        for row in [0, rows - 1, secrets.randbelow(rows)]:
            exponents = [int.from_bytes(one[row].tobytes(), "little") for one in drawn]
            value = to_ints(ciphertexts[row : row + 1])[0]
            message = 1 + plain[row % 256] % self.n * self.n
            for ring, base, exponent in zip(self.halves, bases, exponents, strict=True):
                assert value % ring.modulus == message * pow(base, exponent, ring.modulus) % ring.modulus
        milliseconds = self.timed(lambda: encrypt(there))
        self.note("owner's encryptions", rows / milliseconds / 1e3, "million / s", rows=rows)

        def whole() -> None:
            encrypt([cupy.asarray(random_bytes(rows, digits)) for _ in tables])

        self.note(
            "owner's encryptions, with drawing and uploading their randomness",
            rows / self.wall(whole) / 1e6,
            "million / s",
            threads=DRAWERS,
        )
        self.decryption(ciphertexts, plain)

    def randomisers(self, rows: int) -> None:
        roots = [pow(secrets.randbelow(self.n - 2) + 1, self.n, self.ring.modulus) for _ in range(BASES)]
        table = self.driver.table(self.ring, integers(roots, self.ring.words), WINDOW)
        drawn = random_bytes(rows, BASES)
        there = cupy.asarray(drawn)
        row = secrets.randbelow(rows)
        expected = 1
        for root, digit in zip(roots, drawn[row].tolist(), strict=True):
            expected = expected * pow(root, digit, self.ring.modulus) % self.ring.modulus
        assert to_ints(self.driver.look_up(table, there)[row : row + 1]) == [expected]
        milliseconds = self.timed(lambda: self.driver.look_up(table, there))
        self.note("randomisers for replies", rows / milliseconds / 1e3, "million / s", rows=rows)
        few = there[:11]
        self.note(
            "randomisers for one reply of 11 ciphertexts", self.timed(lambda: self.driver.look_up(table, few)), "ms"
        )

    def decryption(self, ciphertexts: Any, plain: Sequence[int]) -> None:
        opener = self.driver.opener(self.halves, (pow(-self.q, -1, self.p), pow(-self.p, -1, self.q)))

        def decrypt(values: Any) -> Any:
            return self.driver.join(self.primes, *self.driver.logarithms(opener, values))

        rows = min(len(ciphertexts), 1 << 16)
        got = to_ints(decrypt(ciphertexts[:512]))
        assert got == [value % self.n for value in plain] * 2
        milliseconds = self.timed(lambda: decrypt(ciphertexts[:rows]))
        self.note("decryptions", rows / milliseconds, "thousand / s", rows=rows)
        self.note("decryption of one reply of 11 ciphertexts", self.timed(lambda: decrypt(ciphertexts[:11])), "ms")

    # The product with a matrix

    def matrix(self) -> None:
        values = [unit(self.n) for _ in range(256)]
        bases = integers(values, self.ring.words)
        matrix = np.random.default_rng(secrets.randbits(64)).integers(-(1 << 15), 1 << 15, size=(256, 392))
        there = cupy.asarray(matrix)

        def combine() -> Any:
            return self.driver.combine(self.driver.subsets(self.ring, bases, 392, 16), there, 16)

        sums = combine()
        columns = sorted(secrets.SystemRandom().sample(range(392), 4))
        expected = [combined(values, matrix[:, column].tolist(), self.ring.modulus) for column in columns]
        assert [to_ints(sums[column : column + 1])[0] for column in columns] == expected
        self.note(
            "product of 256 ciphertexts with a 256 x 392 matrix of 16 bits",
            self.timed(combine, 20),
            "ms",
        )
        packed = to_ints(self.driver.pack(self.ring, sums, 37, 52))
        first = to_ints(sums[:37])
        weights = [1 << (52 * slot) for slot in range(37)]
        assert packed[0] == combined(first, weights, self.ring.modulus)
        self.note(
            "packing 392 sums, 37 slots of 52 bits", self.timed(lambda: self.driver.pack(self.ring, sums, 37, 52)), "ms"
        )

    # Timing

    def timed(self, work: Callable[[], Any], rounds: int = 5) -> float:
        """Milliseconds on the device, the median of several rounds after one to warm up."""
        with self.device.working():
            cupy.cuda.Device().synchronize()
            work()
            times = []
            for _ in range(rounds):
                start, end = cupy.cuda.Event(), cupy.cuda.Event()
                start.record()
                work()
                end.record()
                end.synchronize()
                times.append(cupy.cuda.get_elapsed_time(start, end))
        return float(median(times))

    def wall(self, work: Callable[[], Any], rounds: int = 5) -> float:
        """Seconds on the clock."""
        work()
        times = []
        for _ in range(rounds):
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            work()
            cupy.cuda.Device().synchronize()
            times.append(time.perf_counter() - start)
        return median(times)


DRAWERS = min(8, os.cpu_count() or 1)


def random_bytes(rows: int, columns: int) -> Any:
    """From the operating system, by several threads: one alone draws a quarter of what the device takes."""
    size = rows * columns
    cuts = [size * part // DRAWERS for part in range(DRAWERS + 1)]
    out = np.empty(size, dtype=np.uint8)

    def fill(part: int) -> None:
        begin, end = cuts[part], cuts[part + 1]
        out[begin:end] = np.frombuffer(os.urandom(end - begin), dtype=np.uint8)

    with ThreadPoolExecutor(DRAWERS) as pool:
        list(pool.map(fill, range(DRAWERS)))
    return out.reshape(rows, columns)


def integers(values: Sequence[int], size: int) -> Any:
    return cupy.asarray(np.stack([words.words_of(value, size) for value in values]))


def to_ints(rows: Any) -> list[int]:
    return [words.to_int(row) for row in cupy.asnumpy(rows)]


def combined(bases: Sequence[int], exponents: Sequence[int], modulus: int) -> int:
    product = 1
    for base, exponent in zip(bases, exponents, strict=True):
        product = product * pow(base, exponent, modulus) % modulus
    return product


def unit(n: int) -> int:
    while True:
        value = secrets.randbelow(n * n)
        if math.gcd(value, n) == 1:
            return value


def prime(bits: int) -> int:
    """With both top bits set, as keys have them."""
    small = [k for k in range(3, 2000, 2) if all(k % j for j in range(3, math.isqrt(k) + 1, 2))]
    while True:
        candidate = secrets.randbits(bits) | 3 << (bits - 2) | 1
        if all(candidate % k for k in small) and all(is_witness(candidate) for _ in range(20)):
            return candidate


def is_witness(candidate: int) -> bool:
    """One round of Miller and Rabin's test, passed."""
    shift = ((candidate - 1) & -(candidate - 1)).bit_length() - 1
    value = pow(secrets.randbelow(candidate - 3) + 2, (candidate - 1) >> shift, candidate)
    if value in (1, candidate - 1):
        return True
    for _ in range(shift - 1):
        value = value * value % candidate
        if value == candidate - 1:
            return True
    return False


def machine() -> dict[str, str]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")[:2]
    version = cupy.cuda.runtime.runtimeGetVersion()
    processor = next((line.split(":")[1].strip() for line in cpu_lines() if line.startswith("model name")), "unknown")
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "GPU": name,
        "driver": driver,
        "CUDA": f"{version // 1000}.{version % 1000 // 10}",
        "CuPy": cupy.__version__,
        "processor": f"{processor}, {os.cpu_count()} cores",
    }


def cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def table(found: dict[str, Any]) -> str:
    """RESULTS.md."""
    lines = [
        "# What the GPU's engine reached",
        "",
        "Written by `benchmarks/gpu/run.py`; docs/gpu.md says what it means.",
        "",
    ]
    lines += [f"- {name}: {value}" for name, value in found["machine"].items()]
    lines += ["", "| what | measured | unit |", "|---|---|---|"]
    lines += [f"| {name} | {row['value']:.4g} | {row['unit']} |" for name, row in found["results"].items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for results.json and RESULTS.md")
    parser.add_argument("--package", action="store_true", help="also measure whole steps with the installed package")
    options = parser.parse_args()
    bench = Bench()
    bench.products()
    bench.chained()
    bench.matrix()
    bench.encryption(1 << 17)
    bench.randomisers(1 << 15)
    if options.package:
        sys.path.insert(0, str(Path(__file__).parent))
        whole = importlib.import_module("whole")
        whole.measure(bench.note)
    found = {"machine": machine(), "results": bench.results}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(found, indent=2) + "\n")
    (options.out / "RESULTS.md").write_text(table(found))


if __name__ == "__main__":
    main()
