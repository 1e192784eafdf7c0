"""One organisation's side on a network: its folder, its peers, and what it does with them.

    from plumbob.party import Home

    home = Home.init("party", "bank", data="bank.csv", label="late", listen="0.0.0.0:7700")
    home.invite()                 # a line for the peer
    home = home.join("...")       # the line that the peer sent
    home.propose("joint.toml")    # on all sides at once
    home.align("joint.toml")
    home.sign("joint.toml")
    home.train("joint.toml")

Every method does what the command of the same name does (`plumbob party train`), and returns what it prints.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.party.home import Home, Outcome

__all__ = ["Home", "Outcome"]


def __getattr__(name: str) -> Any:
    """Import `Home` late, because every module of this room passes through here."""
    if name not in __all__:
        from plumbob.retired import no_attribute

        raise no_attribute("plumbob.party", name)
    from plumbob.party import home

    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
