"""What a plan that says nothing gets: `shares` and `clear` train alike, the others as in the paper."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from plumbob.plan.keys import SettingKey
from plumbob.plan.protocols import PROTOCOLS
from plumbob.plan.settings import KEYS

SUGGESTED_BINS = 10
"""Of a plan that is drafted from tables: real tables have text and gaps, and bins take both."""
SUGGESTED_TEST_SHARE = 0.2
"""Of a plan that is drafted from tables: without held-out rows nobody learns how good the model is."""
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


def suggested_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """What a plan that is drafted from tables says, with what somebody chose: real tables have text and gaps.

    Bins take both, but depend on every row; under noise for whole rows they need public cuts.
    """
    needs_public_cuts = keys.get("noise") == "rows" and keys.get("scale") != "public"
    encoding = {"missing": "mean", "categorical": "one-hot"} if needs_public_cuts else {"bins": SUGGESTED_BINS}
    return {**encoding, "test_share": SUGGESTED_TEST_SHARE, **keys}


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
    """The same values, with the defaults of their protocol where nothing was said."""
    protocol = values.get("protocol", "shares")
    unsaid = {key.name for key in KEYS if key.is_fitted and values.get(key.name) is None}
    said = {name: value for name, value in values.items() if name not in unsaid}
    # Whoever names a size of batches wants batches, where the protocol has them.
    batches = said.get("batches", "reshuffled" if "batch_size" in said else "full")
    return {key.name: default_of(key, protocol, batches) for key in KEYS} | said
