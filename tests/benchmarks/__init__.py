"""Rules that were found by measuring, and stay as they were measured."""
