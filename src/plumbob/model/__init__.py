"""The mathematics: numpy in, numpy out. No file, no secret, and no randomness but what is handed in."""
