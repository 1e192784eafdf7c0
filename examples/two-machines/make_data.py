"""Two files that could come from two organisations: the clinic has measurements and the diagnosis, the lab has others.

    python make_data.py FOLDER      writes FOLDER/clinic.csv and FOLDER/lab.csv

The rows are scikit-learn's breast-cancer data. Each side lacks some of the other's patients, and each file has an order
of its own.
"""

import csv
import random
import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer

FILES = {"clinic": (range(0, 5), range(0, 500)), "lab": (range(5, 12), range(50, 569))}


def main(folder: Path) -> None:
    """Write both files."""
    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer()
    for name, (columns, patients) in FILES.items():
        # Any fixed order will do, as long as it is not the other file's.
        rows = random.Random(name).sample(list(patients), len(patients))  # noqa: S311  # No secret.
        has_label = name == "clinic"
        header = ["patient", *(data.feature_names[column] for column in columns), *(["benign"] if has_label else [])]
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            for row in rows:
                values = [data.data[row, column] for column in columns]
                writer.writerow([f"P{row:04d}", *values, *([data.target[row]] if has_label else [])])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
