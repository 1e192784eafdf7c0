"""Another implementation can rely on messages.json: we say these messages, take them in, and refuse every fault."""

import json
from typing import Any

import pytest

from plumbob import errors
from plumbob.protocol.messages import Kind
from tests.known_answers import files

ENTRIES: dict[str, dict[str, Any]] = {
    entry["name"]: entry for entry in json.loads(files.FILE.read_text(encoding="utf-8"))["messages"]
}
EACH = pytest.mark.parametrize("name", ENTRIES)


def test_every_kind_is_there() -> None:
    """Each kind of message once, in the order of the enumeration."""
    assert list(ENTRIES) == [kind.name for kind in Kind]


@EACH
def test_we_say_it_and_take_it_in(name: str) -> None:
    """We send exactly this message, and every party finishes its session."""
    entry = {key: value for key, value in ENTRIES[name].items() if key != "fault"}
    assert files.good_part(Kind[name]) == entry, (
        "if this was meant, run `make freeze` and explain the change in the commit"
    )
    ends = files.honest(entry["session"])[1]
    assert [end for end in ends.values() if isinstance(end, Exception)] == []


@EACH
def test_we_refuse_its_fault(name: str) -> None:
    """Made of the file's words alone, by an error of ours that is no lost connection, in the receiver's words."""
    fault = ENTRIES[name]["fault"]
    _, _, message = files.first_of(Kind[name])
    said = files.refusal(Kind[name], files.from_file(message, fault))
    raised = getattr(errors, said.partition(":")[0], None)
    assert raised is not None, said
    assert issubclass(raised, errors.PlumbobError), said
    assert not issubclass(raised, errors.TransportError), said
    assert said == fault["we_say"]
