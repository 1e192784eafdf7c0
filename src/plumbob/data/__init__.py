"""Files become tables, tables aligned rows, aligned rows shards, shards batches. No peer, key or weight enters.

Each name is imported when it is asked for: who only counts batches loads no reader of files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.data.batching import (
        Batch,
        all_steps,
        batches,
        largest_batch,
        sampled_rows,
        seed_from_int,
        steps_per_epoch,
        stream,
    )
    from plumbob.data.encoder import Encoder, with_columns
    from plumbob.data.frames import table_from
    from plumbob.data.ids import canonical, canonical_ids
    from plumbob.data.same_rows import align, column_counts, split_array
    from plumbob.data.shards import Shard, build_shard, held_out_rows
    from plumbob.data.table_files import column_names, read_table
    from plumbob.data.tables import Column, ColumnChoices, Table

_OFFERED = {
    "batching": (
        "Batch",
        "all_steps",
        "batches",
        "largest_batch",
        "sampled_rows",
        "seed_from_int",
        "steps_per_epoch",
        "stream",
    ),
    "encoder": ("Encoder", "with_columns"),
    "frames": ("table_from",),
    "ids": ("canonical", "canonical_ids"),
    "same_rows": ("align", "column_counts", "split_array"),
    "shards": ("Shard", "build_shard", "held_out_rows"),
    "table_files": ("column_names", "read_table"),
    "tables": ("Column", "ColumnChoices", "Table"),
}
_MODULE_OF = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = [
    "Batch",
    "Column",
    "ColumnChoices",
    "Encoder",
    "Shard",
    "Table",
    "align",
    "all_steps",
    "batches",
    "build_shard",
    "canonical",
    "canonical_ids",
    "column_counts",
    "column_names",
    "held_out_rows",
    "largest_batch",
    "read_table",
    "sampled_rows",
    "seed_from_int",
    "split_array",
    "steps_per_epoch",
    "stream",
    "table_from",
    "with_columns",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'plumbob.data' has no attribute {name!r}")
    return getattr(import_module(f"plumbob.data.{_MODULE_OF[name]}"), name)
