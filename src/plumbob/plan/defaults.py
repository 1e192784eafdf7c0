"""What a plan that says nothing gets: `shares` and `clear` train alike, the others as in the paper."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from plumbob.plan.encodings import ENCODING_KEYS, DraftedEncoding, TableSize, encoding_of, needs_public_cuts
from plumbob.plan.keys import SettingKey
from plumbob.plan.protocols import PROTOCOLS
from plumbob.plan.settings import KEYS

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


def suggested_keys(
    keys: Mapping[str, Any], sizes: Sequence[TableSize], rows: int | None = None
) -> tuple[dict[str, Any], DraftedEncoding | None]:
    """What a plan that is drafted from tables of these sizes says, with what somebody chose; and why, if the rule did.

    `rows` are the common ones where they are known; the smallest file's stand in for them.
    """
    common = {"test_share": SUGGESTED_TEST_SHARE, **keys}
    if ENCODING_KEYS & keys.keys():
        return common, None
    if needs_public_cuts(keys):
        return {**encoding_of(0, has_row_noise=True), **common}, None
    rows = min(size.rows for size in sizes) if rows is None else rows
    drafted = DraftedEncoding.of(rows - round(rows * common["test_share"]), sizes, keys.get("noise") == "rows")
    return {**drafted.keys, **common}, drafted


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
