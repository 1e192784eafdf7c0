"""`packing`: extra sums hidden in the high bits of honest replies (section 5.2, Algorithm 2). By either party.

View: the replies to own masked sums, by helpers (`exchange`) or by the arbiter. Where the helper hands whole plaintexts
back (`replies = "paper"`), each has room for dozens of values above the honest sum. They are laid there before masking,
so that nothing of what the helper receives looks different, and split off, borrows included, after unmasking. The
honest sum is read from below: training continues undisturbed, the final model is the honest one bit for bit.

Two things can be hidden:

- `AuxiliaryPacking`, the paper's: sums with random auxiliary features, then a linear system in the batch's residuals.
  Cost: a product with as many columns as the batch has rows, and one least-squares solve per step.
- `OneHotPacking`, beyond it: each residual's ciphertext goes straight into a slot. No solve, fewer operations on top
  than an honest step has, exact to the encoding.

Condition: batch size <= slots * own columns, slots = floor((key bits - 101 - honest bits) / slot bits). Slots hold any
signed value that the public widths allow, so that a borrow never reaches further than the next slot.

Against truncated replies (`packed`) there is no room above. `TruncatedPacking` gives its honest sums up
instead and lays residuals into all the bits that come back: never more than floor(reply bits / (residual bits + 2)) a
step. If that covers the batch, it calculates the honest sums itself from what it read and training stays undisturbed in
every step; otherwise it attacks in the first step only, whose gradient it never gets, and its model is a step short
there.

Feature party: the other parts of residuals carry the labels. Label party: they are the peer's scores, and from the
scores of every visit follow the values of a peer's only column (`recover_column`), as from solved ones in section 3:
here at batches that no gradient of own columns solves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plumbob.arrays import Matrix
from plumbob.checking.study import Widths
from plumbob.crypto import Encoded, Encoding
from plumbob.data import largest_batch
from plumbob.lab import bounds
from plumbob.lab.attacks.equations import label_weight, noise_on_residuals
from plumbob.lab.attacks.feature_chain import chained_feature
from plumbob.lab.attacks.feature_single import single_feature
from plumbob.lab.attacks.hooks import (
    Reading,
    Summing,
    SumsHook,
    attack_with_hook,
    exact_product,
    narrow_residual,
    own_generator,
    signed_digits,
    solve_exactly,
)
from plumbob.lab.attacks.interface import Claim, Claims, Condition, NotApplicable, View
from plumbob.lab.attacks.peer_scores import ScoreHistory, peer_columns
from plumbob.lab.exchange.limbs import concatenate
from plumbob.lab.exchange.packing import Slots, centred, sum_bits
from plumbob.lab.exchange.paillier import EncryptedVector
from plumbob.lab.exchange.profiles import Profile, profile_of
from plumbob.plan import Plan
from plumbob.protocol.openings import columns_of

# Narrow auxiliary features leave more slots than features of the plan's width; the solve is exact all the same.
AUXILIARY = Encoding(0, 7)
NEAR_A_MULTIPLE = 0.4
"""Distance from a multiple, in units, within which all of many values lie by chance in no run worth reading."""


@dataclass(frozen=True)
class Compression:
    """The layout of replies: an honest sum of `honest_bits`, above it `per_reply` hidden values of `slot_bits`."""

    columns: int
    honest_bits: int
    slot_bits: int
    per_reply: int

    @classmethod
    def fitting(cls, key: Profile, honest: Slots, slot_bits: int, wanted: int) -> "Compression":
        """A layout for `wanted` hidden values, or for as many as a plaintext holds."""
        most = (key.reply_bits - honest.slot_bits) // slot_bits
        return cls(honest.columns, honest.slot_bits, slot_bits, min(most, -(-wanted // honest.columns)))

    @property
    def hidden(self) -> int:
        """How many values one step hides."""
        return self.columns * self.per_reply

    @property
    def bits(self) -> int:
        """Width, sign included, of a reply before its mask."""
        return self.honest_bits + self.per_reply * self.slot_bits

    def compress(self, enc_sums: EncryptedVector, enc_hidden: EncryptedVector) -> EncryptedVector:
        """The paper's compression: add hidden values times powers of two to the honest sums."""
        lifted = stacked(enc_hidden, self.columns, self.per_reply, self.slot_bits) * (1 << self.honest_bits)
        return enc_sums + lifted

    def split(self, whole: Sequence[int]) -> tuple[list[int], list[int]]:
        """Split replies into the honest sums and the hidden values."""
        honest = [centred(value, 1 << self.honest_bits) for value in whole]
        above = ((value - low) >> self.honest_bits for value, low in zip(whole, honest, strict=True))
        return honest, [digit for rest in above for digit in signed_digits(rest, self.slot_bits, self.per_reply)]


def stacked(values: EncryptedVector, replies: int, per_reply: int, slot_bits: int) -> EncryptedVector:
    """Stack each `per_reply` ciphertexts in one; zeros fill what is missing at the end."""
    key = values.key
    zeros = key.embed([0] * (replies * per_reply - len(values)))
    limbs = concatenate([values.limbs, zeros])
    return EncryptedVector(key, key.engine.pack(key.ring, limbs, per_reply, slot_bits))


