"""What a red team found in a run, as sections of its page: a party's own page has none of it."""

from collections.abc import Iterator, Sequence

from plumbob.checking.filing import Agreement, agreements
from plumbob.checking.findings import reasons
from plumbob.checking.words import NOT_APPLICABLE
from plumbob.counting import decimal, percent, plain, share
from plumbob.record import AttackCurve, Finding, Promise, RunRecord
from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.figures import FEWEST_POINTS
from plumbob.report.markup import NOTHING, joined, tag
from plumbob.report.page import PageTable, Section, bullets, folded, table_of
from plumbob.report.verdicts import badge

ATTACKED = ("leaks", "degrades", "blocked")
ADVANTAGE = (
    "Reached: the share of labels recovered correctly, for scores and features R². Advantage: the "
    "part of what the best baseline leaves unknown that the attack finds out, at the lower end of its 95 % interval."
)
NO_CLAIM = "No attack had anything to work on."


def audit_sections(record: RunRecord) -> Iterator[Section]:
    """What the attacks reached, beside what was predicted."""
    if record.findings:
        charts = [*attack_bars(record.findings), *epoch_charts(record.curves)]
        yield Section("What the attacks reached", charts=charts, special=NOTHING if charts else tag("p", NO_CLAIM))
        yield findings_section(record.findings)
        if record.predicted:
            yield agreement_section(agreements(record.predicted, record.findings))
    if any(record.theorems.values()):
        compared = theorems_table(record.theorems["plan"], record.theorems["run"])
        yield Section("The paper's theorems beside this run", [WORST_CASES], compared)


def findings_section(findings: Sequence[Finding], heading: str = "Finding by finding") -> Section:
    """Attacks that had something to work on with their numbers; reasons and theory can be unfolded."""
    told = [one for one in findings if one.verdict != NOT_APPLICABLE]
    idle = [f"{one.attack} by {one.by} against {one.against}: {one.why}" for one in findings if one not in told]
    theory = conditions_table(findings)
    pieces = [folded("Why, and what to do", bullets(reasons(told)))] if told else []
    if idle:
        pieces.append(folded("Attacks that are not applicable", bullets(idle)))
    if theory.rows:
        pieces.append(folded("Theory beside practice", table_of(theory, f"Theory beside practice, {heading}")))
    table = badged_table(told) if told else None
    return Section(heading, [] if told else [NO_CLAIM], table, rest=joined(*pieces))


def badged_table(findings: Sequence[Finding]) -> PageTable:
    """The findings as a table for the page, the decisive ones first."""
    header = ["attack", "verdict", "reached", "baseline", "by", "against", "target", "AUC", "AUC baseline", "advantage"]
    rows = [
        [
            *(one.attack, badge(one.verdict)),
            *(share(value) for value in (one.rate, one.baseline)),
            *(one.by, one.against, one.target),
            *(decimal(value) for value in (one.auc, one.baseline_auc)),
            percent(None if one.advantage is None else max(0.0, one.advantage)),
        ]
        for one in findings
    ]
    return PageTable(header, rows, ADVANTAGE)


def conditions_table(findings: Sequence[Finding]) -> PageTable:
    """A table of what the theorems require, and how it was in this run."""
    header = ["attack", "by", "verdict", "condition", "value", "needed", "met", "reference"]
    rows = [
        [
            *(finding.attack, finding.by, finding.verdict, one["name"]),
            *(plain(one["value"]), one["needed"]),
            *("yes" if one["is_met"] else "no", one["reference"]),
        ]
        for finding in findings
        for one in finding.conditions
    ]
    return PageTable(header, rows)


# Charts.


def attack_bars(findings: Sequence[Finding]) -> Iterator[Chart]:
    """Attacks beside their baselines, one chart for labels and one for the rest."""
    told = [one for one in findings if one.rate is not None and one.verdict in ATTACKED]
    for is_labels, title, axis in (
        (True, "Labels recovered correctly, attack by attack", "share of labels"),
        (False, "Scores and columns reconstructed, attack by attack", "share explained (R²)"),
    ):
        shown = [one for one in told if (one.target == "labels") == is_labels]
        if shown:
            yield Chart(
                title,
                "The mark across each bar is the best that the attacker could do without the attack: only what lies "
                "beyond it was learnt.",
                Axis(""),
                Axis(axis, low=0.0, high=1.0, unit="percent"),
                [
                    Series("attack", [one.rate for one in shown]),
                    Series("best baseline", [one.baseline for one in shown], is_reference=True),
                ],
                "bars",
                [_attack_name(one, shown) for one in shown],
            )


