"""Evidence and its replay: honest parties replay cleanly, a single other byte is named, and tampering is refused."""

import shutil
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec
import numpy as np
import pytest

from plumbob.crypto import Draws
from plumbob.crypto.lattice import kernel as native
from plumbob.data import Batch, Table, read_table
from plumbob.data.encoder import with_columns
from plumbob.data.same_rows import align
from plumbob.data.tables import Column
from plumbob.errors import DataError, JournalError, PlumbobError, SettingsError
from plumbob.net.identity import Identity
from plumbob.party import evidence, prediction, replay, sealing
from plumbob.party.opened_evidence import OpenedEvidence
from plumbob.party.replay_rules import follows, is_same_part, shapes
from plumbob.party.sealing import AuditorKeys
from plumbob.party.signature import MessageSigner
from plumbob.party.statements import (
    SignedStatement,
    part_in_training,
    sign_statement,
    statement_mistakes,
    write_statement,
)
from plumbob.plan import Plan
from plumbob.protocol import outcome, scoring
from plumbob.protocol.account import SIGNATURE_BYTES, FirstCommitment, Seal, digest_of_rows
from plumbob.protocol.messages import HEADER, Kind, Message, decode_header
from plumbob.protocol.part import ModelPart
from plumbob.protocol.prediction import BEYOND_ITS_OWN, BEYOND_THE_PLAN, VERDICT
from plumbob.protocol.shares.training import SharesParty
from plumbob.run_folder import RunFolder
from tests.party.kept import Kept, accountable
from tests.protocol.support import made_up, tables_for
from tests.world import NOTED, Killed, Session, World

SPLITS = {"two": (2, 3), "three": (2, 2, 1)}


def kept_run(
    folder: Path,
    split: tuple[int, ...],
    instead: Mapping[str, type[SharesParty]] = MappingProxyType({}),
    on_event: Callable[[World, str, str], None] = lambda world, name, event: None,
    on_start: Callable[[str], None] = lambda name: None,
    tables: Mapping[str, Table] | None = None,
    epochs: int = 2,
    agreed: tuple[Plan, dict[str, AuditorKeys]] | None = None,
) -> Kept:
    """Trained over journals and links; `instead` plays a party by another class, `on_event` may kill one.

    A run that broke off continues with what was `agreed` for it.
    """
    plan, auditors = agreed or accountable(Plan.for_columns(split, epochs=epochs, test_share=0.2), folder)
    kept = Kept(plan, tables or tables_for(plan, *made_up(40, plan.columns)), folder, auditors)
    world = world_of(kept, "train", instead=instead, on_start=on_start)
    world.on_event = partial(on_event, world)
    world.run().honest()
    return kept


def world_of(
    kept: Kept, purpose: Literal["train", "predict"], parts: Mapping[str, ModelPart] | None = None, **hooks: Any
) -> World:
    """Where these parties, who keep evidence for these auditors, train or score rows."""
    session = Session("kept", purpose, kept.plan, kept.tables, None, True, kept.auditors, parts)
    return World(session, kept.folder, **hooks)


@pytest.fixture(scope="module", autouse=True)
def _few_rows_at_once() -> Iterator[None]:
    """Let a few rows be several queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "ROWS_AT_ONCE", 5)
        patch.setattr(outcome, "ROWS_AT_ONCE", 5)
        patch.setattr(scoring, "ROWS_AT_ONCE", 5)
        yield


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Two parties that keep to the protocol."""
    return kept_run(tmp_path_factory.mktemp("honest"), SPLITS["two"])


def test_honest_parties_replay_cleanly(honest: Kept) -> None:
    """Every message follows; the verdict says that rows were compared with nothing, and which model part came out."""
    for name in honest.tables:
        statement = honest.replayed(name)
        assert statement["honest"], statement["verdict"]
        assert statement["settled"]
        assert "follows from the signed plan" in statement["verdict"]
        assert statement["verdict"].endswith(replay.NOT_COMPARED)
        assert len(statement["part"]) == 64


