"""`label-direction`, as a plan is judged on it."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.drawing import AttackDrawing, Block, product
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, without_sums


def judge(figures: Figures, party: str) -> Judgement:
    """It needs one sum, and nothing says how much of the label lies in its direction."""
    why = f"The first of {figures.steps} steps points {party} to where positives lie: a guess, as good as its columns."
    return without_sums(figures, party) or degrades(why)


def draw(figures: Figures, by: str, target: str) -> AttackDrawing:
    """Own columns times the first step."""
    columns = figures.columns(by)
    own = Block("known", figures.rows, columns, (f"{figures.rows} rows", "own columns"))
    step = Block("known", columns, 1, ("the first", "step"))
    guess = Block("unknown", figures.rows, 1, ("a side for each", "not its label"), "?")
    return product(own, step, guess, f"A guess at the {target}, one for each row.")


RULE = AttackRule(
    name="label-direction",
    by="features",
    target="labels",
    reference="an example",
    story=(
        "The first step moves the weights to the side where positives are frequent. "
        "Rows on that side are guessed to be positive."
    ),
    judge=judge,
    draw=draw,
)
