"""The red team's cheats by real parties over TLS that keep evidence: what a replay names, what only a table shows."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from plumbob import cli, party
from plumbob.caller import QUIET
from plumbob.checking.check import check
from plumbob.checking.rules import rule_of
from plumbob.crypto.lattice import Small
from plumbob.errors import IdentityError, SettingsError
from plumbob.lab.attacks.altered_shares import AlteredShares
from plumbob.lab.attacks.false_residual import FalseResidual, OffTheCircle
from plumbob.lab.attacks.hooks import Hook
from plumbob.party.evidence import keeper_at
from plumbob.party.home import Home
from plumbob.party.record_signature import signature_of
from plumbob.party.replay import NOT_THE_TRAININGS, source_of
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.statements import sign_statement, write_statement
from plumbob.party.verbs.receipt import peer_signatures
from plumbob.plan import Plan
from plumbob.protocol.openings import Share
from plumbob.protocol.shares.training import SharesParty
from plumbob.run_folder import RunFolder
from tests.lab.attacks.lattice.garbage import GarbageReplies
from tests.party.kept import Kept, accountable, trained
from tests.party.processes import PATIENCE
from tests.party.verbs import LABEL, Organisations, write_table
from tests.protocol.support import made_up, tables_for

TWO, THREE, FIVE = (2, 3), (2, 2, 1), (1, 1, 1, 1, 1)


class OtherSums(Hook):
    """Adds to its shares of the sums in the second pass: it steers everybody's weights."""

    def sums(self, me: SharesParty, step: int, shared: dict[str, Share]) -> dict[str, Share]:
        if step < 2:
            return shared
        return {name: [value + (1 << 20) for value in share] for name, share in shared.items()}


class LargeFactors(Hook):
    """Scales its factors up, so that masked numbers stick out of their masks (`masked-shares`)."""

    def factors(self, me: SharesParty, step: int, factors: Small) -> Small:
        return factors * 2


CHEATS = [
    ("false-residual", TWO, "label", FalseResidual, "LATTICE_REQUEST of step 1 to features"),
    (
        "false-residual-at-the-end",
        TWO,
        "label",
        partial(FalseResidual, erases=False),
        "LATTICE_REQUEST of step 2 to features",
    ),
    ("altered-shares", TWO, "label", AlteredShares, "BOUND_SHARE of step 0 to features"),
    ("false-sines", TWO, "label", OffTheCircle, "LATTICE_REPLY of step 1 to features"),
    ("false-sines-by-features", TWO, "features", OffTheCircle, "LATTICE_REPLY of step 1 to label"),
    ("garbage-replies", TWO, "features", GarbageReplies, "LATTICE_REPLY of step 1 to label"),
    ("steering", TWO, "features", OtherSums, "BOUND_SHARE of step 0 to label"),
    ("masked-shares", THREE, "label", LargeFactors, "LATTICE_REPLY of step 1 to features"),
]
"""Every attack on a plan that keeps evidence; the last ones are after opened weights elsewhere, and cheat as there."""


@pytest.mark.parametrize(
    ("split", "by", "cheat", "named"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.soak] if place else [])
        for place, (name, *case) in enumerate(CHEATS)
    ],
)
def test_a_replay_names_the_first_dishonest_message(
    tmp_path: Path, split: tuple[int, ...], by: str, cheat: Callable[[], Hook], named: str
) -> None:
    """A replay names the message without a value; everybody else's replay stays clean."""
    kept = trained(tmp_path, split, {by: cheat()})
    statement = kept.replayed(by)
    assert not statement["honest"]
    assert statement["verdict"] == f"{by}: message {named} does not follow from what was fixed before the run."
    assert all(kept.replayed(name)["honest"] for name in kept.tables if name != by)


@pytest.mark.parametrize("split", [TWO, THREE])
def test_every_attack_on_such_a_plan_is_played_here(split: tuple[int, ...]) -> None:
    """What `check` lists for a cheating party and says that a replay would name; the rest only a table shows."""
    plan = Plan.for_columns(split)
    keeping = plan.replace(evidence="keep", days=30, auditors={party.name: "ab" * 32 for party in plan.parties})
    possible = {one.attack for one in check(keeping, 1000) if one.verdict in ("leaks", "degrades")}
    cheats = {name for name in possible if rule_of(name).assumes == "cheating"}
    assert {name for name in cheats if rule_of(name).is_named_by_a_replay} <= {name for name, *_ in CHEATS}
    assert {name for name in cheats if not rule_of(name).is_named_by_a_replay} == {
        "chosen-labels",
        "chosen-column",
    }


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> tuple[Kept, Path]:
    """The table for `chosen-labels`, with labels that the label party made up; and the real table."""
    folder = tmp_path_factory.mktemp("invented")
    real = tables_for(Plan.for_columns(TWO), *made_up(40, 5))
    labels = np.zeros(40, dtype=np.int8)
    labels[:3] = 1
    made = {**real, "label": replace(real["label"], labels=labels)}
    kept = trained(folder, TWO, {}, made)
    return kept, write_table(folder / "real.csv", real["label"])


def test_only_a_table_shows_chosen_labels(invented: tuple[Kept, Path]) -> None:
    """What a party says of people that it invented, or of labels of its choice, follows from what it fixed."""
    kept, real = invented
    assert kept.replayed("label")["honest"]
    for file, is_honest in ((real, False), (kept.folder.parent / "label.csv", True)):
        statement = kept.replayed("label", source=source_of(file, "id", LABEL))
        assert statement["honest"] is is_honest
    few = real.with_name("few.csv")
    few.write_text("".join(real.read_text().splitlines(keepends=True)[:30]))
    assert (
        "11 rows that it calculated with are not in"
        in kept.replayed("label", source=source_of(few, "id", LABEL))["verdict"]
    )


