"""For every kind of message the session in which it is said, and what is changed in it so that it must be refused."""

from collections.abc import Callable
from dataclasses import dataclass

from plumbob.protocol.messages import Kind


@dataclass(frozen=True)
class Fault:
    """A change of a message's body, and the rule that it breaks."""

    session: str
    change: Callable[[bytes], bytes]
    why: str


def flipped(body: bytes) -> bytes:
    """The last bit of the body."""
    return body[:-1] + bytes([body[-1] ^ 1])


def flipped_first(body: bytes) -> bytes:
    """The first bit of the body."""
    return bytes([body[0] ^ 1]) + body[1:]


def cut(body: bytes) -> bytes:
    """The message without its last byte; the header says so."""
    return body[:-1]


def put(data: bytes, at: int = 0) -> Callable[[bytes], bytes]:
    """The message with these bytes in the place of others."""
    return lambda body: body[:at] + data + body[at + len(data) :]


SIZE = "the body has another size than the plan gives it"
POINT = "the first 32 bytes are no point of the group"
ZERO = "the first ciphertext is 0"
RESIDUE = "the first residue is not below its prime"
ABOVE = b"\xff" * 7
EXCHANGE, ARBITER = "training by exchange of three", "training with an arbiter"
SHARES, OPENED = "training by shares of two", "training by shares of two, opened"
SHARES_OF_THREE = "training by shares of three"
SIGNED = "training by shares of two, signed"
TWO, THREE, PREDICTION = "alignment of two", "alignment of three", "prediction of three"
FAULTS: dict[Kind, Fault] = {
    Kind.HELLO: Fault(SIGNED, put(bytes(8), 32), "the sender has another number of aligned rows"),
    Kind.SEED_COMMITMENT: Fault(SIGNED, flipped, "the share that follows is not what the sender committed to"),
    Kind.SEED_SHARE: Fault(SIGNED, flipped, "the share is not what the sender committed to"),
    Kind.CONFIRMATION: Fault(SIGNED, flipped, "the sender has another session, seed or list of ids"),
    Kind.PUBLIC_KEY: Fault(EXCHANGE, flipped, "the last root is not the root of its challenge"),
    Kind.PAIR_KEY: Fault(
        SHARES_OF_THREE, put(bytes(32)), "the point has a small order: the agreed key would be known to all"
    ),
    Kind.RESIDUALS: Fault(EXCHANGE, put(bytes(128)), ZERO),
    Kind.MASKED_SUMS: Fault(EXCHANGE, put(bytes(128)), ZERO),
    Kind.OPENED_SUMS: Fault(EXCHANGE, cut, SIZE),
    Kind.SCORES: Fault(ARBITER, put(bytes(128)), ZERO),
    Kind.JOINT_RESIDUALS: Fault(ARBITER, put(bytes(128)), ZERO),
    Kind.START_SHARE: Fault(SHARES_OF_THREE, cut, SIZE),
    Kind.WEIGHT_SHARE: Fault(OPENED, cut, SIZE),
    Kind.SCORE_SHARE: Fault(PREDICTION, cut, SIZE),
    Kind.SIGNATURE: Fault("signatures of two", flipped, "the signature is not over this plan"),
    Kind.SEAL: Fault(SIGNED, flipped, "the signature is not over this seal"),
    Kind.NUMBERS: Fault(SIGNED, cut, SIZE),
    Kind.BOUND_SHARE: Fault(
        SHARES_OF_THREE, put(ABOVE, 32), "sender and receiver bound different bytes, as their hashes show"
    ),
    Kind.LATTICE_KEYS: Fault(SHARES, put(ABOVE), RESIDUE),
    Kind.KEY_CHALLENGES: Fault(SHARES, flipped, "the challenge does not follow from what is revealed later"),
    Kind.KEY_COMMITMENTS: Fault(SHARES, flipped, "the nonce that follows does not open the commitment"),
    Kind.KEY_REVEALS: Fault(SHARES, flipped, "the challenge does not follow from what is revealed"),
    Kind.KEY_NONCES: Fault(SHARES, flipped, "the nonce does not open the commitment"),
    Kind.LATTICE_REQUEST: Fault(SHARES, put(ABOVE, 32), RESIDUE),
    Kind.LATTICE_REPLY: Fault(SHARES, cut, SIZE),
    Kind.MASKED_SHARE: Fault(SHARES_OF_THREE, cut, SIZE),
    Kind.BOUND_HASHES: Fault(SHARES_OF_THREE, cut, SIZE),
    Kind.BLINDED_IDS: Fault(TWO, put(b"\xff" * 32), POINT),
    Kind.TWICE_BLINDED_IDS: Fault(TWO, flipped, "the list is not what the sender committed to"),
    Kind.SHUFFLED_IDS: Fault(TWO, put(b"\xff" * 32), "the points are not sorted"),
    Kind.UNBLINDED_IDS: Fault(THREE, put(b"\xff" * 32), POINT),
    Kind.ALIGNMENT_OPENING: Fault(TWO, put(bytes(8)), "the sender has no id"),
    Kind.ALIGNMENT_DECISION: Fault(TWO, put(b"\2"), "the decision is neither 0 nor 1"),
    Kind.PROPOSAL_ROLE: Fault("proposal of two", lambda body: b"neither", "the role is neither label nor features"),
    Kind.PROPOSAL_DRAFT: Fault("proposal of two", put(bytes(2)), "the body is no compressed plan"),
    Kind.PROPOSAL_WIDTH: Fault("proposal of two", cut, SIZE),
    Kind.PROPOSAL_PLAN: Fault("proposal of two", put(bytes(2), 24), "the body holds no compressed plan"),
    Kind.UNBLINDING_PROOF: Fault(THREE, flipped, "the proof does not hold for the points"),
    Kind.RETURN_COMMITMENT: Fault(TWO, flipped_first, "the list that follows is not what the sender committed to"),
    Kind.RETURN_CHALLENGE: Fault(TWO, flipped_first, "the salt does not open the commitment"),
    Kind.RETURN_PROOF: Fault(TWO, flipped, "the proof does not hold for the points"),
    Kind.QUERY: Fault(PREDICTION, put(b"\xff" * 8), "more rows are asked for than there are"),
    Kind.QUERY_ROWS: Fault(PREDICTION, put(b"\xff" * 8), "a row is asked for that there is not"),
    Kind.QUERY_VERDICT: Fault(PREDICTION, cut, SIZE),
    Kind.QUERY_DECISION: Fault(PREDICTION, put(b"\2"), "it says that the receiver decided otherwise than it did"),
}
