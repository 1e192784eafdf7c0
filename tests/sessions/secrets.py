"""What each party has to keep, gathered while a session is played, and the search for it in bytes."""

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from plumbob.crypto import Draws
from plumbob.crypto.lattice import OwnerKey
from plumbob.data import Table
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.pair_masks import PairMasks

SAID_TO_PEERS = ("nonce", "share of the seed", "share of the start", "test of a key", "proof of a key")
"""Drawn to be said, some of it after a commitment."""
PIECE = 16  # Bytes of what was drawn: nobody meets as many by chance.
PIECES = 40  # Of one stream, at most.
LEAST = 8
TEXT_DIGITS = 12


def spellings(data: bytes) -> Iterator[bytes]:
    """Six ways in which bytes may be written down."""
    yield from (data, data[::-1], data.hex().encode(), data[::-1].hex().encode(), base64.b64encode(data)[:-4])
    yield from (str(int.from_bytes(data, order)).encode() for order in ("little", "big"))


def numbers_written(values: Iterable[float]) -> Iterator[bytes]:
    """Numbers as text and as eight bytes; only those that nobody would write by chance."""
    for value in values:
        if len(repr(float(value))) > TEXT_DIGITS:
            yield from (repr(float(value)).encode(), np.float64(value).tobytes())


@dataclass
class Secrets:
    """What these parties keep, as bytes to look for, by party; a journal belongs to the party in whose folder it is."""

    names: Sequence[str]
    drawn: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """Links and leaves, keys and what is derived from them, seeds and masks: nobody but the party has it."""
    held: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """Cells, rows as whole numbers, labels, and ids that nobody else has: also in the party's own files."""
    words: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """Names of columns and classes, which a party's own objects may print."""
    shares: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """Shares of weights, as the journal has them after each pass."""
    _owners: dict[int, str] = field(default_factory=dict)
    _alive: list[Draws] = field(default_factory=list)

    def owner(self, journal: SqliteJournal) -> str:
        """Whose journal this is."""
        return next(part for part in reversed(journal.path.parts) if part in self.names)

    def add(self, name: str, data: bytes) -> None:
        """Something that was drawn, or derived from it."""
        for start in range(0, min(len(data), PIECE * PIECES), PIECE):
            piece = data[start : start + PIECE]
            if len(piece) == PIECE and len(set(piece)) > PIECE // 3:
                self.drawn[name].update(spellings(piece))

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Hear of everything that is drawn, derived and kept."""
        read, restore, derive, mask = Draws._read, Draws.restore, OwnerKey._derive, PairMasks.mask
        begin, finish, settle = SqliteJournal.draws, SqliteJournal.finish, SqliteJournal.settle

        def on_begin(journal: SqliteJournal, *given: Any, **named: Any) -> Draws:
            draws = begin(journal, *given, **named)
            # What these draws give from now on is this party's secret.
            self._owners[id(draws)] = self.owner(journal)
            self._alive.append(draws)
            return draws

        def on_read(draws: Draws, purpose: str, peer: str, count: int) -> bytes:
            data = read(draws, purpose, peer, count)
            if purpose not in SAID_TO_PEERS and id(draws) in self._owners:
                self.add(self._owners[id(draws)], data)
            return data

        def on_restore(draws: Draws, link: bytes) -> None:
            restore(draws, link)
            if id(draws) in self._owners:
                self.add(self._owners[id(draws)], link)
                self.add(self._owners[id(draws)], draws.leaf)

        def on_derive(key: OwnerKey, label: str) -> bytes:
            data = derive(key, label)
            self.add(key.context.owner, data)
            if label != "secret":
                self.add(key.context.owner, np.ascontiguousarray(key.secret).tobytes()[: PIECE * PIECES])
            return data

        def on_mask(masks: PairMasks, *place: Any) -> int:
            for key in masks.keys.values():
                # Both of a pair have it; nobody else, and no file but the two journals.
                self.add(masks.name, key)
            return mask(masks, *place)

        def on_finish(journal: SqliteJournal, phase: int, state: Mapping[str, bytes], needs: Any) -> None:
            for what, data in state.items():
                if what.startswith(("weights of", "velocity of")):
                    pieces = (data[start : start + PIECE] for start in range(0, len(data), PIECE))
                    self.shares[self.owner(journal)].update(piece for piece in pieces if len(set(piece)) > PIECE // 3)
            finish(journal, phase, state, needs)

        def on_settle(journal: SqliteJournal, calculated: Any) -> Any:
            for name, values in calculated.items():
                rows = np.ascontiguousarray(values)
                if name == "rows":
                    # The penalty's row of an intercept has nothing but zeros, and is nobody's secret.
                    whole = [row for row in rows if row.nbytes >= LEAST and row.any()]
                    self.held[self.owner(journal)].update(row.tobytes() for row in whole)
                elif rows.ndim and rows.size > LEAST and len(np.unique(rows)) > 1:
                    self.held[self.owner(journal)].add(rows.tobytes())
            return settle(journal, calculated)

        patch.setattr(Draws, "_read", on_read)
        patch.setattr(Draws, "restore", on_restore)
        patch.setattr(OwnerKey, "_derive", on_derive)
        patch.setattr(PairMasks, "mask", on_mask)
        patch.setattr(SqliteJournal, "draws", on_begin)
        patch.setattr(SqliteJournal, "finish", on_finish)
        patch.setattr(SqliteJournal, "settle", on_settle)

    def add_tables(self, tables: Mapping[str, Table]) -> None:
        """Each party's cells and labels, the names of its columns and classes, and ids that only it has."""
        for name, table in tables.items():
            others = {each for other in tables if other != name for each in tables[other].ids}
            own = self.held[name]
            own.update(each.encode() for each in table.ids if each not in others)
            for column in table.columns:
                own.update(numbers_written(column.values.tolist()))
                self.words[name].add(column.name.encode())
            if table.labels is not None:
                for kind in (np.int8, np.int64, np.float64):
                    own.add(np.asarray(table.labels, dtype=kind).tobytes())
                own.add("".join(map(str, table.labels)).encode())
                own.add(", ".join(map(str, table.labels)).encode())
                self.words[name].update(str(each).encode() for each in table.classes or ())


def found(data: bytes, needles: Iterable[bytes]) -> list[bytes]:
    """Which of them are in these bytes. All places are looked at together: there are thousands of needles."""
    by_start: dict[int, list[bytes]] = defaultdict(list)
    for needle in needles:
        if len(needle) >= LEAST:
            by_start[int.from_bytes(needle[:LEAST], "little")].append(needle)
    starts = np.array(sorted(by_start), dtype=np.uint64)
    if not len(starts) or len(data) < LEAST:
        return []
    # Few windows begin like a needle: the others are dismissed by their first two bytes.
    is_begun = np.zeros(1 << 16, dtype=np.bool_)
    is_begun[(starts & np.uint64(0xFFFF)).astype(np.intp)] = True
    hits: set[bytes] = set()
    for offset in range(LEAST):
        count = (len(data) - offset) // LEAST
        windows = np.frombuffer(data, np.uint64, count, offset)
        begun = np.flatnonzero(is_begun[np.frombuffer(data, np.uint16, 4 * count, offset)[::4]])
        for place in begun[np.isin(windows[begun], starts)]:
            at = offset + LEAST * int(place)
            hits.update(each for each in by_start[int(windows[place])] if data.startswith(each, at))
    return sorted(hits)
