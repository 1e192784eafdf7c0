"""Opened shares as an oracle: attacks that read people through them in a weakened build, and not in ours."""
