"""Defaults for keys that a plan leaves out: `shares` and `clear` train alike, the others as in the paper."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from plumbob.plan.keys import SettingKey
from plumbob.plan.protocols import PROTOCOLS
from plumbob.plan.settings import KEYS

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "scale": "standard",
        "sigmoid": "taylor",
        "batches": "reshuffled",
        "momentum": 0.0,
        "learning_rate": 0.1,
        "feature_bits": 16,
        "open": "own",
    }
)
"""How the paper trains, by the plan's keys: for `VerticalLogisticRegression(protocol="clear", **plumbob.PAPER)`."""
PAPERS_PROTOCOL = "exchange"


def default_of(key: SettingKey, protocol: str, batches: str = "full") -> Any:
    """The key's default in a plan of this protocol.

    What `clear` has for itself is small batches, which the public rate does not suit: with them it trains as the paper.
    """
    kind = PROTOCOLS.get(protocol)
    if not key.is_fitted or kind is None or kind.has_lattices:
        return key.default
    if kind.is_encrypted or kind.is_foreign or batches != "full" or key.name == "open":
        return PAPER.get(key.name, key.default)
    return key.default


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the defaults of their protocol where nothing was said."""
    protocol = values.get("protocol", "shares")
    unsaid = {key.name for key in KEYS if key.is_fitted and values.get(key.name) is None}
    said = {name: value for name, value in values.items() if name not in unsaid}
    # Whoever names a size of batches wants batches, where the protocol has them.
    batches = said.get("batches", "reshuffled" if "batch_size" in said else "full")
    return {key.name: default_of(key, protocol, batches) for key in KEYS} | said
