"""`exchange` and `arbiter` have the weights of `clear`; in `exchange` a learner sees one sum and nothing else."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from plumbob.errors import CiphertextRefusedError, RemoteProtocolError, TransportError
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan import Plan
from plumbob.protocol import pair_masks
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import WEIGHTS
from plumbob.protocol.pair_masks import PairMasks, pair_mask
from tests.lab.exchange.support import SINGLE
from tests.protocol.support import (
    Wire,
    changing,
    cut,
    distance_from_clear,
    made_up,
    plan_for,
    played,
    trained,
    uniformity,
    weights_of,
)


def exchange_plan(split: tuple[int, ...] = (2, 3), **keys: Any) -> Plan:
    """A small plan for this protocol."""
    return plan_for(split, protocol="exchange", **keys)


@pytest.mark.parametrize("protocol", ["exchange", "arbiter"])
@pytest.mark.parametrize("name", ["breast-cancer", "digits-01"])
def test_it_equals_clear_on_bundled_data(name: str, protocol: str) -> None:
    """On real rows the weights are within 1e-6 of those of `clear`."""
    assert distance_from_clear(plan_for((3, 4), protocol=protocol, batch_size=32), cut(name, 100, 7)) < 1e-6


UNMASKED = {"unmasked_gradients_for_the_arbiter": True}
EQUAL: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("exchange", (2, 3), {"start": "xavier", "batches": "fixed"}),
    ("exchange", (2, 3), {"start": "kaiming", "batches": "full"}),
    ("exchange", (2, 3), {"start": "small", "batch_size": 15}),
    ("exchange", (2, 3), {"start": "normal", "l2": 0.1}),
    ("exchange", (2, 3), {"start": "normal", "l2": 0.1, "intercept": False}),
    ("exchange", (2, 3), {"test_share": 0.2, "row_norm": 1.0}),
    ("exchange", (2, 3), {"scale": "none"}),
    ("exchange", (2, 3), {**SINGLE, "test_share": 0.2}),
    ("exchange", (2, 3), {"replies": "paper", "l2": 0.1}),
    ("exchange", (2, 3), {"feature_bits": 30, "residual_bits": 30}),
    ("exchange", (2, 2, 1), {"epochs": 1}),
    ("exchange", (1, 1, 1, 1, 1), {"epochs": 1}),
    ("exchange", (0, 2, 3), {"epochs": 1, "intercept": False}),
    ("exchange", (0, 5), {"intercept": False, "row_norm": 1.0}),
    *(("arbiter", split, masks) for split in ((2, 3), (2, 2, 1)) for masks in ({}, UNMASKED)),
    ("arbiter", (2, 3), {"start": "normal", "l2": 0.1}),
    ("arbiter", (2, 3), {"batches": "full"}),
    ("arbiter", (2, 3), SINGLE),
    ("arbiter", (2, 3), {"replies": "paper"}),
    ("arbiter", (2, 3), {"replies": "paper", **UNMASKED}),
    ("arbiter", (2, 3), {"test_share": 0.2}),
    ("arbiter", (0, 5), {"intercept": False}),
]


@pytest.mark.parametrize(("protocol", "split", "keys"), EQUAL, ids=str)
def test_every_setting_equals_clear(protocol: str, split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """Two to five parties, one of them without columns too: the weights are within 1e-6 of `clear`."""
    assert distance_from_clear(plan_for(split, protocol=protocol, **keys)) < 1e-6


def test_a_label_party_without_columns() -> None:
    """d_A = 0: the label party learns nothing, is lent nothing, and its peer gets its gradient."""
    wire = Wire()
    run = played(exchange_plan((0, 5), intercept=False, row_norm=1.0), wire=wire)
    assert run.transcript("label").weights.shape == (0,)
    assert not wire.bodies(Kind.RESIDUALS, receiver="label")
    assert wire.bodies(Kind.RESIDUALS, receiver="features")


def test_full_keys_equal_clear() -> None:
    """Keys of 2048 bits, as everybody uses them, give the weights of `clear` too."""
    plan = exchange_plan((1, 1), key_bits=2048, test_only_keys=False, epochs=1, batches="full")
    assert distance_from_clear(plan, made_up(rows=12, columns=2)) < 1e-6


def test_replies_do_not_matter_for_the_weights() -> None:
    """Many sums in a reply, few and whole replies carry the same sums, so the weights are the same to the last bit."""
    ways: tuple[dict[str, Any], ...] = ({}, {"key_bits": 256}, {"replies": "paper"})
    packed, *others = (weights_of(trained(exchange_plan(**way))) for way in ways)
    assert all(np.array_equal(packed, other) for other in others)


def test_sums_in_the_transcript_are_the_oracles() -> None:
    """What a party could read is what `clear` says that it may read."""
    encrypted, clear = trained(exchange_plan((2, 2, 1))), trained(plan_for((2, 2, 1), protocol="clear"))
    for name, transcript in encrypted.transcripts.items():
        assert np.abs(transcript.sums - clear.transcripts[name].sums).max() < 1e-4


# Three and more parties.


def test_one_helpers_reply_says_nothing() -> None:
    """Every single reply, with the learner's own mask taken off, passes for uniform; only their sum means something."""
    plan = exchange_plan((2, 2, 1), epochs=12, batches="full", **SINGLE)
    kept: list[tuple[list[list[int]], list[list[int]]]] = []

    class Curious(ExchangeParty):
        """Keeps what each helper handed back, and its masks."""

        def collect(self, batch: Any, masks: Any) -> Any:
            replies = [learner.collect(batch.step) for learner in self._learners.values()]
            kept.append((replies, masks))
            moduli = self.slots.moduli
            joint = [sum(values) for values in zip(*replies, strict=True)]
            unpacked = self.slots.unpack(joint, [sum(values) for values in zip(*masks, strict=True)])
            assert all(abs(total) < modulus // 2 for total, modulus in zip(unpacked, moduli, strict=True))
            return self.widths.decode_sums(unpacked)

    run = played(plan, instead=dict.fromkeys([party.name for party in plan.parties], Curious))
    bits = run.parties["label"].slots.slot_bits  # type: ignore[union-attr]  # It is an ExchangeParty.
    whole = bits // 8 * 8
    unmasked = [
        (value - mask) % 2**bits
        for replies, masks in kept
        for reply, own in zip(replies, masks, strict=True)
        for value, mask in zip(reply, own, strict=True)
    ]
    assert len(unmasked) > 100
    assert uniformity(b"".join((value >> (bits - whole)).to_bytes(whole // 8, "little") for value in unmasked)) > 1e-7


def test_pair_masks_cancel_and_never_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a whole run each mask is used exactly by the two that share it, and no context comes twice."""
    asked: list[tuple[Any, ...]] = []

    def spy(key: bytes, session: bytes, learner: str, step: int, index: int, modulus: int) -> int:
        asked.append((key, session, learner, step, index, modulus))
        return pair_mask(key, session, learner, step, index, modulus)

    monkeypatch.setattr(pair_masks, "pair_mask", spy)
    plan = exchange_plan((2, 2, 1), **SINGLE)
    run = trained(plan)
    contexts = {context: asked.count(context) for context in asked}
    assert set(contexts.values()) == {2}
    masks = {pair_mask(*context) for context in contexts}
    assert len(masks) == len(contexts)
    # Three learners with 3, 2 and 1 columns, one pair of helpers each, in every step.
    assert len(contexts) == run.record.steps * (3 + 2 + 1)


def test_masks_of_two_contexts_differ() -> None:
    """Key, session, learner, step and index all count, and none can be shifted into another."""
    base = (b"k" * 32, b"s" * 32, "fund", 1, 2)
    others = [
        (b"K" * 32, b"s" * 32, "fund", 1, 2),
        (b"k" * 32, b"S" * 32, "fund", 1, 2),
        (b"k" * 32, b"s" * 32, "fun", 1, 2),
        (b"k" * 32, b"s" * 32, "fund", 2, 1),
        (b"k" * 32, b"s" * 32, "fund", 1, 3),
        (b"k" * 32, b"s" * 32, "fund", 258, 2),
    ]
    drawn = [pair_mask(*context, 2**200) for context in (base, *others)]
    assert len(set(drawn)) == len(drawn)
    assert all(0 <= pair_mask(*base, 1 << bits) < 1 << bits for bits in (1, 7, 8, 9, 64, 777))


@pytest.mark.parametrize("parties", [3, 5])
def test_the_masks_of_all_who_answer_add_up_to_nothing(parties: int) -> None:
    """Toward one receiver, the sum of what everybody else adds is 0, and what each adds is not."""
    names = [f"p{index}" for index in range(parties)]
    keys = {pair: bytes([index]) * 32 for index, pair in enumerate(combinations(names, 2))}
    moduli = (2**90, 2**13, 1 << WEIGHTS.bits) * 10
    for receiver in names:
        added = []
        for name in names:
            shared = {other: keys[min(name, other), max(name, other)] for other in names if other != name}
            if name != receiver:
                hidden = PairMasks(name, b"s", shared).hide(receiver, 4, [0] * 30, range(30), moduli)
                added.append(hidden)
                assert all(hidden)
        assert not any(sum(masks) % modulus for masks, modulus in zip(zip(*added, strict=True), moduli, strict=True))


# Noise.


@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)], ids=str)
def test_noise_is_one_draw_a_party_and_step(split: tuple[int, ...]) -> None:
    """Each party draws one vector a step and sends the same ciphertexts to all its learners."""
    wire = Wire()
    plan = exchange_plan(split, noise="std", noise_std=0.5, row_norm=1.0)
    run = played(plan, wire=wire)
    steps = len(run.transcript("label").sums)
    for name, party in run.parties.items():
        assert isinstance(party, ExchangeParty)
        assert party.noise_draws == 40 * plan.epochs
        sent = [wire.bodies(Kind.RESIDUALS, sender=name, receiver=peer) for peer in run.participants[name].channels]
        assert all(bodies == sent[0] for bodies in sent)
        assert len(set(sent[0])) == steps


def test_noise_moves_the_sums_as_much_as_expected() -> None:
    """The disturbance of a sum over one batch has the deviation noise_std times the norm of the column."""
    plan = exchange_plan((9, 10), noise="std", noise_std=2.0, row_norm=1.0, batches="full", epochs=1)
    exact = trained(plan.replace(noise="none", noise_std=0.0)).transcripts
    scaled: list[float] = []
    for _ in range(4):
        for name, noisy in trained(plan).transcripts.items():
            expected = 2.0 * np.linalg.norm(noisy.X, axis=0)
            scaled += ((noisy.sums[0] - exact[name].sums[0]) / expected).tolist()
    # 80 nearly independent standard normal numbers.
    assert abs(np.mean(scaled)) < 5 / np.sqrt(len(scaled))
    assert 0.55 < np.std(scaled) < 1.5


# Misbehaviour.


@pytest.mark.parametrize(
    ("kind", "change", "error"),
    [
        (Kind.RESIDUALS, lambda body: body[:-1], RemoteProtocolError),
        (Kind.RESIDUALS, lambda body: bytes(len(body)), CiphertextRefusedError),
        (Kind.MASKED_SUMS, lambda body: body + body, RemoteProtocolError),
        (Kind.MASKED_SUMS, lambda body: bytes(len(body)), CiphertextRefusedError),
        (Kind.OPENED_SUMS, lambda body: body[:-1], RemoteProtocolError),
        (Kind.OPENED_SUMS, lambda body: b"\xff" * len(body), RemoteProtocolError),
    ],
)
def test_a_misbehaving_peer_is_refused(kind: Kind, change: Any, error: type[Exception]) -> None:
    """Wrong sizes, zero ciphertexts and sums above their modulus end the run at the party that sees them."""
    run = played(exchange_plan(**SINGLE, batches="full"), wire=changing(kind, change))
    assert isinstance(run.ends["label"], error)
    assert isinstance(run.ends["features"], TransportError)


def test_a_whole_reply_beyond_all_numbers_is_refused() -> None:
    """In the paper's form a helper can hand back anything below 2**key_bits; nonsense is its own fault."""
    plan = exchange_plan((1, 1), replies="paper", key_bits=1152, epochs=1, batches="full")
    wire = changing(Kind.OPENED_SUMS, lambda body: bytes(len(body) - 1) + b"\x55")
    end = played(plan, wire=wire).ends["label"]
    # The honest mask is uniform, so nearly all differences are too wide for a floating-point number.
    assert isinstance(end, RemoteProtocolError)


def test_slots_are_packed_by_default() -> None:
    """Several sums share a ciphertext, so fewer are sent than there are columns."""
    wire = Wire()
    run = played(exchange_plan((4, 4), epochs=1), wire=wire)
    party = run.parties["features"]
    assert isinstance(party, ExchangeParty)
    slots = Slots.packed(party.key.public.profile, 4, party.slots.slot_bits)
    assert slots.replies < 4
    size = slots.replies * party.key.public.ciphertext_bytes
    assert {len(body) for body in wire.bodies(Kind.MASKED_SUMS, sender="features")} == {size}
