"""Who can work out what: every pair of a party and what it may be after, with the worst that was found."""

from collections.abc import Mapping, Sequence

from plumbob.checking.judgement import FEW_PARTIES, HEADINGS
from plumbob.checking.words import ASSUMPTIONS, BLOCKED, DEGRADES, LEAKS, ORDER, joined_names, sentence, spoken_names
from plumbob.counting import percent, share
from plumbob.plan import Plan
from plumbob.record import Finding
from plumbob.report.tables import PageTable

JUDGED = (LEAKS, DEGRADES, BLOCKED)
"""The verdicts that a page shows; an attack that has nothing to work on is no news."""
COLUMNS = "columns and scores"
KINDS = {"labels": "labels", "features": COLUMNS, "scores": COLUMNS, "weights": "weights", "ids": "ids"}
REACHED = (
    "The share of labels that is right, or of columns, scores and weights that is explained (R²); in brackets, what"
    " needs no attack."
)

Pair = tuple[str, str]
"""An attacker, and what it is after."""


def pairs_of(plan: Plan, findings: Sequence[Finding]) -> dict[Pair, dict[str, Finding]]:
    """The worst finding for each assumption, by pair; silence about a pair could be read either way."""
    spoken = spoken_names([party.name for party in plan.parties])
    pairs: dict[Pair, dict[str, Finding]] = {}
    known = [finding for finding in findings if finding.verdict in JUDGED]
    for finding in sorted(known, key=lambda finding: (list(KINDS).index(finding.target), finding.by)):
        by, against = (_together(names, spoken) for names in (finding.by, finding.against))
        worst = pairs.setdefault((by, f"{against}'s {KINDS[finding.target]}"), {})
        worst[finding.assumes] = min(worst.get(finding.assumes, finding), finding, key=_rank)
    return pairs


def _together(names: str, spoken: Mapping[str, str]) -> str:
    """Parties that act together, or that an attack is about, as a sentence names them."""
    return joined_names([spoken.get(name, name) for name in names.split("+")])


def _rank(finding: Finding) -> tuple[int, float]:
    return ORDER.index(finding.verdict), -(finding.advantage or 0.0)


def pairs_table(plan: Plan, findings: Sequence[Finding]) -> PageTable | None:
    """A table with one line per pair; None among many parties, where pairs are too many to read."""
    if len(plan.parties) > FEW_PARTIES or not findings:
        return None
    rows = [
        [sentence(by), about, *(rate_in_words(worst.get(assumes)) for assumes in ASSUMPTIONS)]
        for (by, about), worst in pairs_of(plan, findings).items()
    ]
    return PageTable(["who", "about", *HEADINGS.values()], rows, REACHED)


def rate_in_words(finding: Finding | None) -> str:
    """The verdict and, where it was measured, how much and, in brackets, what needs no attack."""
    if finding is None or finding.verdict not in JUDGED:
        return "-"
    if finding.rate is None:
        return finding.verdict
    return f"{finding.verdict} {share(finding.rate)} ({percent(max(finding.baseline or 0.0, 0.0))})"
