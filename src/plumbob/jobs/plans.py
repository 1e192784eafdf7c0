"""Turns a job into a plan: as it is, so that `check` can judge it, or as it should be, so that it can move here."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from plumbob.errors import PlanError
from plumbob.jobs.reading import Job, Read, short_text
from plumbob.plan import PROFILE_BITS, Plan

ASSUMED_COLUMNS = 10
# What a plan of ours may have beyond the job: plain gradient descent on standardised columns.
PLAIN = {"momentum": 0.0, "scale": "standard"}
KEPT = ("intercept", "l2")
REASONS = {
    "protocol": "nobody sees a gradient, and nobody holds a key for the others",
    "open": "no weights are opened",
    "key_bits": "follows from the protocol",
    "batches": "follows from the protocol",
    "epochs": "follows from the protocol",
    "learning_rate": "follows from the protocol",
    "start": "training begins at zero",
}


IN_SHARES = {"epochs": "a public rule", "learning_rate": "a public rule", "key_bits": "lattice keys"}
"""What stands for a key that nobody set, where the plan trains on shares."""
UNTOLD = ("test_only_keys", "sigmoid", "unmasked_gradients_for_the_arbiter", "batch_size")
"""Keys that mean nothing by themselves: with all rows in one batch, the batch's size too."""


@dataclass(frozen=True)
class Moved:
    """A plan for a moved job, and what is different in it."""

    plan: Plan
    differences: tuple[str, ...]


def plan_to_check(job: Job, flags: Mapping[str, Any]) -> tuple[Plan, Job]:
    """The nearest plan, with flags winning, and the job with what had to be assumed."""
    features, job = _features(job, flags)
    others = {name: value for name, value in flags.items() if name != "features"}
    keys = _fitting({**PLAIN, **job.keys}, others)
    different = _contradictions(job, others)
    unseen = ["The file itself is not judged: flags change its job."] if different else []
    job = replace(job, remarks=(*different, *job.remarks), no_all_clear=(*unseen, *job.no_all_clear))
    if others.get("key_bits") in PROFILE_BITS:
        keys.pop("test_only_keys", None)
    return Plan.of_job(features, title=f"from {job.system}", **{**keys, **others}), job


def _contradictions(job: Job, flags: Mapping[str, Any]) -> list[str]:
    """Flags that contradict the job: the verdict is then about another job than the file's."""
    different = [name for name, value in flags.items() if name in job.keys and job.keys[name] != value]
    return [
        f"{name}: the job says {short_text(job.keys[name])}, judged with {short_text(flags[name])} because you said so."
        for name in different
    ]


def plan_to_move(job: Job, flags: Mapping[str, Any]) -> Moved:
    """A safe plan for the same parties and columns."""
    features, job = _features(job, flags)
    others = {name: value for name, value in flags.items() if name != "features"}
    same = {name: job.keys[name] for name in KEPT if name in job.keys}
    safe = {"protocol": "shares", "open": "never"}
    try:
        plan = Plan.for_columns(features, title=f"moved from {job.system}", **{**safe, **same, **others})
    except PlanError as error:
        raise PlanError(f"{error}\nthe job cannot move as it is; change what the line names by a flag") from error
    return Moved(plan, tuple(_differences(job, plan)))


def _differences(job: Job, plan: Plan) -> list[str]:
    in_words = IN_SHARES if plan.kind.has_lattices else {}
    usual = Plan.for_columns((1, 1), protocol=plan.protocol)
    lines = []
    for name, before in job.keys.items():
        now = getattr(plan, name)
        if name not in UNTOLD and now != before:
            reason = f": {REASONS[name]}" if name in REASONS else ""
            value = in_words[name] if name in in_words and now == getattr(usual, name) else short_text(now)
            lines.append(f"{name}: {short_text(before)} in the job, {value} here{reason}")
    if job.has_arbiter:
        lines.append("arbiter: the job needs one, the plan does not")
    return lines


def _features(job: Job, flags: Mapping[str, Any]) -> tuple[tuple[int, ...], Job]:
    """Each party's columns, which no job file holds."""
    expected = job.feature_parties + 1 if job.feature_parties else 2
    features = flags.get("features")
    if features is None:
        assumed = (ASSUMED_COLUMNS,) * expected
        why = "job files do not say how many columns each party has; give --features"
        read = Read("features", ",".join(map(str, assumed)), "assumed", why)
        return assumed, replace(job, read=(*job.read, read))
    if job.feature_parties and len(features) != expected:
        raise PlanError(
            f"--features: the job has {expected} parties with columns, so give {expected} numbers, label party first; "
            f"got {len(features)}"
        )
    return tuple(features), job


def _fitting(keys: dict[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The keys with a batch no larger than the table, as both systems take it."""
    rows = flags.get("rows", 0)
    if rows and "batch_size" not in flags and "batches" not in flags and keys.get("batch_size", 0) > rows:
        return {**{name: value for name, value in keys.items() if name != "batch_size"}, "batches": "full"}
    return keys
