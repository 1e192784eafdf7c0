"""Section 7 as plans: two data sets, two readings of its text, and all settings of its figures.

The text says batches of 256; its figures match one reading only: pixels / 255 as they are, and one update over all rows
for each plotted epoch. Both are here.

- `figures`: one full-batch update an epoch, so that steps and epochs are the same.
- `text`: batches of 256 and real epochs.

Finished pieces of work are kept, one file each with the settings that it came from, so that a second call continues
where the first one ended; if a setting changed, its file is not used again.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plumbob import datasets
from plumbob.checking.study import noise_std
from plumbob.data import Table, split_array
from plumbob.errors import DataError
from plumbob.lab.paper.runs import Samples, credit
from plumbob.plan import PAPER, Plan
from plumbob.version import __version__


@dataclass(frozen=True)
class Effort:
    """How thorough a reproduction is; passed to every experiment."""

    seeds: int = 5
    is_quick: bool = False
    tell: Callable[[str], None] = lambda _: None
    data_dir: str | None = None
    """The folder of the larger data sets; None = as the environment says."""

    @property
    def all_seeds(self) -> range:
        return range(1, (1 if self.is_quick else self.seeds) + 1)

    def credit(self, rows: int | None = None, column: int | None = None, is_first: bool = False) -> Samples:
        """Real rows; with `column`, that one stands alone at the end, or at the beginning."""
        return credit(rows, column, is_first, self.data_dir)


NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True)
class ResultStore:
    """A folder of finished results, so that an interrupted command resumes where it stopped."""

    folder: Path

    def get_or_run(self, name: str, settings: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The stored result of these settings, or else that of the work, which is then stored."""
        stored = self.result(name, settings)
        if stored is not None:
            return stored
        result = work()
        self._keep(name, settings, result)
        return result

    def result(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The result stored under this name, if it came from exactly these settings."""
        try:
            stored = json.loads(self._file(name).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(stored, dict) or stored.get("settings") != _comparable(settings):
            return None
        found: dict[str, Any] = stored["result"]
        return found

    def _keep(self, name: str, settings: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"settings": _comparable(settings), "result": result}, indent=1, allow_nan=False)
        # Whole or not at all, whenever it is interrupted.
        unfinished = self._file(name).with_suffix(".part")
        unfinished.write_text(content, encoding="utf-8")
        os.replace(unfinished, self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder / f"{NOT_IN_NAMES.sub('-', name)}.json"


def _comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as JSON gives them back, with the version that did the work."""
    found: dict[str, Any] = json.loads(json.dumps({**settings, "plumbob": __version__}))
    return found


PRESETS = ("figures", "text")
STARTS = ("xavier", "zero", "kaiming")
BUDGETS: tuple[float | None, ...] = (None, 0.5, 0.2, 0.1)
DELTA = 0.1
RATES = (0.001, 0.003, 0.01)
"""The learning rates that the paper tried; its figures have the last one."""
RATE = RATES[-1]


@dataclass(frozen=True)
class Study:
    """One data set of section 7, and what the paper does with it."""

    name: str
    dataset: str
    split: tuple[int, int]
    epochs: int
    scale: str
    row_norm: float
    """A bound for plans with noise, which need one; it shortens no row, because none is as long."""
    batch_size: int = 256
    data_dir: str | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that decide its results; not where the files are."""
        return {name: value for name, value in asdict(self).items() if name != "data_dir"}

    def tables(self, part: str) -> dict[str, Table]:
        """Each party's columns of the training or the test rows."""
        X, y = datasets.load(self.dataset, part, self.data_dir)
        return dict(zip(("label", "features"), split_array(X, y, self.split), strict=True))


MNIST = Study("mnist", "mnist-01", (392, 392), epochs=30, scale="none", row_norm=28.0)
CREDIT = Study("credit", "credit", (11, 12), epochs=10, scale="standard", row_norm=1000.0)


@dataclass(frozen=True)
class Setting:
    """One line of a figure."""

    preset: str
    start: str
    epsilon: float | None = None
    intercept: bool = False
    """Whether there is an intercept, which the paper's model does not have."""
    has_unit_rows: bool = False
    """Whether rows are clipped to norm 1, which the paper's theorems assume and its figures do not show."""
    rate: float = RATE

    @property
    def name(self) -> str:
        return f"{self.start}, {self.short_name}"

    @property
    def is_plotted(self) -> bool:
        """Whether the paper's figures have this line."""
        return not self.intercept and not self.has_unit_rows and self.rate == RATE

    @property
    def short_name(self) -> str:
        """The setting's name without its starting weights."""
        noise = "no defence" if self.epsilon is None else f"epsilon {self.epsilon:g}"
        more = (", intercept" if self.intercept else "") + (", rows of norm 1" if self.has_unit_rows else "")
        return noise + more + ("" if self.rate == RATE else f", rate {self.rate:g}")

    def plan(self, study: Study, rows: int, seed: int) -> Plan:
        """These settings as a plan for this many rows."""
        noise: dict[str, Any] = {}
        if self.epsilon is not None:
            # T = 30 and G = 1 are the text's, and the plan's defaults; e is the number of epochs really run.
            noise = {"noise": "heuristic", "epsilon": self.epsilon, "delta": DELTA}
        batches = {"batches": "full", "batch_size": rows} if self.preset == "figures" else {}
        return Plan.for_columns(
            study.split,
            protocol="clear",
            row_norm=1.0 if self.has_unit_rows else study.row_norm,
            epochs=study.epochs,
            intercept=self.intercept,
            start=self.start,
            seed=seed,
            **{
                **PAPER,
                "scale": study.scale,
                "learning_rate": self.rate,
                "batch_size": study.batch_size,
                **batches,
                **noise,
            },
        )


def settings_of(preset: str, is_quick: bool) -> list[Setting]:
    """The settings to run: every start and budget, the other rates, what the paper leaves out; if quick, one start."""
    other_rates = [Setting(preset, "xavier", rate=rate) for rate in RATES if rate != RATE]
    if is_quick:
        return [Setting(preset, "xavier"), Setting(preset, "xavier", 0.5), *other_rates]
    as_in_the_paper = [Setting(preset, start, epsilon) for start in STARTS for epsilon in BUDGETS]
    with_intercept = [Setting(preset, start, epsilon, True) for start in ("xavier", "zero") for epsilon in (None, 0.5)]
    unit_rows = [Setting(preset, start, has_unit_rows=True) for start in ("xavier", "zero")]
    return [*as_in_the_paper, *other_rates, *with_intercept, *unit_rows]


def presets_of(name: str) -> tuple[str, ...]:
    """The readings that a word on the command line asks for."""
    if name not in (*PRESETS, "both"):
        raise DataError(f"no preset {name!r}; there are {', '.join(PRESETS)} and both")
    return PRESETS if name == "both" else (name,)


def noise_of(study: Study, preset: str, rows: int, epsilon: float) -> tuple[float, float]:
    """The paper's sigma_A and sigma_B."""
    plan = Setting(preset, "zero", epsilon).plan(study, rows, seed=1)
    return noise_std(plan, "label"), noise_std(plan, "features")
