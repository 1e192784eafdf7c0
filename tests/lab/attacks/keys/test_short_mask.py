"""`key-short-mask`: an owner lends huge numbers, and the sums stand out above a mask that is only a little longer.

Stopped by masks that are uniform modulo n, whatever was lent.
"""

from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.lab.exchange.limbs import from_ints
from plumbob.lab.exchange.paillier import PublicKey, Sendable
from tests.lab.attacks.keys.support import ROWS, Owner, Score, against, attack_plan, score
from tests.lab.exchange.owners import ShortMaskKey, signed_digits
from tests.lab.exchange.support import decrypt_signed
from tests.protocol.support import Played, made_up, trained

PLAN = attack_plan(epochs=3)


class HugeValuesOwner(Owner):
    """Lends each honest residual plus a power of two of its own, far above every honest sum and its short mask."""

    def chosen(self, batch: Batch, released: Encoded) -> Sendable:
        values, width = released.values.tolist(), self.widths.features.bits
        return self.key.encrypt([value + (1 << (self.above + width * row)) for row, value in enumerate(values)])

    @property
    def above(self) -> int:
        """The bit at which the features begin."""
        return self._peer_slots["features"].masked_bits + ShortMaskKey.spare_bits + 1

    def features(self, reply: int) -> list[int]:
        """What stands above the mask."""
        ciphertext = Sendable(self.key.public, from_ints([reply], self.key.public.ring.width))
        (opened,) = decrypt_signed(self.key, ciphertext)
        return signed_digits(opened >> self.above, self.widths.features.bits, ROWS)


def read(run: Played) -> Score:
    """Every step shows the column once more."""
    owner = run.parties["label"]
    assert isinstance(owner, HugeValuesOwner)
    return score(run.parties, {step: owner.features(reply) for step, reply in owner.replies.items()})


def test_above_a_short_mask_every_feature_is_read() -> None:
    """80 bits more than an honest sum needs hide nothing from who lends more; the victim's model stays as it was."""
    run = against(HugeValuesOwner, ShortMaskKey, PLAN)
    found = read(run)
    assert (found.right, found.of) == (36, 36)
    honest = trained(PLAN, made_up(ROWS, PLAN.columns)).transcripts["features"].weights
    assert run.transcript("features").weights.tobytes() == honest.tobytes()


def test_above_a_uniform_mask_there_is_nothing() -> None:
    """Under the shipped mask the same numbers open to uniform ones; a run may end early, so there are three."""
    rights = [read(against(HugeValuesOwner, PublicKey, PLAN)) for _ in range(3)]
    assert sum(found.of for found in rights) >= 3 * ROWS
    assert sum(found.right for found in rights) <= 1
