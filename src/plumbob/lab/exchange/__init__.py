"""`exchange` and `arbiter`: every step ends with each party's own gradient; products run on Paillier ciphertexts."""
