"""A run record as sections: the page of a run, the tables that the command line prints, and the receipt."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from plumbob.checking.filing import agreements, judgement_of_run
from plumbob.checking.judgement import PlanJudgement
from plumbob.counting import counted, decimal, percent, plain, seconds, size
from plumbob.model.links import link_in_words
from plumbob.plan import KEYS, Plan, SettingKey, in_words
from plumbob.protocol.shares.shape import LatticeShape, most_opened_bits
from plumbob.record import PartyRecord, RunRecord
from plumbob.report.audit import audit_sections
from plumbob.report.figures import calibration_chart, idle_ledgers, ledger_charts, quality_charts
from plumbob.report.markup import NOTHING, joined, tag
from plumbob.report.page import PageTable, Section, bullets, facts_list, folded, render, table_of
from plumbob.report.verdicts import headline_blocks, pairs_table

METRICS = {
    "auc": "AUC",
    "ks": "KS",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "accuracy": "accuracy",
    "majority": "majority",
}
LEDGER = (
    "Every number that a party gets to read is an equation about something it does not know. Once it has as many "
    "independent equations as there are unknowns, nothing is left to guess, however well everything was encrypted. "
    "Noise removes no equation; it blurs them."
)
RECEIPT = (
    "What this run actually used. Each party hashes the bytes that it sends and receives, so two parties can compare "
    "their hashes and see whether they took part in the same run."
)
ROLES = {"label": "holds the label", "features": "holds columns only", "arbiter": "holds the key"}
PUBLIC_RULE = "by the public rule"
ALWAYS_TOLD = ("protocol", "epochs", "batches", "noise", "open")
WARNING_TEST_KEYS = "The keys were for tests only: too short to protect anything."
WARNING_CALCULATED = (
    "Calculated in the clear: nothing was encrypted and nothing was sent. What the parties see, and the weights, are "
    "those of the plan's protocol up to rounding. Time and traffic are not, and attacks that tamper with messages were "
    "left out."
)
WARNING_BY_PLACE = (
    "Rows were paired by their place in the parties' files, not by an id. If the files are not in the same order, rows "
    "of different people were put together, and no figure here means anything."
)
WARNING_RANDOMNESS = "The randomness did not come from the operating system: nothing in this run was secret."


def page_of(record: RunRecord, judgement: PlanJudgement | None = None) -> str:
    """The page of a run: the verdict first, then how it came about. What the record does not hold is left out.

    `judgement` is what was judged before; without it, the run is judged here.
    """
    title = record.parsed_plan.title or f"A run with {record.protocol}"
    return render(title, list(sections_of(record, judgement)), summary(record))


def judged(record: RunRecord) -> PlanJudgement:
    """By the rules of `check`."""
    return judgement_of_run(record)


def sections_of(record: RunRecord, judgement: PlanJudgement | None = None) -> Iterator[Section]:
    """All sections, from what decides to what proves it."""
    judgement = judgement or judged(record)
    yield verdict_section(record, judgement)
    if record.ledger:
        sentences = [LEDGER, *idle_ledgers(record.ledger)]
        yield Section("Who could learn what", sentences, charts=list(ledger_charts(record.ledger)))
    if record.findings or any(record.theorems.values()):
        yield from audit_sections(record)
    yield from quality_sections(record)
    yield plan_section(record.parsed_plan, record.plan, record.rows)
    if record.is_encrypted and record.parties:
        took = f"{seconds(record.seconds)} for {steps_of(record)} on this machine, engine {record.engine}."
        yield Section("Costs", [took], work_table(record))
    if record.parties:
        yield Section("The receipt", [RECEIPT], PageTable(["what", "value"], receipt_lines(record, judgement.noise)))
    yield Section("What is not protected", special=bullets(limits_of(record, judgement)))


def limits_of(record: RunRecord, judgement: PlanJudgement) -> list[str]:
    """What this plan leaves open, and the run's own notes; mistakes of `check` stand beside its predictions."""
    told = {str(one) for one in agreements(record.predicted, record.findings)} if record.findings else set()
    return [*judgement.limits, *(note for note in record.notes if note not in told)]


