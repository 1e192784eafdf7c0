"""Tests of the active attacks."""
