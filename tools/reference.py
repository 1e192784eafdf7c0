"""Write the reference pages, docs/cli.md and docs/api.md, from the command line's own help and from docstrings.

The examples at the top of docs/api.md are in tools/api_guide.md.

`python tools/reference.py` writes all; the tests hold that the pages in the repository are what it writes.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from plumbob.checking.rules import RULES
from plumbob.cli import app
from plumbob.cli.options import CODES, OF_PLAN
from plumbob.plan import KEYS, SECTIONS, SettingKey

DOCS = Path(__file__).resolve().parent.parent / "docs"
GUIDE = Path(__file__).resolve().parent / "api_guide.md"
WIDTH = 100  # A signature that is longer gets a line for each parameter.

_PROGRAM: Any = typer.main.get_command(app)

# What scripts may rely on, by module, in the order of the page.
PUBLIC = {
    "plumbob": ("VerticalLogisticRegression", "Plan", "check", "audit", "Findings", "LeakWarning", "load"),
    "plumbob.party": (*_PROGRAM.commands["party"].commands, "Home", "Outcome", "Caller"),
    "plumbob.datasets": ("load", "describe", "names", "write_tables"),
    "plumbob.record": ("Finding", "RunRecord"),
    "plumbob.attacks": (
        "View",
        "Attack",
        "Claim",
        "Condition",
        "NotApplicable",
    ),
}


def main() -> None:
    """Write all pages."""
    (DOCS / "cli.md").write_text(cli_page(), encoding="utf-8")
    (DOCS / "api.md").write_text(api_page(), encoding="utf-8")


# The command line.


def cli_page() -> str:
    """Every verb with its arguments and flags; the plan's keys, which four verbs share, once."""
    verbs = dict(verbs_of(_PROGRAM, "plumbob"))
    common = set.intersection(*({flag_of(option) for option in options_of(verb)} for verb in verbs.values()))
    lines = [
        "# Command line",
        "",
        "Made by `tools/reference.py` from the command line itself; `plumbob VERB --help` says the same.",
        "",
        f"Every verb has {listed(sorted(common))} (or `-h`). With `--json` one JSON object goes to standard",
        "output and nothing else. Progress goes to standard error; `--quiet` leaves it out. One verb asks a question:",
        "`party sign`, in a terminal and without `--yes`, `--json` or `--quiet`.",
        "",
        "`plumbob --install-completion` lets the shell that you type it in complete verbs, flags and their choices.",
        "",
        "| exit code | means |",
        "|---|---|",
        *(f"| {code} | {cell(meaning)} |" for code, meaning in CODES.items()),
        "",
    ]
    for name, verb in verbs.items():
        example = verb.epilog.splitlines()[0].removeprefix("Example: ")
        lines += [f"## {name}", "", sentence(verb.help), "", "```sh", example, "```", "", *table_of(verb, common)]
    return "\n".join([*lines, *plan_keys(), *attacks_table()]) + "\n"


