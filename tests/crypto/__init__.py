"""The tests of `plumbob.crypto`, one file a module; `test_hiding` and `test_round` hold what all promise."""
