"""Who speaks, when, and what is refused. The arithmetic is `crypto`'s and `model`'s, the wire `net`'s."""