def verbs_of(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its full name, in the order of `--help`."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from verbs_of(inner, f"{name} {word}")


def options_of(verb: Any) -> list[Any]:
    """Flags, without those of the plan; `--help` is not among a command's own parameters."""
    return [item for item in verb.params if item.param_type_name == "option" and not is_of_the_plan(item)]


def is_of_the_plan(parameter: Any) -> bool:
    """Whether it changes a key of the plan."""
    return getattr(parameter, "rich_help_panel", None) == OF_PLAN


def table_of(verb: Any, common: set[str]) -> Iterator[str]:
    """Arguments, then flags."""
    arguments = [item for item in verb.params if item.param_type_name == "argument"]
    own = [option for option in options_of(verb) if flag_of(option) not in common]
    if arguments or own:
        yield from ("| argument or flag | meaning |", "|---|---|")
    for item in arguments:
        name = item.metavar or item.name.upper()
        yield f"| `{in_code(name if item.required else f'[{name}]')}` | {cell(sentence(item.help))} |"
    for item in own:
        yield f"| `{in_code(with_value(item, verb))}` | {cell(sentence(item.help) + default_of(item))} |"
    if any(is_of_the_plan(item) for item in verb.params):
        listed_flags = ", ".join(f"`{flag_of(item)}`" for item in verb.params if is_of_the_plan(item))
        yield from ("", f"For [keys of the plan](#keys-of-the-plan): {listed_flags}.")
    yield ""


def flag_of(option: Any) -> str:
    """Its long form."""
    return str(max(option.opts, key=len))


def with_value(option: Any, verb: Any) -> str:
    """As it is typed."""
    if option.is_flag:
        return flag_of(option)
    # From the verb's own signature: Typer's versions keep types in different places.
    kind = str(inspect.signature(verb.callback).parameters[option.name].annotation)
    word = "PATH" if "Path" in kind else "NUMBER" if "int" in kind or "float" in kind else "TEXT"
    return f"{flag_of(option)} {option.metavar or word}"


def default_of(option: Any) -> str:
    """What goes without saying, where there is something."""
    if option.is_flag or option.default in (None, "", []) or callable(option.default):
        return ""
    return f" Default: `{option.default}`."


def plan_keys() -> Iterator[str]:
    """All keys of a plan, with the section of the file that each stands in."""
    yield from (
        "## Keys of the plan",
        "",
        "`plan new`, `check`, `train`, `audit` and `party propose` have flags for the usual ones, which win over the",
        "file: `--batch-size 64` for `batch_size = 64`. `--features 11,12` gives each party's columns, the label",
        "party's first. `--set KEY=VALUE` changes any key, written as in the file: `--set intercept=false`,",
        "`--set 'heuristic={ G = 1.0, T = 30, e = 0 }'` for the numbers of the paper's noise formula, where `e = 0`",
        "means the epochs that are really run, `--set 'auditors={ bank = \"FINGERPRINT\" }'` for each party's auditor.",
        "A tolerance is `tolerance_labels` or `tolerance_features` there.",
        "",
        "| section | key | default | meaning |",
        "|---|---|---|---|",
    )
    for section in ("", *SECTIONS):
        for key in KEYS:
            if key.section == section:
                yield f"| {section} | `{key.in_file}` | {default_in_file(key)} | {cell(key.comment)} |"


def attacks_table() -> Iterator[str]:
    """What every attack does, by whom, and where it comes from."""
    yield from ("", "## Attacks", "", "[Attacks](attacks.md) says in detail")
    yield from ("when each works and what stops it.", "", "| attack | by, on | from |", "|---|---|---|")
    alike: dict[tuple[str, str], list[str]] = {}
    for rule in RULES:
        for name, reference in rule.attacks.items():
            by = f"{rule.by} party" if rule.by in ("label", "features") else f"the {rule.by} party"
            alike.setdefault((name, reference), []).append(f"{by.replace('features', 'feature')}, {rule.target}")
    for (name, reference), whom in sorted(alike.items()):
        yield f"| `{name}` | {'; '.join(dict.fromkeys(whom))} | {cell(reference)} |"


def default_in_file(key: SettingKey) -> str:
    """As TOML writes it."""
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    return f'`"{key.default}"`' if isinstance(key.default, str) else f"`{key.default}`"


# Python.


def api_page() -> str:
    """The guide as people wrote it, then the names that scripts may rely on, with what their docstrings say."""
    lines = [GUIDE.read_text(encoding="utf-8")]
    for module, names in PUBLIC.items():
        lines += [f"## {module}", ""]
        for name in names:
            lines += entry(module, name)
    return "\n".join([*lines, *errors()]) + "\n"


def entry(module: str, name: str) -> Iterator[str]:
    """One name: how it is called, what it says of itself and, for a class, what it holds and can do."""
    found = getattr(importlib.import_module(module), name)
    node = syntax_of(found)
    yield from (f"### {name}", "")
    if isinstance(node, ast.FunctionDef):
        yield from ("```text", called(f"{module}.{name}", node), "```", "")
    yield from (prose(found.__doc__), "")
    if isinstance(node, ast.ClassDef):
        yield from (*members(name, node), "")


def syntax_of(found: Any) -> ast.stmt:
    """Its source, parsed: unlike the objects themselves it reads the same under every version of Python."""
    return ast.parse(inspect.cleandoc("\n" + inspect.getsource(found))).body[0]


def members(name: str, node: ast.ClassDef) -> Iterator[str]:
    """Fields and public methods, in the order of the source."""
    if fields := list(field_lines(node)):
        yield from ("| field | type | meaning |", "|---|---|---|", *fields, "")
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            yield from ("```text", called(name, method), "```", "")
        elif isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
            shown = f"`.{method.name}`" if is_property(method) else f"`{called('.' + method.name, method, wrap=False)}`"
            said = ast.get_docstring(method)
            yield f"- {shown}" + (f": {prose(said)}" if said else "")


def field_lines(node: ast.ClassDef) -> Iterator[str]:
    """A dataclass's fields; the string below a field is what it means. A plan's are listed elsewhere."""
    if node.name == "Plan":
        yield "| `parties` | `tuple[Party, ...]` | name, role and number of columns of each; the label party first |"
        yield "| all others | | as in [Keys of the plan](cli.md#keys-of-the-plan) |"
        return
    for place, item in enumerate(node.body):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            after = node.body[place + 1] if place + 1 < len(node.body) else None
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield f"| `{item.target.id}` | `{in_code(ast.unparse(item.annotation))}` | {cell(prose(str(said)))} |"


def is_property(method: ast.FunctionDef) -> bool:
    """Whether it is read, not called."""
    return any(ast.unparse(decorator).endswith("property") for decorator in method.decorator_list)


def called(name: str, node: ast.FunctionDef, wrap: bool = True) -> str:
    """The signature as it is called, without `self`."""
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    returns = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    # A class names itself in quotes.
    returns = re.sub(r"'(\w+)'$", r"\1", returns)
    line = f"{name}({arguments}){returns}"
    if not wrap or len(line) <= WIDTH:
        return line
    return f"{name}(\n    " + ",\n    ".join(re.split(r", (?=\w+: |\*)", arguments)) + f",\n){returns}"


def errors() -> Iterator[str]:
    """The tree of what is raised on purpose."""
    from plumbob.errors import PlumbobError

    def branch(error: type[Exception], depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}- `{error.__name__}`: {prose(error.__doc__)}"
        for inner in sorted(error.__subclasses__(), key=lambda found: found.__name__):
            if inner.__module__ == "plumbob.errors":
                yield from branch(inner, depth + 1)

    yield from ("## plumbob.errors", "", *branch(PlumbobError, 0))


# Words.


def sentence(text: str | None) -> str:
    """Help as one line that ends with a full stop."""
    line = prose(text)
    return line if not line or line.endswith((".", "?")) else f"{line}."


def prose(text: str | None) -> str:
    """A docstring as one line for each paragraph."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return " ".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def listed(flags: list[str]) -> str:
    """`a`, `b` and `c`, with the help that every verb has."""
    *first, last = [f"`{flag}`" for flag in [*flags, "--help"]]
    return f"{', '.join(first)} and {last}"


def cell(text: str) -> str:
    """Inside a table a bar would end the cell."""
    return text.replace("|", "\\|")


def in_code(text: str) -> str:
    """Code inside a table: readers of Markdown disagree how a bar is written there, so there is none."""
    return text.replace(" | ", " or ").replace("|", "/")


if __name__ == "__main__":
    main()
