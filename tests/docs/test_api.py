"""The examples of the Python page run as they are written, in one session, and print what the page shows."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from plumbob import VerticalLogisticRegression
from tests.docs.test_tutorial import pattern

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
BLOCKS = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def guide() -> str:
    """The part that people wrote."""
    return PAGE.read_text(encoding="utf-8").split("\n# Reference\n")[0]


def test_every_example_is_followed_by_its_output(guide: str) -> None:
    """A block that the test below would pass over does not exist."""
    assert len(BLOCKS.findall(guide)) == guide.count("```python\n") == guide.count("```text\n")


@pytest.mark.timeout(600)
def test_the_examples_print_what_the_page_says(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block sees what the ones before it made."""
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {"__name__": "__main__"}
    for code, shown in BLOCKS.findall(guide):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), session)  # noqa: S102  # Our own page.
        assert pattern(shown).fullmatch(printed.getvalue()), f"{code}\nprinted\n{printed.getvalue()}\nshown\n{shown}"


def test_the_page_lists_every_fitted_attribute(guide: str) -> None:
    """What `fit` leaves under a name that ends in _ is in the table, and nothing else is."""
    table = guide.split("| attribute | holds |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+_)`", " ".join(line.split("|")[1] for line in table.splitlines()[2:])))
    import pandas as pd

    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 3.0, 2.0]})
    model = VerticalLogisticRegression(protocol="clear", batches="full", epochs=1).fit(frame, [0, 0, 1, 1])
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert listed == fitted
