"""Two organisations on this machine, from their files to the receipt: what each verb takes in time and memory.

    python benchmarks/scale/organisations.py [--rows 1000000] [--columns 20] [--passes 0] [--only align] [--work DIR]

Each has a home and a Parquet file of its own (the same people in another order) and types `party align`, `sign` and
`train`, both at the same time, over TLS on loopback; then one types `receipt`. The default plan without bins, a tenth
of the rows held out for quality. One core for each party.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from large import write_files
from watching import HEAD, row, watched

from plumbob.party.home import Home
from plumbob.plan import Plan

PARTIES = ("label", "features")
VERBS = ("align", "sign", "train", "receipt")


def main() -> None:
    """Write the files, run, print a table."""
    options = parse()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        plan = settle(Path(folder), options)
        print(f"{options.rows} people, {options.columns} + {options.columns} columns\n\n{HEAD}", flush=True)
        whole = 0.0
        for verb in options.only:
            seen = watched(*commands(verb, plan))
            for party, each in zip(PARTIES, seen, strict=False):
                print(row(f"{verb}, {party}", each), flush=True)
            whole += max(each.seconds for each in seen)
        print(f"\n{whole:.0f} s in all")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="two organisations with large files")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20, help="of each party")
    parser.add_argument("--passes", type=int, default=0, help="all of them over all rows; 0 = by the rule")
    parser.add_argument("--only", nargs="+", choices=VERBS, default=VERBS)
    parser.add_argument("--work", type=Path, default=None, help="a folder for the files; they are removed")
    return parser.parse_args()


def settle(folder: Path, options: argparse.Namespace) -> Path:
    """Homes that know each other, a file each, and the plan."""
    write_files({party: folder / f"{party}.parquet" for party in PARTIES}, options.rows, options.columns)
    passes = {"epochs": options.passes, "full_passes": options.passes} if options.passes else {}
    plan = Plan.for_columns((options.columns,) * 2, test_share=0.1, seed=7, **passes)
    (folder / "joint.toml").write_text(plan.to_toml())
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    label, other = PARTIES
    Home.init(
        folder / label, label, data=folder / f"{label}.parquet", listen=address, address=address, label_column="y"
    )
    Home.init(folder / other, other, data=folder / f"{other}.parquet")
    Home.open(folder / label).join(Home.open(folder / other).invitation(), "")
    Home.open(folder / other).join(Home.open(folder / label).invitation())
    return folder / "joint.toml"


def commands(verb: str, plan: Path) -> Iterator[list[str]]:
    """What each party types; anybody can look at a receipt."""
    if verb == "receipt":
        yield ["receipt", str(next(plan.parent.glob(f"{PARTIES[0]}/runs/*"))), "--quiet"]
        return
    consent = ["--yes", "--accept-leaks", "--accept-cheating"] if verb == "sign" else []
    jobs = ["--jobs", "1"] if verb == "align" else []
    for party in PARTIES:
        yield ["party", verb, str(plan), "--quiet", "--home", str(plan.parent / party), *consent, *jobs]


if __name__ == "__main__":
    main()
