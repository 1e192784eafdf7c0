"""What to do instead of a verb or flag that is gone, for whoever typed it."""

from collections.abc import Iterator, Sequence

import typer

from plumbob.cli import auditor, check, lab, party
from plumbob.retired import gone

GROUPS = {"party": party.group, "auditor": auditor.group}


def hints(words: Sequence[str]) -> Iterator[str]:
    """A line about the verb and about each flag that is gone, and one about a verb that is in a group."""
    first = words[0]
    verb = " ".join(words[:2] if first in (*GROUPS, "plan") else words[:1])
    if found := gone(f"plumbob {verb}", "verb"):
        yield f"{verb}: {found}"
    for flag in (word.partition("=")[0] for word in words if word.startswith("--")):
        if found := gone(f"plumbob {verb} {flag}", "flag"):
            yield f"{flag}: {found}"
    yield from (f"type: plumbob {name} {first}" for name, verbs in GROUPS.items() if first in _names(verbs))


def _names(group: typer.Typer) -> Iterator[str | None]:
    """The names of a group's verbs that are no verbs without the group."""
    others = {command.name for outer in (check.group, lab.group) for command in outer.registered_commands}
    return (command.name for command in group.registered_commands if command.name not in others)
