"""A remedy in words: the keys that rules return as flags to type or parameters, merged into one plan, and its price."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plumbob.checking.figures import Figures
from plumbob.checking.row_notes import loss_in_words
from plumbob.checking.rules.remedies import ROW_EPSILON, Changes, small_delta
from plumbob.plan import Plan
from plumbob.plan.keys import USUAL
from plumbob.privacy.price import NoisePrice

WITHOUT_ARBITER = " without an arbiter among the parties"


def offered_price(plan: Plan, rows: int) -> NoisePrice:
    """The price of the offered noise with this plan's bins."""
    delta = small_delta(plan.delta, rows)
    return NoisePrice.of(rows, plan.counted_columns, ROW_EPSILON, delta, plan.bins > 0)


def merged(remedies: Sequence[Changes]) -> Changes:
    """The keys that several findings need, each once: one plan has them all."""
    keys: Changes = {}
    # Noise for whole rows last: it is in the place of what another finding would take away.
    for one in sorted(remedies, key=lambda one: one.get("noise") == "rows"):
        keys |= one
    return keys


def as_flags(changes: Mapping[str, Any], plan: Plan | None) -> str:
    """The keys as flags to type, beside the plan that they change."""
    flags = " ".join(_flag(name, value) for name, value in changes.items())
    is_left_out = "protocol" in changes and plan is not None and plan.arbiter is not None
    return flags + (WITHOUT_ARBITER if is_left_out else "")


def _flag(name: str, value: object) -> str:
    written = f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else value
    return f"--{name.replace('_', '-')} {written}" if name in USUAL else f"--set {name}={written}"


def as_parameters(changes: Mapping[str, Any]) -> str:
    """The keys as Python's parameters: `protocol="shares", epsilon=4.0`."""
    literals = ((name, f'"{value}"' if isinstance(value, str) else repr(value)) for name, value in changes.items())
    return ", ".join(f"{name}={literal}" for name, literal in literals)


def price_of(figures: Figures, changes: Mapping[str, Any]) -> str:
    """What a remedy costs, as far as it was measured or can be forecast."""
    return "; ".join(_prices(figures, changes))


def _prices(figures: Figures, changes: Mapping[str, Any]) -> Iterator[str]:
    plan = figures.plan
    if changes.get("protocol") == "shares":
        yield "no measurable loss of quality"
    if changes.get("open") == "never" or changes.get("protocol") == "shares":
        yield "every prediction needs all parties"
    if changes.get("noise") == "rows":
        price = offered_price(plan, figures.rows)
        lost = loss_in_words(price.expected)
        yield (
            f"noise, expected to cost {lost} of AUC with {figures.rows:,} training rows, not counting what fewer bins"
            " cost"
        )
    if changes.get("release") == "replayed":
        yield f"scores wait until {figures.spoken(plan.label_party.name)}'s auditor has replayed that party's training"
    elif changes.get("evidence") == "keep":
        yield "kept evidence shows false messages, but prevents none"
    if "most_rows" in changes:
        yield f"no more than {changes['most_rows']} people are ever scored"
    if "replies" in changes and "protocol" not in changes:
        yield "none"
