"""The short version of `make fuzz`: every decoder on its seeds, and on what hypothesis makes of them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.decoders import DECODERS, Decoder

EDIT = st.tuples(st.integers(0, 400), st.integers(0, 8), st.binary(max_size=9))
EACH = pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)


def edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """Some bytes cut out, and others put in, at places counted around the end."""
    for place, cut, put in edits:
        start = place % (len(data) + 1)
        data = data[:start] + put + data[start + cut :]
    return data


@EACH
def test_seeds_are_taken_or_refused(decoder: Decoder) -> None:
    """Honest input is taken in; what once was trouble is refused by an error of ours."""
    seeds = decoder.seeds()
    assert decoder.try_on(seeds[0])
    for data in seeds:
        decoder.try_on(data)


@EACH
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data())
def test_any_bytes_are_taken_or_refused(decoder: Decoder, data: st.DataObject) -> None:
    """Whatever comes in, nothing but a PlumbobError comes out."""
    seed = data.draw(st.sampled_from(decoder.seeds()))
    decoder.try_on(edited(seed, data.draw(st.lists(EDIT, min_size=1, max_size=4))))
    decoder.try_on(data.draw(st.binary(max_size=200)))
