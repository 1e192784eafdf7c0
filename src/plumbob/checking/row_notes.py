"""What a promise about whole rows means, in sentences: for whoever must say yes or no, before anything moves."""

from collections.abc import Iterator

from plumbob.plan import Plan
from plumbob.privacy.row_rule import RowRule, expected_auc_loss, row_rule
from plumbob.privacy.rows import RowCost, coin_flip_bound, odds_factor
from plumbob.protocol.row_noise import row_cost

WORTHWHILE_LOSS = 0.03
"""Beyond it a model is hardly worth its noise."""


def row_notes(plan: Plan, rows: int) -> Iterator[str]:
    """One sentence each; none for a plan that makes no promise about rows. `rows` are all aligned ones."""
    cost = row_cost(plan)
    if cost is None:
        return
    yield from _promise(plan, cost)
    yield from _price(plan, cost, rows - plan.held_out(rows))
    yield from _not_covered(plan)


def _promise(plan: Plan, cost: RowCost) -> Iterator[str]:
    epsilon = cost.epsilon(plan.delta)
    yield (
        "Whole rows: whatever all other parties see together, the odds of any guess about one person move by a factor"
        f" of at most {odds_factor(epsilon):.3g} (e^{epsilon:.3g}, up to probability {plan.delta:g}) beyond what the"
        " guesser would believe without that person's row."
    )
    yield (
        f"A label drawn by a fair coin is named with probability {coin_flip_bound(epsilon, plan.delta):.3f} at most."
        " Labels that other people's rows predict are guessed as often as a model can: that is what a model is for."
    )
    yield (
        "The figure is proved (zCDP, converted by Canonne, Kamath and Steinke's Proposition 12) and pays for"
        f" {cost.passes} passes{_at_home(cost)}; docs/privacy.md has the proof."
    )


def _at_home(cost: RowCost) -> str:
    if not cost.at_home:
        return ""
    share = sum(cost.at_home) / cost.rho
    return f" and, with {share:.0%} of the budget, for what {len(cost.at_home)} parties learn from their own rows"


def _price(plan: Plan, cost: RowCost, rows: int) -> Iterator[str]:
    columns = [party.features for party in plan.learners]
    loss = expected_auc_loss(rows, columns, plan.epsilon, plan.delta, cost.passes)
    yield (
        f"The noise is expected to cost {loss:.3f} of AUC with {rows:,} training rows and {cost.passes} passes"
        " (a forecast for a model of AUC .78: within .01 in 19 of 21 fresh made-up tables if below .03, rough above)."
    )
    rule = row_rule(rows, columns, plan.epsilon, plan.delta)
    if loss > WORTHWHILE_LOSS:
        yield "That is hardly worth training for: use more rows or fewer columns, or agree on a larger epsilon."
    elif rule.passes != cost.passes:
        yield _better(plan, rows, rule, loss)


def _better(plan: Plan, rows: int, rule: RowRule, loss: float) -> str:
    columns = [party.features for party in plan.learners]
    with_rule = expected_auc_loss(rows, columns, plan.epsilon, plan.delta, rule.passes)
    return (
        f"For these numbers the public rule takes {rule.passes} passes (--epochs {rule.passes}), where the noise is"
        f" expected to cost {with_rule:.3f} instead of {loss:.3f}."
    )


def _not_covered(plan: Plan) -> Iterator[str]:
    yield (
        "Not covered: who takes part and how many; column names and categories; held-out rows and later predictions;"
        " and a party that breaks its norm bound, sends sines off the circle or answers with garbage."
    )
    yield "Each further run on the same rows spends the budget again, and what is spent adds up."
    if plan.protocol == "clear":
        yield "In clear the noise comes from a seed: this is an experiment and protects nobody."
