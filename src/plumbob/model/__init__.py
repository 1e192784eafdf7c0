"""The mathematics: numpy in, numpy out. No file, no secret, and no randomness except what is passed in."""
