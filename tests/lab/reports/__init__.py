"""Tests of `plumbob.lab.reports`."""
