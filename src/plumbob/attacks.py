"""The attacks under the name that scripts import; their code, and the list of these names, are in the lab."""

from typing import TYPE_CHECKING, Any

from plumbob.extras import named_extras

with named_extras("plumbob.attacks"):
    from plumbob.lab.attacks import *  # noqa: F403  # One list of names is enough.
    from plumbob.lab.attacks import __all__ as __all__

if not TYPE_CHECKING:  # A type checker would believe in every name.

    def __getattr__(name: str) -> Any:
        from plumbob.retired import no_attribute  # Late: hardly any name is missing.

        raise no_attribute("plumbob.attacks", name)
