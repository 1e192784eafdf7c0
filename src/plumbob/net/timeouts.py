"""How long a connection may take over each thing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """How long things may take, in seconds."""

    handshake: float = 10.0  # from the first byte of a connection to its last handshake
    first_byte: float = 3.0  # from a call to the first byte of its handshake
    ping: float = 5.0  # a sign of life at least so often
    silence: float = 20.0  # without any byte for so long, the link is dead
    closing: float = 2.0  # for the goodbye
    first_retry: float = 0.5
    longest_retry: float = 10.0
    give_way: float = 1.0  # where both sides could dial, the one named second waits so long
