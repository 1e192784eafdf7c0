"""A frame: all that travels on a connection once both sides have said the opening.

    offset  size  field
    0       8     bytes of everything that follows
    8       1     kind
    9       8     number of the message; for a goodbye, of the next one; otherwise 0
    17      8     how many of the receiver's messages the sender has on its disk; 0 outside of a run
    25            the body: a message, a greeting in JSON, or why the run ends in UTF-8; otherwise nothing

Numbers are unsigned, with the lowest byte first. The connection (`wire`) reads the size and carries the rest as it is,
but for its own three kinds, which never reach whoever receives.
"""

import struct

SIZE = struct.Struct("<Q")
FRAME = struct.Struct("<BQQ")
Data = bytes | memoryview
"""The data that a link hands over: long messages are not copied."""
MESSAGE, GOODBYE, ABORT, GREETING = range(4)
# The connection's own: it is alive, it ends, or the receiver's last frame was too long.
ALIVE, LEAVING, TOO_LONG = range(4, 7)


def signal(kind: int) -> bytes:
    """A whole frame that says nothing but its kind."""
    return SIZE.pack(FRAME.size) + FRAME.pack(kind, 0, 0)
