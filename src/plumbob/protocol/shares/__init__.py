"""`shares`: everything stays shared between the parties until it is opened; products run on lattices."""
