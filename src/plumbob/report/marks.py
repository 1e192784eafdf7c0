"""Markers that differ in shape, swatches, and labels that keep out of each other's way."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from plumbob.report.markup import joined, tag

COLOURS = 6
CHARACTER = 7.0
"""A generous guess at a character's width: the reader's own font is not known here."""
LINE = 18.0
SIZE = 4.2
_SHAPES = (
    "M{l} {y}a{s} {s} 0 1 0 {d} 0a{s} {s} 0 1 0 -{d} 0z",  # circle
    "M{l} {t}h{d}v{d}h-{d}z",  # square
    "M{x} {t}L{r} {b}H{l}z",  # triangle
    "M{x} {t}L{r} {y}L{x} {b}L{l} {y}z",  # diamond
    "M{x} {b}L{r} {t}H{l}z",  # triangle on its head
    "M{l} {t}H{r}L{l} {b}H{r}z",  # hourglass
)


@dataclass(frozen=True)
class Box:
    """A rectangle, for labels and what they must not cover."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def is_inside(self, other: "Box") -> bool:
        return (
            self.left >= other.left
            and self.top >= other.top
            and self.right <= other.right
            and self.bottom <= other.bottom
        )


def colour(place: int, is_reference: bool) -> str:
    """The class of a series."""
    return "ref" if is_reference else f"c{place % COLOURS}"


def marker(place: int, x: float, y: float, size: float = SIZE) -> str:
    """The path of a series' marker around a point."""
    corners = {"x": x, "y": y, "l": x - size, "r": x + size, "t": y - size, "b": y + size, "s": size, "d": 2 * size}
    # When colours begin again, shapes begin one further: no two of three dozen series look the same.
    shape = _SHAPES[(place + place // COLOURS) % len(_SHAPES)]
    return shape.format(**{name: f"{value:.1f}" for name, value in corners.items()})


def swatch(place: int, x: float, y: float, is_reference: bool) -> Markup:
    """A series' line and marker, to stand before its name; `x` is its left end."""
    line = tag("path", class_=f"line {colour(place, is_reference)}", d=f"M{x:.1f} {y:.1f}h22")
    if is_reference:
        return line
    return joined(line, tag("path", class_=f"mark {colour(place, False)}", d=marker(place, x + 11, y)))


def bar_swatch(place: int, x: float, y: float, is_reference: bool) -> Markup:
    """A series' swatch for bars: a piece of one, or the mark across them."""
    if is_reference:
        return tag("path", class_="limit", d=f"M{x + 16:.1f} {y - 7:.1f}v14")
    return tag("rect", class_=f"bar {colour(place, False)}", x=x, y=y - 6, width=22, height=12, rx=2)


def width_of(words: str) -> float:
    """About how wide a label will be."""
    return len(words) * CHARACTER


def spread(wanted: Sequence[float], low: float, high: float, gap: float = LINE) -> list[float]:
    """Places as near as possible to the wanted ones, in their order, none nearer to the next than the gap."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    places = [wanted[place] for place in order]
    for place in range(1, len(places)):
        places[place] = max(places[place], places[place - 1] + gap)
    # What was pushed past the end pushes back.
    for place in reversed(range(len(places))):
        limit = high if place == len(places) - 1 else places[place + 1] - gap
        places[place] = min(places[place], limit)
    shift = max(0.0, low - places[0]) if places else 0.0
    found = dict(zip(order, (place + shift for place in places), strict=True))
    return [found[place] for place in range(len(wanted))]


def label_spot(x: float, y: float, words: str, taken: Sequence[Box], paper: Box) -> tuple[float, float, Box]:
    """Left end, base line and box of a point's label: the nearest place around it that is free."""
    width = width_of(words)
    choices = [
        (x + across if across > 0 else x + across - width, y + down)
        for down in (4.0, -9.0, 17.0, -24.0, 32.0, -40.0, 48.0, -56.0, 64.0)
        for across in (11.0, -11.0)
    ]
    boxes = [(left, base, Box(left - 2, base - 12, left + width + 2, base + 4)) for left, base in choices]
    inside = [one for one in boxes if one[2].is_inside(paper)] or boxes
    return next((one for one in inside if not any(one[2].meets(box) for box in taken)), inside[0])
