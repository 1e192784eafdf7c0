"""Section 7 as plans: two data sets, two readings of its text, and all settings of its figures.

The text says batches of 256; its figures match one reading only: pixels / 255 as they are, and one update over all rows
for each plotted epoch. Both are here.

- `figures`: one full-batch update an epoch, so that steps and epochs are the same.
- `text`: batches of 256 and real epochs.
"""

from dataclasses import asdict, dataclass
from typing import Any

from plumbob.checking.study import noise_std
from plumbob.data import Table, split_array
from plumbob.errors import DataError
from plumbob.lab import datasets
from plumbob.plan import PAPER, Plan

PRESETS = ("figures", "text")
STARTS = ("xavier", "zero", "kaiming")
BUDGETS: tuple[float | None, ...] = (None, 0.5, 0.2, 0.1)
DELTA = 0.1
RATES = (0.001, 0.003, 0.01)
"""The learning rates that the paper tried; its figures have the last one."""
RATE = RATES[-1]


@dataclass(frozen=True)
class PaperStudy:
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


MNIST = PaperStudy("mnist", "mnist-01", (392, 392), epochs=30, scale="none", row_norm=28.0)
CREDIT = PaperStudy("credit", "credit", (11, 12), epochs=10, scale="standard", row_norm=1000.0)


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

    def plan(self, study: PaperStudy, rows: int, seed: int) -> Plan:
        """These settings as a plan for this many rows."""
        keys: dict[str, Any] = {**PAPER, "scale": study.scale, "batch_size": study.batch_size}
        if self.preset == "figures":
            keys |= {"batches": "full", "batch_size": rows}
        if self.epsilon is not None:
            # T = 30 and G = 1 are the text's, and the plan's defaults; e is the number of epochs really run.
            keys |= {"noise": "heuristic", "epsilon": self.epsilon, "delta": DELTA}
        keys |= {
            "protocol": "clear",
            "row_norm": 1.0 if self.has_unit_rows else study.row_norm,
            "epochs": study.epochs,
            "learning_rate": self.rate,
            "intercept": self.intercept,
            "start": self.start,
            "seed": seed,
        }
        return Plan.for_columns(study.split, **keys)


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


def noise_of(study: PaperStudy, preset: str, rows: int, epsilon: float) -> tuple[float, float]:
    """The paper's sigma_A and sigma_B."""
    plan = Setting(preset, "zero", epsilon).plan(study, rows, seed=1)
    return noise_std(plan, "label"), noise_std(plan, "features")
