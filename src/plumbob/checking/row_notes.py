"""Sentences about what a promise about whole rows means, for whoever must say yes or no before anything moves."""

import math
from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.study import label_cost, noise_std
from plumbob.counting import percent
from plumbob.plan import Plan
from plumbob.plan.mistakes import delta_mistake
from plumbob.privacy.price import BEARABLE, TOO_FEW_ROWS, NoisePrice
from plumbob.privacy.rows import RowCost, coin_flip_bound, failures_in_delta, odds_factor, row_rule
from plumbob.protocol.row_cost import norms
from plumbob.protocol.row_noise import kept_cost, promised_cost

SMALLEST = 0.001
"""The smallest forecast of a loss in AUC that is shown as a figure."""
BOUND = (
    "even if they choose their rows and add no noise, as long as they shorten rows as agreed and send the messages that"
    " the protocol asks for. "
)
"""The parties that the promise holds against: the two facts about a coalition that its proof uses (docs/privacy.md)."""
NOT_BOUND = "A party that does not is not bound by it, and only a replay of kept evidence shows that"
SHUT_OUT = "A label party that does not gets no score, if its auditor is honest"
"""The same where two parties wait for a replay: the other one learns nothing, whatever it sends."""


def noise_notes(figures: Figures) -> Iterator[str]:
    """What noise promises and costs, one sentence each, where a plan has some."""
    plan = figures.plan
    if plan.noise == "rows":
        yield from row_notes(plan, figures.rows)
    elif plan.noise != "none":
        yield from label_promise(plan)
        yield "The noise protects no whole row."


def label_promise(plan: Plan) -> Iterator[str]:
    """What `sound` noise promises for a label, and how large the delta of a heuristic is."""
    cost = label_cost(plan)
    if cost is not None:
        epsilon = cost.zcdp_epsilon(plan.delta)
        odds = odds_in_words(epsilon, plan.delta, "this person's label", "the other label in this person's row")
        yield f"Differential privacy for labels: {odds}. Columns have no such promise."
    elif plan.noise == "sound":
        yield (
            "The noise was made for labels of equal weight. Balanced classes let a rare label count more, so nothing is"
            " promised."
        )
    elif plan.noise == "heuristic" and delta_mistake(plan.delta, plan.rows) is not None:
        yield (
            f"delta {plan.delta:g} is one in {plan.rows:,} rows or more, as in the paper's experiments: whoever"
            " publishes one whole row, drawn at random, would keep such a promise. Under sound or rows it is refused."
        )


def odds_in_words(epsilon: float, delta: float, whom: str, other: str) -> str:
    """The sentence that a lawyer understands: how far one row can move anybody's guess, and against what."""
    return (
        f"compare this training with one that had {other}. Whatever all the others saw together, the odds of any guess"
        f" about {whom} differ by a factor of at most {_factor(epsilon)} (e^{epsilon:.3g}), apart from a chance"
        f" of one in {1 / delta:,.0f}"
    )


def _factor(epsilon: float) -> str:
    factor = odds_factor(epsilon)
    return f"{factor:.3g}" if factor < 1000 else f"{factor:,.0f}"


def loss_in_words(loss: float) -> str:
    """A loss of AUC in words; beyond what is bearable, no figure is worth its digits."""
    if loss < SMALLEST:
        return f"less than {SMALLEST:g}"
    return f"{loss:.3f}" if loss <= BEARABLE else f"more than {BEARABLE:g}"


def row_notes(plan: Plan, rows: int) -> Iterator[str]:
    """Sentences about a promise about rows; none for a plan without one. `rows` are those that are trained on."""
    # As long as nobody knows the rows, the promise is that of the most that a run may have.
    cost = promised_cost(plan, rows if plan.rows else 0)
    if cost is None:
        return
    yield from _promise(plan, cost)
    yield from price_notes(plan, rows)
    yield from _not_covered(plan)


def _bound(plan: Plan) -> str:
    return BOUND + (SHUT_OUT if plan.is_replayed else NOT_BOUND)


