"""Flags that belong together, as a dataclass: a verb that takes one has all its flags."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any


def with_flag_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the flags of every dataclass among its parameters; they arrive together, as that parameter."""
    signature = inspect.signature(verb)
    groups: dict[str, Any] = {
        one.name: one.annotation for one in signature.parameters.values() if is_dataclass(one.annotation)
    }

    @functools.wraps(verb)
    def called(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        verb(**values, **made)

    unrolled = [
        flag
        for one in signature.parameters.values()
        for flag in ([_flag(field) for field in fields(groups[one.name])] if one.name in groups else [one])
    ]
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in unrolled]
    called.__signature__ = signature.replace(parameters=keyword_only)  # type: ignore[attr-defined]  # Typer reads it.
    return called


def _flag(field: "Field[Any]") -> inspect.Parameter:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)
