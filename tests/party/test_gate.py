"""Scores under `release = "replayed"`: shut until the label party's auditor found its training clean in a replay."""

import csv
import json
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob import party
from plumbob.caller import QUIET, Caller
from plumbob.crypto import lattice
from plumbob.data import Table
from plumbob.errors import DataError, PlanError, RemoteProtocolError, ScoresWaitError
from plumbob.lab.attacks.altered_shares import AlteredShares
from plumbob.lab.attacks.false_residual import FalseResidual, OffTheCircle
from plumbob.lab.attacks.hooks import Hook
from plumbob.party import gate, replay
from plumbob.party.gate import Expected, reasons_to_wait, statement_file
from plumbob.party.held_out import read_trained_rows
from plumbob.party.home import Home
from plumbob.party.opened_evidence import OpenedEvidence
from plumbob.party.rows import keep_common_rows
from plumbob.party.runs import finished_run
from plumbob.party.sealing import PUBLIC_FILE, AuditorKeys
from plumbob.party.statements import FORMAT, SignedStatement, sign_statement, write_statement
from plumbob.party.verbs import serve
from plumbob.party.verbs.receipt import NOBODY
from plumbob.party.verbs.receipt import run as receipt
from plumbob.plan import Plan
from plumbob.protocol import scoring
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.messages import Kind
from plumbob.protocol.outcome import HELD_OUT, measure_quality
from plumbob.protocol.part import ModelPart
from plumbob.run_folder import RunFolder
from tests.lab.attacks.lattice.garbage import GarbageReplies
from tests.party.kept import Kept, accountable, trained
from tests.party.processes import PATIENCE
from tests.party.verbs import Organisations, write_table
from tests.protocol.support import made_up, tables_for
from tests.world import Killed

TWO = (2, 3)


def run_of(kept: Kept, name: str = "features") -> RunFolder:
    """A party's side of the run."""
    return RunFolder((kept.folder / name).resolve())


def home_of(kept: Kept, name: str = "features") -> Home:
    """A party's folder."""
    return Home.open(kept.folder.parent / name)


def expected_in(kept: Kept) -> Expected:
    """What the feature party expects of a statement about this run."""
    home, run = home_of(kept), run_of(kept)
    fingerprints = {name: home_of(kept, name).identity.certificate.fingerprint for name in kept.tables}
    return Expected.of(kept.plan, run.record(), home.pinned["label"], fingerprints)


def is_shut(kept: Kept) -> bool:
    """Whether the feature party's gate is shut."""
    try:
        gate.refuse_before_replay(home_of(kept), kept.plan, run_of(kept))
    except (ScoresWaitError, DataError):
        return True
    return False


def both_predict(kept: Kept, **options: Any) -> list[Any]:
    """What both sides' predictions end with, the label party's first; an error included."""

    def predict(name: str) -> Any:
        try:
            return party.predict(home_of(kept, name), kept.plan, caller=QUIET, **options)
        except (ScoresWaitError, RemoteProtocolError) as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(predict, ("label", "features")))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Two parties that keep to the protocol, and sign a plan that opens scores only after a replay."""
    return trained(tmp_path_factory.mktemp("honest"), TWO, {}, release="replayed", most_rows=500)


@pytest.fixture(scope="module")
def statement(honest: Kept) -> dict[str, Any]:
    """What a replay of the label party's training found; nobody has signed it yet."""
    return honest.replayed("label")


@pytest.fixture
def fresh(honest: Kept) -> Iterator[Kept]:
    """The honest run, at whose feature party nothing is kept yet."""
    statement_file(run_of(honest), "label").unlink(missing_ok=True)
    yield honest
    statement_file(run_of(honest), "label").unlink(missing_ok=True)


def keep(kept: Kept, signed: SignedStatement, file: Path) -> dict[str, Any]:
    """Hand a statement to the feature party."""
    write_statement(file, signed)
    return receipt(run_of(kept).path, NOBODY, file)