def _promise(plan: Plan, cost: RowCost) -> Iterator[str]:
    epsilon = cost.epsilon(plan.delta)
    odds = odds_in_words(epsilon, plan.delta, "this person", "any other values in this person's row")
    yield f"Differential privacy for whole rows: {odds}. That this person is in the table is not hidden."
    yield f"This holds against all other parties together, {_bound(plan)}."
    named = 1000 * coin_flip_bound(epsilon, plan.delta)
    coin = f"{named:.0f}" if named < 999 else f"{named:.1f}"  # 1,000 of 1,000 would be no bound.
    # How many there are follows from the rows, which a plan need not know.
    passes = f"all {cost.passes} passes" if plan.rows or plan.epochs else "every pass"
    yield (
        f"For example: if a coin had decided this person's label, nobody could name it more than {coin} times in"
        " 1,000; guessing is right 500 times. A label that other people's rows predict is still predicted: that is what"
        " a model is for."
    )
    yield (
        f"The factor is proved, not estimated: it covers {passes} over the rows{_at_home(cost)}. The"
        " proof is in docs/privacy.md (zCDP, converted by Proposition 12 of Canonne, Kamath and Steinke)."
        f"{_failures(cost, plan.delta)}"
    )


def _at_home(cost: RowCost) -> str:
    """What scaling took of the budget; nothing where nobody scaled from rows."""
    parties = f"what {len(cost.at_home)} parties take from their own rows to scale their columns"
    return f", and {parties} ({_share_at_home(cost)} of the budget)" if cost.at_home else ""


def _share_at_home(cost: RowCost) -> str:
    return percent(sum(cost.at_home) / cost.rho)


def _failures(cost: RowCost, delta: float) -> str:
    """The part of delta that goes to the run's own failures; none in `clear`, which has no shares."""
    if not cost.failure:
        return ""
    share = failures_in_delta(cost.epsilon(delta), cost.failure)
    return (
        f" Of delta, {share:.2g} pays for the run's own failures: arithmetic that goes wrong with probability"
        f" {cost.failure:.2g}, counted 1 + e^epsilon times."
    )


def price_of(plan: Plan, rows: int) -> NoisePrice:
    """The price of a plan's noise for whole rows with this many training rows, bins included."""
    return NoisePrice.of(rows, plan.counted_columns, plan.epsilon, plan.delta, plan.bins > 0)


def price_notes(plan: Plan, rows: int) -> Iterator[str]:
    """What a plan's noise for whole rows is expected to cost with this many training rows."""
    columns = [party.features for party in plan.learners]
    price = price_of(plan, rows)
    rule = row_rule(rows, columns, plan.epsilon, plan.delta, plan.bins)
    yield f"The noise is expected to cost {price_in_words(price, rows, rule.passes)}."
    if price.expected > BEARABLE:
        yield "That is hardly worth training for: use more rows or fewer columns, or agree on a larger epsilon."
    elif (passes := plan.passes_over(rows)) != rule.passes:
        yield (
            f"This plan takes {passes} passes; the price is that of the {rule.passes} passes of the public rule"
            f" (--epochs {rule.passes})."
        )


def price_in_words(price: NoisePrice, rows: int, passes: int) -> str:
    """The price of noise for whole rows, its range, and what it depends on."""
    doubt = f"; with fewer than {TOO_FEW_ROWS:,} rows it can be several times as much" if rows < TOO_FEW_ROWS else ""
    return (
        f"{loss_in_words(price.expected)} of AUC with {rows:,} training rows and {passes} passes"
        f" ({range_in_words(price)}{doubt}), against the same plan without noise. That it has fewer bins than a plan"
        " without noise costs more where columns do not act evenly, and no plan tells how much"
    )


def range_in_words(price: NoisePrice) -> str:
    """The range of a price, in words."""
    return f"{price.low:.3f} to {price.high:.3f} on most tables"