def test_the_portable_kernel_gives_the_same_messages(honest: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on this machine's best instructions and one thread replays on those of any machine, and on all cores."""
    best, *_ = native.available_paths()
    assert best != "portable"
    monkeypatch.setattr(native, "available_paths", lambda: ["portable"])
    assert honest.replayed("features")["honest"]


@pytest.mark.parametrize("split", ["two", pytest.param("three", marks=pytest.mark.soak)])
def test_a_stolen_journal_shows_no_draw_of_earlier_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: str
) -> None:
    """With evidence, too: nothing drawn in passes 1 to 6, nor what it was drawn from, is on the disk in pass 7."""
    links, drawn, read, restore = dict[int, list[bytes]](), dict[bytes, list[bytes]](), Draws._read, Draws.restore

    def noted(draws: Draws, link: bytes) -> None:
        links.setdefault(id(draws), []).append(link)
        restore(draws, link)

    def heard(draws: Draws, purpose: str, peer: str, count: int) -> bytes:
        data = read(draws, purpose, peer, count)
        drawn.setdefault(draws.link, []).append(data[:16])
        return data

    monkeypatch.setattr(Draws, "restore", noted)
    monkeypatch.setattr(Draws, "_read", heard)
    last = list[bytes]()

    def steal(world: World, name: str, event: str) -> None:
        if (name, world.steps[name], event) == ("features", 7, NOTED) and not last:
            shutil.copytree(tmp_path / name, tmp_path / "stolen")
            last.append(world.draws[name].link)

    kept_run(tmp_path, SPLITS[split], on_event=steal, epochs=7)
    [now] = last
    own = next(chain for chain in links.values() if now in chain)
    disk = b"".join(file.read_bytes() for file in (tmp_path / "stolen").rglob("*") if file.is_file())
    # The keys have the first link, and every pass the next one.
    passes = own[1 : own.index(now)]
    assert len(passes) == 6
    assert now in disk
    assert not [link for link in passes if link in disk]
    secrets = [one for link in passes for one in drawn[link] if len(one) == 16]
    assert secrets
    assert not [one for one in secrets if one in disk]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Three parties that keep to the protocol."""
    return kept_run(tmp_path_factory.mktemp("three"), SPLITS["three"])


def test_three_parties_replay_cleanly(three: Kept) -> None:
    """Three parties, with masks and pair keys, replay cleanly."""
    assert all(three.replayed(name)["honest"] for name in three.tables)


def test_rows_that_are_not_common_shape_columns_too(tmp_path: Path) -> None:
    """How many levels a column has, its party's whole file says; that is fixed and kept with the common rows."""
    keys = {"rare": 1, "test_share": 0.2}
    plan, auditors = accountable(Plan.for_columns(SPLITS["two"], epochs=1, **keys), tmp_path)
    tables = tables_for(plan, *made_up(50, plan.columns))
    levels = Column("level", np.array(["a", "b"] * 20 + ["c"] * 10, dtype=object))
    features = with_columns(Table(tables["features"].ids, (tables["features"].columns[0], levels)), plan)
    common = {"label": tables["label"].take(range(40)), "features": features.take(range(40))}
    kept = kept_run(tmp_path, SPLITS["two"], tables=common, agreed=(plan, auditors))
    assert kept.replayed("features")["honest"]

    def without_columns(data: bytes) -> bytes:
        return b"".join(evidence.pack_table(replace(evidence.unpack_table(memoryview(data)), fitted=None)))

    resealed(kept, "features", "columns", alone(without_columns))
    assert "its settings that it kept is not what it committed to" in kept.replayed("features")["verdict"]


def test_a_party_killed_twice_replays_cleanly(tmp_path: Path) -> None:
    """What each start kept adds up to one run, and no file of evidence is written twice."""
    deaths = {1, 2}

    def die(world: World, name: str, event: str) -> None:
        if name == "features" and world.steps[name] in deaths and event == NOTED:
            deaths.remove(world.steps[name])
            raise Killed

    kept = kept_run(tmp_path, SPLITS["two"], on_event=die)
    assert not deaths
    assert {"messages-1", "messages-2", "messages-3"} <= set(
        evidence.read_head(kept.place("features") / "head.json").files
    )
    assert kept.replayed("features")["honest"]
    one, other = (kept.place("features") / f"messages-{start}" for start in (1, 2))
    one.write_bytes(other.read_bytes())
    with pytest.raises(DataError, match="another run or another start"):
        kept.replayed("features")


