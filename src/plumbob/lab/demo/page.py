"""Several runs of one task side by side: the demo's page. Everything else about a run is on its own page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plumbob.checking.filing import judgement_of_run
from plumbob.checking.judgement import HEADINGS, Headlines
from plumbob.checking.words import ASSUMPTIONS, BLOCKED, LEAKS, ORDER
from plumbob.counting import decimal, percent, seconds, size
from plumbob.record import Finding, RunRecord
from plumbob.report import templates
from plumbob.report.charts import Axis, Chart, Series
from plumbob.report.quality import Fact, gain_in_words, quality_facts
from plumbob.report.run import warnings
from plumbob.report.tables import PageTable
from plumbob.report.verdicts import REACHED, pairs_of, rate_in_words

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
    beyond: str = ""
    """What the verdict about labels does not say: what a cheating party could do, and the plan that stops it."""

    @property
    def verdict(self) -> str:
        """The worst verdict about labels."""
        found = (finding.verdict for finding in self.record.findings if finding.target == "labels")
        return min(found, key=ORDER.index, default=BLOCKED)

    @property
    def quality(self) -> Mapping[str, float | None]:
        """How good the joint model is."""
        (models,) = self.record.quality.values()
        return models["joint"]

    @property
    def bytes_sent(self) -> int:
        """The bytes that all parties sent."""
        return sum(party.bytes_sent for party in self.record.parties)

    @property
    def in_words(self) -> str:
        """What the processor reads, in a sentence."""
        is_ranked = self.verdict == LEAKS and self.labels.read == self.labels.guessed
        return f"The processor {RANKED if is_ranked else f'reads {self.labels.in_words}'}."

    @property
    def figures(self) -> Mapping[str, str]:
        """What the run is worth and costs."""
        return {
            "labels right by guessing": percent(self.labels.guessed),
            "labels right by attack": percent(self.labels.read),
            "AUC": decimal(self.quality["auc"]),
            "time": seconds(self.record.seconds),
            "traffic": size(self.bytes_sent),
        }


@dataclass(frozen=True)
class ComparisonPage:
    """Everything that the page shows, what decides first; the last run is the recommended one."""

    title: str
    about: str
    warnings: Sequence[str]
    runs: Sequence[ComparedRun]
    best: str
    """The name of the recommended run, which the middle of the page is about."""
    chart: Chart
    gain: Sequence[str]
    facts: Sequence[Fact]
    headlines: Headlines
    pairs: PageTable
    attacks: PageTable
    how: Sequence[str]


def page_of(title: str, about: str, how: Sequence[str], runs: Sequence[ComparedRun]) -> str:
    """The comparison as a page; `how` are sentences on how it was done."""
    best = runs[-1].record
    page = ComparisonPage(
        title=title,
        about=about,
        warnings=list(dict.fromkeys(line for run in runs for line in warnings(run.record))),
        runs=runs,
        best=runs[-1].name,
        chart=_labels_chart(runs),
        gain=list(gain_in_words(best)),
        facts=list(quality_facts(best)),
        headlines=judgement_of_run(best).headlines,
        pairs=_pairs_table(runs),
        attacks=_attacks_table(runs),
        how=how,
    )
    return templates.page_of("compared.html", page, "plumbob.lab.demo")


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
        [run.name for run in runs],
    )


def _pairs_table(runs: Sequence[ComparedRun]) -> PageTable:
    """A table of each pair of party and target under both assumptions, in every run."""
    compared = [pairs_of(run.record.parsed_plan, run.record.findings) for run in runs]
    rows = []
    for by, about in dict.fromkeys(pair for pairs in compared for pair in pairs):
        for assumes in ASSUMPTIONS:
            found = [pairs.get((by, about), {}).get(assumes) for pairs in compared]
            if any(found):
                verdicts = ["-" if one is None else one.verdict for one in found]
                rows.append([f"{by}: {about}", HEADINGS[assumes].lower(), *verdicts])
    return PageTable(["who: about what", "when", *(run.name for run in runs)], rows)


def _attacks_table(runs: Sequence[ComparedRun]) -> PageTable:
    """A table of every attack that got anywhere in any run, with what it reached in each."""
    found: dict[tuple[str, str, str], list[Finding | None]] = {}
    for place, run in enumerate(runs):
        for one in run.record.findings:
            found.setdefault((one.attack, one.by, one.target), [None] * len(runs))[place] = one
    ranked = sorted(found.items(), key=lambda item: min(map(_rank, item[1])))
    rows = [
        [*key, *map(rate_in_words, cells)] for key, cells in ranked if min(map(_rank, cells)) < ORDER.index(BLOCKED)
    ]
    return PageTable(["attack", "by", "target", *(run.name for run in runs)], rows, f"{REACHED} {REST}")


def _rank(one: Finding | None) -> int:
    return len(ORDER) if one is None else ORDER.index(one.verdict)
