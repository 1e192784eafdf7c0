"""Attacks on lattice products. Each wins against a build with the obvious construction, and loses against ours.

What is weakened is a subclass in these files: the package has no option that reaches any of it.
"""
