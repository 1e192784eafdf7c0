"""Tests of what carries bytes."""
