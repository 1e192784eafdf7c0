"""Commands as real processes over real TLS: the simulation's weights through `kill -9` at any write of a journal."""

import signal
import time
from pathlib import Path

import pytest

from plumbob.plan import Plan
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for, trained

PLANS: dict[tuple[int, ...], Plan] = {
    split: Plan.for_columns(split, epochs=2, open="own", test_share=0.0) for split in ((2, 3), (2, 2, 1))
}
IN_THE_SUITE = {((2, 3), number) for number in (9, 40, 71, 102)} | {((2, 2, 1), 80)}
CASES = [
    pytest.param(split, number, marks=[pytest.mark.soak] * ((split, number) not in IN_THE_SUITE))
    for split in PLANS
    for number in sorted({*range(2, 120, 7), *(number for each, number in IN_THE_SUITE if each == split)})
]


def organised(split: tuple[int, ...], folder: Path, opened: list[Organisations]) -> Organisations:
    """The parties of the plan with so many columns."""
    opened.append(Organisations(PLANS[split], tables_for(PLANS[split], *made_up(columns=sum(split))), folder))
    return opened[-1]


@pytest.mark.parametrize(("split", "number"), CASES)
def test_killed_at_any_write(split: tuple[int, ...], number: int, tmp_path: Path, opened: list[Organisations]) -> None:
    """Every party is killed once, each at a write of its own; started again, all end as if nothing had happened."""
    organisations = organised(split, tmp_path, opened)
    commands = {
        name: organisations.train(name, blow=("write", number + 3 * place, signal.SIGKILL))
        for place, name in enumerate(organisations.names)
    }
    struck: set[str] = set()
    # Whoever dies first starts again at once: the others may need it to get as far as their own blow.
    while len(struck) < len(commands):
        time.sleep(0.02)
        for name in [name for name, command in commands.items() if not command.process.is_alive()]:
            if name not in struck:
                assert commands[name].wait() == -signal.SIGKILL, commands[name].complained
                commands[name] = organisations.train(name)
                struck.add(name)
    ended = [command.wait() for command in commands.values()]
    assert ended == [0] * len(commands), [command.complained for command in commands.values()]
    organisations.assert_same(trained(PLANS[split], made_up(columns=sum(split))))


def test_no_two_processes_on_one_journal(tmp_path: Path, opened: list[Organisations]) -> None:
    """A second start of the same party is refused while the first one is at work."""
    organisations = organised((2, 3), tmp_path, opened)
    first = organisations.train("label")
    while not organisations.journal("label").exists():
        time.sleep(0.02)
    second = organisations.train("label")
    assert second.wait() == 1
    assert "another process is using this run" in second.complained
    assert first.process.is_alive()
    assert not list(tmp_path.rglob("run.json"))
