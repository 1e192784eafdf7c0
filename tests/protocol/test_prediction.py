"""Prediction over channels: the right scores to the label party alone, sums only, and limits that hold."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from plumbob.arrays import Vector
from plumbob.data import Table
from plumbob.errors import (
    BudgetExceededError,
    DataError,
    EncodingError,
    LocalProtocolError,
    PlumbobError,
    RemoteProtocolError,
)
from plumbob.lab.simulate import Run
from plumbob.protocol import signing
from plumbob.protocol.handshake import agree
from plumbob.protocol.limits import RowLimit
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import SCORE_PART
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.prediction import ROW, Answerer, Asker, Served, SessionLedger
from plumbob.protocol.scoring import MODULUS, SCORE_BYTES, OpenedScoring
from tests.protocol.support import Wire, changing, outcomes, plan_for, seated, tables_for, trained, uniformity

TWO, THREE, FIVE = (2, 3), (2, 2, 1), (1, 1, 2, 1, 2)
NEW_ROWS = 30


@cache
def run_of(split: tuple[int, ...], **keys: Any) -> Run:
    """A finished run, trained once for all tests; its weights are opened where `keys` do not say otherwise."""
    return trained(plan_for(split, **({"epochs": 1, "seed": 0} | keys)))


def new_tables(run: Run) -> dict[str, Table]:
    """Rows that training did not see."""
    plan = run.model.plan
    X = np.random.default_rng(3).normal(size=(NEW_ROWS, plan.columns)) * np.linspace(0.5, 3.0, plan.columns)
    return tables_for(plan, X, None)


@dataclass
class Session:
    """What all parties of a session ended with."""

    ends: dict[str, Any]
    wire: Wire

    @property
    def scores(self) -> list[Vector]:
        end = self.ends["label"]
        assert isinstance(end, list), end
        return end


def predicted(
    run: Run,
    queries: Sequence[Sequence[int]],
    wire: Wire | None = None,
    instead: dict[str, Callable[[Participant, Table, ModelPart], Callable[[], Any]]] | None = None,
    *,
    signed: bool = False,
    **options: Any,
) -> Session:
    """One session over tapped links; `instead` gives a party's part to something else."""
    tap = wire or Wire()
    plan, tables = run.model.plan, new_tables(run)
    participants = seated(plan, tap, signed=signed)
    tasks: dict[str, Callable[[], Any]] = {}
    for name, part in run.model.parts.items():
        if instead and name in instead:
            tasks[name] = instead[name](participants[name], tables[name], part)
        elif name == "label":
            tasks[name] = partial(Asker(participants[name], tables[name], part).run, queries)
        else:
            tasks[name] = Answerer(participants[name], tables[name], part, **options).run
    return Session(outcomes(tasks, participants), tap)


def expected(run: Run, rows: Sequence[int]) -> Vector:
    """The sum of what each part says by itself."""
    tables = new_tables(run)
    total: Vector = np.sum([part.partial_scores(tables[name]) for name, part in run.model.parts.items()], axis=0)
    return total[list(rows)]


QUERIES = [[3], list(range(NEW_ROWS)), [29, 0, 7], [3]]


@pytest.mark.parametrize("split", [TWO, THREE, FIVE], ids=["two", "three", "five"])
def test_scores_are_the_sums_of_the_parts(split: tuple[int, ...]) -> None:
    """Single rows, batches and rows asked again: the same scores as from all parts together, to 2**-32 a party."""
    run = run_of(split)
    session = predicted(run, QUERIES)
    for rows, scores in zip(QUERIES, session.scores, strict=True):
        assert np.abs(scores - expected(run, rows)).max() <= len(split) * 2.0**-33
    for name in run.model.parts:
        assert name == "label" or session.ends[name] == Served(len(QUERIES), 35)


