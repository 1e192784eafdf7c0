"""The studies under benchmarks/attacks: each attack succeeds where it should, and fails against its defence."""
