"""How long a peer takes to get in while strangers call: `python -m benchmarks.flood [--repeats 5]`.

The peer calls over a line of 80 ms (40 each way). Strangers call the same port directly, so many a second. Each says
the first six bytes of a TLS hello and no more. They call from the peer's own address, or from another one.
"""

import argparse
import multiprocessing
import socket
import statistics
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.network import Relay
from plumbob.net.connector import Connector, Peer
from plumbob.net.identity import Identity

SIX_BYTES = b"\x16\x03\x01\x02\x00\x01"
OWN, OTHER = "127.0.0.1", "127.0.0.2"
RATES = (0, 25, 150)
FAST_LINE = 1000.0  # Mbit/s: the delay is what is measured.
WARM_UP, PATIENCE = 2.0, 20.0


def main() -> None:
    """Prints a table: seconds until the peer is in, the median and the longest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print("| strangers a second | from | median s | longest s |\n|---|---|---|---|")
    for rate in RATES:
        for source in (OWN, OTHER) if rate else (OWN,):
            found = [seconds_to_get_in(rate, source) for _ in range(repeats)]
            shown = "nobody" if not rate else "the peer's address" if source == OWN else "another address"
            print(f"| {rate} | {shown} | {statistics.median(found):.2f} | {max(found):.2f} |", flush=True)


def seconds_to_get_in(rate: int, source: str) -> float:
    """From the first dial to the connection; infinite where it did not come within `PATIENCE`."""
    with tempfile.TemporaryDirectory() as folder:
        bank, fund = (Identity.create(Path(folder) / name, name) for name in ("bank", "fund"))
        is_in = threading.Event()
        server = Connector(
            fund,
            [Peer("bank", bank.certificate.der, None)],
            listen="127.0.0.1:0",
            proxy=None,
            largest_message=1 << 16,
            on_connection=lambda _: is_in.set(),
        )
        with closing(server):
            server.open()
            port = int(str(server.address).rpartition(":")[2])
            strangers = multiprocessing.Process(target=call, args=(port, rate, source), daemon=True)
            strangers.start()
            time.sleep(WARM_UP)
            started = time.monotonic()
            dialled = f"127.0.0.1:{Relay(port, FAST_LINE, 40).port}"
            client = Connector(
                bank,
                [Peer("fund", fund.certificate.der, dialled)],
                listen=None,
                proxy=None,
                largest_message=1 << 16,
                on_connection=lambda _: None,
            )
            with closing(client):
                client.open()
                came = is_in.wait(PATIENCE)
            taken = time.monotonic() - started
            strangers.kill()
            strangers.join()
    return taken if came else float("inf")


def call(port: int, rate: int, source: str) -> None:
    """So many calls a second, each of which stays until it is sent away."""
    held: list[socket.socket] = []
    while rate:
        with suppress(OSError):
            caller = socket.create_connection(("127.0.0.1", port), timeout=1, source_address=(source, 0))
            caller.sendall(SIX_BYTES)
            held.append(caller)
        if len(held) > 500:
            held.pop(0).close()
        time.sleep(1 / rate)


if __name__ == "__main__":
    main()
