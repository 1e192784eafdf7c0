"""Whatever somebody else wrote into a run's JSON files, the answer is a sentence and never a traceback."""

import copy
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import PlumbobError
from plumbob.party import evidence
from plumbob.party.opened_evidence import OpenedEvidence
from plumbob.party.statements import sign_statement, write_statement
from plumbob.party.verbs.receipt import compare
from plumbob.party.verbs.receipt import run as receipt
from plumbob.run_folder import RECEIPT, RECORD
from tests.party.kept import Kept
from tests.party.test_replay import copied, kept_run, resealed
from tests.terminals import HOSTILE

CHANGES: list[Any] = [None, True, -1, 0, 1.5, 1e308, "", "zz", "two\nlines", HOSTILE, "ab" * 32, "../.."]
CHANGES += [[], {}, [1], {"a": 1}]
CHANGES += [[[]] * 3, {"label": 5}, {"label": "zz", "features": ""}, "é" * 9]
A_FILE = 60
"""Mutations of each file, drawn with a seed."""


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON tree."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def mutated(tree: Any, draw: random.Random) -> Any:
    """The tree with another value at one place, without it, or with one more."""
    changed, path = copy.deepcopy(tree), draw.choice(list(places(tree)))
    if not path:
        return draw.choice(CHANGES)
    *above, last = path
    holder = changed
    for key in above:
        holder = holder[key]
    what = draw.randrange(8)
    if what == 0:
        del holder[last]
    elif what == 1 and isinstance(holder, dict):
        holder["more\nthan that"] = draw.choice(CHANGES)
    else:
        holder[last] = draw.choice(CHANGES)
    return changed


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A run with evidence, and a statement about each side, signed."""
    kept = kept_run(tmp_path_factory.mktemp("kept"), (2, 3))
    for name in kept.tables:
        write_statement(kept.folder / name / "statement.json", sign_statement(kept.auditors[name], kept.replayed(name)))
    return kept


def readers(kept: Kept) -> dict[str, Any]:
    """What reads each file."""
    label, features = kept.folder / "label", kept.folder / "features"

    def statement() -> None:
        receipt(label, statement=features / "statement.json")

    def record() -> None:
        receipt(label, statement=features / "statement.json")
        compare([label, features])

    def head() -> None:
        OpenedEvidence.open(kept.place("features"), kept.auditors["features"])
        kept.replayed("features")

    [seals] = (label / "seals").iterdir()
    if not (label / RECEIPT).exists():
        (label / RECEIPT).write_text("{}")
    return {
        str(features / "statement.json"): statement,
        str(label / RECORD): record,
        str(kept.place("features") / evidence.HEAD): head,
        str(seals): record,
        str(label / RECEIPT): record,
    }


@pytest.mark.parametrize("number", range(5))
def test_mutated_files_end_in_a_sentence(kept: Kept, tmp_path: Path, number: int) -> None:
    """Each file in turn: run.json, statement, head, the peers' seals, receipt."""
    mine, draw = copied(kept, tmp_path), random.Random(number)
    name, read = list(readers(mine).items())[number]
    file = Path(name)
    original = json.loads(file.read_bytes())
    for _ in range(A_FILE):
        file.write_text(json.dumps(mutated(original, draw)))
        with suppress(PlumbobError):
            read()


def scribbled(data: bytes, draw: random.Random) -> bytes:
    """The bytes with a few changed, left out or added: where lengths and types stand, or anywhere."""
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(1 + min(len(changed), draw.choice([64, 400, len(data)])))
        what = draw.randrange(4)
        if what == 0:
            changed[at : at + 1] = bytes([draw.choice([0, 1, 56, 57, 127, 128, 192, 255])])
        elif what == 1:
            del changed[at : at + draw.randrange(1, 50)]
        elif what == 2:
            changed[at:at] = draw.randbytes(draw.randrange(1, 40))
        else:
            del changed[at:]
    return bytes(changed)


def scribbled_in_one(messages: list[bytes], draw: random.Random) -> list[bytes]:
    """The messages, one of which is another one."""
    place = draw.randrange(len(messages))
    other = scribbled(messages[place], draw)
    return [*messages[:place], other if other != messages[place] else other + b"\0", *messages[place + 1 :]]


@pytest.mark.parametrize("file", ["columns", "rows-1", "root", "messages-1", "encoder"])
def test_whatever_a_party_sealed_ends_in_a_sentence(kept: Kept, tmp_path: Path, file: str) -> None:
    """It writes what it likes for its auditor: nothing of it is settled and honest, and nothing is a traceback."""
    draw = random.Random(file)
    for _ in range(A_FILE // 3):
        mine = copied(kept, tmp_path)
        resealed(mine, "label", file, lambda messages: scribbled_in_one(messages, draw))
        with suppress(PlumbobError):
            statement = mine.replayed("label")
            assert not (statement["honest"] and statement["settled"]), statement["verdict"]
        shutil.rmtree(mine.folder)


NO_JSON = [b"", b"{", b"[]", b"null", b"\x00", b"[" * 100_000, b'{"a":' * 50_000, b"\xed\xa0\x80"]


@pytest.mark.parametrize("text", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_json_ends_in_a_sentence(kept: Kept, tmp_path: Path, text: bytes) -> None:
    """Cut, endless or binary."""
    mine = copied(kept, tmp_path)
    for name, read in readers(mine).items():
        before = Path(name).read_bytes() if Path(name).exists() else None
        Path(name).write_bytes(text)
        with suppress(PlumbobError):
            read()
        Path(name).unlink() if before is None else Path(name).write_bytes(before)
