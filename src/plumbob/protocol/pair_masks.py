"""Masks that hide one party's answer among several, from keys that each two of the parties share."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from plumbob.errors import RemoteProtocolError
from plumbob.protocol.account import hash_fields
from plumbob.protocol.handshake import JointSession
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import Share
from plumbob.protocol.participant import Participant

X25519_BYTES = 32  # Of a public key.


@dataclass(frozen=True, repr=False)
class PairMasks:
    """Masks that hide one party's answer among several: each two of them add and subtract the same number.

    In the sum over all who answer, the masks cancel; whoever gets the answers gets that sum and nothing of a single
    one. A party whose answer is the only one has no keys, and no mask.
    """

    name: str
    session: bytes
    keys: Mapping[str, bytes]
    """The key that this party shares with each other one."""

    def hide(
        self, receiver: str, step: int, values: Iterable[int], indices: Iterable[int], moduli: Iterable[int]
    ) -> Share:
        """The values with this party's masks; their indices, and the step, never come twice toward one receiver."""
        return [
            (value + self.mask(receiver, step, index, modulus)) % modulus
            for value, index, modulus in zip(values, indices, moduli, strict=False)
        ]

    def mask(self, receiver: str, step: int, index: int, modulus: int) -> int:
        """What this party adds: plus the masks shared with later parties, minus those shared with earlier ones."""
        return sum(
            (1 if self.name < other else -1) * pair_mask(key, self.session, receiver, step, index, modulus)
            for other, key in self.keys.items()
            if other != receiver
        )


def pair_mask(key: bytes, session: bytes, receiver: str, step: int, index: int, modulus: int) -> int:
    """A pseudo-random number modulo a power of two, never the same for two different contexts."""
    name = receiver.encode()
    numbers = (len(name), step, index)
    context = key + session + b"".join(number.to_bytes(8, "little") for number in numbers) + name
    return int.from_bytes(hashlib.shake_256(context).digest((modulus.bit_length() + 7) // 8), "little") % modulus


def agree_pair_masks(participant: Participant, session: JointSession) -> PairMasks:
    """Agree on a secret key with each peer, for the masks that hide one answer among all of them; two need none."""
    keys: dict[str, bytes] = {}
    if len(participant.data_peers) > 1:
        secret = X25519PrivateKey.from_private_bytes(participant.draws.of("pair key").draw(32))
        participant.send_all(Kind.PAIR_KEY, secret.public_key().public_bytes_raw())
        for peer, body in participant.receive_all(Kind.PAIR_KEY, X25519_BYTES).items():
            keys[peer] = _pair_key(secret, body, session, sorted((participant.name, peer)), peer)
    return PairMasks(participant.name, session.identity, keys)


def _pair_key(secret: X25519PrivateKey, body: bytes, session: JointSession, names: list[str], peer: str) -> bytes:
    try:
        shared = secret.exchange(X25519PublicKey.from_public_bytes(body))
    except ValueError:
        raise RemoteProtocolError(
            f"{peer}: its pair key is a point of small order; everybody could guess ours"
        ) from None
    return hash_fields(b"pair", session.identity, *map(str.encode, names), shared)