def test_a_party_put_back_to_the_middle_of_a_step_is_refused(tmp_path: Path) -> None:
    """With its evidence: its peer has heard more than it says. With the newer folder the run ends, and replays."""
    agreed = accountable(Plan.for_columns(SPLITS["two"], epochs=2, test_share=0.2), tmp_path)
    place, backup, newer = (tmp_path / name for name in ("features", "backup", "newer"))

    def die(world: World, name: str, event: str) -> None:
        if name == "features" and event == NOTED and not newer.exists():
            if world.steps[name] == 1 and not backup.exists():
                shutil.copytree(place, backup)
            if world.steps[name] == 2:
                raise Killed

    def put_back(name: str) -> None:
        if name == "features" and backup.exists():
            place.rename(newer)
            backup.rename(place)

    with pytest.raises(PlumbobError, match=r"bring the newer journal back|journal is older"):
        kept_run(tmp_path, SPLITS["two"], on_event=die, on_start=put_back, agreed=agreed)
    place.rename(tmp_path / "older")
    newer.rename(place)
    kept = kept_run(tmp_path, SPLITS["two"], agreed=agreed)
    assert all(kept.replayed(name)["settled"] for name in kept.tables)
    shutil.copy(tmp_path / "older" / "evidence" / "messages-1", place / "evidence" / "messages-1")
    with pytest.raises(DataError, match=r"is not the one label signed|not those that"):
        kept.replayed("features")


# A party that cheats.


class OtherShares(SharesParty):
    """Lends other weights than its shares in the second pass."""

    def step(self, batch: Batch) -> Any:
        if batch.step == 2:
            self.held = {name: [value + 1 for value in share] for name, share in self.held.items()}
        return super().step(batch)


class OtherSines(SharesParty):
    """Doubles its rows' weights behind the commitment, so that its sines are off the circle or its sums are scaled."""

    def take_numbers(self, numbers: Any) -> None:
        super().take_numbers({**numbers, "rows": np.asarray(numbers["rows"]) * 2})


class OtherStart(SharesParty):
    """Starts from other weights than those it committed to."""

    def take_numbers(self, numbers: Any) -> None:
        super().take_numbers({**numbers, "start": np.asarray(numbers["start"]) + 1})


class OtherNumbers(SharesParty):
    """Commits to integers that do not follow from its columns: every last bit changed."""

    def own_numbers(self) -> Any:
        numbers = super().own_numbers()
        return {**numbers, "rows": np.asarray(numbers["rows"]) ^ 1}


class SteepRows(SharesParty):
    """Commits to integers of which one column is larger than any table's would be."""

    def own_numbers(self) -> Any:
        numbers = super().own_numbers()
        rows = np.array(numbers["rows"])
        rows[:, 0] *= 3
        return {**numbers, "rows": rows}


@pytest.mark.parametrize(
    ("cheat", "named"),
    [
        (SteepRows, "its rows exceed a limit of the plan for every table (a column's second moment)"),
        (OtherShares, "LATTICE_REQUEST of step 2"),
        (OtherSines, "step 1"),
        (OtherStart, "LATTICE_REQUEST of step 1"),
        (OtherNumbers, "numbers that it calculated with (rows)"),
    ],
)
def test_a_cheat_is_named_at_its_first_dishonest_message(tmp_path: Path, cheat: type[SharesParty], named: str) -> None:
    """A cheat is named by step and kind and without a value; the other party's replay stays clean."""
    kept = kept_run(tmp_path, SPLITS["two"], instead={"label": cheat})
    statement = kept.replayed("label")
    assert not statement["honest"]
    assert named in statement["verdict"]
    assert kept.replayed("features")["honest"]


def test_only_a_table_shows_invented_rows(honest: Kept, tmp_path: Path) -> None:
    """Honest messages about invented data replay cleanly; a file from the system of record does not agree with them."""
    real = honest.tables["features"]
    assert honest.replayed("features", source=lambda table: table)["verdict"].endswith("before the run.")
    first, *rest = real.columns
    other = replace(real, columns=(replace(first, values=first.values + (np.arange(len(real)) == 0)), *rest))
    invented = honest.replayed("features", source=lambda table: other)
    assert not invented["honest"]
    assert "are not those of the table given" in invented["verdict"]


# Prediction.


def kept_session(kept: Kept, folder: Path, change: Callable[[ModelPart], ModelPart] = lambda part: part) -> Kept:
    """Some rows scored in two queries with the model of a run; the label party may have changed its part."""
    parts = {name: ModelPart.load(RunFolder(kept.folder / name).part_file(name)) for name in kept.tables}
    session = replace(kept, folder=folder)
    world_of(session, "predict", parts | {"label": change(parts["label"])}, asked=9).run().honest()
    return session


