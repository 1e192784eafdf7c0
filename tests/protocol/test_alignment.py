"""Alignment: the common ids and no others, the same order everywhere, and no cheap trick."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.crypto import ristretto
from plumbob.data.ids import PackedIds, canonical
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.alignment import DOMAIN, MOST_IDS, TERMS, Alignment, AlignmentParty, AlignmentTerms
from plumbob.protocol.handshake import agree
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant
from plumbob.protocol.points import Blinder, SortedPoints
from tests.protocol.support import Wire, changing, mirroring, outcomes, plan_for, seated, uniformity

TWO, THREE, FIVE = (plan_for(split, seed=0) for split in ((2, 3), (2, 2, 1), (1, 1, 1, 1, 1)))
ANNA = ["anna", "bert", "carl", "dora", "emil"]
BERT = ["carl", "zoe", "anna", "emil"]
COMMON = ("anna", "carl", "emil")

names = st.text(st.sampled_from("abcd éÉ0"), min_size=1, max_size=3).filter(lambda text: text.strip() == text)
id_sets = st.sets(names, min_size=1, max_size=14)

NO_POINT = bytes.fromhex("26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371")
"""One of RFC 9496's invalid encodings: it has no square root."""

Ids = Mapping[str, Sequence[str]]

ALWAYS, NEVER = (lambda size: True), (lambda size: False)  # Whether to go on from the size to the ids.


