"""One decoder under atheris, which looks for inputs that reach new code: `python -m tests.fuzz.target NAME -runs=N`.

Further arguments are libFuzzer's. The corpus begins with the decoder's seeds.
"""

import gc
import sys
import tempfile
from pathlib import Path
from types import FunctionType

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]  # Only where it is installed.

from tests.fuzz.decoders import DECODERS

ROOMS = ("protocol", "net", "crypto", "plan", "record")
WATCHED = (*(f"plumbob.{room}" for room in ROOMS), "tests.fuzz.decoders", "tomllib")


def main(name: str, arguments: list[str]) -> None:
    """Does not return: the fuzzer ends the process."""
    decoder = next(decoder for decoder in DECODERS if decoder.name == name)
    corpus = Path(tempfile.mkdtemp(prefix=f"plumbob-{name}-"))
    for number, seed in enumerate(decoder.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    watch()

    def one_input(data: bytes) -> None:
        decoder.try_on(data)

    # Where it is run from may not be ours to write to.
    options = ["-max_len=8192", f"-artifact_prefix={corpus}/", "-print_final_stats=1", *arguments]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one_input)
    atheris.Fuzz()


def watch() -> None:
    """What is imported already; atheris' own hook does not see a package that was installed to be edited."""
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and (function.__module__ or "").startswith(WATCHED):
            atheris.instrument_func(function)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
