"""Words that not everybody knows, each explained in a sentence or two: for the lab, and for pages that leave it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A word of the report and what it means there."""

    word: str
    forms: tuple[str, ...]
    """The forms of the word in sentences; a form that also means something else is left out."""
    means: str


GLOSSARY = (
    Entry(
        "residual",
        ("residual", "residuals"),
        "How far the model is off for one row: the predicted probability minus the label. Anyone who works out a row's "
        "residual can read its label from the sign.",
    ),
    Entry(
        "gradient",
        ("gradient", "gradients"),
        "The direction in which training moves the weights: for each column, the sum of residual times value over the "
        "rows. Each entry is an equation about the residuals.",
    ),
    Entry(
        "rank",
        ("rank",),
        "How many of a set of equations are independent. An attacker with as many independent equations as there are "
        "unknowns can solve for all of them.",
    ),
    Entry(
        "reply bits",
        ("reply bits", "bits opened", "opened bits"),
        "How many bits a party gets back for each number that is decrypted or opened for it. A dishonest party cannot "
        "carry out more than that.",
    ),
    Entry(
        "pass",
        ("pass", "passes"),
        "One walk over all training rows; also called an epoch.",
    ),
    Entry(
        "share",
        ("shares", "shared", "secret share"),
        "One of several numbers that look random and add up to a secret. Nobody learns anything from one share; all "
        "parties' shares together give the secret.",
    ),
    Entry(
        "batch",
        ("batch", "batches"),
        "The rows of one training step. With more columns than rows in a batch, its gradient gives the residuals away.",
    ),
    Entry(
        "baseline",
        ("baseline", "baselines"),
        "What a party can guess without any attack, from its own columns or from how frequent the labels are. An "
        "attack counts only as far as it does better.",
    ),
    Entry(
        "tolerance",
        ("tolerance",),
        "How much better than the baseline an attack may do before the plan calls it a leak.",
    ),
    Entry(
        "epsilon and delta",
        ("epsilon", "delta"),
        "Differential privacy, a promise in numbers about one person: the odds of any guess move by a factor of at "
        "most e to the epsilon, except with probability delta, from what they would be with any other values in this "
        "person's row. It does not hide that the person is in the table.",
    ),
)
