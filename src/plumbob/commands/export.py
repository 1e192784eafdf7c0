"""`export`: the model, or one party's part of it, for other programs."""

from pathlib import Path

from plumbob.simulation.export import export


def run(folder: Path, to: str, party: str | None, out: Path | None) -> dict[str, object]:
    """Where it was written."""
    target = export(folder, to, party, out)
    return {"out": str(target), "to": to, "party": party, "lines": [str(target)]}
