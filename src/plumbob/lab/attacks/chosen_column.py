"""`chosen-column`: a label party takes a peer's column as its label, and later scores rank people by that column.

View: scores of people in a run about labels that it chose. It brings only people of whom it knows the column, upper
half against lower, and sets its own columns of scored people to their mean. The people that it ranks were in no
training, and it knows nothing of them. Cost: one honest run.
"""

import numpy as np

from plumbob.lab.attacks.interface import Attack, AttackStage, Changed, Claim, NotApplicable

KNOWN = 300
"""How many people's column it knows, if there are four times as many."""


def act(stage: AttackStage) -> Claim | NotApplicable:
    """Rank everybody else by one column."""
    view = stage.view
    if not stage.scored:
        return NotApplicable("no row is scored for the label party")
    peer = next((peer for peer in view.peers if peer.features), None)
    if peer is None:
        return NotApplicable("no peer has columns")
    order = np.random.default_rng(0).permutation(view.rows)
    known, others = order[: min(KNOWN, view.rows // 4)], order[min(KNOWN, view.rows // 4) :][: stage.scored]
    columns = stage.known(known)[:, : peer.features]
    # The column whose halves are most nearly of one size: of a rare category a few hundred people say little.
    upper = columns > np.median(columns, axis=0)
    column = int(np.argmin(np.abs(upper.mean(axis=0) - 0.5)))
    if not 0 < upper[:, column].sum() < len(known):
        return NotApplicable("no column of the peer varies")
    labels = np.zeros(view.rows, dtype=np.int8)
    labels[known] = upper[:, column]
    chosen = Changed(labels, only=known)
    slope, offset = np.polyfit(stage.scores(known, chosen), columns[:, column], 1)
    values = np.full((view.rows, 1), np.nan)
    values[others, 0] = slope * stage.scores(others, chosen) + offset
    return Claim(
        target="features",
        against=peer.name,
        values=values,
        targets=others,
        column=column,
        remark=f" It knew that column for {len(known)} other people, and brought no label that contradicts it.",
        is_conditional=True,
    )


ATTACKS = (Attack("chosen-column", "label", act=act),)
