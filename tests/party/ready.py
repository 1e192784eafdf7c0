"""The last thing that the fork server imports: from here on it is only copied."""

import gc

from plumbob import cli

# Each process would import what its verb needs again, and each collection of garbage would copy pages to look at them.
cli.application("party")
gc.collect()
gc.freeze()
