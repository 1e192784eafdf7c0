"""The short version of `make fuzz`: every decoder on an honest input and on its corpus."""

import pytest

from tests.fuzz.decoders import CORPUS, DECODERS, Decoder
from tests.fuzz.kernel import PARSERS

EACH = pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)


@EACH
def test_honest_input_is_taken(decoder: Decoder) -> None:
    """What the others are made from by small changes is itself taken in."""
    assert decoder.try_on(decoder.honest())


@EACH
def test_the_corpus_is_taken_or_refused(decoder: Decoder) -> None:
    """What once was trouble, or reached code that nothing else did: nothing but a PlumbobError comes out."""
    for file in sorted(decoder.corpus.glob("*")):
        decoder.try_on(file.read_bytes())


def test_the_corpus_is_small_and_everybodys() -> None:
    """A folder belongs to a decoder or a parser of the kernel, and all of them together stay below 400 kB."""
    names = {decoder.name for decoder in DECODERS} | {f"kernel-{parser}" for parser in PARSERS}
    assert {folder.name for folder in CORPUS.iterdir()} <= names
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 400_000
