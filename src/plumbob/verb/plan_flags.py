"""One flag for each key of the plan, made from the plan's own list, so that neither can forget the other."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from plumbob.errors import PlanError
from plumbob.plan import KEYS, PAPER, PAPERS_PROTOCOL, PARTY_KEYS, Plan, SettingKey, default_of
from plumbob.verb import Flag

PANEL = "Keys of the plan (a flag wins over the file)"
RARE_PANEL = "Other keys of the plan"
EVERYTHING = "plumbob.everything"  # Set in a command's context when its help is to show rare flags too.
NAMES = ("features", *(key.name for key in KEYS), "heuristic", "auditors")


def plan_flags(is_study: bool = True) -> list[inspect.Parameter]:
    """The flags of a study's plan or of one of parties, and the flag that shows them all."""
    everything = typer.Option(
        "--help-all", help="Also show the flags for rare keys of the plan.", callback=show_everything, is_eager=True
    )
    paper = Flag("Train as the paper does, where no flag says otherwise.", panel=RARE_PANEL)
    shown = _parameter("help_all", bool, everything, False)
    auditors = _text(
        "auditors",
        parse_auditors,
        "With --evidence keep: each party's auditor, bank=FINGERPRINT,fund=FINGERPRINT.",
        "FINGERPRINTS",
    )
    if not is_study:
        return [shown, *(_flag(key) for key in PARTY_KEYS), auditors]
    return [
        shown,
        _parameter("as_in_the_paper", bool, paper.for_typer("as_in_the_paper"), False),
        _text(
            "features", parse_features, "Number of each party's columns after encoding, label first: 11,12.", "COUNTS"
        ),
        *map(_flag, KEYS),
        _text("heuristic", parse_heuristic, "For the paper's noise formula: G=1.0,T=30,e=0.", "NUMBERS"),
        auditors,
    ]


def keys_given(values: dict[str, Any]) -> dict[str, Any]:
    """Take the used flags out of everything typed; they go over the paper's values, if these are asked for."""
    values.pop("help_all")
    usual = {"protocol": PAPERS_PROTOCOL, **PAPER} if values.pop("as_in_the_paper", False) else {}
    keys = {name: values.pop(name) for name in NAMES if name in values}
    return {**usual, **{name: value for name, value in keys.items() if value is not None}}


def plan_from(path: Path | None, keys: Mapping[str, Any]) -> Plan:
    """The plan in a file, if one is given, with the used flags put over it."""
    if path is not None:
        return Plan.load(path).replace(**keys)
    if "features" not in keys:
        raise PlanError("no plan: give its file, or at least --features with each party's columns, label party first")
    others = {name: value for name, value in keys.items() if name != "features"}
    return Plan.for_columns(keys["features"], **others)


def parse_features(text: str | None) -> tuple[int, ...] | None:
    """Numbers from a text such as `11,12`."""
    try:
        return None if text is None else tuple(int(count) for count in text.split(","))
    except ValueError:
        raise typer.BadParameter("expected each party's columns, label party first, such as 11,12") from None


def parse_heuristic(text: str | None) -> dict[str, float | int] | None:
    """Numbers by name from a text such as `G=1.0,T=30`."""
    if text is None:
        return None
    values: dict[str, float | int] = {}
    for item in text.split(","):
        name, _, number = item.partition("=")
        try:
            values[name] = float(number) if name == "G" else int(number)
        except ValueError:
            raise typer.BadParameter("expected numbers by name, such as G=1.0,T=30,e=0") from None
    return values


def parse_auditors(text: str | None) -> dict[str, str] | None:
    """Fingerprints by party from a text such as `bank=FINGERPRINT,fund=FINGERPRINT`."""
    if text is None:
        return None
    pairs = [item.split("=") for item in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise typer.BadParameter("expected each party's auditor by fingerprint, such as bank=9f2c...,fund=41d0...")
    return dict(pairs)


def _flag(key: SettingKey) -> inspect.Parameter:
    name = "--" + key.name.replace("_", "-")
    declared = f"{name}/--no-{name[2:]}" if isinstance(key.default, bool) else name
    metavar = "|".join(key.choices) if key.choices else None
    panel = PANEL if key.is_usual else RARE_PANEL
    flag = Flag(_meaning(key), metavar, declared, choices=key.choices, panel=panel)
    return _parameter(key.name, type(key.default) | None, flag.for_typer(key.name))


def _text(name: str, parse: Callable[[str | None], Any], text: str, metavar: str) -> inspect.Parameter:
    """A flag whose value is several numbers or names in one text."""
    flag = Flag(text, metavar, panel=PANEL if name == "features" else RARE_PANEL, parse=parse)
    return _parameter(name, str | None, flag.for_typer(name))


def _meaning(key: SettingKey) -> str:
    """The meaning of a key, and its default."""
    return f"{key.help} (default: {_default(key)})."


def _default(key: SettingKey) -> str:
    """The default as it is typed; where it depends on the protocol, both."""
    values = [default_of(key, protocol) for protocol in ("shares", "clear", "exchange")]
    shares, clear, others = (
        str(value).lower() if isinstance(value, bool) else str(value) or "none" for value in values
    )
    if shares == others:
        return shares
    return f"{shares} with {'shares and clear' if clear == shares else 'shares'}, else {others}"


def show_everything(ctx: typer.Context, asked: bool) -> None:
    """Print the help with the rare flags, and leave."""
    if asked:
        ctx.meta[EVERYTHING] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _parameter(name: str, kind: Any, option: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
