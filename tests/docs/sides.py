"""Pages on which several sides type commands, each in a folder of its own, and what they print."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.test_tutorial import pattern
from tests.world import free_port

BLOCKS = re.compile(r"(?:\*\*([\w, ]+)\*\*\n\n)?```(sh|text)\n(.*?)```", re.DOTALL)
ADDRESS = re.compile(r"127\.0\.0\.1:(77\d\d)")


@dataclass
class Turn:
    """What the sides type at the same time, and what the page shows below it."""

    typed: dict[str, list[str]] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)


def turns(page: Path, parties: Sequence[str]) -> list[Turn]:
    """The commands in the page's order: at once what stands under the parties' names, alone what another side types."""
    found = [Turn()]
    for names, language, text in BLOCKS.findall(page.read_text(encoding="utf-8")):
        last = found[-1]
        if language == "text":
            last.shown.append(text)
            continue
        sides = re.split(r", | and ", names)
        is_alone = not {*sides} <= {*parties} or bool(set(last.typed) - set(parties))
        is_next = last.shown or {*sides} & {*last.typed} or parties[0] in sides
        if last.typed and (is_alone or is_next):
            found.append(Turn())
        found[-1].typed.update(dict.fromkeys(sides, text.splitlines()))
    return found


class Machine:
    """One side's folder and environment; the ports of the page become free ones."""

    def __init__(self, folder: Path, ports: dict[str, int]) -> None:
        self.folder, self.ports = folder, ports
        self.environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.environment.pop("PLUMBOB_HOME", None)
        self.printed: list[str] = []
        folder.mkdir(exist_ok=True)

    def type(self, commands: Sequence[str]) -> None:
        """Type commands one after the other; each must succeed."""
        for command in commands:
            told = ADDRESS.sub(lambda found: f"127.0.0.1:{self.ports.setdefault(found[1], free_port())}", command)
            finished = subprocess.run(
                ["bash", "-c", told], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=200
            )
            assert finished.returncode == 0, f"{told}\n{finished.stdout}\n{finished.stderr}"
            self.printed.append(finished.stdout)


def play(page: Path, folder: Path, parties: Sequence[str], others: Sequence[str] = ()) -> dict[str, Machine]:
    """Type what a page says, in its order; what it shows must be printed by somebody, invitations are passed on."""
    ports: dict[str, int] = {}
    machines = {side: Machine(folder / side, ports) for side in (*parties, *others)}
    with ThreadPoolExecutor() as pool:
        for turn in turns(page, parties):
            list(pool.map(lambda side, turn=turn: machines[side].type(turn.typed[side]), turn.typed))
            for shown in turn.shown:
                printed = [text for machine in machines.values() for text in machine.printed]
                assert any(pattern(shown).search(text) for text in printed), f"nobody saw\n{shown}\nbut\n{printed[-4:]}"
            _pass_on(machines)
    return machines


def _pass_on(machines: dict[str, Machine]) -> None:
    """What people send each other by mail: invitations, once there are any."""
    for side, machine in machines.items():
        for text in machine.printed:
            if found := re.search(r"^plumbob-invite-\S+", text, re.MULTILINE):
                for other in machines.values():
                    other.environment[f"{side.upper()}_INVITATION"] = found[0]
