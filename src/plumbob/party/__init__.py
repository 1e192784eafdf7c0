"""One organisation's side on a network: its folder, its peers, and what it does with them.

    from plumbob import party

    party.init("bank", "bank", data="bank.csv", label="late", listen="0.0.0.0:7700")
    party.invite("bank")                  # a line for the peer
    party.join("bank", "...")             # the line that the peer sent
    party.propose("bank", "joint.toml")   # on all sides at once
    party.align("bank", "joint.toml")
    party.sign("bank", "joint.toml")
    party.train("bank", "joint.toml")

Every function does what the command of the same name does (`plumbob party train`), in the folder that comes first, and
returns what the command prints.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.caller import QUIET, Caller, Outcome
    from plumbob.party.home import Home
    from plumbob.party.verbs.align import align
    from plumbob.party.verbs.doctor import doctor
    from plumbob.party.verbs.predict import predict
    from plumbob.party.verbs.propose import propose
    from plumbob.party.verbs.receipt import receipt
    from plumbob.party.verbs.serve import serve
    from plumbob.party.verbs.setup import init, invite, join, renew
    from plumbob.party.verbs.sign import sign
    from plumbob.party.verbs.status import forget, status
    from plumbob.party.verbs.train import train

__all__ = [
    "QUIET",
    "Caller",
    "Home",
    "Outcome",
    "align",
    "doctor",
    "forget",
    "init",
    "invite",
    "join",
    "predict",
    "propose",
    "receipt",
    "renew",
    "serve",
    "sign",
    "status",
    "train",
]
PLACES = {
    "plumbob.caller": ("QUIET", "Caller", "Outcome"),
    "plumbob.party.home": ("Home",),
    "plumbob.party.verbs.setup": ("init", "invite", "join", "renew"),
    "plumbob.party.verbs.status": ("forget", "status"),
    **{
        f"plumbob.party.verbs.{name}": (name,)
        for name in ("align", "doctor", "predict", "propose", "receipt", "serve", "sign", "train")
    },
}
USUAL_DAYS = 2 * 365
"""How long a certificate is valid if nobody says it."""


def __getattr__(name: str) -> Any:
    """Import a function late: help needs none of what it does its work with."""
    for module, names in PLACES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"plumbob.party has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
