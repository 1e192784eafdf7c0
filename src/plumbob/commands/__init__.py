"""What stands behind a verb of the command line: each `run` does the work and returns what is to be shown."""
