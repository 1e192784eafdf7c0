"""Tags from Python. Markup is a type of its own; everything else is text, and escaped wherever it is put.

Titles, party names and column names come from other people's files. They cannot open a tag or leave an attribute; nor
can they reorder the words around them, or break a file that must be well formed, because the characters that do so
are replaced where they enter.
"""

import re
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

Attribute = str | int | float | None
NOTHING = Markup("")
ASSETS = Path(__file__).parent / "assets"

# Control characters, marks that turn the direction of text around, half surrogates, and what no document may hold.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]"
)
REPLACEMENT = "\ufffd"


def text(value: object) -> Markup:
    """Any text as itself and nothing more; markup stays markup."""
    if isinstance(value, Markup):
        return value
    return escape(_UNSEEN.sub(REPLACEMENT, str(value)))


def tag(name: str, *children: object, **attributes: Attribute) -> Markup:
    """An element. `class_` is class, `data_x` is data-x; an attribute that is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    # The one place where markup is made: the name is ours, and children and values went through `text`.
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")  # noqa: S704  # All parts are escaped.


def joined(*children: object) -> Markup:
    """Pieces of markup, one after the other."""
    return NOTHING.join(text(child) for child in children)


def shortened(words: str, limit: int) -> str:
    """The words cut to this length, with a sign that something is missing."""
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _plain(value: Attribute) -> str:
    """A value as text; numbers have a tenth of a pixel at most, so that drawings stay small."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


@cache
def asset(name: str) -> str:
    """The text of one of our own styles or scripts."""
    return (ASSETS / name).read_text(encoding="utf-8")
