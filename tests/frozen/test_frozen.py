"""No byte and no verdict changes unless somebody decides it: then `make freeze`, and the commit says why."""

import pytest

from tests.frozen import messages, verdicts
from tests.frozen.files import JOBS, VERDICTS, frozen_messages

CHANGED = "if this was meant, run `make freeze` and explain the change in the commit"


@pytest.mark.parametrize("kind", messages.KINDS)
def test_messages(kind: str) -> None:
    """The first message that differs is named, with its step, kind, sender, receiver, size and hash."""
    was, found = frozen_messages()[kind], messages.lines(kind)
    for place, (before, after) in enumerate(zip(was, found, strict=False)):
        assert after == before, f"message {place} of {kind}; {CHANGED}"
    assert len(found) == len(was), f"{kind}; {CHANGED}"


def test_every_kind_is_frozen() -> None:
    """The file holds these kinds of session and no others."""
    assert list(frozen_messages()) == list(messages.KINDS)


def test_verdicts_on_plans() -> None:
    """Plan by plan, finding by finding."""
    assert verdicts.of_plans() == VERDICTS.read_text(encoding="utf-8").splitlines(), CHANGED


def test_verdicts_on_jobs() -> None:
    """The verdicts on jobs that other people wrote are frozen, where the files are at hand."""
    folder = verdicts.real_jobs()
    if folder is None:
        pytest.skip("no real job files here: set PLUMBOB_DATA to the folder beside them")
    assert verdicts.of_jobs(folder) == JOBS.read_text(encoding="utf-8").splitlines(), CHANGED
