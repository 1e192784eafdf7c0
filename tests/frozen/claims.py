"""What `plumbob paper` says of the paper's claims: statement and verdict, without digits that depend on a processor.

`python -m tests.frozen.claims` writes the file anew, in some minutes.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.command_line import call

HEADING = "## "
COMMANDS = ("credit --quick", "attacks --quick", "attacks")
FROZEN = Path(__file__).parent / "claims.txt"


def claims_of(command: str, out: Path) -> list[str]:
    """Run one command into a new folder; one line for each claim."""
    assert call("paper", *command.split(), "--quiet", "--out", str(out)) == 0
    claims = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    return [
        f"{claim['verdict']}: {claim['name']} ({claim['reference']}; {claim['reading']}): {claim['says']} "
        f"Counts as true if: {claim['needed']}"
        for claim in claims
    ]


def frozen_claims() -> dict[str, list[str]]:
    """The lines of the file, by command."""
    sections = FROZEN.read_text(encoding="utf-8").split(HEADING)[1:]
    return {command: lines for command, *lines in (section.splitlines() for section in sections)}


def main() -> None:
    """Run all commands, and write what they say."""
    with TemporaryDirectory() as folder:
        sections = {command: claims_of(command, Path(folder) / str(place)) for place, command in enumerate(COMMANDS)}
    text = "".join(f"{HEADING}{command}\n" + "".join(f"{line}\n" for line in sections[command]) for command in sections)
    FROZEN.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
