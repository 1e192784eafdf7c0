"""One wrong byte of a peer's signature frames nobody, and excuses nobody: it is neither honest nor a failed replay."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from plumbob.errors import DataError, RemoteProtocolError
from plumbob.net import Data, Link
from plumbob.party import evidence
from plumbob.party.seals import FOLDER
from plumbob.party.statements import sign_statement, statement_mistakes, write_statement
from plumbob.party.verbs.receipt import run as receipt
from plumbob.plan import Plan
from plumbob.protocol import signing
from plumbob.protocol.account import LAST, SIGNATURE_BYTES
from plumbob.protocol.messages import HEADER, Kind
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.run_folder import RunFolder
from tests.party.kept import Kept, accountable
from tests.party.test_replay import changed_head, copied, kept_run, kind_in, resealed, world_of
from tests.protocol.support import made_up, tables_for

SPLITS = {"two": (2, 3), "three": (2, 2, 1)}
Spoil = Callable[[bytes], bytes]


def flipped(place: int, body: bytes) -> bytes:
    """The body with one bit changed; a place below 0 counts from the end."""
    changed = bytearray(body)
    changed[place] ^= 1
    return bytes(changed)


VARIANTS: Mapping[str, Spoil] = MappingProxyType(
    {
        "signature": partial(flipped, -1),
        "commitments": partial(flipped, 0),
        "sent": partial(flipped, 32),
        "received": partial(flipped, 64),
        "zeros": lambda body: bytes(len(body)),
        "no-signature": lambda body: body[:-SIGNATURE_BYTES] + bytes(SIGNATURE_BYTES),
        "ones": lambda body: b"\xff" * len(body),
    }
)


class SpoilingLink:
    """Sends another last byte than the one that its party wrote down."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def send(self, *parts: Data) -> None:
        self._link.send(flipped(-1, b"".join(parts)))

    def receive(self, seconds: float) -> Data:
        return self._link.receive(seconds)

    def close(self) -> None:
        self._link.close()


@contextmanager
def spoiling(purpose: str) -> Iterator[None]:
    """The label party spoils its last seal."""
    honest = signing.seal

    def seal(one: Participant, step: int, names: Any = None) -> None:
        if one.name == "label" and step == (LAST if purpose == "train" else 2):
            for peer in signing._signing(one, names):
                one.channels[peer]._link = SpoilingLink(one.channels[peer]._link)
        honest(one, step, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing, "seal", seal)
        yield


def spoilt_training(folder: Path, split: tuple[int, ...]) -> tuple[Kept, dict[str, Any]]:
    """A run whose label party ends with a spoilt seal, and what each side's command ended with."""
    plan, auditors = accountable(Plan.for_columns(split, epochs=2, test_share=0.0), folder)
    kept = Kept(plan, tables_for(plan, *made_up(40, plan.columns)), folder, auditors)
    with spoiling("train"):
        return kept, world_of(kept, "train").run().results


@pytest.fixture(scope="module", params=[(2, 3), pytest.param((2, 2, 1), marks=pytest.mark.soak)], ids=["two", "three"])
def spoilt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kept, dict[str, Any]]:
    """Two or three parties, of which the label party spoils its last seal."""
    return spoilt_training(tmp_path_factory.mktemp("spoilt"), request.param)


def signed_statement(kept: Kept, name: str, file: Path) -> Path:
    """A party's statement, signed by its auditor."""
    write_statement(file, sign_statement(kept.auditors[name], kept.replayed(name)))
    return file