def aligned(
    plan: Plan,
    ids: Ids,
    wire: Wire | None = None,
    go_on: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What every party ends with, in chunks small enough that there are several."""
    packed = {name: PackedIds.of(own) for name, own in ids.items()}
    own = {name: {"go_on": go} for name, go in (go_on or {}).items()}
    return played(seated(plan, wire), packed, own=own, **options)[1]


def played(
    participants: Mapping[str, Participant],
    ids: Mapping[str, Any],
    kinds: Mapping[str, type[AlignmentParty]] = MappingProxyType({}),
    own: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    **options: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """All parties, some of another kind or with options of their own, and what each ended with."""
    chosen: dict[str, Any] = {"chunk": 4, "jobs": 1} | options
    parties = {
        name: kinds.get(name, AlignmentParty)(participants[name], ids[name], **(chosen | own.get(name, {})))
        for name in ids
    }
    return parties, outcomes({name: party.run for name, party in parties.items()}, participants)


def split(points: bytes) -> list[bytes]:
    """A message of points as single ones."""
    return [points[start : start + 32] for start in range(0, len(points), 32)]


def sets_for(plan: Plan, sets: Sequence[Sequence[str] | set[str]]) -> dict[str, list[str]]:
    """One party's ids after the other's."""
    return {party.name: list(own) for party, own in zip(plan.learners, sets, strict=True)}


def check_agreement(ends: Mapping[str, Any], ids: Ids) -> None:
    """All parties have the intersection, sorted, and the same hash; without one they say so."""
    common = sorted(set.intersection(*map(set, ids.values())))
    for end in ends.values():
        if not common:
            assert isinstance(end, DataError), end
            assert "no id in common" in str(end)
            continue
        assert isinstance(end, Alignment), end
        assert end.ids == tuple(common)
        assert end.size == len(common)
        assert end.sizes == {name: len(own) for name, own in ids.items()}
    assert len({end.order_hash for end in ends.values() if isinstance(end, Alignment)}) <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(id_sets, min_size=2, max_size=3), st.booleans())
def test_all_find_what_python_finds(sets: list[set[str]], size_first: bool) -> None:
    """Sets of any size and overlap: the same ids as from Python's own sets, also with the size first."""
    plan = TWO if len(sets) == 2 else THREE
    ids = sets_for(plan, [{canonical(name) for name in own} for own in sets])
    check_agreement(aligned(plan, ids, go_on=dict.fromkeys(ids, ALWAYS) if size_first else None), ids)


@pytest.mark.parametrize("size_first", [False, True])
def test_five_parties(size_first: bool) -> None:
    """Five lists of different lengths, with ids that all, some and single parties have."""
    ids = {
        party.name: [f"id{number}" for number in range(3 * place, 20 + 4 * place)]
        for place, party in enumerate(FIVE.learners)
    }
    check_agreement(aligned(FIVE, ids, go_on=dict.fromkeys(ids, ALWAYS) if size_first else None), ids)


@pytest.mark.parametrize("counts", [(1, 1), (4, 4), (5, 4), (1, 17), (16, 3)])
def test_chunks_of_every_length(counts: tuple[int, int]) -> None:
    """Full chunks, short last ones, and a party that has nothing more to send."""
    ids = sets_for(TWO, [[str(number) for number in range(count)] for count in counts])
    check_agreement(aligned(TWO, ids), ids)


def test_ids_are_compared_by_the_rule() -> None:
    """Blanks around an id and the way an accent is written do not separate what belongs together."""
    ends = aligned(TWO, {"label": [" Ko\u0308ln", "Ulm"], "features": ["K\u00f6ln\t", "ulm"]})
    assert ends["label"].ids == ends["features"].ids == ("K\u00f6ln",)


def test_every_session_has_its_own_points_and_hash() -> None:
    """The same ids look different in every session: nothing can be linked, and the order's hash is keyed."""
    wires = Wire(), Wire()
    first, second = (aligned(TWO, {"label": ANNA, "features": BERT}, wire) for wire in wires)
    seen = [{point for body in wire.bodies(Kind.BLINDED_IDS) for point in split(body)} for wire in wires]
    assert len(seen[0]) == len(seen[1]) == len(ANNA) + len(BERT)
    assert not seen[0] & seen[1]
    assert first["label"].order_hash != second["label"].order_hash


def blinder_of(party: AlignmentParty) -> Blinder:
    """One that multiplies as this party did."""
    return Blinder(party._drawn.scalar, DOMAIN + party._drawn.identity, threads=1)


def test_the_order_of_the_file_does_not_show() -> None:
    """What is sent are all own points in an order that the file does not fix."""
    ids = [str(number) for number in range(40)]
    wire = Wire()
    parties, _ = played(seated(TWO, wire), {"label": ids, "features": ids}, chunk=16)
    known = split(blinder_of(parties["label"]).blind(PackedIds(ids).encoded()))
    sent = split(b"".join(wire.bodies(Kind.BLINDED_IDS, sender="label")))
    assert sorted(sent) == sorted(known)
    assert sent != known
    assert sent != sorted(sent)


@pytest.mark.parametrize("plan", [TWO, THREE], ids=["two", "three"])
def test_nothing_readable_travels(plan: Plan) -> None:
    """No id, no hash of one without a scalar (but the common ones, where three unblind them), no scalar, no seed."""
    ids = {party.name: [*COMMON, *(f"{party.name} {row}" for row in range(40))] for party in plan.learners}
    wire = Wire()
    parties, ends = played(seated(plan, wire), ids, chunk=16)
    assert all(end.ids == COMMON for end in ends.values())
    whole = b"".join(message.body for _, _, message in wire.log)
    hasher = blinder_of(parties["label"])
    for name, own in ids.items():
        secret = [text for text in own if text not in COMMON]
        assert not any(text.encode() in whole for text in secret)
        assert not any(point in whole for point in split(hasher.hash_texts(PackedIds(secret).encoded())))
        assert parties[name]._drawn.scalar.to_bytes(32, "little") not in whole
        assert parties[name]._drawn.seed not in whole


def test_points_look_uniform() -> None:
    """Blinded points are as good as random bytes."""
    wire = Wire()
    aligned(TWO, {"label": [str(n) for n in range(500)], "features": [str(n) for n in range(600)]}, wire, chunk=256)
    for kind in (Kind.BLINDED_IDS, Kind.TWICE_BLINDED_IDS):
        # Of one sender: the points of common ids go both ways, and what comes twice is not what the test expects.
        points = split(b"".join(wire.bodies(kind, sender="features")))
        # Without the two bytes of an encoding that have a fixed bit.
        assert uniformity(b"".join(point[1:-1] for point in points)) > 1e-6


@pytest.mark.parametrize("plan", [TWO, THREE], ids=["two", "three"])
def test_the_size_alone(plan: Plan) -> None:
    """One party that stops at the size is enough: all learn it, and no point comes back that says whose it is."""
    wire, asked = Wire(), list[int]()

    def ask(size: int) -> bool:
        asked.append(size)
        return True

    ids = sets_for(plan, [ANNA, BERT, ["emil", "anna"]][: len(plan.learners)])
    answers = {**dict.fromkeys(ids, ALWAYS), "features": NEVER, "label": ask}
    ends = aligned(plan, ids, wire, go_on=answers, chunk=2)
    size = len(set.intersection(*map(set, ids.values())))
    assert asked == [size]
    assert all((end.ids, end.order_hash, end.size) == (None, None, size) for end in ends.values())
    assert not wire.bodies(Kind.TWICE_BLINDED_IDS)
    assert not wire.bodies(Kind.UNBLINDED_IDS)
    for sender in ends:
        shown = split(b"".join(wire.bodies(Kind.SHUFFLED_IDS, sender, next(name for name in ids if name != sender))))
        assert shown == sorted(shown)


def test_progress_is_told() -> None:
    """Progress is told after every step, with the number done and the number known, which it reaches."""
    told: list[tuple[int, int]] = []
    ids = {"label": [str(n) for n in range(10)], "features": [str(n) for n in range(6)]}
    aligned(TWO, ids, progress=lambda done, known: told.append((done, known)))
    # The opening, three chunks there and three back, commitment, challenge and proof, at both parties.
    assert sorted(told) == sorted(2 * [(done, 10) for done in range(1, 11)])


# A peer that does not keep to the rules.


def opening(**changes: Any) -> Callable[[bytes], bytes]:
    """An opening that says something else."""
    return lambda body: TERMS.pack(*AlignmentTerms(*TERMS.unpack(body))._replace(**changes))


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (Kind.ALIGNMENT_OPENING, opening(ids=0), "expected at least one id"),
        (Kind.ALIGNMENT_OPENING, opening(ids=MOST_IDS + 1), "submitted 10000001 ids, the limit is 10000000"),
        (Kind.ALIGNMENT_OPENING, opening(chunk=5), "in chunks of 4, got 4 in 5"),
        (Kind.ALIGNMENT_OPENING, opening(size_first=True), "size first and the other does not"),
        (Kind.ALIGNMENT_OPENING, opening(ids=3), "expected BLINDED_IDS with 96 bytes, got 128"),
        (Kind.BLINDED_IDS, lambda body: body[:32] * 4, "repeats 3 points"),
        (Kind.BLINDED_IDS, lambda body: body[:96] + b"\xff" * 32, "point 3 (counted from 0) is not the canonical"),
        (Kind.BLINDED_IDS, lambda body: body[:96] + NO_POINT, "point 3 (counted from 0) is not the canonical"),
        (Kind.BLINDED_IDS, lambda body: bytes(32) + body[32:], "point 0 (counted from 0) is not the canonical"),
        (Kind.TWICE_BLINDED_IDS, lambda body: body[:32] * (len(body) // 32), "not ours under its scalar"),
    ],
)
def test_a_peer_that_breaks_the_rules_is_refused(kind: Kind, change: Callable[[bytes], bytes], words: str) -> None:
    """Another opening, count, size, a point that is none or comes twice: refused and named."""
    end = aligned(TWO, {"label": ANNA, "features": BERT}, changing(kind, change))["label"]
    assert isinstance(end, RemoteProtocolError), end
    assert str(end).startswith("features: ")
    assert words in str(end)


@pytest.mark.parametrize("plan", [TWO, THREE], ids=["two", "three"])
def test_the_most_ids_that_a_peer_may_bring(plan: Plan) -> None:
    """So many are aligned; one more is refused by each party with that limit before a single point was sent."""
    ids = sets_for(plan, [ANNA, BERT, ANNA][: len(plan.learners)])
    most = max(len(own) for own in ids.values())
    check_agreement(aligned(plan, ids, most_ids=most), ids)
    wire = Wire()
    ends = aligned(
        plan, {**ids, "features": [*BERT, *(f"made-up-{number}" for number in range(20))]}, wire, most_ids=20
    )
    for name in ids:
        assert name == "features" or "features: submitted 24 ids, the limit is 20" in str(ends[name])
    assert not wire.bodies(Kind.BLINDED_IDS, sender="label")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.BLINDED_IDS, "holds points that we sent ourselves"),
        (Kind.TWICE_BLINDED_IDS, "not ours under its scalar"),
    ],
)
def test_our_own_points_are_no_answer(kind: Kind, words: str) -> None:
    """A peer that reflects our points, as its own list or as what it calculated, is refused."""
    end = aligned(TWO, {"label": ANNA[:4], "features": BERT}, mirroring(kind, Kind.BLINDED_IDS))["label"]
    assert isinstance(end, RemoteProtocolError), end
    assert words in str(end)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (Kind.SHUFFLED_IDS, lambda body: body[32:] + body[:32], "sorted, each once"),
        (Kind.SHUFFLED_IDS, lambda body: body[:32] + body[:32] + body[64:], "sorted, each once"),
        (Kind.ALIGNMENT_DECISION, lambda body: b"\2", "expected a decision"),
        (Kind.SHUFFLED_IDS, lambda body: body[:-32] + b"\xff" * 32, "not what it showed before"),
        (Kind.TWICE_BLINDED_IDS, lambda body: body[:-32] + bytes(32), "than the one it had committed to"),
    ],
)
def test_the_size_first_has_rules_too(kind: Kind, change: Callable[[bytes], bytes], words: str) -> None:
    """Points out of order, a decision that is none, other points than were counted: refused."""
    ids = {"label": ANNA[:4], "features": BERT}
    end = aligned(TWO, ids, changing(kind, change), go_on=dict.fromkeys(ids, ALWAYS))["label"]
    assert isinstance(end, RemoteProtocolError), end
    assert words in str(end)


