"""The lab: a local web page on which a plan is tried out before anybody signs it.

It shows what `check`, training and the red team say; it calculates nothing of its own. What needs the command line's
work, a run in a process of its own and the estimate of its cost, is handed in by the command that opens the lab.
"""
