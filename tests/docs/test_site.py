"""The site: built strictly and without a network, whole, and content with its own files."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tools import site

# Attributes whose address a browser fetches by itself, and elements whose `href` it does.
FETCHED = {"src", "srcset", "poster", "data", "action", "background", "manifest", "ping"}
FETCHED_BY_LINK = {"link", "image", "use", "base"}
IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
# A name space of its own has no network but the loopback, which is down.
ALONE = ["unshare", "--user", "--map-root-user", "--net"]


class Page(HTMLParser):
    """What one built page offers and asks for."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in FETCHED or (name == "href" and tag in FETCHED_BY_LINK):
                self.fetched.append(value or "")
            elif name == "href" and tag == "a":
                self.links.append(value or "")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, made once, where the machine allows it without any network."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("the extra `docs` (Zensical) is not installed: the site is not built")
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, str(site.ROOT / "tools" / "site.py"), str(folder)]
    finished = subprocess.run([*(ALONE if can_be_alone() else []), *command], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return folder / "site"


def can_be_alone() -> bool:
    """Whether this machine lets us have a name space."""
    return shutil.which(ALONE[0]) is not None and subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    """Every page of the site, parsed."""
    return {file: Page(file) for file in built.rglob("*.html")}


def test_every_page_is_built(built: Path) -> None:
    """What is written becomes a page of the site."""
    names = {name.removesuffix(".md") for name in site.sources().values()}
    assert {file.stem for file in built.glob("*.html")} == {*names, "404"}


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page], built: Path) -> None:
    """No page, style or picture names another host for something that a browser fetches by itself."""
    fetched = [(file.name, address) for file, page in pages.items() for address in page.fetched]
    for file in [*built.rglob("*.css"), *built.rglob("*.svg"), *built.rglob("*.html")]:
        found = IN_STYLES.findall(file.read_text(encoding="utf-8"))
        fetched += [(file.name, address) for pair in found for address in pair if address]
    assert fetched
    assert [pair for pair in fetched if re.match(r"(https?:)?//", pair[1])] == []


def test_a_browser_may_not_ask_other_hosts(pages: dict[Path, Page]) -> None:
    """Every page forbids it: the generator's script knows addresses, for features that we do not use."""
    for file in pages:
        text = file.read_text(encoding="utf-8")
        [policy] = re.findall(r'http-equiv="?Content-Security-Policy"? content="([^"]*)"', text)
        assert set(policy.split()) == {"default-src", "'self'", "file:", "data:", "blob:", "'unsafe-inline'"}


def test_every_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    """Pages, pictures and anchors that are linked to exist; the generator's own check knows no pictures."""
    assert list(broken(pages)) == []


def broken(pages: dict[Path, Page]) -> Iterator[str]:
    """Every link without a target."""
    for file, page in pages.items():
        for link in [*page.links, *page.fetched]:
            address, anchor = urldefrag(unquote(link))
            if re.match(r"[a-z]+:", address) or file.name == "404.html":
                continue
            target = (file.parent / address).resolve() if address else file
            if target.is_dir():
                target = target / "index.html"
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                yield f"{file.name}: {link}"


def test_the_navigation_has_every_page_once() -> None:
    """A page that nobody finds, or a place without a page, is a mistake in docs/zensical.toml."""
    navigation = tomllib.loads((site.DOCS / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    places = [
        page for section in navigation for [group] in [section.values()] for entry in group for page in entry.values()
    ]
    assert sorted(places) == sorted(site.sources().values())


def test_a_link_out_of_the_site_fails_the_build(tmp_path: Path) -> None:
    """A link out of the site is named before the generator starts."""
    page = tmp_path / "page.md"
    page.write_text("[code](../src/plumbob/cli.py)", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"page\.md links to \.\./src/plumbob/cli\.py"):
        site.linked(page)


def test_a_broken_link_fails_the_build(built: Path, tmp_path: Path) -> None:
    """The generator is strict: a page and an anchor that do not exist are told, and the exit code is not 0."""
    copy = shutil.copytree(built.parent, tmp_path / "docs", ignore=shutil.ignore_patterns("site"))
    (copy / "pages" / "tutorial.md").write_text(
        "# T\n\n[page](nowhere.md) [anchor](check.md#nowhere)\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    finished = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert finished.returncode != 0
    assert "2 issues found" in finished.stdout + finished.stderr
