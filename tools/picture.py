"""Take the README's picture of a report: the first screen of a page, as a browser shows it.

Usage: python tools/picture.py demo/report.html docs/pictures/report.png
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SIZE = {"width": 1180, "height": 1290}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take(page: Path, picture: Path) -> None:
    """Without a sandbox of the browser's own, because the page is ours and containers have none."""
    browser_path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        raise SystemExit(f"no browser: install one of {', '.join(BROWSERS)}")
    picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": SIZE["width"], "height": SIZE["height"]}, color_scheme="light")
        tab.goto(page.resolve().as_uri())
        tab.screenshot(path=picture)
        browser.close()
    print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    take(Path(sys.argv[1]), Path(sys.argv[2]))