THREE_LISTS = {"label": ANNA, "features": BERT, "features-2": [*ANNA, "zoe"]}


class Liar(AlignmentParty):
    """Shows a point in the place of another one, and so has one counted that is nobody's id."""

    def _common(self, lists: Mapping[str, SortedPoints]) -> bytes:
        return super()._common(lists)[32:] + ristretto.GENERATOR


def test_unblinded_points_must_be_ids() -> None:
    """With three, a common point that is none of our ids ends the alignment, even if all agree that it is common."""
    _, ends = played(seated(THREE), THREE_LISTS, kinds=dict.fromkeys(THREE_LISTS, Liar))
    assert any("common points are no ids of ours" in str(end) for end in ends.values())


def test_a_training_session_is_no_alignment() -> None:
    """A party that came to train is not aligned with, and the other way round."""
    participants = seated(TWO)
    tasks: dict[str, Callable[[], Any]] = {
        "label": AlignmentParty(participants["label"], ANNA).run,
        "features": partial(agree, participants["features"], BERT),
    }
    ends = outcomes(tasks, participants)
    assert "expected HELLO with 40 bytes, got 72" in str(ends["label"])
    assert "expected HELLO with 72 bytes, got 40" in str(ends["features"])


def test_no_ids_and_repeated_ids_are_refused_at_home() -> None:
    """No ids, or an id twice, are an error before any message."""
    participant = seated(TWO)["label"]
    with pytest.raises(DataError, match="at least one id"):
        AlignmentParty(participant, [])
    with pytest.raises(DataError, match="1 of 2 rows repeat"):
        AlignmentParty(participant, ["anna", " anna"])
