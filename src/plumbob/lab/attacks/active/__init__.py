"""Active attacks: parties that override a step of the round, run against the real protocol."""
