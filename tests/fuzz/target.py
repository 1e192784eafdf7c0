"""One decoder under atheris, which looks for inputs that reach new code: `python -m tests.fuzz.target NAME -runs=N`.

Further arguments are libFuzzer's: a folder is for what reaches new code, a file is an input to see again. It starts
from the decoder's honest input.
"""

import gc
import sys
import tempfile
from pathlib import Path
from types import FunctionType

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]  # Only where it is installed.

from tests.fuzz.decoders import DECODERS

ROOMS = ("protocol", "net", "crypto", "plan", "record", "run_folder", "jobs")
WATCHED = (*(f"plumbob.{room}" for room in ROOMS), "tests.fuzz.decoders", "tomllib")


def main(name: str, arguments: list[str]) -> None:
    """Does not return: the fuzzer ends the process."""
    decoder = next(decoder for decoder in DECODERS if decoder.name == name)
    folder = Path(tempfile.mkdtemp(prefix=f"plumbob-{name}-"))
    (folder / "honest").write_bytes(decoder.honest())
    watch()

    def one_input(data: bytes) -> None:
        decoder.try_on(data)

    # Where it is run from may not be ours to write to.
    seeds = [] if any(Path(each).is_file() for each in arguments) else [str(folder)]
    atheris.Setup([sys.argv[0], f"-artifact_prefix={folder}/", *arguments, *seeds], one_input)
    atheris.Fuzz()


def watch() -> None:
    """What is imported already; atheris' own hook does not see a package that was installed to be edited."""
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and (function.__module__ or "").startswith(WATCHED):
            atheris.instrument_func(function)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