def _attack_name(one: Finding, among: Sequence[Finding]) -> str:
    """The attack's name, with its attacker's where there are several."""
    name = one.attack if len({other.by for other in among}) == 1 else f"{one.attack} by {one.by}"
    return name if one.target in ("labels", "features") else f"{name}, {one.target}"


def epoch_charts(curves: Sequence[AttackCurve]) -> Iterator[Chart]:
    """Charts of attacks by epoch, one for each attacker and kind of target, if there are enough epochs for a line."""
    grouped: dict[tuple[str, str, bool], list[AttackCurve]] = {}
    for one in curves:
        if len(one.epochs) >= FEWEST_POINTS:
            grouped.setdefault((one.by, one.against, one.target == "labels"), []).append(one)
    for (by, against, is_labels), group in grouped.items():
        what = "labels" if is_labels else "columns and scores"
        yield Chart(
            f"What {by} could claim of {against}'s {what}, had training ended earlier",
            "Each attack on what was seen up to an epoch's end, with 95 % intervals; dashed, what needs no attack.",
            Axis("epoch"),
            Axis("labels recovered correctly" if is_labels else "explained (R²)", low=0.0, high=1.0, unit="percent"),
            [*(_curve(one, is_labels) for one in group), *references(group)],
        )


def _curve(one: AttackCurve, is_labels: bool) -> Series:
    """A curve by epoch with its intervals."""
    name = one.attack if is_labels else f"{one.attack}, {one.target}"
    return Series(name, one.rates, one.epochs, one.low, one.high)


def references(group: Sequence[AttackCurve]) -> Iterator[Series]:
    """References to what is known without the attack: the best baseline, and the more frequent class."""
    longest = max(group, key=lambda one: len(one.epochs)).epochs
    best = max(one.baseline for one in group)
    yield Series("best baseline", [best] * len(longest), longest, is_reference=True)
    guessing = group[0].guessing
    if guessing is not None and guessing < best - 0.01:
        yield Series("larger class", [guessing] * len(longest), longest, is_reference=True)


# What was said before a run beside what happened in it: the predictions of `check`, and the paper's theorems.

WORST_CASES = (
    "These are worst cases, each with probability 0.99. How far they lie from what happened is part of the answer."
)


def agreement_section(items: Sequence[Agreement]) -> Section:
    """A section with one line per finding, disagreements first, and in words."""
    broken = [str(item) for item in items if not item.is_kept]
    all_of_them = folded("Every verdict", table_of(agreement_table(items), "Prediction beside outcome"))
    return Section("Prediction beside outcome", [kept_sentence(items), *broken], rest=all_of_them)


def agreement_table(items: Sequence[Agreement]) -> PageTable:
    """A table with one line per finding."""
    rows = [
        [
            *(one.attack, badge(one.predicted) if one.predicted else "-", badge(one.found), one.word),
            *(one.by, one.against, one.target),
        ]
        for one in items
    ]
    return PageTable(["attack", "predicted", "found", "so", "by", "against", "target"], rows)


def kept_sentence(items: Sequence[Agreement]) -> str:
    """A sentence on how often `check` was right."""
    kept = sum(item.is_kept for item in items)
    return f"{kept} of {len(items)} verdicts came out as `check` had predicted from the plan alone."


def theorems_table(planned: Sequence[Promise], measured: Sequence[Promise]) -> PageTable:
    """The theorems for the plan alone, and for this run's own rows and weights beside what it did."""
    header = ["theorem", "for the", "promised", "measured", "kept", "what it says"]
    return PageTable(header, [*(_line("plan", one) for one in planned), *(_line("run", one) for one in measured)])


def _line(about: str, one: Promise) -> list[str]:
    found = "-" if one.measured is None else f"{one.measured:.4g}"
    kept = "-" if one.is_kept is None else "yes" if one.is_kept else "no"
    return [one.theorem, about, f"{one.promised:.4g}", found, kept, one.says]
