"""A plan's findings as a page of their own, to read, print or save before any run, and the words that it explains."""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.checking.figures import Figures
from plumbob.checking.filing import judgement
from plumbob.plan import Plan
from plumbob.record import Finding
from plumbob.report.decision import Decision
from plumbob.report.markup import joined, tag
from plumbob.report.page import PageTable, Section, bullets, render
from plumbob.report.run import plan_section
from plumbob.report.verdicts import badge, headline_blocks

BEFORE = "Calculated by `check` from the plan's numbers, before any run. No data were looked at."


def findings_page(plan: Plan, findings: Sequence[Finding], notes: Sequence[str], version: str) -> str:
    """A page with the verdict first, then each finding with its reason, and the whole plan."""
    decision = decision_on_plan(plan, findings, version)
    hashed = tag("p", "Plan ", tag("code", decision.plan_hash), f", Plumbob {version}.", class_="note")
    blocks = headline_blocks(decision.judgement.headlines)
    words = (joined(tag("dt", entry.word), tag("dd", entry.means)) for entry in GLOSSARY)
    sections = [
        Section("What each party could work out", [BEFORE], special=joined(blocks, hashed)),
        Section("Finding by finding", table=_findings_table(findings)),
        Section("What has no verdict", special=bullets(notes)),
        plan_section(plan, plan.to_toml()),
        Section("What is not protected", special=bullets(decision.judgement.limits)),
        Section("Words used here", special=tag("dl", *words, class_="words")),
    ]
    return render(plan.title or f"A plan with {plan.protocol}", sections, decision.about)


def decision_on_plan(plan: Plan, findings: Sequence[Finding], version: str) -> Decision:
    """The decision sheet of a plan that nobody has run yet."""
    figures = Figures.of(plan)
    rows = 0 if figures.is_assumed else figures.rows
    return Decision(plan, rows, findings, judgement(figures, findings), plan.hash(), version)


def _findings_table(findings: Sequence[Finding]) -> PageTable:
    rows = [
        [
            *(one.attack, badge(one.verdict), f"{one.by}, {one.target} of {one.against}"),
            f"{one.why} To stop it: {one.fix}" if one.fix else one.why,
        ]
        for one in findings
    ]
    return PageTable(["attack", "verdict", "by whom, about what", "why, and what stops it"], rows)


# Words that not everybody knows, each explained in a sentence or two: here, and in the lab.


@dataclass(frozen=True)
class Entry:
    """A word of the report and what it means there."""

    word: str
    forms: tuple[str, ...]
    """The forms of the word in sentences; a form that also means something else is left out."""
    means: str


GLOSSARY = (
    Entry(
        "residual",
        ("residual", "residuals"),
        "How far the model is off for one row: the predicted probability minus the label. Anyone who works out a row's "
        "residual can read its label from the sign.",
    ),
    Entry(
        "gradient",
        ("gradient", "gradients"),
        "The direction in which training moves the weights: for each column, the sum of residual times value over the "
        "rows. Each entry is an equation about the residuals.",
    ),
    Entry(
        "rank",
        ("rank",),
        "How many of a set of equations are independent. An attacker with as many independent equations as there are "
        "unknowns can solve for all of them.",
    ),
    Entry(
        "reply bits",
        ("reply bits", "bits opened", "opened bits"),
        "How many bits a party gets back for each number that is decrypted or opened for it. A dishonest party cannot "
        "carry out more than that.",
    ),
    Entry(
        "pass",
        ("pass", "passes"),
        "One walk over all training rows; also called an epoch.",
    ),
    Entry(
        "share",
        ("shares", "shared", "secret share"),
        "One of several numbers that look random and add up to a secret. Nobody learns anything from one share; all "
        "parties' shares together give the secret.",
    ),
    Entry(
        "batch",
        ("batch", "batches"),
        "The rows of one training step. With more columns than rows in a batch, its gradient gives the residuals away.",
    ),
    Entry(
        "baseline",
        ("baseline", "baselines"),
        "What a party can guess without any attack, from its own columns or from how frequent the labels are. An "
        "attack counts only as far as it does better.",
    ),
    Entry(
        "tolerance",
        ("tolerance",),
        "How much better than the baseline an attack may do before the plan calls it a leak.",
    ),
    Entry(
        "epsilon and delta",
        ("epsilon", "delta"),
        "Differential privacy, a promise in numbers about one person: the odds of any guess move by a factor of at "
        "most e to the epsilon, except with probability delta, from what they would be with any other values in this "
        "person's row. It does not hide that the person is in the table.",
    ),
)