def test_scores_open_once_a_clean_statement_is_kept(fresh: Kept, statement: dict[str, Any], tmp_path: Path) -> None:
    """Before, the label party is told what is missing, and training has scored no row; afterwards both predict."""
    assert run_of(fresh, "label").record().quality == {}
    asked, answered = both_predict(fresh, out=tmp_path / "scores.csv")
    assert "scores wait for your auditor's statement" in str(asked)
    assert "plumbob party receipt" in str(answered)
    assert not (tmp_path / "scores.csv").exists()
    assert keep(fresh, sign_statement(fresh.auditors["label"], statement), tmp_path / "s.json")["consistent"]
    asked, answered = both_predict(fresh, out=tmp_path / "scores.csv", held_out=True)
    assert asked["rows"] == answered["rows"] == 8
    table = fresh.tables["label"]
    written = list(csv.DictReader((tmp_path / "scores.csv").read_text().splitlines()))
    labels = [np.asarray(table.labels)[table.ids.index(row["id"])] for row in written]
    found = asked["quality"][HELD_OUT]
    assert found["joint"] == measure_quality(labels, np.array([float(row["score"]) for row in written]))
    assert found["local-only"]["majority"] == found["joint"]["majority"]
    assert "AUC, held-out rows: joint" in asked.lines[-1]
    asked, answered = both_predict(fresh, out=tmp_path / "scores.csv")
    assert (asked["rows"], answered["rows"], answered["rows_in_all"]) == (40, 32, 40)
    assert [row["score"] for row in csv.DictReader((tmp_path / "scores.csv").read_text().splitlines())].count("") == 0


def test_held_out_rows_are_those_of_training_whatever_was_aligned_since(
    fresh: Kept, statement: dict[str, Any], tmp_path: Path
) -> None:
    """No row that was trained on judges the model, though the same parties have found other common rows since."""
    keep(fresh, sign_statement(fresh.auditors["label"], statement), tmp_path / "s.json")
    ids = fresh.tables["label"].ids
    held_out = [
        one for one, is_held_out in (read_trained_rows(run_of(fresh, "label"), "label") or {}).items() if is_held_out
    ]
    gone, left = held_out[:5], held_out[5:]

    def align(*common: str) -> None:
        for name in fresh.tables:
            keep_common_rows(home_of(fresh, name), fresh.plan, Alignment(common, "", len(common), {}))

    try:
        align(*(one for one in ids if one not in gone))
        asked, answered = both_predict(fresh, out=tmp_path / "scores.csv", held_out=True)
        assert asked["rows"] == answered["rows"] == len(left) == 3
        written = list(csv.DictReader((tmp_path / "scores.csv").read_text().splitlines()))
        assert {row["id"]: bool(row["score"]) for row in written} == dict.fromkeys(left, True) | dict.fromkeys(
            gone, False
        )
        align(*(one for one in ids if one not in held_out))
        with pytest.raises(DataError, match="none of the 8 rows that training held out is among the 32 aligned rows"):
            party.predict(home_of(fresh, "label"), fresh.plan, held_out=True, caller=QUIET)
    finally:
        align(*ids)