def verdict_section(record: RunRecord, judgement: PlanJudgement) -> Section:
    """Both headlines, and the utility beside them."""
    heading = "The verdict" if record.findings else "What the plan lets happen"
    sentences = [] if record.is_finished else [f"The run did not finish: {record.status}."]
    if judgement.left_out:
        sentences.append(partial_sentence(judgement.left_out))
    if not record.findings and record.predicted:
        sentences.append("This run has not been attacked. What follows is `check`'s prediction from the plan alone.")
    facts = facts_list([*utility_facts(record), *_cost_facts(record)])
    warned = (tag("p", line, class_="warning") for line in warnings(record))
    found = record.findings or record.predicted
    blocks = headline_blocks(judgement.headlines) if found else NOTHING
    return Section(heading, sentences, special=joined(*warned, blocks, pairs_table(record.parsed_plan, found), facts))


def partial_sentence(left_out: Sequence[str]) -> str:
    """A sentence that an audit with only some attacks decides nothing."""
    return f"This audit is partial and says nothing about safety. These attacks were not run: {', '.join(left_out)}."


def utility_facts(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    """Facts (what, value, remark): the joint model's AUC, and what else there would be."""
    alone = f"{record.parsed_plan.label_party.name} alone"
    names = {"local-only": alone, "joint": "joint model", "pooled": "all columns pooled"}
    for rows, models in record.quality.items():
        for model, name in names.items():
            values = models.get(model, {})
            if values.get("auc") is not None:
                interval = _interval(values, "auc")
                remark = f"; 95 %: {interval}; log loss {decimal(values.get('log_loss'))}" if interval else ""
                yield name, decimal(values["auc"]), f"AUC on the {rows}{remark}"


def _cost_facts(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    if record.seconds:
        yield "time", seconds(record.seconds), steps_of(record)
    sent = sum(party.bytes_sent for party in record.parties)
    if sent:
        whose = "all parties together" if len(record.parties) > 1 else f"sent by {record.parties[0].name}"
        yield "traffic", size(sent), whose


def steps_of(record: RunRecord) -> str:
    """How many steps there were, in words; where each uses all rows, a step is a pass."""
    return counted(record.steps, *record.parsed_plan.step_nouns)


def quality_sections(record: RunRecord) -> Iterator[Section]:
    """Sections on how good the model is, and on its weights."""
    charts = [*quality_charts(record), *calibration_chart(record)]
    for rows, models in record.quality.items():
        epochs = epochs_table(record)
        after = folded("Each epoch", table_of(epochs, "Quality after each epoch")) if record.epochs else NOTHING
        deciles = deciles_table(record)
        groups = (
            folded("Deciles of the joint model's scores", table_of(deciles, "Deciles")) if deciles.rows else NOTHING
        )
        weights = (weights_of(party) for party in record.parties if party.role != "arbiter")
        named = f"A score speaks for the class {record.predicted_class}." if record.predicted_class else ""
        says = [
            *filter(None, [named]),
            link_in_words(record.parsed_plan),
            *(f"{one[:1].upper()}{one[1:]}." for one in record.remarks),
        ]
        yield Section(
            "Utility", says, table=quality_table(rows, models), charts=charts, rest=joined(groups, after, *weights)
        )


def plan_section(plan: Plan, text: str, rows: int = 0, heading: str = "The plan") -> Section:
    """Who takes part, what is switched on, and the whole plan to unfold; `rows` are training rows, if known."""
    parties = PageTable(
        ["party", "role", "columns"], [[one.name, ROLES[one.role], str(one.features)] for one in plan.parties]
    )
    changed = [[key.name, _value_of_key(plan, key, rows), _default(plan, key)] for key in KEYS if _is_told(plan, key)]
    settings = PageTable(["setting", "here", "default"], changed, "What differs from the defaults, and what protects.")
    whole = folded("The whole plan", tag("pre", tag("code", text)))
    tables = joined(table_of(parties, "Parties"), table_of(settings, "Settings"), whole)
    return Section(heading, special=tables)


def _is_told(plan: Plan, key: SettingKey) -> bool:
    if key.name == "key_bits":
        # A lattice has parameter sets, which the receipt names; `clear` has no keys.
        return plan.kind.has_key_bits
    if key.name == "batch_size":
        return plan.batches != "full"
    return key.name in ALWAYS_TOLD or (key.name != "title" and getattr(plan, key.name) != plan.default(key))


def _value_of_key(plan: Plan, key: SettingKey, rows: int) -> str:
    """The value that the run uses: for epochs left to the public rule, the rule's."""
    if key.name != "epochs" or plan.epochs:
        return _setting(getattr(plan, key.name))
    return PUBLIC_RULE if not rows else f"{in_words(plan.levels(rows))} ({PUBLIC_RULE})"


def _default(plan: Plan, key: SettingKey) -> str:
    default = plan.default(key)
    return PUBLIC_RULE if key.name == "epochs" and not default else _setting(default)


def _setting(value: object) -> str:
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def receipt_lines(record: RunRecord, noise: str) -> list[list[str]]:
    """The rows of the receipt's table: what, and its value."""
    lines = [["plan hash", record.plan_hash], ["keys", keys_in_words(record)], ["noise", noise]]
    lines += [["randomness", record.randomness], *(list(item) for item in consents(record).items())]
    if record.by_place:
        lines.append(["rows paired", "by their place in the files"])
    lines.append(["Plumbob", record.plumbob])
    if record.is_encrypted:
        lines += [
            [f"{one['from']} to {one['to']}", f"{one['verdict']}: {one['hash']}"]
            for one in compared_streams(record.parties)
        ]
        lines.append(["all streams", transcript_hash(record.parties)])
    return lines


def consents(record: RunRecord) -> dict[str, str]:
    """What this party accepted when it signed, each separately."""
    return {
        "leaks accepted": _setting(record.accepted_leaks),
        "cheating accepted": _setting(record.accepted_cheating),
        "evidence accepted": _setting(record.accepted_evidence),
    }


def summary(record: RunRecord) -> str:
    """One line on what ran, on how many rows, and for how long."""
    plan = record.parsed_plan
    named = "lattice keys" if plan.kind.has_lattices else f"{plan.key_bits}-bit keys"
    keys = f", {named}" if record.is_encrypted else ""
    if record.is_calculated:
        keys = ", calculated in the clear"
    engine = "" if record.engine in ("", "none") else f", engine {record.engine}"
    return (
        f"{record.protocol}{keys}{engine}: {record.status}, {record.rows:,} training rows, {steps_of(record)}, "
        f"{seconds(record.seconds)}"
    )


def warnings(record: RunRecord) -> list[str]:
    """Warnings where the run's protection or figures mean nothing, in words."""
    lines = [WARNING_BY_PLACE] if record.by_place else []
    if record.is_calculated:
        lines.append(WARNING_CALCULATED)
    if record.key_profile == "test-only" and record.is_encrypted:
        lines.append(WARNING_TEST_KEYS)
    if record.randomness != "kernel":
        lines.append(WARNING_RANDOMNESS)
    return lines


def quality_table(
    rows: str, models: Mapping[str, Mapping[str, float | None]], metrics: Sequence[str] = tuple(METRICS)
) -> PageTable:
    """A table with one line per model."""
    lines = [[model, *(with_interval(values, name) for name in metrics)] for model, values in models.items()]
    is_known = any(values.get("auc_low") is not None for values in models.values())
    remark = "In brackets the 95 % interval." if is_known else ""
    return PageTable([f"on the {rows}", *(METRICS[name] for name in metrics)], lines, remark)


def with_interval(values: Mapping[str, float | None], name: str) -> str:
    """A metric and, where it is known, its 95 % interval."""
    interval = _interval(values, name)
    return decimal(values.get(name)) + (f" ({interval})" if interval else "")


def _interval(values: Mapping[str, float | None], name: str) -> str:
    low, high = values.get(f"{name}_low"), values.get(f"{name}_high")
    return "" if low is None or high is None else f"{decimal(low)} to {decimal(high)}"


def deciles_table(record: RunRecord) -> PageTable:
    """A table of rows in groups of equal size by probability, as the joint model was judged; the highest first."""
    lines = [
        [plain(rows), percent(mean), percent(positives)]
        for mean, positives, rows, *_ in reversed(record.calibration.get("joint", []))
    ]
    return PageTable(["rows", "mean probability", "share of positives"], lines)


def epochs_table(record: RunRecord) -> PageTable:
    """A table with one line per epoch, of the joint model."""
    names = [name for name in METRICS if name != "majority"]
    lines = [[plain(epoch["epoch"]), *(decimal(epoch.get(name)) for name in names)] for epoch in record.epochs]
    return PageTable(["epoch", *(METRICS[name] for name in names)], lines)


def weights_of(party: PartyRecord) -> Markup:
    """A party's weights in the units of its own table, if it has them; to unfold."""
    heading = f"Weights of {party.name}"
    if party.coefficients is None:
        return tag("p", f"{heading}: they were never opened.")
    rows = [[name, f"{value:.6g}"] for name, value in zip(party.columns, party.coefficients, strict=True)]
    return folded(
        heading, table_of(PageTable(["column", "coefficient"], [*rows, ["(offset)", f"{party.offset:.6g}"]]), heading)
    )


def work_table(record: RunRecord) -> PageTable:
    """A table of what each party did and sent."""
    header = ["party", "noise draws", "messages", "sent"]
    rows = [
        [
            party.name,
            *(f"{count:,}" for count in (party.noise_draws, party.messages_sent)),
            size(party.bytes_sent),
        ]
        for party in record.parties
    ]
    return PageTable(header, rows)


# The receipt: what the two ends of each channel hashed, and what protected the run.


def compared_streams(parties: Sequence[PartyRecord]) -> Iterator[dict[str, str]]:
    """Each direction of each channel: what one end sent against what the other end received, as far as recorded.

    Both ends list the same directions in the same order, so that two people can compare them by eye.
    """
    sent = {(party.name, peer): one for party in parties for peer, one in party.streams.items()}
    received = {(peer, party.name): one for party in parties for peer, one in party.received_streams.items()}
    for sender, receiver in sorted(sent.keys() | received.keys()):
        ends = [end[sender, receiver] for end in (sent, received) if (sender, receiver) in end]
        verdict = "one end only" if len(ends) == 1 else "same at both ends" if len(set(ends)) == 1 else "DIFFERS"
        yield {"from": sender, "to": receiver, "verdict": verdict, "hash": ends[0]}


def transcript_hash(parties: Sequence[PartyRecord]) -> str:
    """One hash over all streams, the same at both ends of a run of two."""
    streams = [[one["from"], one["to"], one["hash"]] for one in compared_streams(parties)]
    return hashlib.sha256(json.dumps(streams).encode()).hexdigest()


def keys_in_words(record: RunRecord) -> str:
    """What encrypted this run, and how strong it is rated."""
    if not record.parsed_plan.kind.is_encrypted:
        return "none: clear uses no cryptography and protects nothing"
    if record.is_calculated:
        return "none: calculated in the clear"
    plan = record.parsed_plan
    if plan.kind.has_lattices:
        return _lattice_in_words(plan, record.rows)
    return f"{plan.kind.keys}, {plan.key_bits} bits, profile {record.key_profile}"


def _lattice_in_words(plan: Plan, rows: int) -> str:
    """Parameter sets, keys, the series, what keys and masks withstand, and how often shares are rounded wrongly."""
    shape = LatticeShape(plan, max(rows, 1))
    numbers = ", ".join(str(one.number) for one in shape.profile)
    return (
        f"lattice profile {shape.number} (parameter sets {numbers}, 128 bits); rests on RLWE with ternary secrets, by "
        f"the table of Bossuat et al. (2024); {shape.keys_in_all} keys, each tested before use; Fourier series of "
        f"period 64 with 8 harmonics; {_limits_in_words(shape)}; rounding shares goes wrong in at most one of "
        f"2**{math.floor(-shape.failure_bits)} runs"
    )


def _limits_in_words(shape: LatticeShape) -> str:
    """What keys withstand between two parties, and how often masks fail among more."""
    if shape.parties == 2:
        return f"keys withstand the {most_opened_bits(shape.plan, shape.rows):,} bits that can depend on one"
    return f"masks reveal something in at most one of 2**{math.floor(-shape.shown_bits)} runs"