def test_a_long_query_on_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of more rows than go into one message is answered in several, each of which looks random."""
    monkeypatch.setattr("plumbob.protocol.scoring.ROWS_AT_ONCE", 4)
    run = run_of(TWO, open="never")
    wire = Wire()
    [scores] = predicted(run, [range(10)], wire).scores
    # Each opening rounds its scores up or down.
    assert np.abs(scores - run.model.scores(new_tables(run))[:10]).max() <= 2.0**-16
    assert [len(body) // 3 for body in wire.bodies(Kind.SCORE_SHARE)] == [4, 4, 2]
    assert uniformity(b"".join(wire.bodies(Kind.SCORE_SHARE))) > 1e-7


# What the label party sees.


def answers(wire: Wire, sender: str) -> list[int]:
    """One feature party's numbers, as they travelled."""
    body = b"".join(wire.bodies(Kind.SCORE_SHARE, sender=sender))
    return [int.from_bytes(body[at : at + SCORE_BYTES], "little") for at in range(0, len(body), SCORE_BYTES)]


def centred(value: int) -> int:
    """The number between minus and plus half of the ring."""
    return (value + MODULUS // 2) % MODULUS - MODULUS // 2


def test_with_two_parties_an_answer_is_the_peers_part() -> None:
    """Which `check` says; nothing can hide it, because own part and score are known."""
    run = run_of(TWO)
    wire = Wire()
    predicted(run, [range(NEW_ROWS)], wire)
    part = run.model.parts["features"].partial_scores(new_tables(run)["features"])
    assert SCORE_PART.decode([centred(value) for value in answers(wire, "features")]) == pytest.approx(part, abs=1e-9)


@pytest.mark.parametrize("split", [THREE, FIVE], ids=["three", "five"])
def test_with_more_parties_single_answers_are_uniform(split: tuple[int, ...]) -> None:
    """Each answer by itself looks random, answers to the same row differ, and only the sum of all is small."""
    run = run_of(split)
    wire = Wire()
    predicted(run, [range(NEW_ROWS)] * 8, wire)
    peers = [name for name in run.model.parts if name != "label"]
    columns = {name: answers(wire, name) for name in peers}
    for name in peers:
        assert uniformity(b"".join(wire.bodies(Kind.SCORE_SHARE, sender=name))) > 1e-7
        assert len(set(columns[name])) == 8 * NEW_ROWS
    largest = len(peers) << (SCORE_PART.bits - 1)
    assert all(abs(centred(sum(row))) < largest for row in zip(*columns.values(), strict=True))
    for left_out in peers:
        others = [columns[name] for name in peers if name != left_out]
        assert not any(abs(centred(sum(row))) < largest for row in zip(*others, strict=True))


def test_an_answer_without_its_mask_breaks_the_sum() -> None:
    """The masks are really there: one party that leaves its own out is noticed."""

    def bare(participant: Participant, table: Table, part: ModelPart) -> Callable[[], None]:
        def run() -> None:
            scoring = OpenedScoring(participant, agree(participant, table.ids, "predict", part.run), table, part)
            scoring.pair_masks = replace(scoring.pair_masks, keys={})
            answerer = Answerer(participant, table, part)
            query = answerer._next_query(1)
            answerer._spend(1, query)
            scoring.answer(1, query.rows)

        return run

    end = predicted(run_of(THREE), [[1, 2]], instead={"features": bare}).ends["label"]
    assert isinstance(end, RemoteProtocolError)
    assert "do not add up to scores" in str(end)


@pytest.mark.parametrize("opened", ["own", "never"])
def test_different_rows_from_different_parties_give_nothing(opened: str) -> None:
    """A label party that asks one peer for one row and the other for another cannot mix their parts."""
    run, wire = run_of(THREE, open=opened), changing(Kind.QUERY_ROWS, lambda _: ROW.pack(4), "label", "features")
    end = predicted(run, [[5]], wire).ends["label"]
    if opened == "own":
        assert "do not add up to scores" in str(end)
        assert abs(centred(answers(wire, "features")[0] + answers(wire, "features-2")[0])) > 2**64
    else:
        assert min(abs(end[0][0] - run.model.scores(new_tables(run))[[4, 5]])) > 0.1


@pytest.mark.parametrize("split", [TWO, (2, 1), THREE], ids=["two", "one column", "three"])
def test_known_rows_give_the_others_weights_away(split: tuple[int, ...]) -> None:
    """As `check` notes: one row more than the others' columns, known from elsewhere, and every weight is known.

    One row less leaves them open, and with them known each score is one equation about its row.
    """
    run, theirs = run_of(split), sum(split[1:])
    [scores] = predicted(run, [range(NEW_ROWS)]).scores
    tables = new_tables(run)
    sums = scores - run.model.parts["label"].partial_scores(tables["label"])
    columns = [column.values for name in run.model.parts if name != "label" for column in tables[name].columns]
    known = np.column_stack([*columns, np.ones(NEW_ROWS)]).astype(np.float64)[: theirs + 1]
    assert np.linalg.matrix_rank(known[:-1]) < theirs + 1
    solved = np.linalg.solve(known, sums[: theirs + 1])
    weights = [run.model.parts[name].in_input_units()[0] for name in run.model.parts if name != "label"]
    assert solved[:-1] == pytest.approx(np.concatenate(weights), abs=1e-7)
    if theirs == 1:
        assert (sums - solved[1]) / solved[0] == pytest.approx(columns[0], abs=1e-5)


def test_known_rows_give_joint_weights_away_that_were_never_opened() -> None:
    """Scores alone, with all columns of one row more than there are columns, give the joint weights away."""
    run = run_of(TWO, open="never")
    [scores] = predicted(run, [range(6)]).scores
    tables = new_tables(run)
    columns = [column.values for table in tables.values() for column in table.columns]
    known = np.column_stack([*columns, np.ones(NEW_ROWS)]).astype(np.float64)
    solved = np.linalg.solve(known[:6], scores)
    # Each feature is rounded to 2**-16 on its way.
    assert known @ solved == pytest.approx(run.model.scores(tables), abs=1e-3)


# Limits and refusals.


def test_the_limit_of_a_session_holds() -> None:
    """Up to the limit all is answered; the query that goes beyond is refused on both sides, and not answered."""
    wire = Wire()
    session = predicted(run_of(TWO), [[1, 2], [3], [4, 5]], wire, limit=RowLimit(4))
    assert isinstance(session.ends["label"], BudgetExceededError)
    counted = "features itself allows 4 scored rows, 3 are used, 1 are left"
    assert str(session.ends["label"]).startswith(f"2 rows asked for; features refused: {counted}; predict fewer rows")
    assert isinstance(session.ends["features"], BudgetExceededError)
    assert str(session.ends["features"]).startswith(f"label asked for 2 rows; {counted}; predict fewer rows")
    assert len(answers(wire, "features")) == 3
    assert len(predicted(run_of(TWO), [[1, 2], [4, 5]], limit=RowLimit(4)).scores) == 2


def test_a_limit_of_the_plan_is_told_as_such_to_both_sides() -> None:
    """Nobody is sent to settings that cannot raise it: the cure is another plan."""
    session = predicted(run_of(TWO), [[1, 2]], limit=RowLimit(1, is_planned=True))
    for end in (str(session.ends["label"]), str(session.ends["features"])):
        assert "the plan allows 1 scored rows, 0 are used, 1 are left" in end
        assert "propose --most-rows N" in end
        assert "party.toml" not in end


def test_all_rows_that_will_be_asked_for_are_announced() -> None:
    """A session in pieces is refused at its first one, with nothing booked, where the last would not fit."""
    ledger = SessionLedger()

    def in_pieces(participant: Participant, table: Table, part: ModelPart) -> Callable[[], list[Vector]]:
        def run() -> list[Vector]:
            asker = Asker(participant, table, part)
            asker.begin()
            scores = [asker.scores([1, 2], to_follow=2), asker.scores([3, 4])]
            asker.end()
            return scores

        return run

    session = predicted(run_of(TWO), [], instead={"label": in_pieces}, limit=RowLimit(3), ledger=ledger)
    assert str(session.ends["label"]).startswith("4 rows asked for; features refused: ")
    assert "label asked for 4 rows" in str(session.ends["features"])
    assert ledger.answered() == 0
    session = predicted(run_of(TWO), [], instead={"label": in_pieces}, limit=RowLimit(4), ledger=ledger)
    assert session.ends["features"] == Served(2, 4)
    assert ledger.answered() == 4


def test_what_is_answered_is_booked_before() -> None:
    """A sum is booked when nothing of it was promised yet, counts what went before, and is not booked when refused."""
    wire, booked = Wire(), list[tuple[int, int]]()

    class Watched(SessionLedger):
        def add(self, rows: int, limit: int = 0, announced: int = 0) -> None:
            super().add(rows, limit, announced)
            booked.append((self.rows, len(wire.bodies(Kind.QUERY_VERDICT, "features"))))

    session = predicted(run_of(TWO), [[1, 2], [3], [4, 5]], wire, limit=RowLimit(14), ledger=Watched(10))
    assert booked == [(12, 0), (13, 1)]
    assert "2 rows; features itself allows 14 scored rows, 13 are used" in str(session.ends["features"])


def test_what_another_run_counts_meanwhile_leaves_less_for_a_session() -> None:
    """The limit is held against what the ledger says with each query, not against what it said at the beginning."""

    class Busy(SessionLedger):
        def add(self, rows: int, limit: int = 0, announced: int = 0) -> None:
            super().add(rows, limit, announced)
            self.rows += 10  # A training run that began after this query.

    ledger = Busy()
    session = predicted(run_of(TWO), [[1, 2], [3]], limit=RowLimit(12), ledger=ledger)
    assert "1 row; features itself allows 12 scored rows, 12 are used" in str(session.ends["features"])
    assert "12 are used" in str(session.ends["label"])
    assert ledger.rows == 12


@pytest.mark.parametrize("opened", ["own", "never"])
def test_one_party_of_several_at_its_limit(opened: str) -> None:
    """Everybody hears who refused and why before anything is calculated, signs, and counts nothing."""
    ledger = SessionLedger()

    def at_its_limit(limit: int) -> Callable[[Participant, Table, ModelPart], Callable[[], Served]]:
        return lambda one, table, part: Answerer(one, table, part, RowLimit(limit), ledger if limit > 3 else None).run

    wire, run = Wire(), run_of(THREE, open=opened)
    limited = {"features": at_its_limit(3), "features-2": at_its_limit(30)}
    session = predicted(run, [[1, 2], [3, 4]], wire, limited, signed=True)
    assert all(isinstance(end, BudgetExceededError) for end in session.ends.values()), session.ends
    for name in ("label", "features-2"):
        assert "features refused: features itself allows 3 scored rows, 2 are used" in str(session.ends[name])
    assert ledger.answered() == 2
    assert len(wire.bodies(Kind.SCORE_SHARE)) == 2


def test_a_signature_withheld_before_the_second_query_opens_nothing() -> None:
    """Whoever does not sign what it got and asked so far gets no further answer."""
    wire, seal = Wire(), signing.seal

    def sealed(one: Participant, step: int, names: Any = None) -> None:
        if (one.name, step) != ("label", 2):
            seal(one, step, names)
            return
        one.channels["features"].send(Kind.QUERY, 3, bytes(16))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing, "seal", sealed)
        run = run_of(TWO, open="never")
        ends = predicted(run, [[1], [2]], wire, signed=True).ends
    assert len(wire.bodies(Kind.SCORE_SHARE)) == 1
    assert "expected SEAL of step 2" in str(ends["features"])


