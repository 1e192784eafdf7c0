"""Tests of the command line's own modules."""
