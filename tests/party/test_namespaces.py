"""Parties in network namespaces of their own, in bad weather: the simulation's weights, bit for bit."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plumbob.plan import Plan
from tests.party.verbs import Organisations, steps_finished
from tests.party.weather import Network, Weather
from tests.protocol.support import made_up, tables_for, trained

PASSES = 20
PATIENCE = 900.0  # Seconds for a whole run.
DOWN_SECONDS = 30.0


@contextmanager
def training(organisations: Organisations, network: Network) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """Run `plumbob party train` of every party, in its namespace."""
    program = str(Path(sys.executable).with_name("plumbob"))
    started = {}
    try:
        for name in organisations.names:
            verb = [program, "party", "train", str(organisations.plan_file)]
            home = ["--home", str(organisations.home(name))]
            words = ["ip", "netns", "exec", network.spaces[name], *verb, *home]
            started[name] = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield started
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


@pytest.mark.soak
@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.skipif(bool(Network.what_is_missing()), reason=Network.what_is_missing())
@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)])
def test_a_run_in_bad_weather(split: tuple[int, ...], tmp_path: Path) -> None:
    """1.5 % of packets lost, 200 ms there and back, 1 Mbit/s, and in the middle no link at all for 30 s."""
    plan = Plan.for_columns(split, epochs=PASSES, open="own", test_share=0.0)
    rows = made_up(80, plan.columns)
    names = [party.name for party in plan.parties]
    with Network(names, Weather()) as network:
        assert seconds_there_and_back(network, *names[:2]) >= 0.2
        organisations = Organisations(
            plan,
            tables_for(plan, *rows),
            tmp_path,
            hosts=network.hosts,
            settings={name: {"patience": PATIENCE} for name in names},
        )
        with training(organisations, network) as started:
            end = time.monotonic() + PATIENCE
            while steps_finished(organisations.journal("label")) < PASSES // 2:
                assert time.monotonic() < end
                gone = [process for process in started.values() if process.poll() is not None]
                assert not gone, gone[0].communicate()
                time.sleep(0.1)
            network.set_link("label", is_up=False)
            time.sleep(DOWN_SECONDS)
            assert steps_finished(organisations.journal("label")) < PASSES
            network.set_link("label", is_up=True)
            printed = {name: process.communicate(timeout=PATIENCE)[0] for name, process in started.items()}
        assert {name: process.returncode for name, process in started.items()} == dict.fromkeys(names, 0), printed
    assert passes_of(organisations) == PASSES
    assert network.lost > 0.005 * network.passed
    organisations.assert_same(trained(plan, rows))


KNOCK = """
import socket, sys, time
began = time.monotonic()
# Nobody listens there: the refusal is one round trip away.
socket.socket().connect_ex((sys.argv[1], 9))
print(time.monotonic() - began)
"""


def seconds_there_and_back(network: Network, here: str, there: str) -> float:
    """The seconds of a round trip, as a program in a namespace measures them."""
    words = ["ip", "netns", "exec", network.spaces[here], sys.executable, "-c", KNOCK, network.hosts[there]]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def passes_of(organisations: Organisations) -> int:
    """How many the last status names."""
    steps = organisations.status("label")["steps"]
    organisations.close()
    assert isinstance(steps, int)
    return steps
