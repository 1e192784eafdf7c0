"""What was said before a run beside what happened in it: the predictions of `check`, and the paper's theorems."""

from collections.abc import Sequence

from plumbob.checking.agreement import Agreement
from plumbob.record import Promise
from plumbob.report.page import PageTable, Section, folded, table_of
from plumbob.report.verdicts import badge

WORST_CASES = (
    "These are worst cases, each with probability 0.99. How far they lie from what happened is part of the answer."
)


def agreement_section(items: Sequence[Agreement]) -> Section:
    """One line per finding, disagreements first, and in words."""
    broken = [str(item) for item in items if not item.is_kept]
    all_of_them = folded("Every verdict", table_of(agreement_table(items), "Prediction beside outcome"))
    return Section("Prediction beside outcome", [kept_sentence(items), *broken], rest=all_of_them)


def agreement_table(items: Sequence[Agreement]) -> PageTable:
    """A table with one line per finding."""
    rows = [
        [
            *(
                one.attack,
                badge(one.predicted) if one.predicted else "-",
                badge(one.found),
                one.word,
            ),
            *(one.by, one.against, one.target),
        ]
        for one in items
    ]
    return PageTable(["attack", "predicted", "found", "so", "by", "against", "target"], rows)


def kept_sentence(items: Sequence[Agreement]) -> str:
    """How often `check` was right."""
    kept = sum(item.is_kept for item in items)
    return f"{kept} of {len(items)} verdicts came out as `check` had predicted from the plan alone."


def theorems_section(planned: Sequence[Promise], measured: Sequence[Promise]) -> Section:
    """The paper's theorems beside this run, as a section of its page."""
    return Section("The paper's theorems beside this run", [WORST_CASES], theorems_table(planned, measured))


def theorems_table(planned: Sequence[Promise], measured: Sequence[Promise]) -> PageTable:
    """For the plan alone; and for this run's own rows and weights, beside what it did."""
    header = ["theorem", "for the", "promised", "measured", "kept", "what it says"]
    return PageTable(header, [*(_line("plan", one) for one in planned), *(_line("run", one) for one in measured)])


def _line(about: str, one: Promise) -> list[str]:
    found = "-" if one.measured is None else f"{one.measured:.4g}"
    kept = "-" if one.is_kept is None else "yes" if one.is_kept else "no"
    return [one.theorem, about, f"{one.promised:.4g}", found, kept, one.says]
