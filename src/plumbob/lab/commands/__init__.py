"""What the verbs of the lab do, one module per verb."""
