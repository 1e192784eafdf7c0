"""What repeated alignments with chosen lists reveal about who is in the peer's table.

    python -m benchmarks.attacks.repeated_alignments

An alignment between two parties shows each which of its own ids the other has. So one run with a list of invented
customers answers for all of them, and honest messages are all it takes. With `--at-least` the number comes first, and
whoever stops there has learned a number only. Guo, Han, Liu, Wang, Jia and Li (USENIX Security 2022) show that numbers
are enough if there are many: halving a list and asking for the number of common ids finds every member, and skips whole
halves without any or with nobody else. Between two lists that differ by one id, one number is that person's membership.
Padding with ids that nobody has keeps every list as long as the first, so that a length says nothing.

What limits it is how often a party aligns, and how long the peer's lists may be (`--at-most`), not `--at-least`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.attacks.study import print_table

Size = Callable[[Sequence[str]], int]


class Count(NamedTuple):
    """Members that were named for sure, and non-members, after so many alignments."""

    alignments: int
    members: int
    others: int


class Peer:
    """A party that answers alignments; it counts them, and refuses more than it allows."""

    def __init__(self, ids: Sequence[str], most: int = 0) -> None:
        self._ids, self._most, self.answered = frozenset(ids), most, 0

    def size(self, asked: Sequence[str]) -> int:
        """The number of common ids: what comes first, before anybody may stop."""
        if self._most and self.answered >= self._most:
            raise PermissionError("the peer aligns no more")
        self.answered += 1
        return sum(identity in self._ids for identity in asked)


def halved(targets: Sequence[str], size: Size, whole: int | None = None) -> tuple[set[str], set[str]]:
    """(members, others) that numbers alone tell; a refusal ends it, with what is known by then."""
    members: set[str] = set()
    others: set[str] = set()
    try:
        waiting = [(list(targets), size(targets) if whole is None else whole)]
        while waiting:
            # The half that is nearest to an answer first.
            waiting.sort(key=lambda one: min(one[1], len(one[0]) - one[1]), reverse=True)
            part, common = waiting.pop()
            if common in (0, len(part)):
                (members if common else others).update(part)
                continue
            left, right = part[: len(part) // 2], part[len(part) // 2 :]
            in_left = size(left)
            waiting += [(left, in_left), (right, common - in_left)]
    except PermissionError:
        return members, others
    return members, others


def counted(targets: int, share: float, most: int = 0, seed: int = 1) -> Count:
    """So many people in question, of whom the peer has this share."""
    ids = [f"person {number}" for number in range(targets)]
    is_member = np.random.default_rng(seed).random(targets) < share
    peer = Peer([identity for identity, is_in in zip(ids, is_member, strict=True) if is_in], most)
    members, others = halved(ids, peer.size)
    return Count(peer.answered, len(members), len(others))


def least_alignments(targets: int, share: float) -> float:
    """By counting: so many bits, and no number has more than log2(targets + 1) of them."""
    entropy = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    return targets * entropy / math.log2(targets + 1)


def main() -> None:
    lines: list[Sequence[Any]] = []
    for targets in (100, 1000):
        for share in (0.01, 0.1, 0.5):
            everything = counted(targets, share)
            ten, fifty = counted(targets, share, 10), counted(targets, share, 50)
            lines.append(
                (
                    targets,
                    share,
                    1,
                    everything.alignments,
                    math.ceil(least_alignments(targets, share)),
                    f"{ten.members} + {ten.others}",
                    f"{fifty.members} + {fifty.others}",
                )
            )
    print_table(
        "Alignments until it is known of every person whether the peer has them, and what fewer of them tell",
        ("people", "share in", "ids shown", "numbers only", "at least", "members + others after 10", "after 50"),
        lines,
    )


if __name__ == "__main__":
    main()
