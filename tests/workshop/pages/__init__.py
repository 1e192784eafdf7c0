"""Tests of `plumbob.workshop.pages`."""
