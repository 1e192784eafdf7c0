"""Tests of `plumbob.checking`."""
