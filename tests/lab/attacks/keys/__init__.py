"""`key-*`: attacks on keys and randomness. They win against a weakened build and against no shipped one.

Each file has the attacker, a party of the protocol that overrides a step; a test in which it wins against a victim that
was weakened in one place; and one in which it meets the victim that is shipped. What is weakened is a subclass or a
patch in these files: the package has no option, and no variable of the environment, that reaches any of it.
"""