def test_a_receipt_has_the_peers_signature_over_what_it_sent(invented: tuple[Kept, Path], tmp_path: Path) -> None:
    """The signature is by the peer's certificate; a record with another hash of that stream does not have it."""
    folder = RunFolder(invented[0].folder / "features")
    record, signed = folder.record(), signature_of(folder)
    assert [one.is_valid for one in peer_signatures(record, signed)] == [True]
    [own] = record.parties
    other = replace(record, parties=[replace(own, received_streams={"label": "00" * 32})])
    assert [one.is_valid for one in peer_signatures(other, signed)] == [False]


def test_no_row_lies_unencrypted_in_a_partys_folder(invented: tuple[Kept, Path]) -> None:
    """After training, a party's folder shows neither its training rows nor what it saw of them."""
    kept, _ = invented
    for name, table in kept.tables.items():
        files = [file for file in (kept.folder / name).resolve().rglob("*") if file.is_file()]
        assert not [file for file in files if file.suffix in (".npz", ".npy")]
        column = np.array(table.columns[0].values, dtype=np.float64)
        # Two rows beside each other: one number may be another's by chance.
        assert not [file for file in files if column[:2].tobytes() in file.read_bytes()]


def plumbob(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """The exit code of what somebody types."""
    monkeypatch.setattr(sys, "argv", ["plumbob", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def test_what_an_auditor_and_a_peer_type(
    invented: tuple[Kept, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A replay that signs, and a receipt; a prediction is compared with its training by itself."""
    kept, _ = invented
    homes = {name: Home.open(kept.folder.parent / name) for name in kept.tables}
    with ThreadPoolExecutor(2) as pool:
        answered = pool.submit(party.predict, homes["features"], kept.plan, caller=QUIET)
        party.predict(homes["label"], kept.plan, ids=kept.tables["label"].ids[:2], out=tmp_path / "s.csv", caller=QUIET)
        answered.result(PATIENCE)
    auditor, run = kept.folder.parent / "auditor-features", kept.folder.resolve() / "features"
    statement, session = run / "statement.json", run / "predictions" / "1"

    def replayed(place: Path, *words: object) -> int:
        return plumbob(monkeypatch, "auditor", "replay", place, "--auditor", auditor, *words)

    assert replayed(session, "--out", tmp_path / "early.json") == 0
    assert NOT_THE_TRAININGS in " ".join(capsys.readouterr().out.split())
    assert replayed(run) == 0
    assert plumbob(monkeypatch, "party", "receipt", kept.folder / "label", "--statement", statement) == 0
    assert "features's auditor signed: Every one of the" in capsys.readouterr().out
    assert replayed(session) == 0
    assert NOT_THE_TRAININGS not in " ".join(capsys.readouterr().out.split())
    before = statement.read_bytes()
    assert replayed(run) == 1
    assert "there is a statement already" in " ".join(capsys.readouterr().err.split())
    assert statement.read_bytes() == before
    assert replayed(run, "--auditor", kept.folder.parent / "auditor-label", "--out", tmp_path / "other.json") == 1
    assert "sealed for another auditor" in " ".join(capsys.readouterr().err.split())


def test_nothing_signs_what_stands_in_a_file(
    invented: tuple[Kept, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whoever edits a statement has none: no verb signs it again, and a receipt refuses it."""
    kept, _ = invented
    file = tmp_path / "statement.json"
    signed = sign_statement(kept.auditors["features"], {**kept.replayed("features"), "honest": False})
    write_statement(file, signed)
    assert plumbob(monkeypatch, "party", "receipt", kept.folder / "label", "--statement", file) == 1
    assert "DIFFERS      what features sent, and what follows" in capsys.readouterr().out
    file.write_text(file.read_text().replace('"honest": false', '"honest": true'))
    assert plumbob(monkeypatch, "party", "receipt", kept.folder / "label", "--statement", file) == 1
    assert "it is not signed, or was changed after the auditor signed it" in " ".join(capsys.readouterr().out.split())
    for words in (("auditor", "sign", file), ("auditor", "open", file), ("party", "replay", kept.folder / "features")):
        assert plumbob(monkeypatch, *words) == 2
        assert "plumbob auditor replay RUN" in " ".join(capsys.readouterr().err.split())


def test_an_auditor_who_was_exchanged_after_signing_is_refused(tmp_path: Path) -> None:
    """Evidence is sealed for the auditor in the plan or not at all, which is known before the run."""
    plan, auditors = accountable(Plan.for_columns(TWO, epochs=1), tmp_path)
    settings = {name: {"evidence_key": str(tmp_path / "auditor-label" / PUBLIC_FILE)} for name in auditors}
    homes = Organisations(plan, tables_for(plan, *made_up(40, 5)), tmp_path, settings=settings)
    with pytest.raises(SettingsError, match="the plan names another auditor for features"):
        keeper_at(Home.open(homes.home("features")), plan, "train", tmp_path, 40)


@pytest.mark.soak
def test_five_parties_replay_cleanly(tmp_path: Path) -> None:
    """Five parties over TLS, each with its own auditor, replay cleanly."""
    kept = trained(tmp_path, FIVE, {})
    assert all(kept.replayed(name)["honest"] for name in kept.tables)


def test_an_auditor_without_keys_is_told_how_to_make_them(tmp_path: Path) -> None:
    """An auditor without keys is told how to make them, not how to set a party up."""
    with pytest.raises(IdentityError, match="plumbob auditor init NAME"):
        AuditorKeys(tmp_path / "auditor")
