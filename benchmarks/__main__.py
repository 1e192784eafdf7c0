"""Print the tables of docs/benchmarks.md: `python -m benchmarks [parties quality lattice alignment organisations]`.

Without a name it prints all of them, in about half an hour on two idle cores. `python -m benchmarks.parties --help`
says how to make one of them shorter. Other systems' lines come from benchmarks/other_systems.py, which runs in their
own environments, and the figures of docs/check.md from benchmarks/check_grid.py.
"""

import sys

from benchmarks import alignment, lattice, organisations, parties, quality
from plumbob.errors import DataError

TABLES = {
    "parties": parties.main,
    "quality": quality.main,
    "alignment": alignment.main,
    "lattice": lattice.main,
    "organisations": organisations.main,
}


def main(names: list[str]) -> None:
    """Measure and print, one table after the other."""
    if unknown := set(names) - set(TABLES):
        sys.exit(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    for name in names or TABLES:
        print(f"\n{name}\n", flush=True)
        try:
            TABLES[name]([])
        except DataError as error:
            sys.exit(f"{name}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
