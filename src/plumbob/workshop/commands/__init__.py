"""What the verbs of the workshop do, one module per verb."""
