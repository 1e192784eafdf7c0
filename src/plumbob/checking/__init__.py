"""What a plan gives away, worked out from its numbers before any data moves."""
