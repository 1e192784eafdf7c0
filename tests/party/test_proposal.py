"""`party propose`: one plan from two tables, and nothing of either but a number of columns."""

import json
import re
import threading
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from plumbob.caller import Caller
from plumbob.data import ColumnChoices
from plumbob.data.encoder import encoded_width
from plumbob.data.shards import build_shard
from plumbob.errors import PlanError, PlumbobError, SettingsError
from plumbob.party.home import Home
from plumbob.party.rows import aligned_table, keep_common_rows, own_table
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs.doctor import examine
from plumbob.party.verbs.propose import NO_CHOICES, propose
from plumbob.plan import Plan
from plumbob.plan.encodings import rows_drafted_for
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind
from tests.command_line import CommandLine
from tests.terminals import HOSTILE, steers, typed
from tests.world import free_port

ROWS = 240
CITIES = ("Bonn", "Kiel", "Ulm")


def bank_rows() -> list[str]:
    """Numbers with gaps, a town that few rows have, and a label."""
    generator = np.random.default_rng(5)
    lines = ["client,income,city,late"]
    for row in range(ROWS):
        income = "" if row % 9 == 0 else f"{generator.normal(40, 9):.1f}"
        city = "Rome" if row < 3 else CITIES[row % 3]
        lines.append(f"c{row},{income},{city},{'yes' if row % 4 == 0 else 'no'}")
    return lines


def fund_rows() -> list[str]:
    """Other columns of most of the same people."""
    return ["client,debt,rank", *(f"c{row},{row % 13},{'gold' if row % 2 else 'iron'}" for row in range(20, ROWS + 30))]


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    """Two parties that joined each other, each with its table."""
    (tmp_path / "bank.csv").write_text("\n".join(bank_rows()) + "\n")
    (tmp_path / "fund.csv").write_text("\n".join(fund_rows()) + "\n")
    at = f"127.0.0.1:{free_port()}"
    of_bank = HomeSettings(
        name="bank",
        listen=at,
        address=at,
        data=str(tmp_path / "bank.csv"),
        label="late",
        id="client",
        patience=99.0,
    )
    bank = Home.create(tmp_path / "bank", of_bank)
    fund = Home.create(
        tmp_path / "fund",
        HomeSettings(name="fund", data=str(tmp_path / "fund.csv"), id="client", patience=99.0),
    )
    bank.join(fund.invitation())
    fund.join(bank.invitation())
    return tmp_path / "bank", tmp_path / "fund"


