"""The messages of `exchange`, with the lines of the paper's Protocol 1, and of `arbiter`.

In sizes: `rows` of the batch; `columns` of a party; `ciphertext`, bytes of one; `replies(n)`, ciphertexts that carry n
sums; `opened(n)`, bytes of these sums when they come back.
"""

from plumbob.protocol.messages import Kind
from plumbob.protocol.turns import GREETING, HELD_OUT, PAIR_KEY, PUBLIC_KEY, STREAM_HASHES, MessageOrder, Turn

EXCHANGE = MessageOrder(
    outside=(*GREETING, PUBLIC_KEY, PAIR_KEY, PAIR_KEY, STREAM_HASHES),
    steps=(
        Turn("helper", "learner", Kind.RESIDUALS, "rows * ciphertext", "line 5"),
        Turn("learner", "helper", Kind.MASKED_SUMS, "replies(columns(sender)) * ciphertext", "line 10"),
        Turn("helper", "learner", Kind.OPENED_SUMS, "opened(columns(receiver))", "line 11"),
        HELD_OUT,
    ),
)

ARBITER = MessageOrder(
    outside=(*GREETING, PUBLIC_KEY, PAIR_KEY, STREAM_HASHES),
    steps=(
        Turn("feature party", "label party", Kind.SCORES, "rows * ciphertext"),
        Turn("label party", "feature party", Kind.JOINT_RESIDUALS, "rows * ciphertext"),
        Turn("learner", "arbiter", Kind.MASKED_SUMS, "replies(columns(sender)) * ciphertext"),
        Turn("arbiter", "learner", Kind.OPENED_SUMS, "opened(columns(receiver))"),
        HELD_OUT,
    ),
)