def test_a_spoilt_seal_frames_nobody(spoilt: tuple[Kept, dict[str, Any]], tmp_path: Path) -> None:
    """The honest side gets a statement that names nobody; it reaches everything that this side had signed."""
    kept, ends = spoilt
    assert "does not hold" in str(ends["features"])
    assert "nothing is opened" not in str(ends["features"])
    statement = kept.replayed("features")
    assert (statement["honest"], statement["settled"]) == (None, False)
    assert statement["verdict"].startswith("Nothing against features up to ")
    assert "a seal in label's name that does not hold, which may come from either side" in statement["verdict"]
    file = signed_statement(kept, "features", tmp_path / "statement.json")
    if len(kept.tables) == 2:
        shown = receipt(kept.folder / "label", statement=file)
        assert shown["consistent"], shown["lines"]
        assert not shown["verified"]
    # The other way round, the honest side has no result, and still checks a statement about the one who cheated.
    other = signed_statement(kept, "label", tmp_path / "other.json")
    shown = receipt(kept.folder / "features", statement=other)
    assert (shown["status"], shown["consistent"]) == ("not settled", True), shown["lines"]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Two parties that keep to the protocol."""
    return kept_run(tmp_path_factory.mktemp("honest"), SPLITS["two"])


def change_last_seal(records: list[bytes], change: Spoil) -> list[bytes]:
    """The messages of a start, of which the last one that was received, a seal, was changed."""
    last = max(place for place, record in enumerate(records) if record[:1] == evidence.RECEIVED)
    return [*records[:last], changed_record(records[last], change), *records[last + 1 :]]


def changed_record(record: bytes, change: Spoil) -> bytes:
    """A record of one seal, of which the body was changed."""
    assert kind_in(record) == Kind.SEAL
    _, name = evidence.RECORD.unpack_from(record)
    body = evidence.RECORD.size + name + HEADER.size
    return record[:body] + change(record[body:])


@pytest.mark.parametrize("change", VARIANTS.values(), ids=VARIANTS)
def test_however_it_is_spoilt(honest: Kept, tmp_path: Path, change: Spoil) -> None:
    """A wrong signature, or one over something else: the peer may have sent it so, or the party written it so."""
    kept = copied(honest, tmp_path)
    resealed(kept, "features", "messages-1", lambda records: change_last_seal(records, change))
    with changed_head(kept, "features") as head:
        head.account = {}
    statement = kept.replayed("features")
    assert (statement["honest"], statement["settled"]) == (None, False)


def cut_and_spoilt(records: list[bytes]) -> list[bytes]:
    """The messages up to the first seal that was received, which then does not hold."""
    place = next(
        place
        for place, record in enumerate(records)
        if record[:1] == evidence.RECEIVED and kind_in(record) == Kind.SEAL
    )
    return [*records[:place], changed_record(records[place], VARIANTS["signature"])]


def test_a_spoilt_seal_excuses_nobody(honest: Kept, tmp_path: Path) -> None:
    """A party may cut its own evidence and end it so; whoever keeps a later seal shows it, without evidence too."""
    kept = copied(honest, tmp_path)
    resealed(kept, "label", "messages-1", cut_and_spoilt)
    statement = kept.replayed("label")
    assert statement["honest"] is None
    file = signed_statement(kept, "label", tmp_path / "statement.json")
    late = "the statement: label's evidence ends early; a later signature of label is kept here"
    peer = RunFolder(kept.folder / "features")
    shutil.rmtree(peer.path / evidence.FOLDER)
    shown = receipt(peer.path, statement=file)
    assert f"DIFFERS      {late}" in shown["lines"]  # type: ignore[operator]  # Lines are a list.
    assert not shown["consistent"]
    # Nor does the peer need a result.
    peer.record_file.unlink()
    shown = receipt(peer.path, statement=file)
    assert f"DIFFERS      {late}" in shown["lines"]  # type: ignore[operator]  # The same.


def test_a_seal_in_the_middle_that_does_not_hold_is_refused(honest: Kept, tmp_path: Path) -> None:
    """An honest party's run ends there: whoever went on wrote it later."""
    kept = copied(honest, tmp_path)

    def spoil_first(records: list[bytes]) -> list[bytes]:
        cut = cut_and_spoilt(records)
        return [*cut, *records[len(cut) :]]

    resealed(kept, "features", "messages-1", spoil_first)
    with pytest.raises(DataError, match="does not hold"):
        kept.replayed("features")


def test_no_statement_names_a_file_of_its_own(honest: Kept, tmp_path: Path) -> None:
    """A statement's session becomes no path: somebody else may have written it."""
    kept = copied(honest, tmp_path)
    signed = sign_statement(kept.auditors["label"], {**kept.replayed("label"), "session": "../../../secret"})
    mistakes = list(statement_mistakes(signed, RunFolder(kept.folder / "features"), {}))
    assert "the statement's session: it is about another run than this one" in mistakes


def spoilt_session(kept: Kept, folder: Path) -> tuple[Kept, dict[str, Any]]:
    """Two rows scored, after which the label party spoils its last seal."""
    session = replace(kept, folder=folder)
    parts = {name: ModelPart.load(RunFolder(kept.folder / name).part_file(name)) for name in kept.tables}
    with spoiling("predict"):
        return session, world_of(session, "predict", parts, asked=2).run().results


def test_a_label_party_that_has_its_scores_frames_nobody(honest: Kept, tmp_path: Path) -> None:
    """It spoils its last seal once it can read the scores; the side that answered still gets its statement."""
    session, ends = spoilt_session(honest, tmp_path)
    # The scores are opened by then; the refusal of the seal may reach the label party before the last seal does.
    assert isinstance(ends["label"], RemoteProtocolError) or len(ends["label"]) == 2
    assert "stays opened" in str(ends["features"])
    statement = session.replayed("features")
    assert (statement["honest"], statement["settled"]) == (None, False)
    assert "up to SCORE_SHARE of step 1" in statement["verdict"]
    assert session.replayed("label")["honest"]
    assert list((tmp_path / "features" / FOLDER).iterdir())
