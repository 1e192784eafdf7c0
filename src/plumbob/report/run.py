"""What a run record says, as sections: the page of a run, and the tables that the command line prints."""

from collections.abc import Iterator, Mapping

from plumbob.plan import Plan
from plumbob.record import PartyRecord, RunRecord
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


def page_of(record: RunRecord) -> str:
    """The page that `train` leaves beside its record."""
    title = Plan.from_toml(record.plan).title or f"A run with {record.protocol}"
    return render(title, list(sections_of(record)))


def sections_of(record: RunRecord) -> Iterator[Section]:
    """Summary, quality, weights, work."""
    yield Section("The run", [summary(record), *warnings(record), *record.notes])
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
