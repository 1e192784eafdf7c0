"""Tests of the lattice products."""
