"""Defences side by side: one line each, with what it costs and what every attack still reaches."""

from collections.abc import Iterator, Sequence

from plumbob.auditor.defences import AS_PLANNED, LABELS, VALUES, Outcome
from plumbob.report.page import Section, Table, render
from plumbob.report.run import shown

CAPTION = (
    "advantage: the part of what the best baseline leaves unknown that an attack finds out (docs/auditing.md); 0 where"
    " it finds nothing beyond the baseline, - where it has nothing to work on"
)
CALCULATED = (
    "Runs were calculated in the clear: views and weights are those of the encrypted protocols up to rounding. Seconds"
    " and megabytes are estimates for the encrypted run on this machine. Active attacks, which need messages to tamper"
    " with, are left out; --encrypted has them, and measures."
)
LABELS_ONLY = (
    "Noise of kind sound, and flipped labels, are promises about labels; features need shares, or noise of all."
)


def page_of(title: str, outcomes: Sequence[Outcome]) -> str:
    """The page that `audit --defences` leaves."""
    return render(title, list(sections_of(outcomes)))


def sections_of(outcomes: Sequence[Outcome]) -> Iterator[Section]:
    """The table, what to type for each, and what could not be had."""
    yield Section("Defences side by side", list(sentences(outcomes)), defences_table(outcomes))
    typed = [[one.defence, one.flags or AS_PLANNED] for one in outcomes]
    yield Section("What to type", table=Table(["defence", "flags over the plan"], typed))


def sentences(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the table does not say by itself."""
    if not any(one.measured for one in outcomes):
        yield CALCULATED
    yield LABELS_ONLY
    for one in outcomes:
        if one.is_plan:
            yield f"Of these, {one.defence} is {AS_PLANNED}."
        if one.refused:
            yield f"{one.defence} cannot be had here: {one.refused}"


def defences_table(outcomes: Sequence[Outcome]) -> Table:
    """Quality, verdicts, every attack that had something to work on anywhere, seconds, megabytes."""
    attacks = _attacks(outcomes)
    header = ["defence", "AUC", "accuracy", LABELS, VALUES, *attacks, "seconds", "megabytes"]
    return Table(header, [_line(one, attacks) for one in outcomes if not one.refused], CAPTION)


def _attacks(outcomes: Sequence[Outcome]) -> list[str]:
    found = (name for one in outcomes for name, value in one.advantages.items() if value is not None)
    return sorted(set(found), key=lambda name: (not name.startswith("label"), name))


def _line(one: Outcome, attacks: Sequence[str]) -> list[str]:
    return [
        one.defence,
        *(shown(value, 3) for value in (one.auc, one.accuracy)),
        *(one.verdicts[kind] for kind in (LABELS, VALUES)),
        *(_advantage(one.advantages.get(name)) for name in attacks),
        shown(one.seconds, 1),
        shown(None if one.bytes is None else one.bytes / 1e6, 2),
    ]


def _advantage(value: float | None) -> str:
    return shown(None if value is None else max(0.0, value), 2)
