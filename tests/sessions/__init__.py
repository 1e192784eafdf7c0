"""What holds in every session of `shares`, and what becomes of each message that is not as it should be."""