@pytest.fixture(scope="module")
def session(honest: Kept, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Two queries, answered with the model of the honest run."""
    return kept_session(honest, tmp_path_factory.mktemp("session"))


def test_prediction_replays_cleanly_with_the_part_that_training_made(
    honest: Kept, session: Kept, tmp_path: Path
) -> None:
    """Both sides of a session, to its last signatures; the training's signed statement names the same part."""
    file = tmp_path / "statement.json"
    for name in session.tables:
        signed = sign_statement(honest.auditors[name], honest.replayed(name))
        write_statement(file, msgspec.structs.replace(signed, signature="00"))
        with pytest.raises(DataError, match="not signed"):
            part_in_training(file, honest.plan, name)
        write_statement(file, signed)
        statement = session.replayed(name, trained=part_in_training(file, honest.plan, name))
        assert statement["honest"]
        assert statement["settled"]
        assert replay.NOT_THE_TRAININGS not in statement["verdict"]
    with pytest.raises(DataError, match="not about label's training"):
        part_in_training(file, honest.plan, "label")


def test_a_statement_about_a_session_is_checked_against_its_head(honest: Kept, session: Kept, tmp_path: Path) -> None:
    """A prediction leaves no record at a peer: its own head has session, commitments and streams."""
    kept = copied(honest, tmp_path)
    signed = sign_statement(kept.auditors["label"], session.replayed("label"))
    run = RunFolder(kept.folder / "features")
    assert "the statement's session: it is about another run than this one" in statement_mistakes(signed, run, {})
    shutil.copytree(session.folder / "features", run.path / evidence.SESSIONS / "1")
    assert not list(statement_mistakes(signed, run, {}))


def test_a_session_that_broke_off_used_the_part_that_training_made(honest: Kept, session: Kept, tmp_path: Path) -> None:
    """What was signed of it replays; nobody is accused of another part because the session did not end."""
    kept = copied(session, tmp_path)
    with changed_head(kept, "features") as head:
        head.account = {}
    resealed(kept, "features", "messages-1", cut_off)
    statement = kept.replayed("features", trained=honest.replayed("features")["part"])
    assert statement["honest"], statement["verdict"]
    assert not statement["settled"]


def test_an_altered_part_is_another_one(honest: Kept, tmp_path: Path) -> None:
    """Shares that were changed between training and prediction follow from themselves, and not from the training."""

    def altered(part: ModelPart) -> ModelPart:
        return replace(part, shares={name: [value ^ 1 for value in share] for name, share in part.shares.items()})

    session = kept_session(honest, tmp_path / "session", altered)
    assert session.replayed("label")["verdict"].endswith(replay.NOT_THE_TRAININGS)
    statement = session.replayed("label", trained=honest.replayed("label")["part"])
    assert not statement["honest"]
    assert "is not the one that its training made" in statement["verdict"]


# Statements.


def test_a_statement_is_checked_against_ones_own_streams(honest: Kept, tmp_path: Path) -> None:
    """Signed by the auditor that the plan names, about this run: anything else is refused by its own sentence."""
    record, statement = RunFolder(honest.folder / "label"), honest.replayed("features")
    assert "not signed" in next(statement_mistakes(SignedStatement(statement), record, {}))
    own = sign_statement(AuditorKeys.create(tmp_path / "own", "own"), statement)
    assert list(statement_mistakes(own, record, {})) == [
        "the statement: it is not signed by the auditor that the plan names for features"
    ]
    signed = sign_statement(honest.auditors["features"], statement)
    assert not list(statement_mistakes(signed, record, {}))
    before = honest.auditors["features"].identity.sign("statement about a replay", signed.to_sign())
    older = msgspec.structs.replace(signed, signature=before.hex())
    assert "not signed" in next(statement_mistakes(older, record, {}))
    for way in ("sent", "received"):
        signed.statement[way] = {**signed.statement[way], "label": "00" * 32}
    assert len(list(statement_mistakes(signed, record, {}))) == 3
    pinned = dict.fromkeys(("label", "features"), "another")
    assert len(list(statement_mistakes(signed, record, pinned))) == 5


def test_a_third_party_of_ones_own_making_is_noticed(three: Kept, tmp_path: Path) -> None:
    """A replay takes certificates from the evidence; the receipt of any peer knows everybody's, and what was signed."""
    kept = copied(three, tmp_path)
    other = Identity.create(tmp_path / "identity", "features-2")
    with changed_head(kept, "features") as head:
        head.certificates["features-2"] = other.certificate.der.hex()
    session, names = bytes.fromhex(str(head.account["session"])), list(head.account["commitments"])

    def signed(record: bytes) -> bytes:
        what, name = evidence.RECORD.unpack_from(record)
        start = evidence.RECORD.size + name
        kind, step, _ = decode_header(record[start:])
        if what != evidence.RECEIVED or kind != Kind.SEAL or record[evidence.RECORD.size : start] != b"features-2":
            return record
        seal = Seal.from_bytes(record[start + HEADER.size :], [one for one in names if one != "features-2"])
        signature = MessageSigner(other, {}).sign(seal.to_sign(session, "features-2", step))
        return record[:-SIGNATURE_BYTES] + signature

    resealed(kept, "features", "messages-1", lambda records: list(map(signed, records)))
    statement = kept.replayed("features")
    assert statement["honest"]
    changed = {**statement, "received": {**statement["received"], "features-2": "00" * 32}}
    pinned = three.replayed("features")["fingerprints"]
    mistakes = statement_mistakes(
        sign_statement(kept.auditors["features"], changed), RunFolder(three.folder / "label"), pinned
    )
    assert list(mistakes) == [
        "the statement's hash of what features received from features-2: it is not what features signed in the run",
        "the statement's certificate of features-2: another one is pinned here",
    ]


# Evidence that was tampered with.


def copied(honest: Kept, folder: Path) -> Kept:
    """A copy to be changed."""
    shutil.copytree(honest.folder, folder / "copy")
    return Kept(honest.plan, honest.tables, folder / "copy", honest.auditors)


def resealed(kept: Kept, name: str, file: str, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """A file as the party itself could write it: its auditor's public key is all that it needs."""
    place = kept.place(name)
    head = evidence.read_head(place / "head.json")
    contents = sealing.SealedMessages(place / file, kept.auditors[name], head.run_bytes)
    messages = change([message for _, message in contents])
    sealed = world_of(kept, "train").keeper(name).open_file(file)
    for message in messages:
        sealed.write(message)
    sealed.close()


def alone(change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    """The change of a file that is one message."""
    return lambda messages: [change(*messages)]


@contextmanager
def changed_head(kept: Kept, name: str) -> Iterator[evidence.Head]:
    """To be changed, as the party could."""
    file = kept.place(name) / "head.json"
    yield (head := evidence.read_head(file))
    file.write_bytes(msgspec.json.encode(head))


def flipped(data: bytes, place: int) -> bytes:
    """The bytes with one bit flipped."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def other_settings(data: bytes) -> bytes:
    """A table that was read by another rule."""
    table = evidence.unpack_table(memoryview(data))
    return b"".join(evidence.pack_table(replace(table, choices=replace(table.choices, gaps=("none",)))))


def other_columns(data: bytes) -> bytes:
    """A table with another first column."""
    table = evidence.unpack_table(memoryview(data))
    first, *rest = table.columns
    return b"".join(evidence.pack_table(replace(table, columns=(replace(first, values=first.values + 1), *rest))))


def other_share(data: bytes) -> bytes:
    """A model part with one unit more in a share of its weights: what a later prediction would use."""
    part = ModelPart.from_json(data, Path("part.json"))
    own, *rest = part.shares["features"]
    return replace(part, shares={**part.shares, "features": [own + 1, *rest]}).to_json()


def kind_in(record: bytes) -> int:
    """The kind of the message in a record; 0 in that of a decision, which is none."""
    what, name = evidence.RECORD.unpack_from(record)
    return 0 if what == evidence.DECIDED else decode_header(record[evidence.RECORD.size + name :])[0]


def heard_less(records: list[bytes]) -> list[bytes]:
    """Everything that was sent, and not all of what was received."""
    heard = [record for record in records if record[:1] == evidence.RECEIVED]
    return [record for record in records if record not in heard[-3:]]


def cut_off(records: list[bytes]) -> list[bytes]:
    """The messages up to the last own signature but one, as if the run had ended there."""
    signed = [place for place, record in enumerate(records) if kind_in(record) == Kind.SEAL and record[:1] == b"O"]
    return records[: signed[-2] + 1]


def unsigned(records: list[bytes]) -> list[bytes]:
    """The messages without any signature."""
    return [record for record in records if kind_in(record) != Kind.SEAL]


def one_changed(records: list[bytes]) -> list[bytes]:
    """One bit of one message."""
    place = len(records) // 2
    return [*records[:place], flipped(records[place], len(records[place]) - 1), *records[place + 1 :]]


def without_numbers(kept: Kept) -> None:
    """The head does not name the file any more."""
    with changed_head(kept, "features") as head:
        head.files.remove("rows-1")


def first(data: bytes) -> bytes:
    """Another first bit."""
    return flipped(data or b"\0", 0)


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (("root", alone(first)), "the root of its draws"),
        (("columns", alone(other_columns)), "its rows as they were read"),
        # Settings stand beside the columns that they were read with.
        (("columns", alone(other_settings)), "its settings"),
        (("brought", alone(first)), "earlier sessions"),
        (("encoder", alone(other_share)), "the model part that it kept does not follow"),
        # It signed more than what it kept leads to: evidence may end early only where the signatures do.
        (("messages-1", heard_less), "to label does not follow"),
        (without_numbers, "to label does not follow"),
    ],
)
def test_what_was_fixed_or_heard_cannot_be_exchanged(
    honest: Kept, tmp_path: Path, tamper: tuple[str, Any] | Callable[[Kept], None], words: str
) -> None:
    """A root, a table, a setting or something brought that was changed after the commitment, or left out later."""
    kept = copied(honest, tmp_path)
    if isinstance(tamper, tuple):
        resealed(kept, "features", *tamper)
    else:
        tamper(kept)
    statement = kept.replayed("features")
    assert not statement["honest"]
    assert words in statement["verdict"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (one_changed, r"not the one features signed|not those that"),
        (unsigned, "nothing in it that anybody signed"),
        (lambda records: [*records[:-1], records[-1][:-100]], "label"),
    ],
    ids=["a bit", "no signature", "half a signature"],
)
def test_messages_that_nobody_signed_are_refused(
    honest: Kept, tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], words: str
) -> None:
    """They count as missing: a replay of other messages, or of none, must not end as a clean one."""
    kept = copied(honest, tmp_path)
    resealed(kept, "label", "messages-1", change)
    with pytest.raises(DataError, match=words):
        kept.replayed("label")


def blobs_in(data: bytes) -> list[bytes]:
    """The blobs of a sealed file, with their heads."""
    at, found = 0, []
    while at < len(data):
        end = at + sealing.HEAD.size + sealing.HEAD.unpack_from(data, at)[1]
        found.append(data[at:end])
        at = end
    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda blobs: [flipped(blobs[0], 1000), *blobs[1:]], "was changed"),
        (lambda blobs: blobs[1:], "another run or another start"),
        (lambda blobs: [blobs[1], blobs[0], *blobs[2:]], "another run or another start"),
        (lambda blobs: [bytes([not blobs[0][0]]) + blobs[0][1:], *blobs[1:]], "another run or another start"),
        (lambda blobs: [*blobs, blobs[0]], "another run or another start"),
    ],
    ids=["a bit", "the first left out", "two exchanged", "called a part of a message", "one added"],
)
def test_blobs_stand_where_they_were_sealed(
    honest: Kept, tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], words: str
) -> None:
    """Each blob opens only as what it is, in its file and in its place."""
    kept = copied(honest, tmp_path)
    file = kept.place("label") / "messages-1"
    file.write_bytes(b"".join(change(blobs_in(file.read_bytes()))))
    with pytest.raises(DataError, match=words):
        kept.replayed("label")


def test_a_run_that_was_cut_off_is_not_the_peers(honest: Kept, tmp_path: Path) -> None:
    """Cut at a signature, the rest replays as a run that is not settled; the peer's own streams say otherwise."""
    kept = copied(honest, tmp_path)
    resealed(kept, "label", "messages-1", cut_off)
    statement = kept.replayed("label")
    assert statement["honest"]
    assert not statement["settled"]
    signed = sign_statement(kept.auditors["label"], statement)
    mistakes = list(statement_mistakes(signed, RunFolder(kept.folder / "features"), {}))
    assert mistakes == [
        "the statement: label's evidence ends early; a later signature of label is kept here",
        "the statement's hash of what label received from features: it is not what label signed in the run",
        "the statement: label's evidence ends before the last signatures, and the run itself did not",
    ]


def test_numbers_of_another_type_do_not_follow() -> None:
    """One entry may differ by a unit; one that is no number compares as equal to nothing, and must not pass."""
    rows = np.arange(6, dtype=np.int32)
    assert follows("rows", rows, rows + np.eye(1, 6, dtype=np.int32)[0])
    assert not follows("rows", rows, rows + 2 * np.eye(1, 6, dtype=np.int32)[0])
    assert not follows("start", np.ones(2), np.ones(2) + 1e-12)
    changed = rows.astype(np.float64)
    changed[0] = np.nan
    assert shapes({"rows": rows}) != shapes({"rows": changed})


def test_a_process_that_dies_while_it_writes_loses_only_what_it_was_writing(honest: Kept, tmp_path: Path) -> None:
    """A file may end anywhere, in a blob's head too; what comes before it is read as it was written."""
    kept = copied(honest, tmp_path)
    with changed_head(kept, "label") as head:
        head.account = {}
    file = kept.place("label") / "messages-1"
    whole = file.read_bytes()
    end = len(blobs_in(whole)[-1])
    for size in (len(whole) - 3, len(whole) - end + 2, len(whole) - end - 40):
        file.write_bytes(whole[:size])
        assert kept.replayed("label")["honest"]


def test_a_long_message_is_several_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever pieces it comes, it is read as it was written; a part of it is none."""
    monkeypatch.setattr(sealing, "LARGEST", 10)
    keys = AuditorKeys.create(tmp_path / "auditor", "auditor")
    messages = [b"", b"x" * 10, b"y" * 11, bytes(range(35))]
    file = sealing.SealedFile(tmp_path / "file", keys.public, b"run")
    for message in messages:
        file.write(message[:7], message[7:8], message[8:])
    file.close()
    contents = sealing.SealedMessages(tmp_path / "file", keys, b"run")
    assert [message for _, message in contents] == messages
    assert [contents.read(place) for place, _ in contents] == messages
    blobs = blobs_in((tmp_path / "file").read_bytes())
    assert len(blobs) == 1 + 1 + 2 + 4
    (tmp_path / "file").write_bytes(b"".join(blobs[:-1]))
    assert [message for _, message in contents] == messages[:-1]
    for count in (3, 1, 0):
        (tmp_path / "file").write_bytes(b"".join(blobs[:count]))
        if count == 1:
            assert contents.read_only_one() == messages[0]
        else:
            with pytest.raises(DataError, match=f"expected one sealed message, and there are {min(count, 2)}"):
                contents.read_only_one()


def test_a_start_that_broke_off_after_the_last_signature_takes_nothing_away(honest: Kept, tmp_path: Path) -> None:
    """A party may die before it has noted that it is over, and again; or before it has kept its model part."""
    kept = copied(honest, tmp_path)
    world_of(kept, "train").keeper("label").witness().abandon()
    assert kept.replayed("label")["settled"]
    with changed_head(kept, "label") as head:
        head.account = {}
        head.files.remove("encoder")
    statement = kept.replayed("label")
    assert (statement["honest"], statement["settled"], statement["part"]) == (True, False, "")


def test_messages_need_not_fit_memory(honest: Kept, tmp_path: Path) -> None:
    """They are hashed one at a time when evidence is opened, and read again when a replay asks for them."""
    kept = copied(honest, tmp_path)
    witness, long = world_of(kept, "train").keeper("label").witness(), bytes(3 << 20)
    for number in range(10):
        witness.received("features", Message(Kind.LATTICE_REPLY, 9, 1000 + number, long).encode())
    witness.abandon()
    tracemalloc.start()
    opened = OpenedEvidence.open(kept.place("label"), kept.auditors["label"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 << 20
    last = opened.received["features"][-1]
    assert last.digest == Message(Kind.LATTICE_REPLY, 9, 1009, long).digest
    assert last.body == long


def test_a_full_disk_is_said_once(tmp_path: Path) -> None:
    """By what to do about it; leaving the file then says nothing more."""
    auditor = AuditorKeys.create(tmp_path / "auditor", "auditor").public
    file = sealing.SealedFile(Path("/dev/full"), auditor, b"run")
    with pytest.raises(JournalError, match=r"evidence could not be written.*make room"):
        file.write(bytes(1 << 20))
    file.write(b"more")
    file.abandon()


def test_a_source_is_read_by_the_common_rule(tmp_path: Path) -> None:
    """As the parties' own files are: blanks around an id do not count."""
    files = [tmp_path / "one.csv", tmp_path / "other.csv"]
    files[0].write_text("id,x\na,1\nb,2\n")
    files[1].write_text("id,y\n b ,3\na,4\n")
    read = [read_table(file, "id") for file in files]
    for file, kept in zip(files, align(read), strict=True):
        assert digest_of_rows(replay.source_of(file, "id", "")(kept)) == digest_of_rows(kept)


def test_numbers_that_spell_a_text_are_another_table() -> None:
    """A table is fixed with what its columns are: whoever commits to one cannot bring the other one later."""
    texts = np.array(["abcde", "fgh"], dtype=object)
    numbers = np.frombuffer(repr(texts.tolist()).encode(), dtype=np.float64)
    one, other = (Table(("a", "b"), (Column("x", values),)) for values in (texts, numbers))
    assert one.digest() == other.digest()
    assert digest_of_rows(one) != digest_of_rows(other)


def test_the_same_bytes_as_other_numbers_are_refused() -> None:
    """A digest is over bytes: a column read from its other end would be another table, with the digest of the first."""
    one = tables_for(Plan.for_columns((2, 3)), *made_up(40, 5))["features"]
    first, *rest = one.columns
    other = replace(one, columns=(replace(first, values=np.array(first.values).view(">f8")), *rest))
    assert digest_of_rows(one) == digest_of_rows(other)
    with pytest.raises(DataError, match="column 0 holds other numbers"):
        evidence.unpack_table(memoryview(b"".join(evidence.pack_table(other))))


@pytest.mark.parametrize(("name", "size"), [("factor", 1e-11), ("shift", 1e-12)])
def test_a_part_is_compared_in_the_units_of_its_columns(honest: Kept, name: str, size: float) -> None:
    """Columns of large or small numbers have small factors or shifts, and another one encodes every row otherwise."""
    made = msgspec.json.decode(ModelPart.load(RunFolder(honest.folder / "label").part_file("label")).to_json())

    def with_first(**first: float) -> dict[str, Any]:
        encoder = made["encoder"]
        return {**made, "encoder": encoder | {field: [value, *encoder[field][1:]] for field, value in first.items()}}

    usual = {"factor": 1e-11 if name == "factor" else 1e12, name: size}
    part = with_first(**usual)
    assert is_same_part(part, part)
    assert not is_same_part(with_first(**{**usual, name: size * 2}), part)
    assert is_same_part(with_first(**{**usual, name: size * (1 + 1e-12)}), part)


def test_a_refusal_names_the_limit_that_the_party_has(honest: Kept) -> None:
    """Other sessions may have used it up meanwhile; numbers of the party's own making do not follow."""
    part = ModelPart.load(RunFolder(honest.folder / "features").part_file("features")).to_json()
    brought = prediction.PredictionStart(part, None, answered=4, most=9)
    may_refuse = partial(brought.may_refuse, honest.plan)
    assert may_refuse(VERDICT.pack(BEYOND_ITS_OWN, 9, 8))
    for refused, most, used in ((BEYOND_THE_PLAN, 9, 8), (BEYOND_ITS_OWN, 10, 8), (BEYOND_ITS_OWN, 9, 3)):
        assert not may_refuse(VERDICT.pack(refused, most, used))


def test_evidence_of_another_run_or_name_opens_nothing(honest: Kept, tmp_path: Path) -> None:
    """Nobody gets the keys of somebody else's evidence from an auditor that both have."""
    kept = copied(honest, tmp_path)
    swapped = kept.place("label") / "root"
    swapped.write_bytes((kept.place("features") / "root").read_bytes())
    with pytest.raises(DataError, match="another run or another start"):
        kept.replayed("label")
    with changed_head(kept, "features") as head:
        head.party = "label"
    with pytest.raises(DataError, match="another run or another start"):
        sealing.SealedMessages(
            kept.place("features") / "root", kept.auditors["features"], head.run_bytes
        ).read_only_one()


def test_a_self_made_auditor_is_refused(honest: Kept, tmp_path: Path) -> None:
    """Sealed for somebody whom the plan does not name."""
    kept = copied(honest, tmp_path)
    with changed_head(kept, "label") as head:
        head.auditor = AuditorKeys.create(tmp_path / "own", "own").public.fingerprint
    with pytest.raises(DataError, match="another auditor than the plan names"):
        kept.replayed("label")


def test_a_party_cannot_read_its_evidence_back(honest: Kept) -> None:
    """Neither the root nor a row stands in the clear in the folder, and the journal never had the root."""
    run = evidence.read_head(honest.place("features") / "head.json").run_bytes
    root = sealing.SealedMessages(honest.place("features") / "root", honest.auditors["features"], run).read_only_one()
    files = [file for file in (honest.folder / "features").rglob("*") if file.is_file()]
    assert len(root) == 32
    assert not [file for file in files if root in file.read_bytes()]


def test_a_disk_that_is_too_small_is_noticed_before_the_run(tmp_path: Path) -> None:
    """A disk that is too small is refused with the size that was needed."""
    with pytest.raises(SettingsError, match="B free"):
        evidence.refuse_full_disk(tmp_path, 1 << 60)


def test_the_commitment_hides_and_binds() -> None:
    """Another root, table or model part gives another hash, and none of them stands in it."""
    table = tables_for(Plan.for_columns((2, 3)), *made_up(40, 5))["features"]
    ways = [(bytes(32), table, b""), (bytes([1]) * 32, table, b""), (bytes(32), table.take(range(39)), b"")]
    hashes = {FirstCommitment.to(*way).hash() for way in [*ways, (bytes(32), table, b"part"), (bytes(32), None, b"")]}
    assert len(hashes) == 5
