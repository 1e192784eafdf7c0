"""The protocols: who speaks, when, and what is refused. `crypto` and `model` calculate, `net` carries the bytes."""
