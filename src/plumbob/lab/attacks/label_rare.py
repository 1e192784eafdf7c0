"""`label-rare`: names the few rows of the rarer class, from far fewer equations than rows. Beyond the paper.

View: a feature party's own columns and sums, any number of parties. While scores stay small, a sum is a known number
less four times the sum of the rows of the rarer class. Few rows of a batch are in that class, so which ones is a sparse
decoding problem: columns times the digits that stand out from what blurs them must say as much as there are ways to
choose that few of that many rows. Solving for every row's label, as `label-sign` and `label-stacked` do, needs as many
equations as rows.

For each step: own columns are whitened over the batch, and the direction of the label party's intercept is taken out.
Rows are picked greedily, with swaps, while they explain the sums better than chance would. What each row's neighbouring
choices are worth gives its log-odds; those of all visits to a row add up, and each step is then read again with what
the others say of its rows. What blurs the sums (the other parties' scores, noise, rounding) is measured on the way:
first all of a sum counts as blur, then what no picked row explains. The part of it that moves alike in all batches is
the others' scores as far as own columns predict them, and is taken out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.data import Batch, steps_per_epoch
from plumbob.lab.attacks.equations import label_weight, why_no_sums
from plumbob.lab.attacks.interface import Attack, Claim, NotApplicable, View
from plumbob.lab.attacks.label_stacked import growth_until
from plumbob.lab.attacks.stacking import whitened

SHARE = 0.01
"""The share of the rarer class that the attacker guesses; it may be ten times off."""
MOST_SWEEPS, LEAST_SWEEPS, MOST_READ = 16, 4, 20_000
"""How often all steps are read, and how many steps are read in all: less than a minute."""
MOST_VISITS = 6
"""How many visits to each row are read: later ones are blurred by scores that have grown."""
MOST_SHARE = 0.25
"""The largest share of the rarer class that it comes to suppose."""
STILL = 0.02
"""The mean move of log-odds below which another sweep changes nothing."""
MOST_PICKED = 64
"""Most rows of one batch that are picked: beyond that a class is not rare."""
MOST_ROWS = 20_000
"""Most rows of a batch: in longer ones so many are picked that nothing stands out."""
MOST_SAID = 12.0
"""Most log-odds that one visit may add: a wrong choice must not outvote all others."""
FAINT = 1e-9
SURELY = 0.1
"""How much of what is usual sums must hold to say something, and how much of what equal labels would add up to."""
ENOUGH_STEPS = 8
"""Steps from which on what moves alike in all of them can be told from what the picked rows say."""


@dataclass(frozen=True, repr=False, eq=False)
class BatchReading:
    """One step: its batch's rows, whitened, and what the picked rows must add up to."""

    batch: Batch
    rows: Matrix
    target: Vector
    growth: float
    """How far scores have come towards their end."""


def recover_rare_labels(view: View, share: float = SHARE) -> Claim | NotApplicable:
    """Labels of all rows, of which this share or so is in the rarer class."""
    if reason := why_no_sums(view):
        return NotApplicable(reason)
    if view.plan.weighs_rows:
        return NotApplicable("weights multiply each residual with a factor that only the label party knows")
    if len(view.batches[0]) > MOST_ROWS:
        return NotApplicable(f"batches have more than {MOST_ROWS:,} rows")
    whitening = whitened(view.X)
    if whitening.shape[1] == 0:
        return NotApplicable("all own columns are 0")
    sign = rarer_class(view, whitening)
    readings = list(_readings(view, whitening, sign))
    log_odds = decoded(readings, view.rows, float(np.log(share / (1.0 - share))))
    return Claim.of_labels(sign * log_odds)


def rarer_class(view: View, whitening: Matrix) -> int:
    """The rarer class, 1 or -1: nearly all labels being equal, sums are nearly those of rows with the other label.

    Early steps say so: later the label party's intercept has taken it away.
    """
    weight = label_weight(view)
    along = most = usual = 0.0
    for batch, X, scores, sums in view.steps():
        still = (1.0 - growth_until(view, batch.step)) ** 2
        labels = (view.sigmoid.curve(scores) @ X - sums) @ whitening / weight
        rows = X.sum(axis=0) @ whitening
        along += still * float(labels @ rows)
        most += still * float(rows @ rows)
        usual += still * len(batch)
    # In one full batch centred columns add up to nothing, and say nothing of this.
    return -1 if most > SURELY * usual and along > SURELY * most else 1


def _readings(view: View, whitening: Matrix, sign: int) -> Iterator[BatchReading]:
    weight = label_weight(view)
    first = MOST_VISITS * steps_per_epoch(view.rows, view.plan)
    for batch, X, scores, sums in islice(view.steps(), first):
        known = (view.sigmoid.curve(scores) + sign * weight) @ X
        rows = X @ whitening
        target = sign * (known - sums) @ whitening / (2.0 * weight)
        sizes, directions = np.linalg.eigh(rows.T @ rows)
        is_there = sizes > FAINT * sizes[-1]
        # Symmetric, so that directions mean the same in every batch.
        root = (directions[:, is_there] / np.sqrt(sizes[is_there])) @ directions[:, is_there].T
        rows, target = rows @ root, root @ target
        if view.plan.intercept:
            along = rows.sum(axis=0)
            along /= max(float(np.linalg.norm(along)), FAINT)
            rows, target = rows - np.outer(rows @ along, along), target - (target @ along) * along
        yield BatchReading(batch, rows, target, growth_until(view, batch.step))