def proposed(
    homes: tuple[Path, Path],
    keys: Mapping[str, Any] | None = None,
    reading: ColumnChoices = NO_CHOICES,
    told: list[str] | None = None,
) -> list[dict[str, object] | PlumbobError]:
    """What each side got; `told` hears what it was told on the way."""
    heard = [] if told is None else told
    results: list[dict[str, object] | PlumbobError] = [PlumbobError("nothing")] * 2

    def work(place: int) -> None:
        home, said = homes[place], (keys or {}) if place == 0 else {}
        try:
            read = reading if place == 1 else NO_CHOICES
            out = home.parent / f"{place}.toml"
            results[place] = propose(home, out, reading=read, caller=Caller(heard.append), **said)
        except PlumbobError as error:
            results[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_both_sides_write_the_same_plan(homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the widths that both tables give, and no word of a table was sent."""
    sent: list[bytes] = []
    kinds: dict[str, list[Kind]] = {"bank": [], "fund": []}
    send = Channel.send

    def watched(channel: Channel, kind: Kind, step: int, body: bytes) -> None:
        sent.append(body)
        kinds[channel.peer].append(kind)
        send(channel, kind, step, body)

    monkeypatch.setattr(Channel, "send", watched)
    told: list[str] = []
    bank, fund = proposed(homes, told=told)
    assert isinstance(bank, dict), bank
    assert isinstance(fund, dict), fund
    widths = "7 as they are, 11 with 3 bins, 15 with 5 bins, 25 with 10 bins"
    assert [line for line in told if "after encoding" in line] == [
        f"all parties' columns after encoding: {widths}; the plan says which"
    ]
    folder = homes[0].parent
    assert (folder / "0.toml").read_bytes() == (folder / "1.toml").read_bytes()
    plan = Plan.load(folder / "0.toml")
    assert [(party.name, party.role) for party in plan.parties] == [("bank", "label"), ("fund", "features")]
    for home in map(Home.open, homes):
        assert plan.party(home.identity.name).features == encoded_width(own_table(home, plan), plan) > 1
    assert (plan.bins, plan.test_share, plan.version) == (3, 0.2, 3)
    assert plan.l2 == pytest.approx(1 / (0.44 * 192), rel=1e-3)
    assert rows_drafted_for((folder / "0.toml").read_text()) == 192
    assert not any(word in body for body in sent for word in (b"income", b"Bonn", b"gold", b"c21", b"late"))
    assert sum(map(len, sent)) < 10_000
    assert kinds["fund"] == [Kind.PROPOSAL_ROLE, Kind.PROPOSAL_DRAFT, Kind.PROPOSAL_PLAN]
    # One answer of eight numbers.
    assert kinds["bank"] == [Kind.PROPOSAL_ROLE, Kind.PROPOSAL_WIDTH]


@pytest.mark.parametrize("keys", [{}, {"noise": "rows", "epsilon": 4.0}], ids=str)
def test_noise_has_one_price_before_rows_are_aligned(
    homes: tuple[Path, Path], keys: dict[str, Any], cli: CommandLine
) -> None:
    """`propose`, `check` and `sign` say the same number of AUC for the same number of rows, on every side."""
    sides = proposed(homes, keys)
    plan = str(homes[0].parent / "0.toml")
    said = [str(side) for side in sides]
    cli.read()
    for home in map(str, homes):
        cli("check", plan, "--home", home)
        cli("party", "sign", plan, "--accept-cheating", "--accept-leaks", "--yes", "--home", home)
        said.append(cli.out)
    prices = [re.findall(r"expected to cost (.+?) of AUC with ([\d,]+) training rows", text) for text in said]
    # Only the label party is offered noise that the draft does not have.
    assert all(prices[place] for place in ((0, 1, 2, 3) if keys else (0, 2, 3)))
    assert len({price for found in prices for price in found}) == 1
    assert prices[0][0][1] == "192"


def test_what_was_proposed_is_trained_on_whatever_rows_are_common(homes: tuple[Path, Path]) -> None:
    """Rows that lack a town, a gap or a value change no width: the doctor passes, and so does training."""
    proposed(homes)
    plan = Plan.load(homes[0].parent / "0.toml")
    bank = Home.open(homes[0])
    ids = tuple(sorted(f"c{row}" for row in range(30, ROWS, 2) if row % 9))
    keep_common_rows(bank, plan, Alignment(ids, "0" * 64, len(ids), {"bank": ROWS, "fund": ROWS}))
    checks = [check for check in examine(bank, plan, seconds=0) if check.name == "table"]
    assert [check.is_ok for check in checks] == [True]
    shard = build_shard(aligned_table(bank, plan), plan, "bank", b"key")
    assert len(shard.encoder.names) == plan.party("bank").features


def test_flags_of_the_table_are_kept_in_the_settings(homes: tuple[Path, Path]) -> None:
    """What was said once about columns holds for every later command."""
    proposed(homes, reading=ColumnChoices(drop=("rank",), category=("debt",)))
    reading = Home.open(homes[1]).settings.reading
    assert (reading.drop, reading.category) == (("rank",), ("debt",))


def with_auditors(homes: tuple[Path, ...]) -> dict[str, str]:
    """Each party names one of its own in its settings; by party, their fingerprints."""
    found = {}
    for place in homes:
        made, home = AuditorKeys.create(place.parent / f"auditor-{place.name}", "audit"), Home.open(place)
        home.with_settings(
            replace(home.settings, evidence_key=str(place.parent / f"auditor-{place.name}" / PUBLIC_FILE))
        )
        found[place.name] = made.public.fingerprint
    return found


def test_a_plan_between_parties_with_auditors_keeps_evidence(homes: tuple[Path, Path]) -> None:
    """The draft names both, and says on both sides what that gives and what it costs; noise for rows is asked about."""
    fingerprints = with_auditors(homes)
    for result in proposed(homes, {"noise": "rows", "epsilon": 8.0}):
        assert isinstance(result, dict), result
        said = str(result["lines"])
        assert "evidence is kept for 365 days, at most about" in said
        assert "your auditor can show that you kept to the protocol" in said
        assert "Whoever opens it reads, with a peer's traffic, every residual, weight and score of the run" in said
        assert "plumbob party sign will ask for --accept-evidence" in said
    plan = Plan.load(homes[0].parent / "0.toml")
    assert (plan.evidence, dict(plan.auditors), plan.release) == ("keep", fingerprints, "replayed")


@pytest.mark.parametrize(
    ("has_auditor", "keys", "release", "kept_by"),
    [
        ("bank", {}, "replayed", ["bank"]),
        ("bank", {"release": "always"}, "always", []),
        ("bank", {"release": "always", "evidence": "keep"}, "always", ["bank"]),
        ("bank", {"evidence": "none"}, "always", []),
        ("fund", {}, "always", []),
    ],
)
def test_the_label_partys_auditor_is_enough_between_two(
    homes: tuple[Path, Path], has_auditor: str, keys: dict[str, Any], release: str, kept_by: list[str]
) -> None:
    """With it the draft opens scores only after a replay; whoever has an auditor that is not used hears so."""
    with_auditors(tuple(home for home in homes if home.name == has_auditor))
    bank, fund = (str(result["lines"]) for result in proposed(homes, keys) if isinstance(result, dict))
    plan = Plan.load(homes[0].parent / "0.toml")
    assert (plan.release, [name for name, _ in plan.auditors]) == (release, kept_by)
    assert ("scores stay shut until bank's auditor has replayed bank's training" in fund) is plan.is_replayed
    assert ("evidence is kept for 365 days" in bank) is bool(kept_by)
    assert ("evidence is kept by bank; this party has no auditor and keeps none" in fund) is bool(kept_by)
    assert ("although this party has an auditor" in (bank if has_auditor == "bank" else fund)) is (not kept_by)


def test_two_labels_or_none_are_refused_on_both_sides(homes: tuple[Path, Path]) -> None:
    """Exactly one party has the label."""
    bank = Home.open(homes[0])
    bank.with_settings(replace(bank.settings, label=""))
    for result in proposed(homes):
        assert isinstance(result, SettingsError)
        assert "expected one party with a label, nobody named one" in str(result)


def test_only_the_label_party_chooses_keys(homes: tuple[Path, Path]) -> None:
    """Two drafts could not both hold."""
    with pytest.raises(PlanError, match="party that has the label chooses"):
        propose(homes[1], homes[1].parent / "x.toml", bins=5)


def test_a_plan_that_is_there_is_not_overwritten(homes: tuple[Path, Path]) -> None:
    """A plan that is there is not overwritten: it may be signed already."""
    (homes[0].parent / "0.toml").write_text("mine")
    with pytest.raises(PlanError, match="there is a file already"):
        propose(homes[0], homes[0].parent / "0.toml")


def test_a_proposal_does_not_steer_the_terminal(homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft with escape sequences is refused in words that show them as text."""
    send = Channel.send

    def hostile(channel: Channel, kind: Kind, step: int, body: bytes) -> None:
        if kind is Kind.PROPOSAL_DRAFT:
            body = zlib.compress(f"{json.dumps(HOSTILE)} = 1\n{zlib.decompress(body).decode()}".encode())
        send(channel, kind, step, body)

    monkeypatch.setattr(Channel, "send", hostile)
    bank, fund = homes
    told: list[str] = []
    out = str(fund.parent / "fund.toml")
    thread = threading.Thread(target=lambda: told.append(typed("party", "propose", "--home", str(fund), "--out", out)))
    thread.start()
    with suppress(PlumbobError):
        propose(bank, bank.parent / "bank.toml")
    thread.join(120)
    assert "sent no plan that we can read" in told[0]
    assert not steers(told[0])
