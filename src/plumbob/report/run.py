"""What a run record says, as sections: the page of a run, and the tables that the command line prints."""

from collections.abc import Iterator, Mapping, Sequence

from plumbob.plan import Plan
from plumbob.record import Finding, PartyRecord, RunRecord
from plumbob.report.page import Section, Table, render

METRICS = {
    "auc": "AUC",
    "ks": "KS",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "accuracy": "accuracy",
    "majority": "majority",
}
WARNING_TEST_KEYS = "The keys were for tests only: too short to protect anything."
WARNING_RANDOMNESS = "The randomness did not come from the kernel: nothing in this run was secret."


def page_of(record: RunRecord, more: Sequence[Section] = ()) -> str:
    """The page that `train` leaves beside its record; `audit` has more to show."""
    title = Plan.from_toml(record.plan).title or f"A run with {record.protocol}"
    return render(title, list(sections_of(record, more)))


def sections_of(record: RunRecord, more: Sequence[Section] = ()) -> Iterator[Section]:
    """Summary, findings, quality, weights, work."""
    yield Section("The run", [summary(record), *warnings(record), *record.notes])
    if record.findings:
        yield Section("What the red team found", list(reasons(record.findings)), findings_table(record.findings))
        yield Section("Theory beside practice", table=conditions_table(record.findings))
    yield from more
    for rows, models in record.quality.items():
        yield Section("Quality", table=quality_table(rows, models))
    if record.epochs:
        yield Section("After each epoch", table=epochs_table(record))
    yield from (weights_section(party) for party in record.parties if party.role != "arbiter")
    if record.protocol != "clear":
        yield Section("Work", table=work_table(record))


def summary(record: RunRecord) -> str:
    """One line: what ran, on how much, how long."""
    keys = "" if record.protocol == "clear" else f", {Plan.from_toml(record.plan).key_bits}-bit keys"
    engine = "" if record.engine in ("", "none") else f", engine {record.engine}"
    return (
        f"{record.protocol}{keys}{engine}: {record.status}, {record.rows} training rows, {record.steps} steps, "
        f"{record.seconds:.1f} s"
    )


def warnings(record: RunRecord) -> list[str]:
    """What takes the meaning away from a run's protection, in words."""
    lines = []
    if record.key_profile == "test-only" and record.protocol != "clear":
        lines.append(WARNING_TEST_KEYS)
    if record.randomness != "kernel":
        lines.append(WARNING_RANDOMNESS)
    return lines


def findings_table(findings: Sequence[Finding]) -> Table:
    """One line a finding: what was reached, beside the baseline."""
    header = ["attack", "by", "against", "target", "verdict", "rate", "baseline", "AUC", "its baseline", "advantage"]
    rows = [
        [
            *(finding.attack, finding.by, finding.against, finding.target, finding.verdict),
            *(shown(value) for value in (finding.rate, finding.baseline, finding.auc, finding.baseline_auc)),
            shown(finding.advantage),
        ]
        for finding in findings
    ]
    return Table(header, rows, "rate: share of labels claimed rightly, for scores and features R^2")


def reasons(findings: Sequence[Finding]) -> Iterator[str]:
    """A sentence or two for each finding: why, and what to type against it."""
    for finding in findings:
        fix = f" To stop it: {finding.fix}" if finding.fix else ""
        yield f"{finding.attack} by {finding.by} against {finding.against}, {finding.verdict}: {finding.why}{fix}"


def conditions_table(findings: Sequence[Finding]) -> Table:
    """What theory asks for, as it was in this run."""
    header = ["attack", "by", "verdict", "condition", "value", "needed", "met", "reference"]
    rows = [
        [
            *(finding.attack, finding.by, finding.verdict, one["name"]),
            *("-" if one["value"] is None else f"{one['value']:.4g}", one["needed"]),
            *("yes" if one["is_met"] else "no", one["reference"]),
        ]
        for finding in findings
        for one in finding.conditions
    ]
    return Table(header, rows)


def quality_table(rows: str, models: Mapping[str, Mapping[str, float | None]]) -> Table:
    """One line a model."""
    lines = [[model, *(shown(values.get(name)) for name in METRICS)] for model, values in models.items()]
    return Table(["model", *METRICS.values()], lines, f"on the {rows}")


def epochs_table(record: RunRecord) -> Table:
    """One line an epoch, of the joint model."""
    names = [name for name in METRICS if name != "majority"]
    lines = [[shown(epoch["epoch"], digits=0), *(shown(epoch.get(name)) for name in names)] for epoch in record.epochs]
    return Table(["epoch", *(METRICS[name] for name in names)], lines)


def weights_section(party: PartyRecord) -> Section:
    """A party's weights in the units of its own table, if it has them."""
    heading = f"Weights of {party.name}"
    if party.coefficients is None:
        return Section(heading, ["They were never opened."])
    rows = [[name, f"{value:.6g}"] for name, value in zip(party.columns, party.coefficients, strict=True)]
    return Section(heading, table=Table(["column", "coefficient"], [*rows, ["(offset)", f"{party.offset:.6g}"]]))


def work_table(record: RunRecord) -> Table:
    """What each party did and sent."""
    header = ["party", "encryptions", "decryptions", "randomisations", "noise draws", "messages", "bytes sent"]
    rows = [
        [
            party.name,
            *(f"{count:,}" for count in (party.encryptions, party.decryptions, party.randomisations)),
            *(f"{count:,}" for count in (party.noise_draws, party.messages_sent, party.bytes_sent)),
        ]
        for party in record.parties
    ]
    return Table(header, rows)


def shown(value: float | None, digits: int = 4) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"
