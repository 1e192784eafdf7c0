"""Tests of one organisation's side."""
