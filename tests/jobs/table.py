"""What is read of each small job of `samples.py`, as lines of a table: `python -m tests.jobs.table` writes it."""

from collections.abc import Iterator
from pathlib import Path

from plumbob.jobs import judge, plan_to_check, read_job
from plumbob.jobs.findings import advice
from tests.jobs.samples import names, sample

TABLE = Path(__file__).parent / "table.txt"
OF_JOBS = ("arbiter-key", "keys", "no-encryption", "scores-in-the-clear")
"""Findings that no plan of ours has, or has otherwise; the verdicts of the others stand in tests/frozen."""


def lines() -> Iterator[str]:
    """For each file: the nearest plan, the values by their source, remarks, and what leaks with its advice."""
    for name in names():
        job = read_job(sample(name), "FATE" if name.startswith("fate") else "SecretFlow")
        plan, checked = plan_to_check(job, {"rows": 5000})
        yield f"## {name}: {job.component}"
        yield "plan: " + ", ".join(f"{key} {value}" for key, value in sorted(job.keys.items()))
        yield f"fits: {job.fits}, decoys: {job.decoys:g}, may be fixed: {job.may_be_fixed}"
        for source in ("file", "default", "assumed"):
            values = [f"{read.key} {read.value}" for read in checked.read if read.source == source]
            yield f"{source}: {', '.join(values)}"
        yield from (f"ignored: {line}" for line in job.ignored)
        yield from (f"note: {line}" for line in job.remarks)
        yield from (f"no all-clear: {line}" for line in job.no_all_clear)
        for found in judge(checked, plan):
            if found.verdict == "leaks" and found.attack in OF_JOBS and "+" not in found.by:
                yield f"leaks: {found.attack}, {found.target} to {found.by}; {found.fix}"
        yield f"otherwise: {advice(job, plan.protocol, 'another attack')}"
        yield ""


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()), encoding="utf-8")
