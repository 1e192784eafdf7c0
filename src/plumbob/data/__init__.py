"""Files become tables, tables aligned rows, aligned rows shards, shards batches. No peer, key or weight enters.

Each name is imported when it is asked for: who only counts batches loads no reader of files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.data.batching import Batch, all_steps, batches, largest_batch, seed_from_int, steps_per_epoch, stream
    from plumbob.data.frames import table_from
    from plumbob.data.same_rows import split_array
    from plumbob.data.shards import Shard, build_shard
    from plumbob.data.table_files import read_table
    from plumbob.data.tables import ColumnChoices, Table

__all__ = [
    "Batch",
    "ColumnChoices",
    "Shard",
    "Table",
    "all_steps",
    "batches",
    "build_shard",
    "largest_batch",
    "read_table",
    "seed_from_int",
    "split_array",
    "steps_per_epoch",
    "stream",
    "table_from",
]
_ELSEWHERE = {
    "ColumnChoices": "tables",
    "Shard": "shards",
    "Table": "tables",
    "build_shard": "shards",
    "read_table": "table_files",
    "split_array": "same_rows",
    "table_from": "frames",
}
"""The modules of the names that `batching` does not have."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'plumbob.data' has no attribute {name!r}")
    return getattr(import_module(f"plumbob.data.{_ELSEWHERE.get(name, 'batching')}"), name)
