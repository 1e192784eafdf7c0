"""Active attacks against encrypted runs on credit data: 11 + 12 columns, batch 256, 2048-bit keys.

    PLUMBOB_DATA=... python benchmarks/attacks/active.py                      # 10 batches a run, a few minutes
    PLUMBOB_DATA=... python benchmarks/attacks/active.py --rows 27000         # a whole epoch
    PLUMBOB_DATA=... python benchmarks/attacks/active.py --only one-hot chosen

Prints one JSON object. For each attack: how many residuals were read, how many of them differ from what the honest peer
released (as integers), how many in the step that read most, the printed bound, the share of right labels among those
claimed, and how far the final weights are from the honest run's.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from plumbob import datasets
from plumbob.data import split_array
from plumbob.lab.attacks import LabelClaim, View, WeightsClaim
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.attacks.label_chosen_rows import ChosenRows, OpenedWeights
from plumbob.lab.attacks.packing import AuxiliaryPacking, OneHotPacking, TruncatedPacking
from plumbob.lab.paper.runs import exact_readings
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan
from plumbob.protocol.party import party_class

SPLIT = (11, 12)


class Case(NamedTuple):
    name: str
    by: str
    attack: type[Hook]
    keys: dict[str, Any]


CASES = (
    Case("one-hot", "features", OneHotPacking, {"replies": "paper"}),
    Case("one-hot", "label", OneHotPacking, {"replies": "paper"}),
    Case("auxiliary", "features", AuxiliaryPacking, {"replies": "paper"}),
    Case("auxiliary", "label", AuxiliaryPacking, {"replies": "paper"}),
    Case("truncated", "features", TruncatedPacking, {"replies": "packed"}),
    Case("truncated", "label", TruncatedPacking, {"replies": "packed"}),
    Case("chosen", "features", ChosenRows, {"replies": "packed"}),
    Case("chosen", "features", ChosenRows, {"replies": "packed", "start": "small"}),
    Case("chosen", "features", OpenedWeights, {"protocol": "shares", "open": "own"}),
    Case("chosen", "features", OpenedWeights, {"protocol": "shares", "open": "own", "start": "small"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2560)
    parser.add_argument("--only", nargs="*", default=sorted({case.name for case in CASES}))
    arguments = parser.parse_args()
    results = [measured(case, arguments.rows) for case in CASES if case.name in arguments.only]
    print(json.dumps({"data": "credit", "rows": arguments.rows, "batch_size": 256, "attacks": results}, indent=1))


def measured(case: Case, rows: int) -> dict[str, Any]:
    keys = {"protocol": "exchange", "epochs": 1, "batch_size": 256, "seed": 1} | case.keys
    plan = Plan.for_columns(SPLIT, **keys)
    X, y = datasets.load("credit")
    tables = {
        party.name: table for party, table in zip(plan.learners, split_array(X[:rows], y[:rows], SPLIT), strict=True)
    }
    honest = train(plan, tables)
    started = time.perf_counter()
    spy = case.attack()
    run = train(plan, tables, instead={case.by: hooked(party_class(plan.kind), spy)})
    seconds = time.perf_counter() - started
    claim = spy.claim(run.parties[case.by], View.of(run.transcripts[case.by]))
    conditions = () if isinstance(claim, WeightsClaim) else claim.conditions
    is_encrypted_residual = plan.protocol == "exchange"
    return {
        "attack": case.name,
        "by": case.by,
        **case.keys,
        "residuals_read": sum(len(reading.rows) for reading in spy.readings),
        "most_in_one_step": max(len(reading.rows) for reading in spy.readings),
        "differ_from_released": misread(run, case.by, spy) if is_encrypted_residual else None,
        "conditions": [(condition.name, condition.value, condition.is_met) for condition in conditions],
        "labels_right": labels_right(claim, y[:rows]) if isinstance(claim, LabelClaim) else None,
        "largest_change_of_a_final_weight": max(changes(run, honest)),
        "seconds": round(seconds, 1),
        "honest_seconds": round(honest.record.seconds, 1),
    }


def misread(run: Run, by: str, spy: Hook) -> int:
    """Readings that are not, to the last bit, what the honest peer encrypted."""
    return sum(int((~is_right).sum()) for is_right in exact_readings(run, by, spy))


def labels_right(claim: LabelClaim, y: Any) -> dict[str, float]:
    is_answered = ~np.isnan(claim.beliefs)
    right = (claim.beliefs > 0)[is_answered] == (y[is_answered] == 1)
    return {"claimed": int(is_answered.sum()), "share": float(right.mean())}


def changes(run: Run, honest: Run) -> Iterator[float]:
    for name, transcript in run.transcripts.items():
        yield float(np.abs(transcript.weights - honest.transcripts[name].weights).max())


if __name__ == "__main__":
    main()
