"""The paper, measured: its figures from the real data, its theorems as small experiments, and all its claims.

Everything here trains with the same code as everybody else and draws nothing: pages are made in `report`.
"""
