"""Everything that parties say to one another, and how it looks as bytes.

A message is a header of fixed layout and a body whose size both sides know beforehand from the plan; nothing in it
names a type, and nothing is ever unpickled. The link says how long a message is, and its greeting which version.

    offset  size  field
    0       2     kind
    2       8     step: 0 before training, then 1, 2, ...
    10      8     sequence number of the message in its direction, from 0
    18            body
"""

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

from plumbob.errors import RemoteProtocolError
from plumbob.net import Data

HEADER = struct.Struct("<HQQ")
LONGEST_TEXT = 4096  # Bytes of a body whose size the plan does not say.


class Kind(IntEnum):
    """What a message says. The numbers are the wire's: never reused, never reordered."""

    HELLO = 1  # A nonce, how many rows, and what the sender commits to
    SEED_COMMITMENT = 2
    SEED_SHARE = 3
    CONFIRMATION = 4  # Hash over the session and the joint seed
    PUBLIC_KEY = 5  # The key and, where one is possible, its proof
    PAIR_KEY = 6  # X25519 public key: two helpers agree on what hides their answers from a third
    RESIDUALS = 7  # Ciphertexts of the sender's own residuals, under its own key
    MASKED_SUMS = 8  # Ciphertexts of masked sums, under the receiver's key
    OPENED_SUMS = 9  # Decrypted masked sums, truncated
    SCORES = 10  # arbiter: ciphertexts of a feature party's scores, under the arbiter's key
    JOINT_RESIDUALS = 11  # arbiter: ciphertexts of the residuals, under the arbiter's key
    START_SHARE = 12  # shares: the receiver's share of the sender's starting weights
    WEIGHT_SHARE = 13  # shares: the sender's share of the receiver's final weights, cut
    SCORE_SHARE = 14  # prediction: the sender's share of the scores, cut, or its sum of them
    SIGNATURE = 15  # On a network, before all else: the sender's signature over the plan's hash
    SEAL = 18  # On a network: the sender's signature over all commitments and the hashes of its streams so far
    NUMBERS = 19  # The sender's second commitment: a hash over the numbers that it calculates with
    BOUND_SHARE = 17  # shares, never opened: ciphertexts of the sender's share of the receiver's weights
    LATTICE_KEYS = 40  # shares by lattices: the public keys of all products whose vectors the sender encrypts
    KEY_CHALLENGES = 41  # The four messages that test them, all keys at once
    KEY_COMMITMENTS = 42
    KEY_REVEALS = 43
    KEY_NONCES = 44  # A byte for each key, whether another test is needed, and its nonce
    LATTICE_REQUEST = 45  # Encrypted vectors
    LATTICE_REPLY = 46  # Their products with the sender's numbers, as the receiver's shares, encrypted
    MASKED_SHARE = 47  # Three and more parties: the sender's share of numbers that are lifted, behind its masks
    BOUND_HASHES = 48  # Three and more parties, never opened: what the sender's shares for prediction hash to
    BLINDED_IDS = 20  # alignment: points under one scalar more than before, to the next party
    TWICE_BLINDED_IDS = 21  # alignment of two: the receiver's own points, back in its order
    SHUFFLED_IDS = 22  # alignment: points under everybody's scalar, sorted
    UNBLINDED_IDS = 23  # alignment of three and more: common points under one scalar less than before, to all
    ALIGNMENT_OPENING = 24  # How many ids, in which chunks, and whether the size comes first
    ALIGNMENT_DECISION = 25  # One byte: continue from the size to the ids, or not
    PROPOSAL_ROLE = 50  # proposal: whether the sender has the label
    PROPOSAL_DRAFT = 51  # proposal: the label party's plan, without columns, compressed TOML
    PROPOSAL_WIDTH = 52  # proposal: the sender's columns under that draft, rows, numeric columns and levels
    PROPOSAL_PLAN = 53  # proposal: what the encoding was chosen from; the plan with all columns, compressed TOML
    # 54 is retired: it carried the held-out rows that a party chose, which now follow from the ids.
    UNBLINDING_PROOF = 55  # alignment of three and more: all points that the sender unblinded carried the same scalar
    # 56 is retired: it said on how many rows a common id is.
    RETURN_COMMITMENT = 26  # alignment of two: a hash over the list that will be returned, and the scalar's point
    # 27 is retired: it carried signs, which points no longer need.
    RETURN_CHALLENGE = 28  # alignment of two: the salt of the commitment, and what the peer's proof is asked about
    RETURN_PROOF = 29  # alignment of two: all returned points carry the same scalar
    QUERY = 30  # prediction: how many rows are asked for, now and in all; 0 ends the session
    QUERY_ROWS = 31  # prediction: which ones
    QUERY_VERDICT = 32  # prediction: whether they will be answered; if not, the limit and the rows used
    QUERY_DECISION = 33  # prediction of three and more: all verdicts; any refusal ends the session


@dataclass(frozen=True, repr=False)
class Message:
    """One message, parsed as far as its header goes."""

    kind: Kind
    step: int
    sequence: int
    body: bytes

    @property
    def header(self) -> bytes:
        return HEADER.pack(self.kind, self.step, self.sequence)

    @property
    def digest(self) -> bytes:
        """The digest that recognises a message which comes twice; a stream's hash is made of these."""
        digest = hashlib.sha256(self.header)
        digest.update(self.body)
        return digest.digest()

    def __len__(self) -> int:
        return HEADER.size + len(self.body)

    def encode(self) -> bytes:
        return self.header + self.body


def decode(data: bytes) -> Message:
    """Parse strictly: anything that `encode` could not have written is refused."""
    kind, step, sequence = decode_header(data)
    return Message(kind, step, sequence, data[HEADER.size :])


def decode_header(data: Data) -> tuple[Kind, int, int]:
    """The kind, the step and the sequence number of a message, or of what it begins with."""
    if len(data) < HEADER.size:
        raise RemoteProtocolError(f"expected a message of at least {HEADER.size} bytes, got {len(data)}")
    kind, step, sequence = HEADER.unpack_from(data)
    if kind not in Kind.__members__.values():
        raise RemoteProtocolError(f"message kind {kind} is unknown; is the peer running a different version?")
    return Kind(kind), step, sequence