def test_a_decision_that_was_not_ours_is_refused() -> None:
    """The label party cannot pass a refusal on as a yes, or the reverse, to the one who said it."""
    session = predicted(run_of(THREE), [[1, 2]], changing(Kind.QUERY_DECISION, lambda _: bytes([1]) * 34, "label"))
    assert "decided otherwise than we did" in str(session.ends["features"])


@pytest.mark.parametrize("rows", [[], [1, 1], [-1], [NEW_ROWS], [0, 10**12]])
def test_a_wrong_query_is_refused_at_home(rows: list[int]) -> None:
    """No row, a row twice, a row that is not there: a mistake on this side, and nothing is asked."""
    wire = Wire()
    end = predicted(run_of(TWO), [rows], wire).ends["label"]
    assert isinstance(end, LocalProtocolError)
    assert not wire.bodies(Kind.QUERY)


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        (Kind.QUERY_ROWS, struct.pack("<QQ", 1, 1), "each once in a query"),
        (Kind.QUERY_ROWS, struct.pack("<QQ", 1, NEW_ROWS), "expected rows below 30"),
        (Kind.QUERY_ROWS, struct.pack("<QQ", 1, 2**64 - 1), "expected rows below 30"),
        (Kind.QUERY_ROWS, struct.pack("<Q", 1), "expected QUERY_ROWS with 16 bytes, got 8"),
        (Kind.QUERY, struct.pack("<QQ", NEW_ROWS + 1, 0), "so some repeat"),
        (Kind.QUERY, struct.pack("<QQ", 2**63, 0), "so some repeat"),
        (Kind.QUERY, struct.pack("<QQ", 3, 3), "expected QUERY_ROWS with 24 bytes, got 16"),
        (Kind.QUERY, b"\2", "expected QUERY with 16 bytes, got 1"),
    ],
)
def test_a_cheating_query_is_refused(kind: Kind, body: bytes, words: str) -> None:
    """Rows out of range, twice, or in another number than announced end the session unanswered."""
    wire = changing(kind, lambda _: body, "label")
    end = predicted(run_of(TWO), [[1, 2]], wire).ends["features"]
    assert isinstance(end, RemoteProtocolError), end
    assert str(end).startswith("label: ")
    assert words in str(end)
    assert not answers(wire, "features")


