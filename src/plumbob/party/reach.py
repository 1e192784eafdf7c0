"""Which party dials which: of any two parties of a plan, one must listen where the other can reach it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations

from plumbob.party.settings import SETTINGS_FILE, HomeSettings

OWN_ADDRESS = (
    f"write `address` (HOST:PORT) into {SETTINGS_FILE} and invite again, or let peers join with --address HOST:PORT"
)


@dataclass(frozen=True)
class WayToPeer:
    """How this party and a peer come together; `todo` says what is missing."""

    peer: str
    found: str
    todo: str = ""
    is_possible: bool = True


def reach_of(settings: HomeSettings, peer: str) -> WayToPeer:
    """How this party and a peer come together, as far as this side knows."""
    if dialled := settings.addresses.get(peer):
        return WayToPeer(peer, f"we connect to it at {dialled}")
    if settings.dialled_at:
        return WayToPeer(peer, f"it connects to us at {settings.dialled_at}")
    if settings.listen:
        return WayToPeer(
            peer,
            f"it connects to us, and our invitation does not say where (we listen on {settings.listen})",
            OWN_ADDRESS,
        )
    return WayToPeer(
        peer,
        f"nobody can dial: {peer}'s invitation has no address, and we do not listen",
        f"set `listen` in {SETTINGS_FILE} and invite {peer} again, or let {peer} do so and join its new invitation",
        is_possible=False,
    )


def apart(settings: HomeSettings, peers: Collection[str]) -> Iterator[WayToPeer]:
    """Pairs of peers neither of whom has told us an address: they may not find each other."""
    silent = [peer for peer in peers if not settings.addresses.get(peer)]
    for first, second in combinations(silent, 2):
        yield WayToPeer(
            second,
            f"neither {first}'s nor {second}'s invitation has an address, so these two may not reach each other",
            f"let one of them set `listen` in its {SETTINGS_FILE} and invite everybody again",
        )