@dataclass(frozen=True)
class Cut:
    """The layout of cut replies: as many residuals as fit, and nothing else."""

    moduli: tuple[int, ...]
    slot_bits: int
    is_whole_batch: bool

    @classmethod
    def fitting(cls, slots: Slots, plan: Plan, widths: Widths, rows: int) -> "Cut":
        """A layout as wide as any residual can be if the batch then fits, otherwise as narrow as labels allow."""
        narrowest = narrow_residual(plan).bits
        choices = [cls(slots.moduli, bits, True) for bits in range(widths.residuals.bits, narrowest - 1, -1)]
        fitting = (choice for choice in choices if sum(choice.counts) >= rows)
        return next(fitting, cls(slots.moduli, narrowest, False))

    @property
    def counts(self) -> list[int]:
        """How many residuals each reply carries."""
        return [(modulus - 1).bit_length() // self.slot_bits for modulus in self.moduli]

    def lay(self, wanted: EncryptedVector) -> EncryptedVector:
        """Put the first residuals that fit into replies."""
        return stacked(wanted[: sum(self.counts)], len(self.counts), max(self.counts), self.slot_bits)

    def read(self, replies: Sequence[int]) -> list[int]:
        pairs = zip(replies, self.counts, strict=True)
        return [digit for reply, count in pairs for digit in signed_digits(reply, self.slot_bits, count)]

    def attacks_in(self, step: int) -> bool:
        """Whether to attack: wherever the batch is read whole, as honest sums follow from it; else once, at first."""
        return self.is_whole_batch or step == 1


class Packing(SumsHook):
    """Either way to pack: the label party goes on from the scores of a peer's only column to its values."""

    def believed(self, me: Summing, view: View) -> Claims:
        read = super().believed(me, view)
        if not view.is_label_party or peer_columns(view) != 1 or not isinstance(read, Claim):
            return read
        column = recover_column(view, self.readings)
        return [read, column] if isinstance(column, Claim) else read


class OneHotPacking(Packing):
    """The attack on `replies = "paper"`: every residual in its own slot, above the honest sums."""

    def encrypted_sums(self, me: Summing, step: int, enc_sums: EncryptedVector) -> EncryptedVector:
        room = self.compression(me, len(self.received))
        return room.compress(enc_sums, self.hide(me, self.received)[: room.hidden])

    def opened_sums(self, me: Summing, step: int, sums: list[int]) -> list[int]:
        honest, hidden = self.compression(me, len(self.received)).split(sums)
        residuals = self.uncover(honest, hidden[: len(self.received)])
        if residuals is not None:
            self.keep(me, step, range(len(residuals)), residuals)
        return honest

    def slot_bits(self, me: Summing) -> int:
        """Bits of a hidden value, sign included."""
        return me.widths.residuals.bits

    def hide(self, me: Summing, enc_wanted: EncryptedVector) -> EncryptedVector:
        """The ciphertexts to put above the honest sums, made from those of the wanted residuals."""
        return enc_wanted

    def uncover(self, honest: list[int], hidden: list[int]) -> list[int] | None:
        """The residuals, from what came back."""
        return hidden

    def compression(self, me: Summing, rows: int) -> Compression:
        """A layout with as much room as a batch needs, or as fits."""
        return Compression.fitting(profile_of(me.plan), me.slots, self.slot_bits(me), rows)

    def conditions(self, me: Summing) -> tuple[Condition, ...]:
        """The condition of section 5.2: the batch must fit into the slots of all replies."""
        rows, bits = largest_batch(len(me.shard), me.plan), self.slot_bits(me)
        count = (profile_of(me.plan).reply_bits - me.slots.slot_bits) // bits
        reach, needed = count * me.slots.columns, f"at least the batch, {rows} rows"
        name = f"hidden values per step ({count} slots of {bits} bits in {me.slots.columns} replies)"
        return (Condition(name, reach, needed, reach >= rows, "section 5.2"),)


class AuxiliaryPacking(OneHotPacking):
    """Algorithm 2 as the paper has it: sums with random features that nobody agreed on."""

    def slot_bits(self, me: Summing) -> int:
        return sum_bits(largest_batch(len(me.shard), me.plan), AUXILIARY, me.widths.residuals)

    def hide(self, me: Summing, enc_wanted: EncryptedVector) -> EncryptedVector:
        count = min(len(enc_wanted), self.compression(me, len(enc_wanted)).hidden)
        limit = 1 << (AUXILIARY.bits - 1)
        self._auxiliary = own_generator(me).integers(1 - limit, limit, (len(enc_wanted), count))
        return enc_wanted @ Encoded(self._auxiliary, AUXILIARY)

    def uncover(self, honest: list[int], hidden: list[int]) -> list[int] | None:
        return solve_exactly(np.hstack([self.matrix.values, self._auxiliary]), honest + hidden)


class TruncatedPacking(Packing):
    """The attack on `packed`: residuals in place of the honest sums, because nothing else comes back."""

    def encrypted_sums(self, me: Summing, step: int, enc_sums: EncryptedVector) -> EncryptedVector:
        cut = self.cut(me)
        return cut.lay(self.received) if cut.attacks_in(step) else enc_sums

    def opened_sums(self, me: Summing, step: int, sums: list[int]) -> list[int]:
        cut = self.cut(me)
        if not cut.attacks_in(step):
            return sums
        residuals = cut.read(joined(me.slots, sums))[: len(self.received)]
        self.keep(me, step, range(len(residuals)), residuals)
        return exact_product(residuals, self.matrix.values) if cut.is_whole_batch else [0] * len(sums)

    def cut(self, me: Summing) -> Cut:
        return Cut.fitting(me.slots, me.plan, me.widths, len(self.received))

    def conditions(self, me: Summing) -> tuple[Condition, ...]:
        """The condition on how many residuals fit into replies that are cut to an honest width."""
        rows, bits = largest_batch(len(me.shard), me.plan), me.slots.reply_bits
        bound, needed = bounds.readable_residuals(bits, me.plan.residual_bits), f"at least the batch, {rows} rows"
        name = f"residuals that {bits} bits of replies can carry per step"
        return (Condition(name, bound, needed, bound >= rows, 'docs/exchange.md, "Replies"'),)


def joined(slots: Slots, sums: Sequence[int]) -> list[int]:
    """Whole replies from sums that were taken apart."""
    starts = range(0, len(sums), slots.per_reply)
    return [
        centred(sum(one << place * slots.slot_bits for place, one in enumerate(sums[start:][: slots.per_reply])), size)
        for start, size in zip(starts, slots.moduli, strict=True)
    ]


def recover_column(view: View, readings: Sequence[Reading]) -> Claim | NotApplicable:
    """The values of the peers' only column from the scores that were read, up to one sign."""
    if (columns := peer_columns(view)) != 1:
        return NotApplicable(f"the peers have {columns} columns; values follow from scores of exactly one")
    history = history_of(view, readings)
    # The chain needs every score of two epochs; ratios take what there is.
    recover = chained_feature if history.is_known.all() and view.plan.passes(view.rows) > 1 else single_feature
    claim = recover(view, history)
    return claim if isinstance(claim, NotApplicable) else replace(claim, values=on_grid(claim.values, view.plan))


def history_of(view: View, readings: Sequence[Reading]) -> ScoreHistory:
    """The peers' scores as they were read, one entry for each visit of a row."""
    read = np.full((len(view.batches) + 1, view.rows), np.nan)
    for reading in readings:
        read[reading.step, reading.rows] = reading.residuals
    batches = view.batches
    row = np.concatenate([batch.rows for batch in batches])
    step = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    score = read[step + 1, row]
    unit = 2.0**view.plan.residual_bits
    labels = label_weight(view) * (np.full(view.rows, np.nan) if view.signs is None else view.signs)
    own = [own_scores - labels[batch.rows] for batch, _, own_scores, _ in view.steps()]
    residual = score + np.rint(np.concatenate(own) * unit) / unit
    return ScoreHistory(
        rows=view.rows,
        row=row,
        step=step,
        residual=residual,
        guess=np.nan_to_num(residual),
        score=score,
        error=np.full(len(row), max(view.residual_rounding, noise_on_residuals(view))),
        lower=score,
        upper=score,
        whole=score,
        rate=np.array([view.plan.rate * view.sigmoid.gradient_scale / len(batch) for batch in batches]),
        decay=1.0 - view.plan.rate * view.plan.l2,
        epoch=np.array([batch.epoch for batch in batches]),
    )


def on_grid(values: Matrix, plan: Plan) -> Matrix:
    """The values as training had them: multiples of a public unit, if all of them lie near one."""
    units = np.ldexp(values, plan.feature_bits)
    nearest = np.rint(units)
    is_near = bool(np.nanmax(np.abs(units - nearest)) < NEAR_A_MULTIPLE)
    return np.asarray(np.ldexp(nearest, -plan.feature_bits) if is_near else values, dtype=np.float64)


def arm(plan: Plan, name: str) -> SumsHook | NotApplicable:
    """A hook with one-hot slots: above the honest sums where replies come back whole, else in their place."""
    if not (plan.kind.is_encrypted and plan.kind.shows_gradients):
        return NotApplicable(f'protocol "{plan.protocol}": nobody hands opened sums back')
    if not columns_of(plan, name):
        return NotApplicable("a party without columns gets no replies")
    if plan.unmasked_gradients_for_the_arbiter:
        return NotApplicable("replies have no masks: the arbiter would see what is hidden in them")
    return OneHotPacking() if plan.replies == "paper" else TruncatedPacking()


ATTACKS = (
    attack_with_hook("packing", "features", arm, "labels"),
    attack_with_hook("packing", "label", arm, "scores"),
)
