"""The longest message that a plan can bring about: what a connector lets through, and what `party doctor` tries."""

from plumbob.plan import Plan
from plumbob.protocol.messages import HEADER, LONGEST_TEXT
from plumbob.protocol.schedules import training_schedule

ROOM = 65536  # bytes for the handshake's keys and proofs, and for what carries messages


def largest_message(plan: Plan, rows: int = 0) -> int:
    """Bytes of the longest message of the schedule, never too few.

    Where neither the plan nor the caller knows the aligned rows yet, the longest batch that the plan allows is taken;
    with `batches = "full"` that needs the rows.
    """
    known = rows or plan.rows
    if not known:
        # No batch can be longer than two that were merged.
        plan, known = plan.replace(test_share=0.0), 2 * plan.batch_size
    return training_schedule(plan, known).largest_message + HEADER.size + LONGEST_TEXT + ROOM
