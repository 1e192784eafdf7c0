"""The quantities that a party passes through `use`, where the red team's party puts others in their place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import plumbob
from plumbob.lab.simulate.parties import CLASSES
from plumbob.protocol.party import TrainingParty

HOUSE = Path(plumbob.__file__).parent
QUANTITIES = {
    *("rows for ", "factors", "residuals", "replies for ", "start", "supplied share", "masked numbers", "scores"),
    *("labels", "sums", "encrypted residuals", "encrypted sums", "opened sums", "claimed columns"),
}


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of a function or method of this name in a party's program: outside the lab, or in its protocols."""
    for file in HOUSE.rglob("*.py"):
        if file.relative_to(HOUSE).parts[0] == "lab" and file.relative_to(HOUSE).parts[1] != "exchange":
            continue
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if f"{name}(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
                yield file, node


def test_a_real_party_uses_what_it_has() -> None:
    """No class that a plan can name overrides `use`, and a value comes back as the same object."""
    for played in CLASSES.values():
        assert played.use is TrainingParty.use
        value = object()
        assert played.use(played.__new__(played), "residuals", 1, value) is value


def test_nothing_of_a_real_party_reaches_another_class() -> None:
    """Only the lab puts another class in a party's place: training and replay name the one that they play."""
    begun = {str(file.relative_to(HOUSE)) for file, _ in calls("SharesParty")}
    assert begun == {"party/verbs/train.py", "party/replay.py"}
    assert not list(calls("hooked"))


def test_quantities_have_the_names_that_attacks_know() -> None:
    """The programs name what they use; an attack that listens for a name finds it."""
    named = set()
    for _, call in calls("use"):
        name = call.args[0]
        part = name.values[0] if isinstance(name, ast.JoinedStr) else name
        assert isinstance(part, ast.Constant)
        named.add(next(known for known in QUANTITIES if str(part.value).startswith(known)))
    assert named == QUANTITIES
