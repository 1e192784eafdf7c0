"""View in, claim out.

Adding an attack: one file with one function, one line in `PASSIVE` or `ACTIVE`, and its entry in the catalogue on the
party floor (plumbob/checking/catalogue.py), which is found by its name.
"""

from plumbob.lab.attacks.active.chosen_rows import CHOSEN_ROWS
from plumbob.lab.attacks.active.claimed_width import CLAIMED_WIDTH_BY_FEATURE_PARTY, CLAIMED_WIDTH_BY_LABEL_PARTY
from plumbob.lab.attacks.active.interface import ActiveAttack
from plumbob.lab.attacks.active.lattice_parties import (
    GARBAGE_REPLIES_BY_FEATURE_PARTY,
    GARBAGE_REPLIES_BY_LABEL_PARTY,
    OFF_THE_CIRCLE_BY_FEATURE_PARTY,
    OFF_THE_CIRCLE_BY_LABEL_PARTY,
)
from plumbob.lab.attacks.active.packing import PACKING_BY_FEATURE_PARTY, PACKING_BY_LABEL_PARTY
from plumbob.lab.attacks.active.steering import STEERING_BY_FEATURE_PARTY, STEERING_BY_LABEL_PARTY
from plumbob.lab.attacks.feature_chain import FEATURE_CHAIN
from plumbob.lab.attacks.feature_geometry import FEATURE_GEOMETRY
from plumbob.lab.attacks.feature_single import FEATURE_SINGLE_BY_FEATURE_PARTY, FEATURE_SINGLE_BY_LABEL_PARTY
from plumbob.lab.attacks.interface import (
    Attack,
    CarriedOut,
    Claim,
    Condition,
    LabelClaim,
    NotApplicable,
    ValueClaim,
    View,
)
from plumbob.lab.attacks.label_average import LABEL_AVERAGE
from plumbob.lab.attacks.label_counts import LABEL_COUNTS
from plumbob.lab.attacks.label_only import LABEL_ONLY
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.lab.attacks.peer_scores import PEER_SCORES

PASSIVE: tuple[Attack, ...] = (
    LABEL_SIGN,
    LABEL_ONLY,
    LABEL_STACKED,
    LABEL_AVERAGE,
    LABEL_COUNTS,
    FEATURE_SINGLE_BY_LABEL_PARTY,
    FEATURE_SINGLE_BY_FEATURE_PARTY,
    FEATURE_CHAIN,
    FEATURE_GEOMETRY,
    PEER_SCORES,
)
ACTIVE: tuple[ActiveAttack, ...] = (
    PACKING_BY_FEATURE_PARTY,
    PACKING_BY_LABEL_PARTY,
    CLAIMED_WIDTH_BY_FEATURE_PARTY,
    CLAIMED_WIDTH_BY_LABEL_PARTY,
    CHOSEN_ROWS,
    STEERING_BY_LABEL_PARTY,
    STEERING_BY_FEATURE_PARTY,
    OFF_THE_CIRCLE_BY_FEATURE_PARTY,
    OFF_THE_CIRCLE_BY_LABEL_PARTY,
    GARBAGE_REPLIES_BY_FEATURE_PARTY,
    GARBAGE_REPLIES_BY_LABEL_PARTY,
)

__all__ = [
    "ACTIVE",
    "PASSIVE",
    "ActiveAttack",
    "Attack",
    "CarriedOut",
    "Claim",
    "Condition",
    "LabelClaim",
    "NotApplicable",
    "ValueClaim",
    "View",
]
