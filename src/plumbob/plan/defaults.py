"""What a plan that says nothing gets: what fits its protocol, or, in version 1, what every plan got.

`shares` has defaults of its own; every other protocol gets the paper's.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from plumbob.plan.keys import SettingKey
from plumbob.plan.settings import KEYS

SCHEME_OF_SHARES = "lattice"
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
        "scheme": "paillier",
        "feature_bits": 16,
        "open": "own",
    }
)
# Version 1 had no groups of rare levels and no momentum, and always ten epochs.
VERSION_1: Mapping[str, Any] = MappingProxyType({**THE_PAPERS, "epochs": 10, "rare": 0})


def suggested_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """What a plan that is drafted from tables says, with what somebody chose: real tables have text and gaps.

    Bins take both, but depend on every row; under noise for whole rows they need public cuts.
    """
    needs_public_cuts = keys.get("noise") == "rows" and keys.get("scale") != "public"
    encoding = {"missing": "mean", "categorical": "one-hot"} if needs_public_cuts else {"bins": SUGGESTED_BINS}
    return {**encoding, "test_share": SUGGESTED_TEST_SHARE, **keys}


def default_of(key: SettingKey, version: int, protocol: str, scheme: str | None) -> Any:
    """The key's default in a plan of this version, protocol and scheme."""
    if version == 1:
        return VERSION_1.get(key.name, key.default)
    if not key.is_fitted:
        return key.default
    if protocol != "shares":
        return THE_PAPERS[key.name]
    if key.name == "scheme":
        return SCHEME_OF_SHARES
    # What is not opened is not opened, whatever the products are made with.
    is_own = key.name == "open" or (scheme or SCHEME_OF_SHARES) == "lattice"
    return key.default if is_own else THE_PAPERS[key.name]


def with_defaults(values: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The same values, with the defaults of their version, protocol and scheme where nothing was said."""
    protocol, scheme = values.get("protocol", "shares"), values.get("scheme")
    unsaid = {key.name for key in KEYS if key.is_fitted and values.get(key.name) is None}
    said = {name: value for name, value in values.items() if name not in unsaid}
    return {key.name: default_of(key, version, protocol, scheme) for key in KEYS} | said
