"""A party's word for a plan that leaks: it is kept beside its signature, and the run's record shows it."""

import json
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from plumbob import party
from plumbob.caller import Outcome
from plumbob.checking.check import check
from plumbob.checking.headlines import headlines
from plumbob.cli import app
from plumbob.cli.options import show
from plumbob.errors import SettingsError, UnsafePlanError
from plumbob.party import signature
from plumbob.party.home import Home
from plumbob.party.record_signature import sign_record
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs import receipt
from plumbob.plan import Plan
from plumbob.run_folder import RunFolder
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for

SCREEN = 40  # Lines of 80 characters, for a plan with many leaks.
PLAN = plan_for((2, 3), protocol="shares", epochs=1, seed=0)


@pytest.mark.parametrize("what", signature.ACCEPTED)
def test_the_last_word_on_each_consent_counts(tmp_path: Path, what: str) -> None:
    """Given and taken back without a change to the plan's signature; only one by the own key is a word."""
    home = Home.create(tmp_path / "bank", HomeSettings("bank"))
    own = signature.sign(home, PLAN).read_bytes()
    assert signature.own_signature(home, PLAN).accepted == ()
    assert signature.sign(home, PLAN, [what]).read_bytes() == own
    assert signature.own_signature(home, PLAN).accepted == (what,)
    [word] = (home.folder / "signed").glob(f"*.{what}.signature")
    word.write_bytes(own)
    assert signature.own_signature(home, PLAN).accepted == ()
    signature.sign(home, PLAN, [what])
    signature.sign(home, PLAN)
    assert signature.own_signature(home, PLAN).accepted == ()


def test_what_was_accepted_is_in_the_own_record(tmp_path: Path) -> None:
    """Each party's receipt says what that party accepted, each kind apart, not what another one did."""
    organisations = Organisations(PLAN, tables_for(PLAN, *made_up(columns=PLAN.columns)), tmp_path)
    try:
        told = accepted(organisations.home("label"), organisations.plan_file)
        assert "and accepted leaks, cheating" in str(told["lines"])
        commands = [organisations.train(name) for name in organisations.names]
        assert [command.wait() for command in commands] == [0, 0], [command.complained for command in commands]
    finally:
        organisations.close()
    receipts = {name: receipt.run(organisations.run_folder(name)) for name in organisations.names}
    consents = {name: [shown[f"accepted_{one}"] for one in signature.ACCEPTED] for name, shown in receipts.items()}
    assert consents == {"label": [True, True, False], "features": [False, False, False]}


@pytest.mark.parametrize(
    ("keys", "needed"),
    [
        ({}, ["cheating"]),
        ({"open": "own"}, ["cheating"]),
        # With few rows, opened weights repeat the labels that they were fitted to.
        ({"open": "own", "rows": 15}, ["leaks", "cheating"]),
        ({"noise": "rows", "epsilon": 4.0}, ["cheating"]),
    ],
    ids=str,
)
def test_each_kind_of_consent_is_asked_for_by_itself(tmp_path: Path, keys: dict[str, Any], needed: list[str]) -> None:
    """One flag does not cover another; a refusal has both headlines and every flag that is missing."""
    label = Home.create(tmp_path / "label", HomeSettings("label"))
    features = Home.create(tmp_path / "features", HomeSettings("features"))
    label.join(features.invitation(), None)
    plan = Plan.for_columns((5, 6), **{"rows": 1000, **keys})
    for left_out in needed:
        given: dict[str, Any] = {f"accept_{one}": True for one in needed if one != left_out}
        with pytest.raises(UnsafePlanError, match="If someone cheats") as refused:
            party.sign(label, plan, **given)
        assert [one for one in signature.ACCEPTED if f"--accept-{one}" in str(refused.value)] == [left_out]
    all_needed: dict[str, Any] = {f"accept_{one}": True for one in needed}
    told = party.sign(label, plan, **all_needed)
    assert [one for one in signature.ACCEPTED if told[f"accepted_{one}"]] == needed


