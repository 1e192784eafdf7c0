"""`label-direction`: rows on the side to which the first step moved the weights are believed to be positive.

View: a feature party's own columns and its first sums. Cost: one product. Condition: none; it is a guess.
"""

from plumbob.lab.attacks.interface import Attack, Claim, NotApplicable, View


def label_direction(view: View) -> Claim | NotApplicable:
    """Every row's score under the weights after one step from zero."""
    if not view.has_sums:
        return NotApplicable("this party saw no sums: there is no first step to look at")
    return Claim.of_labels(beliefs=-view.X @ view.sums[0])


ATTACKS = (Attack("label-direction", "features", label_direction, reference="an example"),)
