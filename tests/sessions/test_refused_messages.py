"""Every kind of message of a training by `shares`, an alignment and a prediction, changed in each way that matters.

refusals.txt has a line for each: whose message of which kind becomes what, what its receiver says, and whether both can
go on when they start again with honest peers. `python -m tests.sessions.refusals` writes it; look at the difference.
"""

from pathlib import Path

import pytest

from tests.sessions.refusals import FILE, cases, line_of

LINES = {line.partition(" -> ")[0]: line for line in FILE.read_text(encoding="utf-8").splitlines()}
STRIDE = 11  # `soak` plays all of them.


def test_every_case_has_its_line() -> None:
    """One line for each case, in order."""
    assert list(LINES) == list(cases())


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.soak] * bool(at % STRIDE)) for at, case in enumerate(LINES)]
)
def test_who_says_what(case: str, tmp_path: Path) -> None:
    """The receiver names the sender, or the session ends as it should; afterwards it goes on, or says why not."""
    assert line_of(cases()[case], tmp_path) == LINES[case]
