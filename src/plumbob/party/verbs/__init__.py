"""The verbs of `plumbob party` and `plumbob auditor`: a function each, which `plumbob.party` offers in Python."""
