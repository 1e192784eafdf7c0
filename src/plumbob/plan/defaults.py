"""What a plan that says nothing gets: what fits its protocol. `shares` has defaults of its own, others the paper's."""

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
THE_PAPERS: Mapping[str, Any] = MappingProxyType(
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


def suggested_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """What a plan that is drafted from tables says, with what somebody chose: real tables have text and gaps.

    Bins take both, but depend on every row; under noise for whole rows they need public cuts.
    """
    needs_public_cuts = keys.get("noise") == "rows" and keys.get("scale") != "public"
    encoding = {"missing": "mean", "categorical": "one-hot"} if needs_public_cuts else {"bins": SUGGESTED_BINS}
    return {**encoding, "test_share": SUGGESTED_TEST_SHARE, **keys}


def default_of(key: SettingKey, protocol: str) -> Any:
    """The key's default in a plan of this protocol."""
    is_own = not key.is_fitted or (protocol in PROTOCOLS and PROTOCOLS[protocol].has_lattices)
    return key.default if is_own else THE_PAPERS[key.name]


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with the defaults of their protocol where nothing was said."""
    protocol = values.get("protocol", "shares")
    unsaid = {key.name for key in KEYS if key.is_fitted and values.get(key.name) is None}
    said = {name: value for name, value in values.items() if name not in unsaid}
    return {key.name: default_of(key, protocol) for key in KEYS} | said
