"""The kernel takes as long for one secret as for any other: Welch's t-test on cycles, after Reparaz and others (2017).

Samples of a secret that stays and of new ones are taken in random order, so that whatever else the machine does meets
both alike. Above 4.5 the two kinds probably differ. What really leaks does so in most rounds, and an interruption in
few: the median of ten rounds decides, and the largest is reported beside it.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice import sets
from plumbob.crypto.lattice.sets import root
from tools.native import RELEASE, compiled, find_compiler

SOURCES = (
    "tests/constant_time.cpp",
    "lattice_avx2.cpp",
    "lattice_avx512ifma.cpp",
    "lattice_portable.cpp",
    "lattice.cpp",
)
SAMPLES = 30_000
ROUNDS = 10
DIFFERENT, ALIKE = 50.0, 4.5
LEAKY = "branches"


def largest_t(samples: NDArray[np.uint64]) -> float:
    """The largest t over all samples, the fastest half and nine tenths: interruptions make the slowest noise."""
    cycles, is_new = (samples >> np.uint64(1)).astype(np.float64), (samples & np.uint64(1)).astype(bool)
    limits = np.quantile(cycles, (0.5, 0.9, 1.0))
    return max(abs(welch(cycles[~is_new & (cycles <= most)], cycles[is_new & (cycles <= most)])) for most in limits)


def welch(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """The difference of two means, in its standard errors; 0 where nothing varies, or one side is empty."""
    if min(len(left), len(right)) < 2:
        return 0.0
    error = left.var(ddof=1) / len(left) + right.var(ddof=1) / len(right)
    return float((left.mean() - right.mean()) / np.sqrt(error)) if error > 0 else 0.0


@pytest.mark.parametrize("slower", [0, 4])
def test_the_statistic_sees_what_differs(slower: int) -> None:
    """Made-up cycles: four more of a thousand are seen among interruptions, and none where there are none."""
    generator = np.random.default_rng(5)
    is_new = generator.integers(0, 2, 20_000)
    cycles = np.rint(
        1000 + generator.gamma(4, 5, 20_000) + slower * is_new + (generator.random(20_000) < 0.01) * 50_000
    )
    t = largest_t(2 * cycles.astype(np.uint64) + is_new.astype(np.uint64))
    assert t > ALIKE if slower else t < ALIKE


@pytest.mark.soak
def test_secrets_take_equally_long(tmp_path: Path) -> None:
    """Transforms, products, draws, sines and roundings, on every path; a reduction that branches is found out."""
    timer = build(tmp_path)
    rounds = [measure(timer, tmp_path / str(number)) for number in range(ROUNDS)]
    assert len(rounds[0]) >= 13
    found = [in_words(name, [each[name] for each in rounds]) for name in rounds[0]]
    sys.stdout.write("\n".join(found))
    wrong = [in_words(name, [each[name] for each in rounds]) for name in rounds[0] if not is_right(name, rounds)]
    assert not wrong, "\n".join(wrong)


def is_right(name: str, rounds: Sequence[Mapping[str, float]]) -> bool:
    """Whether the median says what it should: a difference where we built one in, and none elsewhere."""
    middle = median(each[name] for each in rounds)
    return middle > DIFFERENT if name.endswith(LEAKY) else middle < ALIKE


def in_words(name: str, found: Sequence[float]) -> str:
    """The median and the largest |t| of a piece of work."""
    return f"{name}: |t| median {median(found):.1f}, largest {max(found):.1f} of {len(found)} rounds"


def test_one_quiet_round_excuses_nothing() -> None:
    """What differs in most rounds is a leak, also if some rounds do not show it; a single interruption is none."""
    leaking = [{"work": t} for t in (0.3, 1.0, 2.0, 5.1, 5.5, 6.0, 6.5, 7.0, 8.0, 9.0)]
    disturbed = [{"work": t} for t in (0.3, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.0, 2.5, 30.0)]
    assert not is_right("work", leaking)
    assert is_right("work", disturbed)
    assert in_words("work", [each["work"] for each in leaking]).endswith("median 5.8, largest 9.0 of 10 rounds")


def build(folder: Path) -> Path:
    """The kernel's sources and the timer."""
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler here to build the timer with")
    return compiled(compiler, SOURCES, folder, (*RELEASE, "-w"))


def measure(timer: Path, folder: Path) -> dict[str, float]:
    """The measured t by path and piece of work."""
    folder.mkdir()
    parameters = sets.insecure_for_tests(256, 6, has_slots=True)
    numbers = [
        ",".join(map(str, each))
        for primes in (parameters.primes, parameters.slot_primes)
        for each in (primes, [root(prime, parameters.degree) for prime in primes])
    ]
    subprocess.run([str(timer), str(SAMPLES), *numbers, str(folder)], check=True)
    return {file.name: largest_t(np.fromfile(file, dtype="<u8")) for file in folder.iterdir()}
