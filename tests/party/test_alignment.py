"""Alignment between organisations: the same rows in the same order, and nothing where it broke off."""

import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from plumbob.data.ids import PackedIds
from plumbob.errors import PlumbobError
from plumbob.party.home import Home
from plumbob.party.party_run import PartyRun
from plumbob.party.rows import aligned_table
from plumbob.party.verbs import Align
from plumbob.party.verbs.align import IntersectionOptions, intersect
from plumbob.plan import Plan
from plumbob.protocol.alignment import MOST_IDS, Alignment
from plumbob.run_folder import JOURNAL
from tests.party.support import PATIENCE, Killed, Switchboard, run_parties
from tests.party.test_training import KillList
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, signers_of, tables_for

IDS = {
    "label": [f"P{number:03d}" for number in range(15)],
    "features": [f"P{number:03d}" for number in range(22, 5, -1)],
    "features-2": [f"P{number:03d}" for number in range(3, 20, 2)],
}


def attempt(
    name: str, plan: Plan, folder: Path, board: Switchboard, kills: KillList, at_least: int | None
) -> Alignment | BaseException:
    """One party's side of an alignment, in a journal that nobody opens again."""
    place = Path(tempfile.mkdtemp(dir=folder))
    journal = kills.journal(place / JOURNAL, name)
    signer = signers_of(tuple(party.name for party in plan.parties))[name]
    party_run = PartyRun(name, plan, None, place, board.connector(name), patience=3.0, signer=signer)
    go_on = None if at_least is None else lambda size: size >= at_least
    try:
        # Several chunks, so that there is a middle to die in.
        return intersect(party_run, PackedIds.of(IDS[name]), journal, IntersectionOptions(go_on, jobs=1, chunk=4))
    except (Killed, PlumbobError) as error:
        return error
    finally:
        journal.close()


@pytest.mark.parametrize("number", [0, 7, 30])
@pytest.mark.parametrize(("split", "at_least"), [((2, 3), 1), ((2, 2, 1), None)])
def test_an_alignment_that_breaks_off_begins_again(
    split: tuple[int, ...], at_least: int | None, number: int, tmp_path: Path
) -> None:
    """One party dies in the middle: nobody has a list then, and the next alignment gives the same ids to all."""
    plan = plan_for(split)
    names = [party.name for party in plan.parties]
    common = sorted(set.intersection(*(set(IDS[name]) for name in names)))
    kills = KillList()
    kills.arm(names[number % len(names)], number)
    for is_second in (False, True):
        board = Switchboard()
        starts = {name: partial(attempt, name, plan, tmp_path, board, kills, at_least) for name in names}
        found = run_parties(starts)
        assert kills.has_struck
        if not is_second:
            assert not any(isinstance(end, Alignment) for end in found.values())
            continue
        ends = [end for end in found.values() if isinstance(end, Alignment)]
        assert [end.ids for end in ends] == [tuple(common)] * len(names)
        assert len({end.order_hash for end in ends}) == 1


PLAN = plan_for((2, 3), protocol="exchange")
NAMES = ("label", "features")


@pytest.fixture
def organisations(tmp_path: Path) -> Iterator[Organisations]:
    """Organisations that are not aligned yet; their processes end with the test."""
    made = Organisations(PLAN, tables_for(PLAN, *made_up()), tmp_path, aligned=False)
    yield made
    made.close()


def typed(organisations: Organisations, words: dict[str, list[str]]) -> dict[str, tuple[int | None, str]]:
    """Type `party align` on both sides at once: how each ended, and what it complained of."""
    plan = str(organisations.plan_file)
    commands = {name: organisations.type(name, "align", plan, "--jobs", "1", *words[name]) for name in NAMES}
    return {name: (command.wait(), command.complained) for name, command in commands.items()}


def wait_for(organisations: Organisations, seconds: float) -> None:
    """What every party's settings say of its patience."""
    for name in NAMES:
        file = organisations.home(name) / "party.toml"
        file.write_text(re.sub("(?m)^patience = [0-9.]+", f"patience = {seconds}", file.read_text()))


def test_names_must_agree(organisations: Organisations) -> None:
    """Two names would be two lists: nothing is aligned, both sides say why, and with one name it works."""
    wait_for(organisations, 4.0)
    ends = typed(organisations, {"label": ["--name", "march"], "features": []})
    assert [code for code, _ in ends.values()] == [1, 1]
    assert "features is there to align, we are here to align --name march" in ends["label"][1]
    assert "label is there to align --name march, we are here to align; do the same on both" in ends["features"][1]
    assert not any((organisations.home(name) / "aligned").exists() for name in NAMES)
    wait_for(organisations, PATIENCE)
    ends = typed(organisations, {name: ["--name", "march"] for name in NAMES})
    assert [code for code, _ in ends.values()] == [0, 0]
    assert all((organisations.home(name) / "aligned" / "features+label.march.json").exists() for name in NAMES)
    strange = organisations.type("label", "align", str(organisations.plan_file), "--name", "../march")
    assert strange.wait() == 1
    assert "--name: expected up to 32 letters" in strange.complained


def test_one_default_for_the_limit() -> None:
    """What `--help` says is what holds."""
    assert Align.at_most == MOST_IDS


def test_a_limit_on_the_ids_of_a_peer(organisations: Organisations) -> None:
    """The side with the limit says what came and what to type, the other hears it; without the limit both go on."""
    ends = typed(organisations, {"label": [], "features": ["--at-most", "39"]})
    words = "label: submitted 40 ids, the limit is 39; if that is expected, raise --at-most"
    assert [code for code, _ in ends.values()] == [1, 1]
    assert words in ends["features"][1]
    assert f"features stopped: '{words}'" in ends["label"][1]
    assert [code for code, _ in typed(organisations, {"label": [], "features": ["--at-most", "40"]}).values()] == [0, 0]


@pytest.fixture
def namesakes(tmp_path: Path) -> Iterator[Organisations]:
    """Two parties whose id columns have two names; somebody has two rows."""
    settings = {
        "label": {"id_column": "name"},
        "features": {"id_column": "last"},
    }
    made = Organisations(PLAN, tables_for(PLAN, *made_up()), tmp_path, aligned=False, settings=settings)
    label = ["name,a,b,outcome", "ab,1,0,0", "b,2,0,1", "Ab,3,0,1"]
    features = ["last,c,d,e", "ab,10,0,0", "b,20,0,0"]
    features += ["ab,30,0,0"]
    for name, lines in (("label", label), ("features", features)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    yield made
    made.close()


def test_ids_on_several_rows(namesakes: Organisations) -> None:
    """Several rows of one person are refused, or paired where both sides ask for it."""
    alone = namesakes.type("features", "align", str(namesakes.plan_file))
    assert alone.wait() == 1
    assert "1 of 3 rows repeat an id" in alone.complained
    ends = typed(namesakes, {"label": ["--duplicates", "repeat"], "features": ["--duplicates", "first"]})
    assert "one side has --duplicates repeat and the other does not" in ends["label"][1]
    ends = typed(namesakes, {name: ["--duplicates", "repeat"] for name in NAMES})
    assert [code for code, _ in ends.values()] == [0, 0]
    assert "2 ids in case; they count as different people" in ends["label"][1]
    assert "1 row beyond the first of an id: all rows are used" in ends["features"][1]
    tables = {name: aligned_table(Home.open(namesakes.home(name)), PLAN) for name in NAMES}
    assert tables["label"].ids == tables["features"].ids
    assert [table.columns[0].values.tolist() for table in tables.values()] == [[1, 1, 2], [10, 30, 20]]
