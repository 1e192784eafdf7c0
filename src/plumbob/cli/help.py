"""The text of `--help`: plain, within 80 columns, never cutting a flag off, and ending with an example.

Flags that few people need are left out of `--help`; `--help-all` prints them too.
"""

import inspect
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plumbob.verb import DONE
from plumbob.verb.plan_flags import EVERYTHING, RARE_PANEL

NARROWEST, WIDEST = 60, 100
INDENT, COLUMN, NAMES_COLUMN, CODES_COLUMN = 2, 26, 14, 8
CODES = {
    **DONE,
    3: "check, audit: something leaks above the plan's tolerance even if everyone keeps to the protocol",
    4: "check, audit: no all-clear: something leaks if someone cheats, attacks were left out (--only) or cut short, a "
    "job does not say all that matters, or something degrades (--strict)",
    5: "auditor replay: a message does not follow from what was fixed before the run",
    130: "interrupted by Ctrl-C",
}

EVERYWHERE = ("as_json", "quiet", "help")
COMMON = [("--json", "Print one JSON object on standard output and nothing else."), ("--quiet", "Show no progress.")]
"""The flags of every verb, listed once."""
ALSO = "Every verb takes --json, --quiet and -h, --help too; `plumbob --help` explains them and all exit codes."

HelpEntry = tuple[str, str]


def page_of_verb(command: Any, ctx: Any) -> str:
    """The help of a verb: usage, what it does, arguments, flags, one example, exit codes."""
    shows_all = bool(ctx.meta.get(EVERYTHING))
    sections = {"Arguments": [entry(command, item) for item in arguments_of(command)]}
    left_out = 0
    for option in command.get_params(ctx):
        if option.param_type_name != "option" or option.name in EVERYWHERE:
            continue
        panel = panel_of(option)
        if panel == RARE_PANEL and not shows_all:
            left_out += 1
        else:
            sections.setdefault(panel, []).append(entry(command, option))
    usage = " ".join(command.collect_usage_pieces(ctx))
    parts = [f"Usage: {ctx.command_path} {usage}", *paragraphs(command.help)]
    parts += [block(title, entries) for title, entries in sections.items() if entries]
    if left_out:
        parts.append(f"{left_out} more flags for keys of the plan: {ctx.command_path} --help-all")
    parts.append(f"Example:\n{shown_example(command.example)}")
    own = {code: meaning for code, meaning in command.codes.items() if DONE.get(code) != meaning}
    parts += [block("Exit codes", coded(own), CODES_COLUMN)] if own else []
    parts += paragraphs(ALSO)
    return "\n\n".join(parts) + "\n"


def page_of_group(group: Any, ctx: Any) -> str:
    """The help of a group: its verbs, section by section."""
    sections = {title: list(listed(group, names)) for title, names in group.sections.items()}
    options = [*COMMON, *(entry(group, one) for one in group.get_params(ctx) if one.param_type_name == "option")]
    parts = [f"Usage: {ctx.command_path} VERB [OPTIONS]", *paragraphs(group.help)]
    parts += [block(title, entries, NAMES_COLUMN) for title, entries in sections.items()]
    parts.append(block("Options", options, NAMES_COLUMN))
    parts.append(f"`{ctx.command_path} VERB --help` explains a verb and shows an example.")
    if ctx.parent is None:
        parts.append(block("Exit codes", coded(CODES), CODES_COLUMN))
    return "\n\n".join(parts) + "\n"


def listed(group: Any, names: Sequence[str]) -> Iterator[HelpEntry]:
    """Entries for these verbs, each with what it does in one sentence."""
    for name in names:
        yield name, " ".join(inspect.cleandoc(group.commands[name].help).split("\n\n")[0].split())


def arguments_of(command: Any) -> list[Any]:
    """The arguments without a flag, in order."""
    return [item for item in command.params if item.param_type_name == "argument"]


def usage_of(argument: Any) -> str:
    """An argument in the line of usage; brackets mean that it may be left out."""
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def panel_of(option: Any) -> str:
    """The section that an option is listed in; Typer marks those without one by a special value."""
    panel = getattr(option, "rich_help_panel", None)
    return panel if isinstance(panel, str) else "Options"


def entry(command: Any, item: Any) -> HelpEntry:
    """An argument or an option, and its meaning, as an entry of the help."""
    help_text = item.help or ""
    default = stated_default(item)
    return typed(command, item), f"{help_text.removesuffix('.')} (default: {default})." if default else help_text


def typed(command: Any, item: Any) -> str:
    """An argument or option as it is typed, with the kind of value it takes."""
    if item.param_type_name == "argument":
        return str(item.metavar or item.name.upper())
    names = ", ".join(sorted(item.opts, key=len))
    if item.secondary_opts:
        names += f", {', '.join(item.secondary_opts)}"
    return names if item.is_flag else f"{names} {value_of(command, item)}"


def value_of(command: Any, option: Any) -> str:
    """The word for an option's value."""
    if option.metavar:
        return str(option.metavar)
    # From the verb's own signature: Typer's versions keep types in different places.
    kind = str(inspect.signature(command.callback).parameters[option.name].annotation)
    return "PATH" if "Path" in kind else "NUMBER" if "int" in kind or "float" in kind else "TEXT"


def stated_default(item: Any) -> str:
    """The default, where it says something that the help text does not."""
    default = item.default
    is_plain = isinstance(default, int | float | str | Path) and not isinstance(default, bool)
    if not is_plain or default == "" or getattr(item, "show_default", True) is False or "default" in (item.help or ""):
        return ""
    return str(default)


def shown_example(example: str) -> str:
    """An example command line; one that is too long continues on the next line, as a shell accepts it."""
    lines = textwrap.wrap(example, width() - 8, break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(" " * (INDENT if place == 0 else 2 * INDENT) + line for place, line in enumerate(lines))


def coded(codes: Mapping[int, str]) -> list[HelpEntry]:
    """The exit codes, laid out like entries of the help."""
    return [(str(code), meaning) for code, meaning in codes.items()]


def paragraphs(text: str | None) -> Iterator[str]:
    """The paragraphs of a docstring, each wrapped to the terminal's width."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        yield textwrap.fill(" ".join(paragraph.split()), width())


def block(title: str, entries: list[HelpEntry], column: int = COLUMN) -> str:
    """A titled list of two columns; what is too long for the first gets its own line."""
    return "\n".join([f"{title}:", *(line for item in entries for line in rows(*item, column))])


def rows(left: str, right: str, column: int) -> list[str]:
    """One entry as lines; words are never broken, so that a flag stays whole."""
    first = " " * INDENT + left
    margin = " " * column
    wrapped = textwrap.wrap(right, width() - column, break_long_words=False, break_on_hyphens=False)
    if len(first) + 2 > column:
        return [first, *(margin + line for line in wrapped)]
    return [(first.ljust(column) + line) if place == 0 else margin + line for place, line in enumerate(wrapped or [""])]


def width() -> int:
    """The terminal's width, or 80; at most so wide that lines are easy to read."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))