def decoded(readings: list[BatchReading], rows: int, prior: float) -> Vector:
    """The log-odds of being in the rarer class for each row; NaN where no batch held it."""
    said = [np.zeros(len(reading.batch)) for reading in readings]
    total = np.full(rows, prior)
    left = [reading.target for reading in readings]
    for _ in range(max(LEAST_SWEEPS, min(MOST_SWEEPS, MOST_READ // len(readings)))):
        before = total.copy()
        drift = _drift(readings, left)
        blur = _blur(readings, [rest - moved for rest, moved in zip(left, drift, strict=True)])
        for place, reading in enumerate(readings):
            at = reading.batch.rows
            others = total[at] - said[place]
            target = reading.target - drift[place]
            picked = pick(reading.rows, target, others, blur[place])
            told = np.clip(
                log_odds_of(reading.rows, target, others, blur[place], picked) - others, -MOST_SAID, MOST_SAID
            )
            total[at] += told - said[place]
            said[place] = told
            left[place] = reading.target - reading.rows[picked].sum(axis=0)
        # The guess may be far off; what was found so far says better.
        named = float(np.mean(1.0 / (1.0 + np.exp(-np.clip(total, -50.0, 50.0)))))
        better = np.clip(named, 1.0 / rows, MOST_SHARE)
        total += np.log(better / (1.0 - better)) - prior
        prior = float(np.log(better / (1.0 - better)))
        if np.all((before > 0) == (total > 0)) and float(np.mean(np.abs(total - before))) < STILL:
            break
    seen = np.zeros(rows, dtype=bool)
    for reading in readings:
        seen[reading.batch.rows] = True
    return np.where(seen, total, np.nan)


def _drift(readings: list[BatchReading], left: list[Vector]) -> list[Vector]:
    """What moves alike in all batches: a curve of the growth, for each direction."""
    if len(readings) < ENOUGH_STEPS:
        return [np.zeros_like(rest) for rest in left]
    growth = np.array([reading.growth for reading in readings])
    lengths = np.sqrt([len(reading.batch) for reading in readings])
    basis = np.column_stack([growth**power for power in range(3)]) * lengths[:, None]
    found = np.linalg.lstsq(basis, np.array(left), rcond=None)[0]
    return list(basis @ found)


def _blur(readings: list[BatchReading], left: list[Vector]) -> list[float]:
    """The variance of what is left in each direction, step by step, smoothed over neighbouring steps."""
    each = np.array([float(rest @ rest) / max(1, len(rest) - 1) for rest in left])
    near = 7
    padded = np.pad(each, near, mode="edge") if len(each) > near else each
    smooth = (
        np.convolve(padded, np.ones(2 * near + 1) / (2 * near + 1), mode="valid")
        if len(each) > near
        else np.full(len(each), each.mean())
    )
    return list(np.maximum(smooth, FAINT))


def pick(rows: Matrix, target: Vector, prior: Vector, blur: float) -> list[int]:
    """The rows that explain a step's sums best: one is added, taken away or swapped while that is an improvement."""
    sizes = np.einsum("rc,rc->r", rows, rows)
    picked: list[int] = []
    left = target.copy()
    for _ in range(4 * MOST_PICKED):
        add, remove, swap = _moves(rows, sizes, left, prior, blur, picked)
        best_add = int(np.argmax(add))
        choices: list[tuple[float, int | None, int | None]] = []
        if len(picked) < MOST_PICKED:
            choices.append((float(add[best_add]), None, best_add))
        if picked:
            least = int(np.argmax(remove))
            choices.append((float(remove[least]), least, None))
            out, into = np.unravel_index(int(np.argmax(swap)), swap.shape)
            choices.append((float(swap[out, into]), int(out), int(into)))
        gain, gone, new = max(choices, key=lambda one: one[0])
        if gain <= 1e-9:
            break
        if gone is not None:
            left = left + rows[picked.pop(gone)]
        if new is not None:
            left = left - rows[new]
            picked.append(new)
    return picked


def _moves(
    rows: Matrix, sizes: Vector, left: Vector, prior: Vector, blur: float, picked: list[int]
) -> tuple[Vector, Vector, Matrix]:
    """The gain in log-likelihood of adding each row, of taking each picked one away, and of swapping any two."""
    along = rows @ left
    add = (2.0 * along - sizes) / (2.0 * blur) + prior
    remove = (-2.0 * along[picked] - sizes[picked]) / (2.0 * blur) - prior[picked]
    swap = add[None, :] + remove[:, None] + rows[picked] @ rows.T / blur
    add[picked] = -np.inf
    swap[:, picked] = -np.inf
    return add, remove, swap


def log_odds_of(rows: Matrix, target: Vector, prior: Vector, blur: float, picked: list[int]) -> Vector:
    """The log-odds of every row among all choices that are one move away from the one that was picked."""
    sizes = np.einsum("rc,rc->r", rows, rows)
    left = target - rows[picked].sum(axis=0)
    add, remove, swap = (np.exp(np.minimum(gain, 0.0)) for gain in _moves(rows, sizes, left, prior, blur, picked))
    whole = 1.0 + add.sum() + remove.sum() + swap.sum()
    held = add + swap.sum(axis=0)
    held[picked] = whole - remove - swap.sum(axis=1)
    chance = np.clip(held / whole, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(chance / (1.0 - chance)), dtype=np.float64)


LABEL_RARE = Attack("label-rare", "features", recover_rare_labels)
ATTACKS = (LABEL_RARE,)
