"""Build the documentation: `python tools/site.py [FOLDER]` writes FOLDER/site (build/site), without a network.

Pages that live elsewhere in the repository, because people look for them there, become pages of the site: one source,
and a link means the same in the repository and on the site. Any warning of the generator, and any link that leads out
of the site without being a web address, fails the build.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GUESTS = {
    ROOT / "CHANGELOG.md": "changelog.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "SECURITY.md": "security.md",
    ROOT / "examples" / "two-machines" / "README.md": "two-machines.md",
}
LINK = re.compile(r"(?<=\]\()(?!https://|#)([^)#\s]+)(?=[)#])")
EMPTY_HEADER = re.compile(r"<th([^>]*)>\s*</th>")


def main(folder: Path) -> None:
    """Gather all pages in the folder, then let the generator run there."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("zensical.toml", "theme"))
    shutil.copytree(DOCS / "theme", folder / "theme", dirs_exist_ok=True)
    shutil.copy(DOCS / "zensical.toml", folder)
    for source, target in sources().items():
        (pages / target).write_text(linked(source), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    # A pipe in place of a terminal: no colours, no progress that draws over itself.
    finished = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if finished.returncode:
        sys.exit(f"{finished.stdout}\nplumbob: the documentation was not built; what is wrong is above")
    for page in (folder / "site").glob("*.html"):
        page.write_text(without_empty_headers(page.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"plumbob: wrote {folder / 'site' / 'index.html'}")


def sources() -> dict[Path, str]:
    """Every page of the site: the file it is written in, and its name there."""
    return {**{page: page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}, **GUESTS}


def without_empty_headers(page: str) -> str:
    """The corner of a table heads nothing: Markdown can only write it as a header, which a screen reader announces."""
    return EMPTY_HEADER.sub(r"<td\1></td>", page)


def linked(source: Path) -> str:
    """The page's text with links that lead to where pages are on the site."""
    names = sources()

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / link[0]))
        if target in names:
            return names[target]
        if target.is_relative_to(DOCS) and target.exists():
            return target.relative_to(DOCS).as_posix()
        sys.exit(f"plumbob: {source.name} links to {link[0]}, which is no page of the site")

    return LINK.sub(moved, source.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build")
