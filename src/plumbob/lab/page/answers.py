"""Turns what the page's controls say into a plan, and a plan into what the page shows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from plumbob.checking.check import check, figures_of, notes
from plumbob.errors import PlanError
from plumbob.lab.page.choices import LARGEST_COLUMNS, LARGEST_OF_KEYS, LARGEST_ROWS, SHAPES
from plumbob.lab.page.own_tables import MOST_PARTIES, OWN, TableReading, TablesRead
from plumbob.plan import KEYS, PROTOCOLS, Plan, in_words
from plumbob.protocol.shares.shape import LatticeShape
from plumbob.record import Finding

FLAG = re.compile(r"--([a-z0-9-]+)(?: (?!--)([^\s,]+))?")
BEYOND = "expected numbers that can be calculated with: one is far too large or too small"


@dataclass(frozen=True)
class PlanDraft:
    """A plan with its rows, and what it is to be run on: a data set, own tables, or nothing but numbers."""

    plan: Plan
    data: str
    reading: TableReading


class Parts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the page's controls say, as far as it can be a plan at all."""

    data: str
    rows: int | str
    """The number of rows; like in `features`, a text while somebody has emptied the field to type another number."""
    names: Annotated[list[str], msgspec.Meta(min_length=2, max_length=MOST_PARTIES)]
    features: list[int | str]
    keys: dict[str, Any]
    heuristic: Any
    reading: TableReading

    @classmethod
    def of(cls, body: object) -> "Parts":
        """Parse strictly: the page is ours, but whoever holds its address can send anything."""
        try:
            return msgspec.convert(body, cls)
        except msgspec.ValidationError as error:
            raise PlanError(f"expected a plan as this page sends it: {error}") from error


def asked(parts: Parts, tables: TablesRead | None = None) -> PlanDraft:
    """The plan of the controls; for own tables, columns, rows and encoding are what was read."""
    if tables is not None and tables.mistake:
        raise PlanError(tables.mistake)
    if tables is None:
        features, rows, keys = _widths(parts), _rows(parts.data, parts.rows), parts.keys
    else:
        features, rows, keys = list(tables.widths), tables.rows, {**parts.keys, **tables.keys}
    _refuse_huge(rows, features, keys)
    plan = Plan.for_columns(features, **{**keys, "rows": rows, "heuristic": parts.heuristic})
    return PlanDraft(plan.with_names(parts.names), parts.data, parts.reading)


def checked(draft: PlanDraft) -> dict[str, Any]:
    """The findings of `check`, the worst first, each with what a click can change."""
    try:
        findings = check(draft.plan)
    except PlanError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise PlanError(BEYOND) from error
    return {
        "plan_hash": draft.plan.hash(),
        "headlines": findings.headlines.to_dict(),
        "legend": findings.headlines.legend,
        "findings": [shown(finding) for finding in findings],
        "notes": notes(draft.plan),
        "keys": keys_in_short(draft.plan),
        "passes": in_words(figures_of(draft.plan).levels),
    }


def keys_in_short(plan: Plan) -> str:
    """What encrypts a run's numbers, in short: parameter sets for lattices, a length for other keys."""
    if not plan.kind.is_encrypted:
        return ""
    if plan.kind.has_key_bits:
        return f"{plan.kind.keys} keys of {plan.key_bits} bits"
    profile = LatticeShape(plan, max(plan.rows, 1)).profile
    return f"lattice parameter sets {', '.join(str(one.number) for one in profile)}"


def shown(finding: Finding) -> dict[str, Any]:
    """A finding, and its fixes one by one."""
    return {**vars(finding), "fixes": fixes(finding.fix)}


def fixes(fix: str) -> list[dict[str, Any]]:
    """Flags to type, `--a 1 --b 2, or --c 3`, as keys to set."""
    ways = [FLAG.findall(way) for way in fix.split(", or ")] if fix else []
    return [{"flags": " ".join(f"--{name} {value}".strip() for name, value in way), "keys": _keys(way)} for way in ways]


def _keys(flags: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Flags as the plan's keys, in its types, with other keys changed where a plan would refuse them together."""
    kinds = {key.name: type(key.default) for key in KEYS}
    named = {flag.replace("-", "_"): value for flag, value in flags}
    switched_off = {name.removeprefix("no_"): False for name, value in named.items() if not value}
    keys = {name: kinds[name](value) for name, value in named.items() if value} | switched_off
    if keys.get("noise", "std") != "std":
        keys.setdefault("noise_std", 0.0)
    if not PROTOCOLS[keys.get("protocol", "arbiter")].has_arbiter:
        keys["unmasked_gradients_for_the_arbiter"] = False
    return keys


def mistakes(error: PlanError) -> list[dict[str, str]]:
    """One mistake for each line, with the key that it names, if any."""
    by_path = {key.path: key.name for key in KEYS}
    lines = str(error).splitlines()
    return [{"key": by_path.get(line.partition(":")[0], ""), "text": line} for line in lines]


def _rows(data: str, rows: int | str) -> int:
    """The rows of the data set, or as many as were given."""
    if not data and isinstance(rows, int):
        if rows < 1:
            raise PlanError("data.rows: expected at least 1 row")
        return rows
    for shape in SHAPES:
        if shape.name == data:
            return shape.rows
    names = ", ".join(shape.name for shape in SHAPES)
    raise PlanError(f"data: expected one of {names}, {OWN} tables, or none and a whole number of rows")


def _widths(parts: Parts) -> list[int]:
    if len(parts.features) != len(parts.names):
        raise PlanError("parties: expected as many numbers of columns as names")
    widths = [width for width in parts.features if isinstance(width, int)]
    if len(widths) < len(parts.names):
        named = zip(parts.names, parts.features, strict=True)
        blank = [name for name, width in named if not isinstance(width, int)]
        raise PlanError("\n".join(f"parties.{name}.features: expected a whole number of columns" for name in blank))
    return widths


def _refuse_huge(rows: int, features: Sequence[int], keys: Mapping[str, Any]) -> None:
    if rows > LARGEST_ROWS:
        raise PlanError(f"data.rows: expected at most {LARGEST_ROWS} on this page, got more")
    if sum(features) > LARGEST_COLUMNS or len(features) > MOST_PARTIES:
        raise PlanError(
            f"parties: expected at most {LARGEST_COLUMNS} columns and {MOST_PARTIES} parties on this page, got more"
        )
    for name, limit in LARGEST_OF_KEYS.items():
        if isinstance(keys.get(name), int) and keys[name] > limit:
            raise PlanError(f"model.{name}: expected at most {limit} on this page, got more")
