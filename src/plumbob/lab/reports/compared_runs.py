"""Several runs of one task side by side: the demo's page. Everything else about a run is on its own page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from plumbob.checking.judgement import HEADINGS
from plumbob.checking.words import ASSUMPTIONS, BLOCKED, LEAKS, NOT_APPLICABLE, ORDER
from plumbob.counting import decimal, percent, seconds, size
from plumbob.record import Finding, RunRecord
from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.markup import joined, tag
from plumbob.report.page import PageTable, Section, bullets, facts_list, render
from plumbob.report.run import judged, limits_of, plan_section, utility_facts, warnings
from plumbob.report.verdicts import REACHED, Pair, badge, finding_cell, headline_blocks, pairs_of

RANKED = "ranks the labels better than by guessing"
"""An attack that gets no more of them right."""
REST = "All other attacks were blocked in every run, or had nothing to work on; each run's own page lists them."


@dataclass(frozen=True)
class LabelsRead:
    """The share of all labels that is guessed right, and the share that the best attack gets right."""

    guessed: float
    read: float

    @property
    def in_words(self) -> str:
        """How many of the labels were read, in words."""
        if self.read == self.guessed:
            return "none"
        return "every label" if self.read == 1.0 else f"{percent(self.read)} of the labels"


@dataclass(frozen=True)
class ComparedRun:
    """One run with its name, what is special about it, and how it stands in the comparison."""

    name: str
    story: str
    record: RunRecord
    labels: LabelsRead
    page: str
    """The address of its own page, from this one."""

    @property
    def verdict(self) -> str:
        """The worst verdict about labels."""
        found = (finding.verdict for finding in self.record.findings if finding.target == "labels")
        return min(found, key=ORDER.index, default=NOT_APPLICABLE)

    @property
    def quality(self) -> Mapping[str, float | None]:
        """How good the joint model is."""
        (models,) = self.record.quality.values()
        return models["joint"]

    @property
    def bytes_sent(self) -> int:
        """The bytes that all parties sent."""
        return sum(party.bytes_sent for party in self.record.parties)


def page_of(title: str, about: str, sentences: Sequence[str], runs: Sequence[ComparedRun]) -> str:
    """The page, with what decides first; the last run is the recommended one."""
    return render(title, list(sections_of(sentences, runs)), about)


def sections_of(sentences: Sequence[str], runs: Sequence[ComparedRun]) -> Iterator[Section]:
    """The sections; each heading names the run that it is about."""
    best = runs[-1]
    plan, judgement = best.record.parsed_plan, judged(best.record)
    warned = list(dict.fromkeys(line for run in runs for line in warnings(run.record)))
    cards = tag("ul", *(_card(run) for run in runs), class_="ways")
    yield Section("All runs: what each gives away", warned, special=cards, charts=[_labels_chart(runs)])
    worth = joined(tag("p", _worth(best.record)), facts_list(utility_facts(best.record)))
    yield Section(f"Is the joint model worth it? ({best.name})", special=worth)
    yield Section(f"What {best.name} stops, and what it does not", special=headline_blocks(judgement.headlines))
    yield Section("All runs: who can work out what", table=_pairs_table(runs))
    yield Section("All runs: what each attack reached", table=_attacks_table(runs))
    yield plan_section(plan, best.record.plan, best.record.rows, f"The plan of {best.name}")
    yield Section(f"What {best.name} does not protect", special=bullets(limits_of(best.record, judgement)))
    yield Section("All runs: how it was done", sentences)


def _card(run: ComparedRun) -> Markup:
    """A card: what is read in one sentence, how that came about, and what the run is worth and costs."""
    verdict = run.verdict
    is_ranked = verdict == LEAKS and run.labels.read == run.labels.guessed
    numbers = (
        ("labels right by attack", percent(run.labels.read)),
        ("AUC", decimal(run.quality["auc"])),
        ("time", seconds(run.record.seconds)),
        ("traffic", size(run.bytes_sent)),
    )
    listed = (part for what, value in numbers for part in (tag("dt", what), tag("dd", value)))
    return tag(
        "li",
        tag("h3", run.name),
        badge(verdict),
        tag("p", tag("strong", f"The processor {RANKED if is_ranked else f'reads {run.labels.in_words}'}.")),
        tag("p", run.story[:1].upper(), run.story[1:], class_="story"),
        tag("dl", *listed),
        tag("p", tag("a", "Everything about this run", href=run.page)),
        class_=f"way {verdict.replace(' ', '-')}",
    )


def _labels_chart(runs: Sequence[ComparedRun]) -> Chart:
    return Chart(
        "Labels right, run by run",
        "The mark across each bar is what guessing gets: only what lies beyond it was read.",
        Axis(""),
        Axis("share of labels", low=0.0, high=1.0, unit="percent"),
        [
            Series("best attack", [run.labels.read for run in runs]),
            Series("guessing", [run.labels.guessed for run in runs], is_reference=True),
        ],
        "bars",
        [run.name for run in runs],
    )


def _worth(record: RunRecord) -> str:
    (models,) = record.quality.values()
    alone, together, pooled = (models[name]["auc"] or 0.0 for name in ("local-only", "joint", "pooled"))
    return (
        f"Together the AUC is {decimal(together - alone)} above what {record.parsed_plan.label_party.name} reaches "
        f"alone. Pooling all columns in one place would add {decimal(pooled - together)}."
    )


def _pairs_table(runs: Sequence[ComparedRun]) -> PageTable:
    """A table of each pair of party and target under both assumptions, in every run."""
    judged = [pairs_of(run.record.parsed_plan, run.record.findings) for run in runs]
    rows = [
        [f"{by}: {about}", HEADINGS[assumes].lower(), *(_verdict(pairs, (by, about), assumes) for pairs in judged)]
        for by, about in dict.fromkeys(pair for pairs in judged for pair in pairs)
        for assumes in ASSUMPTIONS
    ]
    return PageTable(["who: about what", "when", *(run.name for run in runs)], rows)


def _verdict(pairs: Mapping[Pair, Mapping[str, Finding]], pair: Pair, assumes: str) -> Markup:
    found = pairs.get(pair, {}).get(assumes)
    return tag("span", "-") if found is None else badge(found.verdict)


def _attacks_table(runs: Sequence[ComparedRun]) -> PageTable:
    """A table of every attack that got anywhere in any run, with what it reached in each."""
    found: dict[tuple[str, str, str], list[Finding | None]] = {}
    for place, run in enumerate(runs):
        for one in run.record.findings:
            found.setdefault((one.attack, one.by, one.target), [None] * len(runs))[place] = one
    ranked = sorted(found.items(), key=lambda item: min(map(_rank, item[1])))
    rows = [[*key, *map(finding_cell, cells)] for key, cells in ranked if min(map(_rank, cells)) < ORDER.index(BLOCKED)]
    return PageTable(["attack", "by", "target", *(run.name for run in runs)], rows, f"{REACHED} {REST}")


def _rank(one: Finding | None) -> int:
    return len(ORDER) if one is None else ORDER.index(one.verdict)
