"""Nothing that must stay at home is found where it must not be: every byte of what two organisations wrote is searched.

Rows, ids, keys, draws, masks, noise, weights, coefficients, means and deviations are looked for in several forms in
what the commands print, log at level DEBUG and complain of, in what may be shown, and in the other side's folder: in
the middle of a run that was killed, when the journals are full, and after its end.
"""

import base64
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from plumbob.crypto import Randomness
from plumbob.crypto.draws import LINK_BYTES
from plumbob.data import Column, Table
from plumbob.lab.exchange import engines, paillier
from plumbob.lab.exchange.schedule import profile_of
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart
from plumbob.protocol.transcript import Transcript
from tests.party.processes import PATIENCE
from tests.party.verbs import Command, Organisations, steps_finished
from tests.protocol.support import made_up, plan_for

NAMES = ("label", "features")
CLASSES = ("zebra-healthy", "zebra-ill")
PLAN = plan_for((2, 3), protocol="exchange", epochs=16, batch_size=10, noise="std", noise_std=0.5, row_norm=1.0)
COMMON, OWN = 40, 5
PIECE = 16
OWN_REPORT = ("run.json",)
OPEN_TO_ALL = (*OWN_REPORT, "status.json", "plan.toml")


def tables() -> dict[str, Table]:
    """Some rows are common, some only one side has; every name and every class is one of its own."""
    X, y = made_up(COMMON + OWN, PLAN.columns)
    found = {}
    for name, columns in zip(NAMES, np.split(X, [2], axis=1), strict=True):
        ids = [f"person-{row:04}" if row < COMMON else f"only-{name}-knows-{row:04}" for row in range(COMMON + OWN)]
        named = tuple(Column(f"{name}-peculiarity-{place}", column) for place, column in enumerate(columns.T))
        found[name] = Table(tuple(ids), named)
    found["label"] = replace(found["label"], labels=y.astype(np.int8), classes=CLASSES)
    return found


@dataclass(frozen=True)
class Secrets:
    """What one party has to keep, as bytes to look for."""

    anywhere: list[bytes]
    """Secrets that must not appear in anything printed, logged or shown, nor with the peer."""
    from_peer: list[bytes]
    """Secrets that only their own side may see: names of columns and classes, and ids that only it has."""
    reported: list[bytes]
    """What its own receipt and page show, and nothing else: coefficients in the units of its table."""


def forms(data: bytes) -> Iterator[bytes]:
    """How bytes may be written down."""
    yield from (data, data[::-1], data.hex().encode(), data[::-1].hex().encode(), base64.b64encode(data)[:-4])
    yield from (str(int.from_bytes(data, order)).encode() for order in ("little", "big"))


def number_forms(values: Iterable[float]) -> Iterator[bytes]:
    """A number as text and as eight bytes; only numbers that nobody would write by chance."""
    for value in values:
        if len(repr(value)) > 12:
            yield from (repr(float(value)).encode(), np.float64(value).tobytes())


def coefficient_forms(values: Iterable[float]) -> Iterator[bytes]:
    """The numbers, and also rounded as somebody would print them, unless that may be met by chance."""
    for value in values:
        yield from number_forms([value])
        if len(rounded := f"{value:.6g}") > 6:
            yield rounded.encode()


