"""Paillier and the paper's protocols: every key and ciphertext real, but short where the length does not matter."""
