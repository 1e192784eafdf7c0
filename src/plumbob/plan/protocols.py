"""The properties of protocols, for plans and verdicts: no engine, program or message is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from plumbob.plan.sigmoids import SIGMOIDS

MOST_SHARING = 8  # Parties in `shares`: products grow with the square of their number.


@dataclass(frozen=True)
class Protocol:
    """One protocol by its properties; code asks for a property, never for a name."""

    name: str
    keys: Literal["none", "paillier", "lattice", "unknown"]
    """The kind of encryption; unknown for other systems' protocols."""
    sigmoids: frozenset[str]
    noises: frozenset[str]
    shows_gradients: bool
    """Whether a party reads its own gradient in every step; otherwise everything stays shared until it is opened."""
    carries_row_weights: bool = False
    carries_momentum: bool = False
    has_arbiter: bool = False
    most_parties: int = 1 << 10
    """Most parties with columns."""
    is_foreign: bool = False
    """Whether it is another system's, which `check --from-...` judges and nobody here runs."""

    @property
    def is_encrypted(self) -> bool:
        return self.keys != "none"

    @property
    def has_lattices(self) -> bool:
        return self.keys == "lattice"

    @property
    def has_key_bits(self) -> bool:
        """Whether keys have a length that the plan chooses."""
        return self.keys in ("paillier", "unknown")

    @property
    def lends_keys(self) -> bool:
        """Whether every party with columns lends its own key to the others, as in the paper's Protocol 1."""
        return self.keys == "paillier" and not self.has_arbiter


NO_NOISE = frozenset({"none"})
ON_RESIDUALS = frozenset({"none", "std", "heuristic", "sound"})
LINEAR = frozenset({"taylor"})
OTHER_SYSTEMS = ("sshe", "hess", "spu")
"""Protocols of other systems: FATE's SSHE, SecretFlow's HESS and SPU."""
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol(
                "clear",
                keys="none",
                sigmoids=frozenset(SIGMOIDS),
                noises=ON_RESIDUALS | {"rows"},
                shows_gradients=True,
                carries_row_weights=True,
                carries_momentum=True,
            ),
            Protocol(
                "exchange",
                keys="paillier",
                sigmoids=LINEAR,
                noises=ON_RESIDUALS,
                shows_gradients=True,
            ),
            Protocol(
                "arbiter",
                keys="paillier",
                sigmoids=LINEAR,
                noises=ON_RESIDUALS,
                shows_gradients=True,
                has_arbiter=True,
            ),
            Protocol(
                "shares",
                keys="lattice",
                sigmoids=frozenset({"fourier"}),
                noises=NO_NOISE | {"rows"},
                shows_gradients=False,
                carries_row_weights=True,
                carries_momentum=True,
                most_parties=MOST_SHARING,
            ),
            *(
                Protocol(name, keys="unknown", sigmoids=LINEAR, noises=NO_NOISE, shows_gradients=False, is_foreign=True)
                for name in OTHER_SYSTEMS
            ),
        )
    }
)
OURS = tuple(name for name, protocol in PROTOCOLS.items() if not protocol.is_foreign)
