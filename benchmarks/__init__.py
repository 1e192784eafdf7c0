"""What docs/benchmarks.md shows, and how often `check` is right: a module for each table."""