def integer_forms(value: int) -> Iterator[bytes]:
    """The forms in which an integer, such as a prime, could appear."""
    yield from forms(value.to_bytes(-(-value.bit_length() // 8), "little"))


def secrets_of(organisations: Organisations, name: str) -> Secrets:
    """Everything that can be known of this party from its own files and draws."""
    table = organisations.tables[name]
    pem = (organisations.home(name) / "key.pem").read_bytes()
    key = load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    # The second line of the file ends the secret number; the last one holds the public point only.
    anywhere = [*pem.splitlines()[1:3], *integer_forms(key.private_numbers().private_value)]
    for column in table.columns:
        anywhere += number_forms(column.values.tolist())
    anywhere += [identity.encode() for identity in table.ids]
    for verb in ("align", "train"):
        drawn = kept_by(organisations, name, verb, "draws")
        for start in range(0, len(drawn) - PIECE, max(PIECE, len(drawn) // 100)):
            anywhere += forms(drawn[start : start + PIECE])
    for prime in primes_of(organisations, name)[:2]:
        anywhere += integer_forms(prime)
    for drawn_from in (*leaves_of(organisations, name), *links_of(organisations, name)):
        anywhere += forms(drawn_from)
    anywhere += masks_of(organisations, name)
    anywhere += noise_of(organisations, name)
    saved = organisations.folder / f"{name}-train.secrets" / "transcript.npz"
    if saved.exists():
        seen = Transcript.load(saved)
        # One rounded feature may be another's by chance, a row of them is not.
        anywhere += [row.tobytes() for row in seen.X[:, :2]]
        arrays = [seen.sums[:50], seen.weights, *([] if seen.own_noise is None else [seen.own_noise])]
        anywhere += number_forms(np.concatenate([array.ravel() for array in arrays]).tolist())
    reported: list[bytes] = []
    part_file = organisations.run_folder(name) / "parties" / name / "part.json"
    if part_file.exists():
        part = ModelPart.load(part_file)
        shift, factor = part.encoder.shift, part.encoder.factor
        anywhere += number_forms(np.concatenate([shift, factor, 1 / factor]).tolist())
        anywhere += number_forms([] if part.weights is None else part.weights.tolist())
        coefficients, offset = part.in_input_units()
        reported += coefficient_forms([*coefficients.tolist(), offset])
    own_ids = [identity.encode() for identity in table.ids if identity.startswith("only-")]
    names = [column.name.encode() for column in table.columns]
    from_peer = [*own_ids, *names, *(CLASSES[0].encode(), CLASSES[1].encode()) * (name == "label")]
    return Secrets(anywhere, from_peer, reported)


def kept_by(organisations: Organisations, name: str, verb: str, what: str) -> bytes:
    """What a command's process put aside for the search."""
    return (organisations.folder / f"{name}-{verb}.secrets" / what).read_bytes()


def masks_of(organisations: Organisations, name: str) -> Iterator[bytes]:
    """Some of the masks."""
    masks = [int(line) for line in kept_by(organisations, name, "train", "masks").split()]
    assert masks
    for mask in masks[:: max(1, len(masks) // 50)]:
        yield from integer_forms(mask)


def noise_of(organisations: Organisations, name: str) -> Iterator[bytes]:
    """Some of it, as integers and as the fractions that they stand for; two at a time, because one is soon met."""
    noise = np.frombuffer(kept_by(organisations, name, "train", "noise"), dtype=np.int64)
    for start in range(0, len(noise) - 1, max(2, len(noise) // 50)):
        pair = noise[start : start + 2]
        fractions = pair / 2**PLAN.residual_bits
        yield from (pair.tobytes(), fractions.tobytes(), repr(pair.tolist())[1:-1].encode())
        yield repr(fractions.tolist())[1:-1].encode()


def primes_of(organisations: Organisations, name: str) -> tuple[int, int, int]:
    """The primes p, q and their product: the key that these draws make, made again."""
    drawn, position = kept_by(organisations, name, "train", "own key"), 0

    def read(count: int) -> bytes:
        nonlocal position
        position += count
        return drawn[position - count : position]

    key = paillier.generate(profile_of(organisations.plan), engines.choose("auto", 1), Randomness(read))
    return int(key._p), int(key._q), key.public.n


def contents(file: Path) -> Iterator[bytes]:
    """All bytes of a file; those of packed arrays as they are when unpacked, too."""
    yield file.read_bytes()
    if file.suffix == ".npz":
        with zipfile.ZipFile(file) as archive:
            yield from (archive.read(member) for member in archive.namelist())


def found_in(files: Iterable[Path], needles: Iterable[bytes]) -> list[tuple[str, bytes]]:
    """Every file in which one of them is."""
    wanted = sorted(set(needles))
    return [(file.name, needle) for file in files for data in contents(file) for needle in wanted if needle in data]


def said(organisations: Organisations) -> list[Path]:
    """Everything that was printed, logged or complained of, by either side."""
    return [file for command in organisations.commands for file in command.place.iterdir()]


def files_of(organisations: Organisations, name: str) -> list[Path]:
    """All files of a party's folder."""
    return [file for file in organisations.home(name).rglob("*") if file.is_file()]


def shown(organisations: Organisations) -> list[Path]:
    """What may be handed on."""
    return [file for name in NAMES for file in files_of(organisations, name) if file.name in OPEN_TO_ALL]


def assert_clean(organisations: Organisations) -> None:
    """The search, in all places, for what each side must keep."""
    for name, peer in (NAMES, NAMES[::-1]):
        secrets = secrets_of(organisations, name)
        assert len(secrets.anywhere) > 500
        assert found_in([*said(organisations), *shown(organisations)], secrets.anywhere) == []
        beside = [file for file in shown(organisations) if file.name not in OWN_REPORT]
        assert found_in([*said(organisations), *beside], secrets.reported) == []
        common = {identity.encode() for identity in organisations.tables[peer].ids}
        kept = [needle for needle in (*secrets.anywhere, *secrets.from_peer, *secrets.reported) if needle not in common]
        assert found_in(files_of(organisations, peer), kept) == []
        told = [
            file
            for command in organisations.commands
            if f"-{peer}-" in command.place.name
            for file in command.place.iterdir()
        ]
        assert found_in(told, secrets.from_peer) == []


def both(organisations: Organisations, verb: str, *words: str) -> list[Command]:
    """The same command on both sides; what it draws is kept beside the homes."""
    return [
        organisations.type(
            name, verb, str(organisations.plan_file), *words, secrets=organisations.folder / f"{name}-{verb}.secrets"
        )
        for name in NAMES
    ]


def codes(commands: list[Command]) -> list[int | None]:
    """The exit codes of all of them."""
    return [command.wait() for command in commands]


def provoke(organisations: Organisations) -> None:
    """Mistakes of many kinds, each of which ends with 1 and a sentence."""
    table = organisations.tables["label"]
    assert table.labels is not None
    organisations.write_table("label", replace(table, labels=1 - table.labels))
    assert "have changed since this run started" in complaint(
        organisations, "label", "train", str(organisations.plan_file)
    )
    organisations.write_table("label", table)
    other = organisations.folder / "other.toml"
    other.write_text(Plan.from_toml(PLAN.to_toml()).replace(seed=99).to_toml(), encoding="utf-8")
    assert "was not signed here" in complaint(organisations, "features", "train", str(other))
    twice = organisations.folder / "twice.csv"
    lines = (organisations.folder / "features.csv").read_text(encoding="utf-8").splitlines()
    twice.write_text("\n".join([*lines, lines[-1]]), encoding="utf-8")
    words = (str(organisations.plan_file), "--data", str(twice))
    assert "repeat an id" in complaint(organisations, "features", "align", *words)
    assert "not among the" in complaint(
        organisations, "label", "predict", str(organisations.plan_file), "--ids", "person-9999"
    )
    refused_in_the_middle(organisations, other, lines)


def complaint(organisations: Organisations, name: str, *words: str) -> str:
    """What a command says that fails while nobody else is there."""
    command = organisations.type(name, *words)
    assert command.wait() == 1, command.printed
    return command.complained


def refused_in_the_middle(organisations: Organisations, plan: Path, lines: list[str]) -> None:
    """Text where numbers are due, found once both sides talk: one says in which column, the other hears of no name."""
    for name in NAMES:
        assert organisations.type(name, "sign", str(plan), "--accept-leaks", "--accept-cheating").wait() == 0
    file = organisations.folder / "features.csv"
    # A whole column: a few such cells among numbers are refused before anybody talks.
    cells = [line.split(",") for line in lines[1:]]
    texts = [",".join([person, "not-a-number", *others]) for person, _, *others in cells]
    file.write_text("\n".join([lines[0], *texts]), encoding="utf-8")
    label, features = (organisations.type(name, "train", str(plan)) for name in NAMES)
    assert codes([label, features]) == [1, 1]
    assert "features-peculiarity-0' is text" in features.complained
    assert "features stopped: 'it cannot use its own table as it is" in label.complained
    file.write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def organisations(tmp_path: Path) -> Iterator[Organisations]:
    """Two, whose rows are not aligned yet; their processes end with the test."""
    made = Organisations(PLAN, tables(), tmp_path, aligned=False)
    yield made
    made.close()


def test_nothing_secret_leaves_its_place(organisations: Organisations) -> None:
    """In prints, logs, errors, reports and the other side's files there is none of it; in the owner's files it is."""
    assert codes(both(organisations, "align", "--jobs", "1")) == [0, 0]
    assert codes(
        [
            organisations.type(name, "sign", str(organisations.plan_file), "--accept-leaks", "--accept-cheating")
            for name in NAMES
        ]
    ) == [0, 0]
    killed = both(organisations, "train")
    end = time.monotonic() + PATIENCE
    while steps_finished(organisations.journal("features")) < 3 and time.monotonic() < end:
        time.sleep(0.05)
    for command in killed:
        command.process.kill()
    assert codes(killed) == [-9, -9]
    assert_clean(organisations)
    assert_found_at_home(organisations)
    assert codes(both(organisations, "train")) == [0, 0]
    predict = ["predict", str(organisations.plan_file)]
    asked = organisations.type("label", *predict, "--out", str(organisations.folder / "scores.csv"))
    assert codes([asked, organisations.type("features", *predict)]) == [0, 0]
    provoke(organisations)
    assert organisations.status("label")["finished"] is True
    assert_clean(organisations)
    assert_reported_at_home(organisations)
    assert_forgotten(organisations)
    assert all((command.place / "log").exists() for command in organisations.commands)


def assert_found_at_home(organisations: Organisations) -> None:
    """The search finds what is there: the own journal's link, the peer's public key, rows in their file."""
    for name, peer in (NAMES, NAMES[::-1]):
        own, theirs = journals_of(organisations, name), journals_of(organisations, peer)
        secrets = secrets_of(organisations, name)
        assert found_in(own, leaves_of(organisations, name))
        # The last one may have been on its way to the disk.
        *finished, last, latest = links_of(organisations, name)
        assert found_in(own, [last, latest])
        assert found_in(own, finished) == []
        assert found_in([organisations.home(name) / "key.pem"], secrets.anywhere)
        assert len(found_in([organisations.folder / f"{name}.csv"], secrets.anywhere)) > COMMON
        modulus = primes_of(organisations, name)[2]
        size = PLAN.key_bits // 8
        assert found_in(theirs, [modulus.to_bytes(size, "little")])
    logged = [command.place / "log" for command in organisations.commands]
    assert found_in(logged, [b"connected with label"])


def assert_reported_at_home(organisations: Organisations) -> None:
    """The search finds coefficients where they may be: each side's own in its own receipt."""
    for name in NAMES:
        secrets = secrets_of(organisations, name)
        receipt = organisations.run_folder(name) / "run.json"
        assert len(found_in([receipt], secrets.reported)) >= len(organisations.tables[name].columns)
        part = organisations.run_folder(name) / "parties" / name / "part.json"
        assert len(found_in([part], secrets.anywhere)) > 2 * len(organisations.tables[name].columns)


def assert_forgotten(organisations: Organisations) -> None:
    """Assert that what keys and masks were made of has left the party's own disk once the run is over."""
    for name in NAMES:
        drawn_from = [*leaves_of(organisations, name), *links_of(organisations, name)]
        assert found_in(journals_of(organisations, name), drawn_from) == []


def journals_of(organisations: Organisations, name: str) -> list[Path]:
    """The journals, with all that the database keeps beside its file."""
    place = organisations.run_folder(name)
    return [file for file in files_of(organisations, name) if file.parent == place and "journal" in file.name]


def leaves_of(organisations: Organisations, name: str) -> list[bytes]:
    """What the set-up draws from, the Paillier key among it."""
    return [kept_by(organisations, name, "train", "leaf")[:LINK_BYTES]]


def links_of(organisations: Organisations, name: str) -> list[bytes]:
    """What every later step drew from."""
    links = kept_by(organisations, name, "train", "links")
    return [links[start : start + LINK_BYTES] for start in range(0, len(links), LINK_BYTES)]
