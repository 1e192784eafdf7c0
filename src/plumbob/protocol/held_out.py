"""Held-out rows that one party chooses, where the plan lets it: one bit for each common row, to the others.

That is all that the others learn of what the choice follows, such as a date: on which side of a line each row lies.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from plumbob.errors import LocalProtocolError, RemoteProtocolError
from plumbob.protocol.alignment_schedule import held_out_rows
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import Kind

ROWS_AT_ONCE = 2**19


def agree_on_held_out(participant: Participant, rows: int, chosen: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """The held-out rows, the same at every party; `chosen` is given where this party chooses."""
    plan = participant.plan
    pieces = [piece.stop - piece.start for piece in pieces_of(rows)]
    participant.follow(partial(held_out_rows, plan, pieces))
    if participant.name == plan.held_out_by:
        if chosen is None or len(chosen) != rows or int(chosen.sum()) != plan.held_out(rows):
            raise LocalProtocolError(f"expected {plan.held_out(rows)} of {rows} rows to be chosen here")
        for piece in pieces_of(rows):
            participant.send_all(Kind.HELD_OUT_ROWS, np.packbits(chosen[piece]).tobytes())
        return chosen
    chooser = participant.data_peers[plan.held_out_by]
    body = b"".join(chooser.receive(Kind.HELD_OUT_ROWS, 0) for _ in pieces)
    bits = np.unpackbits(np.frombuffer(body, dtype=np.uint8)).astype(bool)
    heard, rest = bits[:rows], bits[rows:]
    if rest.any() or int(heard.sum()) != plan.held_out(rows):
        raise RemoteProtocolError(
            f"{plan.held_out_by}: it chose {int(bits.sum())} of {rows} rows to hold out, and the plan says"
            f" {plan.held_out(rows)}; align again"
        )
    return heard


def pieces_of(rows: int) -> list[slice]:
    """The rows of each message."""
    return [slice(start, min(start + ROWS_AT_ONCE, rows)) for start in range(0, rows, ROWS_AT_ONCE)]
