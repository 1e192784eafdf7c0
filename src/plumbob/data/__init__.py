"""Files become tables, tables aligned rows, aligned rows shards, shards batches. No peer, key or weight enters."""

from plumbob.data.align import align, column_counts, in_agreed_order, split_array
from plumbob.data.batches import (
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
from plumbob.data.shards import Shard, build_shard, held_out_rows
from plumbob.data.table_files import column_names, identifying_columns, read_table
from plumbob.data.tables import Column, ColumnChoices, Table

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
    "identifying_columns",
    "in_agreed_order",
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
