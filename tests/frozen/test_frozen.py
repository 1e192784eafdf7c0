"""No byte and no verdict changes unless somebody decides it: then `make freeze`, and the commit says why."""

import pytest

import plumbob
from tests.frozen import messages, verdicts
from tests.frozen.boundaries import BOUNDARIES, Boundary
from tests.frozen.files import JOBS, VERDICTS, frozen_messages, frozen_worst

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


def test_worst_verdicts_get_stricter_only() -> None:
    """For each party, target and assumption: a finding that is gone, or says less than before, looks like safety."""
    found = verdicts.worst_of_plans()
    milder = {
        key: (verdict, found.get(key, "no finding"))
        for key, verdict in frozen_worst().items()
        if verdicts.stricter(verdict, found.get(key, "")) != found.get(key)
    }
    assert not milder, "before and now; what is milder must be proved, and taken out of the file by hand"


def test_every_worst_verdict_is_frozen() -> None:
    """A verdict that got stricter becomes the one to keep."""
    assert verdicts.worst_of_plans() == frozen_worst(), CHANGED


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda boundary: f"{boundary.attack}, {boundary.varied}")
def test_pairs_lie_on_two_sides(boundary: Boundary) -> None:
    """The two plans of a pair get different verdicts, so that a boundary that moves changes a frozen line."""
    (_, plan, rows), (_, other, other_rows) = boundary.plans
    kinds = [
        {
            (one.by, one.target, one.assumes, one.verdict)
            for one in plumbob.check(judged, rows=aligned)
            if boundary.attack in one.attacks
        }
        for judged, aligned in ((plan, rows), (other, other_rows))
    ]
    assert kinds[0] != kinds[1]


def test_verdicts_on_jobs() -> None:
    """The verdicts on jobs that other people wrote are frozen, where the files are at hand."""
    folder = verdicts.real_jobs()
    if folder is None:
        pytest.skip("no real job files here: set PLUMBOB_DATA to the folder beside them")
    assert verdicts.of_jobs(folder) == JOBS.read_text(encoding="utf-8").splitlines(), CHANGED
