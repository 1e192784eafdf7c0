"""The longest message that a plan can bring about: what a connector lets through, and what `party doctor` tries."""

from plumbob.data import largest_batch
from plumbob.plan import Plan
from plumbob.protocol.lattice_sets import LatticeShape
from plumbob.protocol.messages import HEADER, LONGEST_TEXT

ROOM = 65536  # bytes for the handshake's keys and proofs, and for what carries messages


def largest_message(plan: Plan, rows: int = 0) -> int:
    """Bytes, never too few: a batch of ciphertexts, or one for each column.

    Where neither the plan nor the caller knows the aligned rows yet, the longest batch that the plan allows is taken;
    with `batches = "full"` that needs the rows.
    """
    rows = rows or plan.rows
    if plan.kind.has_lattices:
        return LatticeShape(plan, max(rows, 1)).largest_message + HEADER.size + LONGEST_TEXT + ROOM
    # A Paillier ciphertext is twice as long as its key.
    ciphertext = 2 * plan.key_bits // 8
    longest = largest_batch(rows, plan) if rows else 2 * plan.batch_size
    columns = plan.columns + len(plan.parties)
    return max(longest, columns) * ciphertext + HEADER.size + LONGEST_TEXT + ROOM
