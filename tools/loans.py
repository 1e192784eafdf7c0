"""Draw the bundled sample of credit data: 4,000 of the 30,000 clients of UCI's "default of credit card clients".

    PLUMBOB_DATA=FOLDER python tools/loans.py [FILE]      writes src/plumbob/data_files/loans.csv.gz, or FILE

The sample is a simple random one; its size and seed were fixed before any model was trained on it.
FOLDER holds credit/UCI_Credit_Card.csv.gz.
"""

import gzip
import io
import os
import sys
from pathlib import Path

import numpy as np

from plumbob.lab.datasets import CREDIT_COLUMNS, CREDIT_FILE, LOANS_FILE, LOANS_LABEL, LOANS_ROWS

CLIENTS = 30_000
# Not 0: that permutation begins with the test part of the data set `credit`, and all of it would be in the sample.
SEED = 1


def main(source: Path, target: Path) -> None:
    """Write the sample, with the cells as they are in the source and the label's name as UCI has it."""
    with gzip.open(source, "rt", encoding="ascii", newline="") as file:
        header, *clients = file.read().splitlines()
    if len(clients) != CLIENTS or tuple(header.split(",")[1:-1]) != CREDIT_COLUMNS:
        raise SystemExit(f"{source}: expected {CLIENTS} rows of {', '.join(CREDIT_COLUMNS)} after the id")
    lines = [",".join(("ID", *CREDIT_COLUMNS, LOANS_LABEL)), *(clients[row] for row in drawn_rows())]
    target.write_bytes(compressed("".join(f"{line}\n" for line in lines)))
    print(f"{target}: {len(lines) - 1:,} rows, {target.stat().st_size:,} bytes")


def drawn_rows() -> list[int]:
    """In the order of the source, so that neighbours have ids that compress."""
    # The old generator, because its stream never changes.
    return sorted(np.random.RandomState(SEED).permutation(CLIENTS)[:LOANS_ROWS].tolist())


def compressed(text: str) -> bytes:
    """Without a name and a time, so that the same rows give the same bytes."""
    content = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=content, mtime=0) as file:
        file.write(text.encode("ascii"))
    return content.getvalue()


if __name__ == "__main__":
    if len(sys.argv) > 2 or "PLUMBOB_DATA" not in os.environ:
        raise SystemExit(__doc__)
    main(Path(os.environ["PLUMBOB_DATA"]) / CREDIT_FILE, Path(sys.argv[1]) if len(sys.argv) == 2 else LOANS_FILE)
