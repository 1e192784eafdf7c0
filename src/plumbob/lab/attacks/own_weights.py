"""`own-weights`: labels from the weights that are opened to a party when training ends. Beyond the paper.

View: own columns and own weights. A model is fitted to its rows, so that its scores of these rows repeat their labels:
the more, the more columns there are for each row. Every other attack is judged against these scores; this one is judged
against guessing.
"""

from plumbob.lab.attacks.interface import Attack, Claim, NotApplicable, View


def labels_of_weights(view: View) -> Claim | NotApplicable:
    """The own part of every training row's score, its middle at the mean."""
    if not len(view.weights):
        return NotApplicable("no weight was opened to this party")
    if not view.X.shape[1]:
        return NotApplicable("this party has no columns, so no weight was opened to it")
    scores = view.X @ view.weights
    return Claim.of_labels(scores - scores.mean(), is_beside_guessing=True)


OWN_WEIGHTS = Attack("own-weights", "features", labels_of_weights)
ATTACKS = (OWN_WEIGHTS,)
