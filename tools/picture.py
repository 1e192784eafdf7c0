"""Take a picture of a page, as a browser shows its first screen; of a decision sheet, as it is printed.

Usage: python tools/picture.py demo/report.html docs/pictures/report.png
       python tools/picture.py --printed demo/shares/summary.html docs/pictures/decision-sheet.png
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SCREEN = (1180, 1290)
A4_WIDTH = 794
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take(page: Path, picture: Path, *, is_printed: bool) -> None:
    """Without a sandbox of the browser's own, because the page is ours and containers have none."""
    browser_path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        raise SystemExit(f"no browser: install one of {', '.join(BROWSERS)}")
    picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        width, height = (A4_WIDTH, 1) if is_printed else SCREEN
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        tab.emulate_media(media="print" if is_printed else "screen")
        tab.goto(page.resolve().as_uri())
        tab.screenshot(path=picture, full_page=is_printed)
        browser.close()
    print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    files = [Path(word) for word in sys.argv[1:] if word != "--printed"]
    if len(files) != 2:
        raise SystemExit(__doc__)
    take(*files, is_printed="--printed" in sys.argv)
