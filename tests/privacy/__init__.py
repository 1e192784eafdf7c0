"""Tests of the noise and of what it costs."""
