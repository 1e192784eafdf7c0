"""What is finished is not done again, unless it would be something else."""

from pathlib import Path

import pytest

from plumbob.lab.paper.readings import ResultStore


def counted(calls: list[int]) -> dict[str, int]:
    """Work that shows how often it was done."""
    calls.append(1)
    return {"calls": len(calls)}


def test_work_is_done_once(tmp_path: Path) -> None:
    """The same settings give the stored result; other ones are worked out, and stored in its place."""
    results, calls = ResultStore(tmp_path / "results"), list[int]()
    assert results.get_or_run("a: b, c", {"seed": 1}, lambda: counted(calls)) == {"calls": 1}
    assert ResultStore(tmp_path / "results").get_or_run("a: b, c", {"seed": 1}, lambda: counted(calls)) == {"calls": 1}
    assert results.get_or_run("a: b, c", {"seed": 2}, lambda: counted(calls)) == {"calls": 2}
    assert len(list((tmp_path / "results").iterdir())) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"settings": {}}'])
def test_a_broken_file_is_worked_out_again(tmp_path: Path, content: str) -> None:
    """Whatever stands in a file, only a whole result of the same settings is used."""
    results = ResultStore(tmp_path)
    results.get_or_run("a", {"seed": 1}, lambda: {"value": 1})
    (tmp_path / "a.json").write_text(content)
    assert results.get_or_run("a", {"seed": 1}, lambda: {"value": 2}) == {"value": 2}
    assert results.get_or_run("a", {"seed": 1}, lambda: {"value": 3}) == {"value": 2}


def test_an_interrupted_piece_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle of some work stores nothing of it."""

    def work() -> dict[str, int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ResultStore(tmp_path).get_or_run("a", {}, work)
    assert ResultStore(tmp_path).result("a", {}) is None