def _not_covered(plan: Plan) -> Iterator[str]:
    yield (
        "Not covered: who takes part and how many; which columns, categories, bins and columns for gaps there are;"
        " held-out rows and later predictions."
    )
    yield (
        "Every further run on the same rows spends the budget again, and what is spent adds up. Each party's ledger"
        " recognises people by id: if two plans use different id columns, it counts one person as two."
    )
    if not plan.kind.is_encrypted:
        yield "In clear the noise comes from a seed: this is an experiment and protects nobody."


# On the decision sheet and the receipt.


def promise_in_numbers(figures: Figures) -> Iterator[str]:
    """What noise promises in numbers, first of all the sentence that a lawyer understands."""
    plan = figures.plan
    if plan.noise == "rows" and (cost := kept_cost(plan, figures.rows)) is not None:
        yield next(row_notes(plan, figures.rows))
        price = price_of(plan, figures.rows)
        yield f"The noise is expected to cost {loss_in_words(price.expected)} of AUC ({range_in_words(price)})."
        coin = 100 * coin_flip_bound(cost.epsilon(plan.delta), plan.delta)
        yield (
            f"For example: whoever would otherwise toss a coin about a person is right at most {coin:.1f} times in 100."
        )
        if not plan.kind.is_encrypted:
            yield "Here the noise comes from a seed: this is an experiment, and the promise protects nobody."
    elif plan.noise == "sound":
        yield from label_promise(plan)
    elif plan.noise == "none":
        yield "No noise is added: there is no promise in numbers about what a finished model says about one person."
    else:
        yield "Noise is added, but nobody has proved what it promises."


def after_second_run(figures: Figures) -> str:
    """What a second run on the same rows would do to the promise."""
    plan = figures.plan
    cost = kept_cost(plan, 0 if figures.is_assumed else figures.rows)
    if cost is None:
        return "what several runs tell adds up"
    epsilon = (cost.spending + cost.spending).epsilon(plan.delta)
    if math.isinf(epsilon):
        return "after a second run like this one, no promise is left"
    return f"after a second run like this one, the factor is {_factor(epsilon)}"


def noise_in_words(plan: Plan, rows: int = 0) -> str:
    """The kind of noise, each party's deviation and, where that is a promise, what a row or a label costs.

    `rows` are training rows, 0 before they are known.
    """
    if plan.noise == "none":
        return "none"
    if (of_rows := kept_cost(plan, rows)) is not None:
        return _row_noise_in_words(plan.on(rows) if rows else plan, of_rows)
    if plan.noise == "rows":
        return "rows: the arithmetic of this run fails too often for its delta to pay for, so that nothing is promised"
    stds = ", ".join(f"{party.name} std {noise_std(plan, party.role):.4g}" for party in plan.learners)
    cost = label_cost(plan)
    if cost is None:
        return f"{plan.noise}: {stds}"
    proved, analytic = cost.zcdp_epsilon(plan.delta), cost.analytic_epsilon(plan.delta)
    return (
        f"{plan.noise}: {stds}; a label costs epsilon {proved:.3g} (differential privacy by zCDP, proved) or"
        f" {analytic:.3g} (analytic)"
    )


def _row_noise_in_words(plan: Plan, cost: RowCost) -> str:
    """Norms, deviation, sensitivity, passes, what was spent at home, the accountant and its epsilon."""
    limits = ", ".join(f"{norm:.4g}" for norm in norms(plan))
    at_home = f", {_share_at_home(cost)} of the budget spent on scaling at home" if cost.at_home else ""
    return (
        f"rows: rows clipped to {limits}; every party adds noise of {cost.std / cost.sensitivity:.4g} sensitivities"
        f" (sigma {cost.std}, Delta {cost.sensitivity} units) in each of {cost.passes} passes{at_home}; a row costs"
        f" epsilon {cost.epsilon(plan.delta):.3g} at delta {plan.delta:g} (differential privacy by zCDP, proved); a"
        f" privacy loss distribution says {cost.unproved_epsilon(plan.delta):.3g}, which is not proved for what is"
        f" drawn; the promise holds against all other parties together, {_bound(plan)}"
    )