def test_evidence_beside_row_noise_needs_a_word_of_its_own(tmp_path: Path) -> None:
    """It outlives the noise: no other consent covers it, and the refusal names its flag alone."""
    names = ("label", "features")
    auditors = {name: AuditorKeys.create(tmp_path / f"auditor-{name}", "auditor").public for name in names}
    keys_at = {name: str(tmp_path / f"auditor-{name}" / PUBLIC_FILE) for name in names}
    homes = {name: Home.create(tmp_path / name, HomeSettings(name, evidence_key=keys_at[name])) for name in names}
    homes["label"].join(homes["features"].invitation(), None)
    fingerprints = {name: one.fingerprint for name, one in auditors.items()}
    keys: dict[str, Any] = {"noise": "rows", "epsilon": 4.0, "evidence": "keep", "days": 30, "auditors": fingerprints}
    plan = Plan.for_columns((5, 6), rows=1000, **keys)
    with pytest.raises(UnsafePlanError, match="whoever opens a party's evidence") as refused:
        party.sign(homes["label"], plan, accept_leaks=True, accept_cheating=True)
    assert str(refused.value).endswith("or add --accept-evidence to sign it")
    signed = party.sign(homes["label"], plan, accept_evidence=True)
    assert signed["accepted_evidence"]
    assert all(f"{name}'s auditor: {fingerprints[name]}" in signed.lines for name in names)
    assert not [line for line in signed.lines if "Scores open by" in line]
    waiting = party.sign(homes["label"], plan.replace(release="replayed"), accept_evidence=True)
    assert "Scores open by the word of label's auditor alone:" in " ".join(waiting.lines)


def accepted(home: Path, plan: Path, verbose: bool = False) -> Outcome:
    """What signing says where leaks and cheating are accepted."""
    return party.sign(home, plan, accept_leaks=True, accept_cheating=True, verbose=verbose)


@pytest.fixture
def organisations(tmp_path: Path) -> Iterator[Organisations]:
    """Two that have signed and aligned, with keys for tests."""
    place = Organisations(PLAN, tables_for(PLAN, *made_up(columns=PLAN.columns)), tmp_path)
    yield place
    place.close()


def test_signing_before_aligning_says_what_it_assumed(organisations: Organisations) -> None:
    """Without aligned rows findings are about 10,000, and the first note says so; later about the real ones."""
    home, plan = organisations.home("label"), organisations.plan_file
    after = accepted(home, plan)
    assert after["rows"] == len(organisations.tables["label"])
    shutil.rmtree(home / "aligned")
    before = accepted(home, plan)
    noted = cast("list[str]", before["notes"])
    assert "assume 10,000" in noted[0]
    assert set(check(Plan.load(plan), 10_000).notes) <= set(noted)
    assert "--rows" not in " ".join(noted)
    assert any(noted[0] in line for line in cast("list[str]", before["lines"]))


def test_signing_fits_on_one_screen(organisations: Organisations) -> None:
    """Signing shows both headlines; everything else is there with `verbose`."""
    home, plan = organisations.home("label"), organisations.plan_file
    short = accepted(home, plan)
    long = accepted(home, plan, verbose=True)
    # A test's folder has a longer name than anybody's.
    lines = [line.replace(str(plan), plan.name) for line in cast("list[str]", short["lines"])]
    lines = [part for line in lines for part in textwrap.wrap(line, 80) or [""]]
    assert len(lines) <= SCREEN
    found = check(Plan.load(plan), len(organisations.tables["label"]))
    lines = headlines(found, found.figures, reader="label").lines()
    assert set(lines) <= set(cast("list[str]", short["lines"]))
    assert any("your " in line for line in headlines(found, found.figures, reader="features").lines())
    assert all(str(note) in str(long["lines"]) for note in cast("list[str]", long["notes"]))
    assert short["findings"] == long["findings"]