def test_a_part_too_large_for_its_width_is_refused_before_it_is_sent() -> None:
    """Parts of scores beyond 2**24 mean that the rows are not like those of training."""
    wire = Wire()

    def far_out(participant: Participant, table: Table, part: ModelPart) -> Callable[[], Served]:
        assert part.weights is not None
        return Answerer(participant, table, replace(part, weights=part.weights * 2.0**30)).run

    end = predicted(run_of(TWO), [[1]], wire, instead={"features": far_out}).ends["features"]
    assert isinstance(end, EncodingError)
    assert not answers(wire, "features")


def test_a_part_of_another_kind_is_refused() -> None:
    """Shares where weights are due, and weights where shares are due, are not scored with."""
    closed, opened = run_of(TWO, open="never"), run_of(TWO)
    for run, parts in ((closed, opened.model.parts), (opened, closed.model.parts)):
        mixed = Run(run.record, run.transcripts, type(run.model)(run.model.plan, parts))
        for end in predicted(mixed, [[1]]).ends.values():
            assert isinstance(end, PlumbobError)
        assert any(isinstance(end, DataError) for end in predicted(mixed, [[1]]).ends.values())


def test_parts_of_two_runs_do_not_predict_together() -> None:
    """The same plan on the same rows, trained twice: what the two runs left does not add up, and is refused."""
    run = run_of((2, 3))

    def from_another_run(participant: Participant, table: Table, part: ModelPart) -> Callable[[], Any]:
        return Answerer(participant, table, replace(part, run="ab" * 32)).run

    ends = predicted(run, [[1, 2]], instead={"features": from_another_run}).ends
    assert {type(end) for end in ends.values()} == {RemoteProtocolError}
    assert "features: its run, its ids, their order or its seed differ from ours" in str(ends["label"])
