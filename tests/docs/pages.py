"""The pages that people wrote."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE_FROM_CODE = {"cli.md", "api.md"}


def pages() -> list[Path]:
    """All of them: in docs/, beside the code, and with the examples."""
    written = [page for page in sorted(DOCS.glob("*.md")) if page.name not in MADE_FROM_CODE]
    beside = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*beside, *written, *sorted((ROOT / "examples").glob("*/README.md"))]