def test_serve_waits_for_the_statement_and_then_answers(
    fresh: Kept, statement: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says once for what, tells whoever asks, and goes on when the statement is kept."""
    monkeypatch.setattr(serve, "SECONDS_BETWEEN", 0.2)
    label, said = home_of(fresh, "label"), list[str]()
    with ThreadPoolExecutor(1) as pool:
        caller = Caller(said.append)
        service = pool.submit(party.serve, home_of(fresh).folder, fresh.plan, sessions=1, caller=caller)
        with pytest.raises(RemoteProtocolError, match="scores wait for your auditor's statement"):
            party.predict(label, fresh.plan, ids=["1"], out=tmp_path / "1.csv", caller=QUIET)
        keep(fresh, sign_statement(fresh.auditors["label"], statement), tmp_path / "s.json")
        scored = None
        while scored is None:
            # Whoever comes in the very moment in which the statement is kept is still told to wait.
            with suppress(RemoteProtocolError):
                scored = party.predict(label, fresh.plan, ids=["1"], out=tmp_path / "1.csv", caller=QUIET)
        assert service.result(PATIENCE)["rows"] == scored["rows"] == 1
    assert [line for line in said if "scores wait" in line] == [said[1]]


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("it is about another party", {"party": "features"}),
    ("it is not about the training", {"purpose": "predict"}),
    ("it is about another plan", {"plan": "00" * 32}),
    ("it is about another run", {"session": "00" * 32}),
    ("other commitments", {"commitments": {"label": "00" * 32, "features": "00" * 32}}),
    ("signed to have sent", {"sent": {"features": "00" * 32}}),
    ("signed to have sent", {"sent": {}}),
    ("signed to have received", {"received": {"features": "00" * 32}}),
    ("other certificates", {"fingerprints": {}}),
    ("ends before the last signatures", {"settled": False}),
    ("did not find that every message follows", {"honest": False}),
    ("did not find that every message follows", {"honest": None}),
    ("does not reach the label party's last signature", {"seals": []}),
    ("by another version", {"version": "0.0.1"}),
    ("another format", {"format": FORMAT - 1}),
]


@pytest.mark.parametrize(("words", "change"), CHANGES, ids=[f"{next(iter(change))}" for _, change in CHANGES])
def test_no_other_statement_opens_them(
    honest: Kept, statement: dict[str, Any], words: str, change: dict[str, Any]
) -> None:
    """Signed by the right auditor, but about anything else than this training, or with another finding."""
    signed = sign_statement(honest.auditors["label"], {**statement, **change})
    [reason] = reasons_to_wait(signed, expected_in(honest))
    assert words in reason


def test_a_damaged_statement_is_waited_for(fresh: Kept) -> None:
    """A service does not end by a file that somebody cut: it waits for the next one."""
    statement_file(run_of(fresh), "label").write_text('{"statement": ')
    with pytest.raises(ScoresWaitError, match="its file is damaged"):
        gate.refuse_before_replay(home_of(fresh), fresh.plan, run_of(fresh))


def test_nobody_elses_signature_opens_them(honest: Kept, statement: dict[str, Any], tmp_path: Path) -> None:
    """Neither the peer's auditor nor a new one, nor a signature for another purpose, nor none."""
    expected, own = expected_in(honest), honest.auditors["label"]
    assert not list(reasons_to_wait(sign_statement(own, statement), expected))
    for auditor in (honest.auditors["features"], AuditorKeys.create(tmp_path / "own", "auditor-label")):
        [reason] = reasons_to_wait(sign_statement(auditor, statement), expected)
        assert "not signed by the auditor that the plan names" in reason
    older = own.identity.sign("statement about a replay", SignedStatement(statement).to_sign()).hex()
    signed = sign_statement(own, statement)
    for one in (
        SignedStatement(statement),
        msgspec.structs.replace(signed, signature=older),
        msgspec.structs.replace(signed, statement={**statement, "date": "tomorrow"}),
    ):
        [reason] = reasons_to_wait(one, expected)
        assert "not signed, or was changed" in reason


def test_without_the_label_partys_last_signature_nothing_opens_them(
    fresh: Kept, statement: dict[str, Any], tmp_path: Path
) -> None:
    """The gate asks this side's own record, which an honest party never writes without that signature."""
    write_statement(statement_file(run_of(fresh), "label"), sign_statement(fresh.auditors["label"], statement))
    assert not is_shut(fresh)
    file, record = run_of(fresh).record_file, run_of(fresh).record_file.read_bytes()
    changed = json.loads(record)
    for seal in (None, "00" * (len(changed["account"]["seals"]["label"]) // 2)):
        seals = {name: value for name, value in changed["account"]["seals"].items() if name != "label"}
        changed["account"]["seals"] = seals | ({} if seal is None else {"label": seal})
        file.write_text(json.dumps(changed))
        assert is_shut(fresh)
    file.write_bytes(record)


RECORDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda record: record.update(plumbob="0.0.1"),
    "another session": lambda record: record["account"].update(session="00" * 32),
    "other commitments": lambda record: record["account"]["commitments"].update(label="00" * 32),
    "other streams": lambda record: record["account"]["seals"].update(
        label="00" * 96 + record["account"]["seals"]["label"][192:]
    ),
    "an account of nobody": lambda record: record["account"].clear(),
}


@pytest.mark.parametrize("change", RECORDS.values(), ids=RECORDS)
def test_another_record_opens_nothing(
    fresh: Kept, statement: dict[str, Any], change: Callable[[dict[str, Any]], object]
) -> None:
    """A record that somebody edited, or that is of another run, is no longer what the statement is about."""
    write_statement(statement_file(run_of(fresh), "label"), sign_statement(fresh.auditors["label"], statement))
    file, before = run_of(fresh).record_file, run_of(fresh).record_file.read_bytes()
    changed = json.loads(before)
    change(changed)
    file.write_text(json.dumps(changed))
    assert is_shut(fresh)
    file.write_bytes(before)
    assert not is_shut(fresh)


def test_what_lies_there_when_scores_are_asked_for_counts(
    fresh: Kept, statement: dict[str, Any], tmp_path: Path
) -> None:
    """A statement that was checked when it came is checked again: somebody may have put another one in its place."""
    own = fresh.auditors["label"]
    assert keep(fresh, sign_statement(own, statement), tmp_path / "s.json")["consistent"]
    assert not is_shut(fresh)
    write_statement(statement_file(run_of(fresh), "label"), sign_statement(own, {**statement, "session": "00" * 32}))
    asked, answered = both_predict(fresh, out=tmp_path / "scores.csv")
    assert "scores wait" in str(asked)
    assert "it is about another run" in str(answered)


def test_an_honest_run_vouches_for_no_other(fresh: Kept, statement: dict[str, Any]) -> None:
    """Two plans of the same parties, with the same auditor: each run needs a statement of its own."""
    write_statement(statement_file(run_of(fresh), "label"), sign_statement(fresh.auditors["label"], statement))
    other = fresh.plan.replace(title="another")

    def train(name: str) -> None:
        party.sign(home_of(fresh, name), other, accept_cheating=True)
        party.train(home_of(fresh, name), other, caller=QUIET)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(train, fresh.tables))
    home = home_of(fresh)
    run = finished_run(home, other)
    with pytest.raises(ScoresWaitError, match="wait for the statement of label's auditor"):
        gate.refuse_before_replay(home, other, run)
    shutil.copy(statement_file(run_of(fresh), "label"), statement_file(run, "label"))
    with pytest.raises(ScoresWaitError, match="it is about another plan; it is about another run"):
        gate.refuse_before_replay(home, other, run)
    assert not is_shut(fresh)


def test_nobody_chooses_the_seed_in_a_file_that_has_the_signed_hash(honest: Kept) -> None:
    """The hash says nothing of a study's seed: a file with one is refused before anything is signed, sent or scored."""
    home, seeded = home_of(honest), honest.plan.replace(seed=7)
    assert seeded.hash() == honest.plan.hash()
    for verb in (party.sign, party.align, party.train, party.predict):
        with pytest.raises(PlanError, match=r"model\.seed: 7, .* leave it out"):
            verb(home, seeded)


class Changed(Hook):
    """Changes one quantity of the label party's program wherever it is used, or in one step alone."""

    def __init__(self, quantity: str, change: Callable[[Any], Any], in_step: int | None = None) -> None:
        self.quantity, self.change, self.in_step, self.used = quantity, change, in_step, set[str]()

    def use(self, me: Any, name: str, step: int, value: Any) -> Any:
        """Note the quantity's name, and change it if it is the one."""
        self.used.add(name)
        return self.change(value) if name == self.quantity and self.in_step in (None, step) else value


class ComesBackAsAnother(Changed):
    """Honest until it dies in the second pass; the software that resumes the run is another one, or the same."""

    has_died = False

    def use(self, me: Any, name: str, step: int, value: Any) -> Any:
        """Die once, when the residuals of the second pass are there."""
        if not self.has_died and (name, step) == ("residuals", 2):
            self.has_died = True
            raise Killed
        return super().use(me, name, step, value)


def by_a_unit(value: Any) -> Any:
    """The quantity with one unit more in one place."""
    if isinstance(value, dict):
        return {name: by_a_unit(one) if place == 0 else one for place, (name, one) in enumerate(value.items())}
    changed = value.copy()
    if isinstance(value, list):
        changed[0] += 1
    else:
        changed.flat[0] += 1
    return changed


def turned(factors: Any) -> Any:
    """Cosines in the place of sines, and the other way round."""
    half = len(factors) // 2
    return np.concatenate([factors[half:], factors[:half]])


CHEATS: list[tuple[str, Callable[[], Hook]]] = [
    ("false-residual", FalseResidual),
    ("false-residual-at-the-end", lambda: FalseResidual(erases=False)),
    ("altered-shares", AlteredShares),
    ("off-the-circle", OffTheCircle),
    ("garbage-replies", GarbageReplies),
    *(
        (f"{quantity} by a unit", partial(Changed, quantity, by_a_unit))
        for quantity in ("start", "labels", "residuals")
    ),
    ("one residual in the last pass", lambda: Changed("residuals", by_a_unit, in_step=2)),
    ("other software after a death", lambda: ComesBackAsAnother("residuals", by_a_unit)),
    ("no residuals", lambda: Changed("residuals", lambda value: value * 0)),
    ("labels of 127", lambda: Changed("labels", lambda value: value * 127)),
    ("large sines", lambda: Changed("factors", lambda value: value * 2)),
    ("erased sines", lambda: Changed("factors", lambda value: value * 0)),
    ("turned sines", lambda: Changed("factors", turned)),
    (
        "other sums",
        lambda: Changed("sums", lambda sums: {name: [one + (1 << 20) for one in sums[name]] for name in sums}),
    ),
    ("other scores", lambda: Changed("scores", lambda value: value + np.uint32(1 << 20))),
    (
        "other shares lent",
        lambda: Changed("supplied share", lambda held: {name: by_a_unit(held[name]) for name in held}),
    ),
    ("rows doubled", lambda: Changed("rows for scores", lambda value: value * 2)),
    ("other rows in one pass", lambda: Changed("rows for gradients", lambda value: value[::-1].copy(), in_step=2)),
]


@pytest.mark.parametrize("cheat", [pytest.param(cheat, id=name) for name, cheat in CHEATS])
def test_a_cheat_in_training_gets_no_score(tmp_path: Path, cheat: Callable[[], Hook]) -> None:
    """Its auditor signs a statement that does not open the gate; no share of a score ever leaves the feature party."""
    hook = cheat()
    kept = trained(tmp_path, TWO, {"label": hook}, release="replayed")
    assert not isinstance(hook, Changed) or hook.quantity in hook.used
    signed = sign_statement(kept.auditors["label"], kept.replayed("label"))
    assert not keep(kept, signed, tmp_path / "s.json")["consistent"]
    assert is_shut(kept)
    write_statement(statement_file(run_of(kept), "label"), signed)
    assert is_shut(kept)
    asked, answered = both_predict(kept, out=tmp_path / "scores.csv")
    assert "scores wait" in str(asked)
    assert "did not find that every message follows" in str(answered)
    opened = OpenedEvidence.open(kept.place("features"), kept.auditors["features"])
    assert Kind.SCORE_SHARE not in {message.kind for message in opened.sent["label"]}


def test_a_party_that_died_and_resumed_honestly_opens_the_gate(tmp_path: Path) -> None:
    """Each start leaves evidence of its own, and together they are one run."""
    hook = ComesBackAsAnother("residuals", lambda value: value)
    kept = trained(tmp_path, TWO, {"label": hook}, release="replayed")
    assert hook.has_died
    signed = sign_statement(kept.auditors["label"], kept.replayed("label"))
    assert keep(kept, signed, tmp_path / "s.json")["consistent"]
    assert not is_shut(kept)


@pytest.mark.parametrize("renews", ["label", "features"])
def test_a_certificate_renewed_in_the_middle_of_a_run_keeps_no_gate_shut(
    tmp_path: Path, renews: str, opened: list[Organisations]
) -> None:
    """The evidence names the certificates that the peers have pinned when the run ends, for the same keys."""
    plan, auditors = accountable(Plan.for_columns(TWO, epochs=2, test_share=0.2), tmp_path, release="replayed")
    settings = {name: {"evidence_key": str(tmp_path / f"auditor-{name}" / PUBLIC_FILE)} for name in auditors}
    tables = tables_for(plan, *made_up(40, plan.columns))
    organisations = Organisations(plan, tables, tmp_path, settings=settings)
    opened.append(organisations)
    [other] = set(organisations.names) - {renews}
    waiting, dying = organisations.train(other), organisations.train(renews, blow=("pass", 1, signal.SIGKILL))
    assert dying.wait() == -signal.SIGKILL
    waiting.process.kill()
    waiting.wait()
    renewed = party.renew(organisations.home(renews), days=900)
    party.join(organisations.home(other), renewed["token"])
    commands = [organisations.train(name) for name in organisations.names]
    assert [command.wait() for command in commands] == [0, 0]
    statement = sign_statement(auditors["label"], replay.replay(organisations.run_folder("label"), auditors["label"]))
    write_statement(tmp_path / "s.json", statement)
    assert receipt(organisations.run_folder("features"), NOBODY, tmp_path / "s.json")["consistent"]
    run = RunFolder(organisations.run_folder("features"))
    gate.refuse_before_replay(Home.open(organisations.home("features")), plan, run)


def seen_by_label(kept: Kept) -> list[tuple[Kind, int, int]]:
    """Kind, step and size of each message that the label party received.

    Without those that depend on chance: a plan's signature, and the tests of keys, which are repeated now and then.
    """
    opened = OpenedEvidence.open(kept.place("label"), kept.auditors["label"])
    return [
        (message.kind, message.step, len(message.read()))
        for message in opened.received["features"]
        if message.kind is not Kind.SIGNATURE and not message.kind.name.startswith("KEY_")
    ]


def test_before_the_gate_a_cheat_sees_the_same_messages_whatever_the_rows(tmp_path: Path) -> None:
    """Kinds, steps and sizes of what the feature party sends do not depend on its rows, and no score is among them."""
    seen, plan, (X, y) = [], Plan.for_columns(TWO), made_up(40, 5)
    for place, values in (("some", X), ("others", np.exp(X[::-1]))):
        (tmp_path / place).mkdir()
        tables = {"label": tables_for(plan, X, y)["label"], "features": tables_for(plan, values, y)["features"]}
        cheat = {"label": FalseResidual()}
        seen.append(seen_by_label(trained(tmp_path / place, TWO, cheat, tables, release="replayed")))
    assert seen[0] == seen[1]
    fixed = "HELLO NUMBERS SEED_COMMITMENT SEED_SHARE CONFIRMATION SEAL"
    products = "LATTICE_KEYS START_SHARE LATTICE_REQUEST LATTICE_REPLY BOUND_SHARE"
    assert {kind.name for kind, _, _ in seen[0]} == {*fixed.split(), *products.split()}


def other_rows_with_the_same_scores(kept: Kept, ids: Sequence[str]) -> Table:
    """The feature party's table, in which these rows moved at a right angle to the weights, which no party knows."""
    table = kept.tables["features"]
    parts = {name: ModelPart.load(run_of(kept, name).part_file(name)) for name in kept.tables}
    shares = zip(*(parts[name].shares["features"] for name in kept.tables), strict=True)
    weights = np.array([(sum(pair) + 2**63) % 2**64 - 2**63 for pair in shares], dtype=np.float64)

    def encoded(values: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [replace(column, values=values[:, at]) for at, column in enumerate(table.columns)]
        names = tuple(f"row {row}" for row in range(len(values)))
        return parts["features"].encode(replace(table, ids=names, columns=tuple(columns)))

    # What one unit in each column adds to an encoded row; a row at a right angle to the weights, in those units.
    slopes = encoded(np.eye(3)) - encoded(np.zeros((3, 3)))
    moved = np.linalg.solve(slopes.T, np.cross(weights, [1.0, 2.0, 3.0]) / np.linalg.norm(weights))
    chosen = np.isin(table.ids, ids)
    columns = [replace(column, values=column.values + moved[at] * chosen) for at, column in enumerate(table.columns)]
    assert all(
        np.abs(after.values - before.values).max() > 0.1 for after, before in zip(columns, table.columns, strict=True)
    )
    return replace(table, columns=tuple(columns))


def test_a_false_reply_in_prediction_shows_nothing_of_a_row(
    honest: Kept, statement: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an honest training, what a false reply reads stays the same when rows change and their scores do not."""
    write_statement(statement_file(run_of(honest), "label"), sign_statement(honest.auditors["label"], statement))
    bound = ModelPart.load(run_of(honest, "label").part_file("label")).bound
    assert bound is not None
    ids, made, table = ["3", "4"], list[Any](), honest.folder.parent / "features.csv"
    answer_honestly, before = lattice.answer_request, table.read_bytes()

    def answer(matrix: Any, key: Any, number: int, request: Any, *more: Any) -> Any:
        """The label party replies as if its rows were others; made once, so that each session has the same reply."""
        if request != bound.ends["features"].received:
            return answer_honestly(matrix, key, number, request, *more)
        if not made:
            others = lattice.PrivateMatrix(matrix.engine, matrix.layout, matrix.entries * -3)
            made.append(answer_honestly(others, key, number, request, *more))
        return made[0]

    def read_with(rows: bytes) -> list[float]:
        table.write_bytes(rows)
        asked, _ = both_predict(honest, out=tmp_path / "scores.csv", ids=ids)
        assert asked["rows"] == len(ids)
        return [float(row["score"]) for row in csv.DictReader((tmp_path / "scores.csv").read_text().splitlines())]

    write_table(tmp_path / "others.csv", other_rows_with_the_same_scores(honest, ids))
    # Rows are rounded before they are multiplied; a column's value would show as a tenth at least.
    tables, rounding = (before, (tmp_path / "others.csv").read_bytes()), 2.0**-10
    scores = [read_with(rows) for rows in tables]
    with monkeypatch.context() as patch:
        patch.setattr(scoring, "answer_request", answer)
        read = [read_with(rows) for rows in tables]
    table.write_bytes(before)
    assert scores[1] == pytest.approx(scores[0], abs=rounding)
    assert read[1] == pytest.approx(read[0], abs=rounding)
    assert np.abs(np.subtract(read[0], scores[0])).min() > rounding
