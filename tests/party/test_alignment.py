"""Alignment between organisations: the same rows in the same order, and nothing where it broke off."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for
from tests.world import PATIENCE

PLAN = plan_for((2, 3))
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


def test_a_limit_on_the_ids_of_a_peer(organisations: Organisations) -> None:
    """The side with the limit says what came and what to type, the other hears it; without the limit both go on."""
    ends = typed(organisations, {"label": [], "features": ["--at-most", "39"]})
    words = "label: submitted 40 ids, the limit is 39; if that is expected, raise --at-most"
    assert [code for code, _ in ends.values()] == [1, 1]
    assert words in ends["features"][1]
    assert f"features stopped: '{words}'" in ends["label"][1]
    assert [code for code, _ in typed(organisations, {"label": [], "features": ["--at-most", "40"]}).values()] == [0, 0]


def test_an_id_is_on_one_row(organisations: Organisations) -> None:
    """Several rows of one person are refused with their number, and with what to do."""
    (organisations.folder / "features.csv").write_text("id,c,d,e\nab,10,0,0\nb,20,0,0\nab,30,0,0\n")
    alone = organisations.type("features", "align", str(organisations.plan_file))
    assert alone.wait() == 1
    assert "1 of 3 rows repeat the id of an earlier row" in alone.complained
    assert "bring each person's rows into one before" in alone.complained
