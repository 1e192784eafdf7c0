"""The four verdicts, what each means, and their order: one place for check, audit, report, lab and every page."""

LEAKS, DEGRADES, BLOCKED, NOT_APPLICABLE = "leaks", "degrades", "blocked", "not applicable"

# What is worst comes first.
ORDER = (LEAKS, DEGRADES, BLOCKED, NOT_APPLICABLE)
MEANINGS = {
    LEAKS: "the attacker learns more than it could guess anyway, by more than the plan's tolerance",
    DEGRADES: "the attacker learns something, or may; or it could, but a replay would name it",
    BLOCKED: "the attack was tried or calculated, and not shown to reveal more than the tolerance; that is no proof",
    NOT_APPLICABLE: "the attack has nothing to work on",
}

HOW_OFTEN = {
    LEAKS: "In tests on new plans, right 159 of 167 times.",
    DEGRADES: "In tests, 88 of 247 leaks got this; 0 of 280 blocked ones leaked.",
}
"""Results of benchmarks/check_grid.py, run once on seeds that no rule was fitted to; docs/check.md has the table."""

HONEST, CHEATING = ASSUMPTIONS = ("honest", "cheating")
"""What a finding assumes: that everyone keeps to the protocol, or that its attacker chose its data or its software."""
