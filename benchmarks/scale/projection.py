"""From measured operations, on paper: an epoch of `exchange` on ten million rows, on machines that were not at hand.

    python benchmarks/scale/projection.py [--rows 10000000] [--batch 8192]

The constants say where they come from. Change one and run again; docs/scale.md holds the table that this prints.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from plumbob.crypto.engines.python import group_size

# Measured on one core (Zen 4, AVX-512 IFMA), 2048-bit keys: benchmarks/scale/growth.py and docs/benchmarks.md.
PRODUCT_SECONDS = 0.68e-6
"""One modular product, reading its factors from tables: 1.46 µs an entry of 392 columns are 2.2 products."""
ENCRYPTION_PRODUCTS = 97
"""What an encryption takes (66 µs), in products."""
SERIAL_SECONDS = 6.7e-6
"""A row, at each party, in Python, on one core whatever the engine: encoding 1.2 µs, admission 3.3, digits 0.8, hashes
and the set of what was lent 1.4."""
THREADS_EFFICIENCY = 0.95
"""Two threads are 1.89 to 1.95 times one; taken to hold for more, which nobody has measured."""

# On paper.
NETWORK = 1.25e8
"""Bytes a second between the parties: 1 Gbit/s."""
CIPHERTEXT = 512
"""Bytes, 2048-bit keys."""


@dataclass(frozen=True)
class Machine:
    """What one party has: `products` a second."""

    name: str
    products: float


def on_cores(count: int) -> float:
    """Products a second."""
    return (1.0 if count == 1 else THREADS_EFFICIENCY) * count / PRODUCT_SECONDS


MACHINES = (
    Machine("one core", on_cores(1)),
    Machine("2 cores", on_cores(2)),
    Machine("64 cores", on_cores(64)),
)


def main() -> None:
    """One line a machine."""
    options = parse()
    print(f"{options.rows} rows, batches of {options.batch}, one epoch, each party on such a machine; minutes:\n")
    print("| machine | 20 + 20 columns | of it arithmetic, serial, network | 200 + 200 columns | of it |")
    print("|---|---|---|---|---|")
    for machine in MACHINES:
        cells = [machine.name]
        for columns in (20, 200):
            parts = [options.rows * seconds / 60 for seconds in row_seconds(machine, columns, options.batch)]
            cells += [f"{sum(parts):.1f}", " + ".join(f"{part:.1f}" for part in parts)]
        print("| " + " | ".join(cells) + " |")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="an epoch on machines that were not at hand")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=8192)
    return parser.parse_args()


def row_seconds(machine: Machine, columns: int, batch: int, bits: int = 28) -> tuple[float, float, float]:
    """(arithmetic, serial, network) of one row at one party: encrypted, sent, received, multiplied.

    Replies are a few ciphertexts a batch and do not count. Nothing overlaps: that is how a step is written. Features
    of ten million standardised rows have 28 bits.
    """
    products = ENCRYPTION_PRODUCTS + products_to_combine(batch, columns, bits) / batch
    return products / machine.products, SERIAL_SECONDS, CIPHERTEXT / NETWORK


def products_to_combine(rows: int, columns: int, bits: int) -> int:
    """Modular products of a call, as the engines count them (Four Russians, then Horner over the bit planes)."""
    size = group_size(rows, columns * bits)
    return -(-rows // size) * ((1 << size) + columns * bits) + 2 * columns * bits


if __name__ == "__main__":
    main()
