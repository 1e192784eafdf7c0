"""The tests of `plumbob.crypto`, one file a module."""
