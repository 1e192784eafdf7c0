"""`shares` with opened weights: a dishonest party lays everybody's label into one weight and has it opened."""

from fractions import Fraction

import numpy as np
import pytest
from plumbob.protocol.share_holder import WEIGHT_BITS
from plumbob.protocol.shares import SharesParty, StepSize

from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.crypto.packing import centred
from plumbob.data import batches
from plumbob.errors import DivergenceError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol import openings, shares
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.openings import RING, WEIGHTS, OpenedWidth, Share, opened_bits
from plumbob.protocol.primitive import Helper, Learner
from tests.protocol.support import Wire, made_up, plan_for, played

PEOPLE = 120
PIECE = 32  # Powers of two in one integer matrix.
MARGIN = 3  # Bits by which the first label lies above the opened weight's last place.
UNCUT = OpenedWidth(integer_bits=openings.RING_BITS - 1 - WEIGHT_BITS, fraction_bits=WEIGHT_BITS)
"""The switch: a share is handed over as it is, 192 bits for each weight."""


class OracleParty(SharesParty):
    """Multiplies person i's residual by 2**i, far beyond any feature, and reads the signs in its opened weight."""

    readable = PEOPLE
    opening = WEIGHTS
    claims: list[int]

    def shared_gradients(self, step: int, X: IntegerMatrix, residuals: Share) -> tuple[Share, Share]:
        helper = Helper(self._channel, self.key, self._slots(self._peer_columns))
        helper.lend(step, self.key.encrypt(residuals))
        mine = self._laid_out(step, residuals)
        return [mine], [digit % RING for digit in helper._slots.digits(helper.open(step))]

    def _laid_out(self, step: int, residuals: Share) -> int:
        """This party's share of the sum of 2**(lowest + i) times the residual of person i."""
        slots = self._slots(1)
        lent = Learner(self._channel, self.peer_key, slots)._receive_values(step, len(residuals))
        sums = lent @ powers(0, self.readable)
        for start in range(PIECE, self.readable, PIECE):
            sums = sums + (lent @ powers(start, self.readable)) * (1 << start)
        mask = self.peer_key.random_mask(1, slots.masked_bits)
        reply = slots.pack(sums * (1 << self._lowest)) + mask
        self._channel.send(Kind.MASKED_SUMS, step, reply.randomised().to_bytes())
        own = sum(value << index for index, value in enumerate(residuals[: self.readable])) << self._lowest
        return (own - mask[0]) % RING

    def finish(self) -> None:
        opening = self.opening
        given, kept = (opening.cut(share, WEIGHT_BITS, rounds_down=False) for share in (self.peers, self.own))
        self._channel.send(Kind.WEIGHT_SHARE, 0, opening.to_bytes(given))
        body = self._channel.receive(Kind.WEIGHT_SHARE, 0, opening.size(1))
        half = 1 << (opening.bits - 1)
        weight = (kept[0] + opening.from_bytes(body, "label")[0] + half) % (2 * half) - half
        self.claims = self._signs_in(weight << (WEIGHT_BITS - opening.fraction_bits))

    def _signs_in(self, weight: int) -> list[int]:
        """From zero weights a residual is -2 times the label's sign, so the weight is a sum of signed powers of two."""
        size = StepSize.of(self.plan, PEOPLE)
        # So near the ring's end truncation fails now and then, always by the same number.
        weight = centred(weight, 1 << (openings.RING_BITS - size.shift))
        total = Fraction(weight << size.shift, size.gradient_factor << (self._label_bit + self._lowest))
        odd = 2 * round((total - 1) / 2) + 1
        binary = (odd + (1 << self.readable) - 1) >> 1
        return [binary >> place & 1 for place in range(self.readable)]

    @property
    def _label_bit(self) -> int:
        return 1 + WEIGHT_BITS + self.plan.feature_bits

    @property
    def _lowest(self) -> int:
        size = StepSize.of(self.plan, PEOPLE)
        last_place = WEIGHT_BITS - self.opening.fraction_bits
        reached = self._label_bit + size.gradient_factor.bit_length() - 1
        return max(0, size.shift + last_place + MARGIN - reached)


class UncutOracleParty(OracleParty):
    """Against a party that hands its share over whole."""

    opening = UNCUT


class ModestOracleParty(OracleParty):
    """Asks for no more labels than an opening of today has room for."""

    readable = WEIGHTS.bits - 1 - MARGIN


def powers(start: int, end: int) -> Encoded:
    """1, 2, 4, ... for up to `PIECE` people from `start` on, and 0 for everybody else."""
    values = np.zeros((PEOPLE, 1), dtype=np.int64)
    count = min(PIECE, end - start)
    values[start : start + count, 0] = 1 << np.arange(count)
    return Encoded(values, Encoding(0, PIECE + 1))


def oracle_plan() -> Plan:
    """One pass from zero weights; the attacker has a single column."""
    return plan_for((2, 1), protocol="shares", open="own", batches="full", epochs=1, replies="single")


def labels_read(party: type[OracleParty]) -> int:
    """How many of the claims are right."""
    X, y = made_up(rows=PEOPLE, columns=3)
    run = played(oracle_plan(), (X, y), cast={"features": party})
    attacker = run.parties["features"]
    assert isinstance(attacker, OracleParty), run.ends
    [batch] = batches(attacker.session.seed, PEOPLE, attacker.plan)
    return int(np.sum(y[batch.rows][: attacker.readable] == np.array(attacker.claims)))


def test_an_uncut_weight_shows_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """With whole shares handed over, one opened weight gives 120 of 120 labels away."""
    monkeypatch.setattr(shares, "WEIGHTS", UNCUT)
    assert labels_read(UncutOracleParty) == PEOPLE


def test_a_cut_weight_does_not() -> None:
    """The same attack on our openings is left with guesses."""
    assert labels_read(OracleParty) < 0.75 * PEOPLE


def test_what_remains_is_what_is_counted() -> None:
    """An attacker that asks for fewer labels gets them, and never more than the bits that are printed."""
    read = labels_read(ModestOracleParty)
    assert read == ModestOracleParty.readable
    assert read < opened_bits(oracle_plan(), "features") == WEIGHTS.bits == 27


def test_a_share_wider_than_a_weight_is_refused() -> None:
    """A peer that hands over more than 27 bits ends the run."""

    def tamper(source: str, _target: str, message: Message) -> bytes | None:
        if (source, message.kind) != ("features", Kind.WEIGHT_SHARE):
            return None
        wide = message.body[:3] + bytes([message.body[3] | 8]) + message.body[4:]
        return Message(message.kind, message.step, message.sequence, wide).encode()

    run = played(oracle_plan(), made_up(rows=PEOPLE, columns=3), Wire(tamper))
    assert isinstance(run.ends["label"], RemoteProtocolError)


def test_absurd_weights_stay_at_home() -> None:
    """A party whose weights ran away finishes on the wire like any other, and only then says so."""
    # One long step: a weight of about 46, above half of what can be opened. Beyond all of it, chance would decide.
    plan = plan_for((2, 3), protocol="shares", open="own", learning_rate=130.0, epochs=1, batch_size=40)
    run = played(plan)
    diverged = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    assert not any(isinstance(end, Exception) for end in run.ends.values())
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        all(party.refuse_result() is None for party in diverged)  # type: ignore[func-returns-value]  # It raises.