def test_whoever_says_no_signs_nothing(organisations: Organisations) -> None:
    """The question comes before the signature, with everything that is signed above it."""
    home, plan, shown = organisations.home("label"), organisations.plan_file, list[str]()
    shutil.rmtree(home / "signed")

    def say_no(question: str, lines: list[str]) -> bool:
        shown.extend(lines)
        return False

    with pytest.raises(UnsafePlanError, match="nothing was signed"):
        party.sign(home, plan, accept_leaks=True, accept_cheating=True, ask=say_no)
    assert "If someone cheats:" in shown
    assert not (home / "signed").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Organisations]:
    """Two parties that have trained together."""
    place = Organisations(PLAN, tables_for(PLAN, *made_up(columns=PLAN.columns)), tmp_path_factory.mktemp("receipts"))
    try:
        commands = [place.train(name) for name in place.names]
        assert [command.wait() for command in commands] == [0, 0], [command.complained for command in commands]
        yield place
    finally:
        place.close()


def test_both_ends_print_the_same_hashes(finished: Organisations) -> None:
    """Each party's own receipt shows both directions, the date, the signer and everybody's fingerprint."""
    label, features = (receipt.run(finished.run_folder(name)) for name in ("label", "features"))
    for shown in (label, features):
        assert (shown["consistent"], shown["verified"]) == (True, False)
        assert shown["date"]
    assert label["streams"] == features["streams"]
    assert label["transcript_hash"] == features["transcript_hash"]
    assert label["fingerprints"] == features["fingerprints"]
    assert (label["signed_by"], features["signed_by"]) == ("label", "features")


def test_a_finished_run_is_not_signed_again(finished: Organisations) -> None:
    """Whoever types the command once more gets the same results, with the receipt and the date that they had."""
    place = finished.run_folder("label")
    before = {name: (place / name).read_bytes() for name in ("receipt.json", "run.json")}
    told = party.train(finished.home("label"), finished.plan_file)
    assert {name: (place / name).read_bytes() for name in before} == before
    assert "this run was finished already, and signed on" in cast("list[str]", told["lines"])[0]


def receipt_of(*words: str | Path) -> tuple[int, dict[str, Any], str]:
    """Exit code, what programs read and what people read of `plumbob receipt`."""
    runner = CliRunner()
    arguments = ["party", "receipt", *map(str, words)]
    printed, told = runner.invoke(app, [*arguments, "--json"]), runner.invoke(app, arguments)
    return told.exit_code, json.loads(printed.stdout), told.stdout


def fingerprint_of(finished: Organisations, name: str) -> str:
    """The fingerprint as the party reads it aloud."""
    return Home.open(finished.home(name)).identity.certificate.fingerprint


def test_two_receipts_are_compared(finished: Organisations) -> None:
    """Side by side the bytes are the same at both ends; with the pinned certificates both signatures are verified."""
    folders = [finished.run_folder(name) for name in finished.names]
    code, compared, told = receipt_of(*folders)
    assert (code, compared["consistent"], compared["verified"]) == (0, True, False)
    assert {stream["verdict"] for stream in compared["streams"]} == {"same at both ends"}
    for name in finished.names:
        assert f"signed by whoever holds fingerprint {fingerprint_of(finished, name)}" in told
        code, compared, known = receipt_of(*folders, "--home", finished.home(name))
        assert (code, compared["verified"]) == (0, True)
        assert "verified: label and features signed these records, and both ends of every channel" in known


def test_a_receipt_says_what_was_verified(finished: Organisations) -> None:
    """One side's record alone shows one end of each channel; its signature is verified by pin or fingerprint only."""
    folder, fingerprint = finished.run_folder("label"), fingerprint_of(finished, "label")
    code, shown, told = receipt_of(folder)
    assert (code, shown["consistent"], shown["verified"]) == (0, True, False)
    assert "result       consistent, not verified" in told
    for known in (["--home", str(finished.home("features"))], ["--fingerprint", fingerprint.replace(" ", "").upper()]):
        code, shown, told = receipt_of(folder, *known)
        assert (code, shown["consistent"], shown["verified"]) == (0, True, True)
        assert "result       verified: label signed this record; of 2 channels the other end was not compared" in told


