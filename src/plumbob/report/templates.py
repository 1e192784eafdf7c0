"""Templates of pages, and what they all share: the stylesheet, a strict policy, and text that stays text.

Titles, party names and column names come from other people's files. Templates escape them, so that they open no tag and
leave no attribute. Before that, characters that reorder the words around them or break a file are replaced.

A page loads nothing from anywhere, and its policy forbids a browser to try: no script runs, the only style is the one
whose hash the policy names, and pictures stand in the page itself.
"""

import base64
import hashlib
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STYLE = Path(__file__).parent / "assets" / "style.css"
REPLACEMENT = "\ufffd"
# Control characters, marks that turn the direction of text around, half surrogates, and what no document may hold.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]"
)
_TYPED = re.compile(r"`([a-z][a-z -]*)`")


def clean(text: str) -> str:
    """The text without characters that nobody sees and that change what others see."""
    return _UNSEEN.sub(REPLACEMENT, text)


def page_of(template: str, page: "DataclassInstance", package: str = "plumbob.report") -> str:
    """A page as HTML: its fields are the names that its template, of that package, may use."""
    content = {field.name: getattr(page, field.name) for field in fields(page)}
    return environment(package).get_template(template).render(**content)


@cache
def environment(package: str = "plumbob.report") -> Environment:
    """The templates of a package, which may use those of the report."""
    loader = ChoiceLoader([PackageLoader(package), PackageLoader("plumbob.report")])
    made = Environment(
        loader=loader,
        autoescape=True,
        finalize=_as_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=prose, shortened=shortened)
    style = STYLE.read_text(encoding="utf-8")
    if "</style" in style:
        raise ValueError("a stylesheet must not contain its own end")
    made.globals["style"] = Markup(style)  # noqa: S704  # Our own file, unescaped, so that its hash holds.
    made.globals["policy"] = Markup(  # noqa: S704  # Our own words, too.
        f"default-src 'none'; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return made


def _as_text(value: Any) -> Any:
    """What a template puts on the page: markup as it is, everything else as clean text, which is escaped then."""
    return value if isinstance(value, Markup) else clean(str(value))


def prose(sentence: str) -> Markup:
    """A sentence as markup, in which a word between backticks is something to type."""
    parts = (escape(clean(part)) for part in _TYPED.split(sentence))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def shortened(words: str, limit: int) -> str:
    """The words cut to this length, with a sign that something is missing."""
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
