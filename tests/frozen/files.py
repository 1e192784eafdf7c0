"""The frozen files and what they must hold: `python -m tests.frozen.files` writes them anew, `make freeze` calls it."""

from pathlib import Path

from tests.frozen import messages, verdicts
from tests.known_answers import files as known_answers

FOLDER = Path(__file__).parent
MESSAGES, VERDICTS, WORST, JOBS = (FOLDER / f"{name}.txt" for name in ("messages", "verdicts", "worst", "jobs"))
HEADING = "## "


def message_text(kinds: tuple[str, ...] = messages.KINDS) -> str:
    """Every kind of session under its heading."""
    return "".join(f"{HEADING}{kind}\n" + "".join(f"{line}\n" for line in messages.lines(kind)) for kind in kinds)


def frozen_messages() -> dict[str, list[str]]:
    """The lines of the file, by kind of session."""
    sections = MESSAGES.read_text(encoding="utf-8").split(HEADING)[1:]
    return {kind: lines for kind, *lines in (section.splitlines() for section in sections)}


def frozen_worst() -> verdicts.Worst:
    """The worst verdicts of the file, by plan, party, target and assumption."""
    return verdicts.worst_from_lines(WORST.read_text(encoding="utf-8").splitlines() if WORST.exists() else [])


def _write_worst() -> None:
    """Write the worst verdicts; what was stricter before stays, until somebody takes it out by hand and says why."""
    found, before = verdicts.worst_of_plans(), frozen_worst()
    found |= {key: verdicts.stricter(verdict, found.get(key, "")) for key, verdict in before.items()}
    WORST.write_text("".join(f"{line}\n" for line in verdicts.worst_as_lines(found)), encoding="utf-8")


def main() -> None:
    """Write all files; other systems' jobs only where they are at hand."""
    MESSAGES.write_text(message_text(), encoding="utf-8")
    VERDICTS.write_text("".join(f"{line}\n" for line in verdicts.of_plans()), encoding="utf-8")
    _write_worst()
    if (folder := verdicts.real_jobs()) is not None:
        JOBS.write_text("".join(f"{line}\n" for line in verdicts.of_jobs(folder)), encoding="utf-8")
    known_answers.main()


if __name__ == "__main__":
    main()
