"""`key-zero-ciphertext`: a learner sends the ciphertext 0 for its masked sums; what comes back is (p + q)**-1 modulo n.

One reply factors the helper's n, and everything that was ever encrypted under it is open: here the labels, which from
zero weights are the residuals themselves. Stopped by `admit`, before the secret key is touched.
"""

from collections.abc import Sequence
from typing import Any

import gmpy2
import numpy as np
import pytest

from plumbob.arrays import Vector
from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.errors import CiphertextRefusedError, RemoteProtocolError, TransportError
from plumbob.lab.exchange import paillier
from plumbob.lab.exchange.limbs import from_ints
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.protocol.messages import Kind, decode
from tests.lab.attacks.keys.support import ROWS, factors_of
from tests.lab.exchange.owners import ciphertexts
from tests.lab.exchange.support import decrypt_signed
from tests.protocol.support import Played, made_up, plan_for, played

# The whole plaintext comes back in the paper's form; a cut reply would hand back its lower bits only.
PLAN = plan_for((2, 3), protocol="exchange", replies="paper", batches="full", epochs=1)
X, Y = made_up(ROWS, PLAN.columns)


class ZeroParty(ExchangeParty):
    """The feature party asks for the sum of nothing, and takes its labels from the answer."""

    labels: Vector | None = None

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        self._channel.recording = []
        self._learners["label"].lent(batch.step, len(batch))
        replies = self.slots.replies
        self._channel.send(Kind.MASKED_SUMS, batch.step, bytes(replies * self._victim.ciphertext_bytes))
        return [[0] * replies]

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        opened = self._learners["label"].collect(batch.step)
        p, q = factors_of(self._victim.n, int(gmpy2.invert(opened[0], self._victim.n)))
        assert p * q == self._victim.n
        stolen = PrivateKey(p, q, self._victim)
        assert self._channel.recording is not None
        lent = ciphertexts(self._victim, decode(self._channel.recording[0]).body)
        residuals = decrypt_signed(stolen, EncryptedVector(self._victim, from_ints(lent, self._victim.ring.width)))
        self.labels = np.empty(len(batch))
        self.labels[batch.rows] = -np.sign([float(value) for value in residuals])
        return np.zeros(self.columns)

    @property
    def _victim(self) -> PublicKey:
        key = self.peer_keys["label"]
        assert isinstance(key, PublicKey)
        return key

    @property
    def _channel(self) -> Any:
        return self.participant.channels["label"]


def attacked() -> Played:
    """The feature party is the attacker's."""
    return played(PLAN, (X, Y), instead={"features": ZeroParty})


def test_unchecked_zero_gives_the_key_and_every_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that does not look whether a ciphertext is a unit loses its key to one message."""
    monkeypatch.setattr(paillier, "_refuse_outside_group", lambda key, values: None)
    party: Any = attacked().parties["features"]
    assert party.labels.tolist() == (2 * Y - 1).tolist()


def test_zero_is_refused_before_the_key_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped helper names the peer, decrypts nothing, and the attacker ends with nothing."""
    touched, decrypt = [], PrivateKey.decrypt

    def noting(key: PrivateKey, vector: EncryptedVector) -> list[int]:
        touched.append(key.public.n)
        return decrypt(key, vector)

    monkeypatch.setattr(PrivateKey, "decrypt", noting)
    run = attacked()
    parties: dict[str, Any] = dict(run.parties)
    assert isinstance(run.ends["label"], CiphertextRefusedError)
    assert str(run.ends["label"]).startswith("features: ")
    assert isinstance(run.ends["features"], RemoteProtocolError | TransportError)
    assert parties["label"].key.public.n not in touched
    assert parties["features"].labels is None