def test_another_fingerprint_is_a_failure(finished: Organisations) -> None:
    """Whoever names a fingerprint wants that one; what is none is refused with what to do."""
    other = fingerprint_of(finished, "features")
    code, shown, _ = receipt_of(finished.run_folder("label"), "--fingerprint", other)
    assert (code, shown["consistent"], shown["verified"]) == (1, True, False)
    with pytest.raises(SettingsError, match="--fingerprint: 4 signs, expected the 64 hexadecimal digits"):
        party.receipt([finished.run_folder("label")], fingerprints=["beef"])


def changed(source: Path, target: Path, **values: object) -> Path:
    """A copy of a run's folder whose record was edited afterwards."""
    shutil.copytree(source, target)
    record = json.loads((target / "run.json").read_text())
    (target / "run.json").write_text(json.dumps(record | values, indent=2))
    return target


def test_an_edited_record_is_not_verified(finished: Organisations, tmp_path: Path) -> None:
    """Without the signature the edit would pass as consistent, and with it nobody is told so."""
    edited = changed(finished.run_folder("label"), tmp_path / "edited", seconds=1.5)
    shown = receipt.run(edited)
    assert (shown["consistent"], shown["verified"]) == (False, False)
    assert any("was edited" in line for line in cast("list[str]", shown["lines"]))
    compared = receipt.compare([edited, finished.run_folder("features")])
    assert (compared["consistent"], compared["verified"]) == (False, False)
    (edited / "receipt.json").unlink()
    shown = receipt.run(edited)
    assert (shown["consistent"], shown["verified"]) == (True, False)


def forged(finished: Organisations, folder: Path, name: str) -> Path:
    """An edited record, signed with a certificate that somebody made a second ago in the party's name."""
    other = next(one for one in finished.names if one != name)
    edited = changed(finished.run_folder(name), folder / f"edited-{name}", seconds=1.5)
    stranger = Home.create(folder / f"stranger-{name}", HomeSettings(name))
    stranger = stranger.join(Home.open(finished.home(other)).invitation(), None)
    sign_record(stranger, RunFolder(edited), list(finished.names))
    return edited


def test_a_record_signed_by_somebody_else_is_not_verified(finished: Organisations, tmp_path: Path) -> None:
    """Nothing but the fingerprint tells it from the true one, so nobody is told that it is verified."""
    edited = forged(finished, tmp_path, "label")
    code, shown, told = receipt_of(edited)
    assert (code, shown["verified"]) == (0, False)
    assert "signed by whoever holds fingerprint" in told
    assert "verified:" not in told
    for name in finished.names:
        code, shown, told = receipt_of(edited, "--home", finished.home(name))
        assert (code, shown["consistent"], shown["verified"]) == (1, False, False)
        assert "it is not by the certificate pinned for label" in told


def test_a_forged_record_beside_the_true_one_is_noticed(finished: Organisations, tmp_path: Path) -> None:
    """The stranger's fingerprint is not the one that the peer's receipt names."""
    edited = forged(finished, tmp_path, "label")
    code, compared, _ = receipt_of(edited, finished.run_folder("features"))
    assert (code, compared["consistent"], compared["verified"]) == (1, False, False)
    assert any("certificate of label" in line for line in compared["differences"])


def test_a_pinned_party_cannot_sign_for_another(finished: Organisations, tmp_path: Path) -> None:
    """Its certificate is known, but the record is not its own."""
    edited = changed(finished.run_folder("features"), tmp_path / "edited", seconds=1.5)
    sign_record(Home.open(finished.home("label")), RunFolder(edited), list(finished.names))
    code, shown, told = receipt_of(edited, "--home", finished.home("label"))
    assert (code, shown["consistent"], shown["verified"]) == (1, False, False)
    assert "label signed the record of another party" in told


def test_a_record_cannot_steer_the_terminal(
    finished: Organisations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters of a record are shown as text."""
    edited = changed(finished.run_folder("label"), tmp_path / "edited", notes=["\x1b[2J\x1b]0;owned\x07 all is well"])
    show(receipt.run(edited))
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "\\x1b[2J" in printed
