"""What must hold for every page, on a telephone and on a desktop, in both colours: asked of a page in a browser."""

from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

WIDTHS = PHONE, DESKTOP = 390, 1400
HEIGHT = 900
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_STOPS = 400


def look_at(page: Page) -> None:
    """Nothing sideways, no word cut, nothing to scroll inside, and no rule of axe-core broken, light or dark."""
    page.evaluate(WITHOUT_FADING)
    for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT_WORDS) == [], width
        assert page.evaluate(SCROLLED_INSIDE) == [], width
        assert violations(page) == [], (width, scheme)


# Colours that fade into others are faint for a while.
WITHOUT_FADING = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { transition: none !important; animation: none !important }");
  document.adoptedStyleSheets = [sheet];
}"""


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """Rules of axe-core that the page breaks, with where."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        (one["id"], [f"{node['target']}: {node['html'][:160]}" for node in one["nodes"]]) for one in found["violations"]
    ]


# Boxes in sight whose content is larger than they are, and would have to be scrolled inside the page.
SCROLLED_INSIDE = """() => [...document.querySelectorAll("body *")].filter(one => {
  const { overflowX, overflowY } = getComputedStyle(one);
  if (!one.checkVisibility() || one.matches("select, input, textarea")) return false;
  const across = one.scrollWidth > one.clientWidth + 1 && overflowX !== "visible";
  const down = one.scrollHeight > one.clientHeight + 1 && ["auto", "scroll"].includes(overflowY);
  return (across && one.clientWidth > 1 && getComputedStyle(one).textOverflow !== "ellipsis") || down;
}).map(one => one.outerHTML.slice(0, 200))"""


# Words of headings that are cut although they would fit into a line; one of 25 letters may not.
CUT_WORDS = """() => [...document.querySelectorAll("h1, h2, h3, legend, dt, th, summary, label")].flatMap(heading => {
  if (!heading.checkVisibility()) return [];
  const walker = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT), found = [], range = document.createRange();
  while (walker.nextNode()) {
    for (const { index, 0: word } of walker.currentNode.data.matchAll(/[\\p{L}\\d]+/gu)) {
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + word.length);
      const lines = new Set([...range.getClientRects()].map(one => Math.round(one.top)));
      if (word.length < 25 && lines.size > 1) found.push(word);
    }
  }
  return found;
})"""


def stops(page: Page) -> list[str]:
    """The elements reached by Tab alone, from the top until it leaves the page, each with a visible outline."""
    # Without this, Tab would continue from where somebody clicked last.
    page.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    reached: list[str] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        if found is None:
            break
        assert found["outline"] != "0px", found
        reached.append(found["key"])
    return reached


def reachable(page: Page) -> list[str]:
    """What a pointer could use, and a keyboard must reach."""
    found: list[str] = page.evaluate(REACHABLE)
    return found


_KEY = """(one) => {
  const path = [];
  for (let at = one; at.parentElement; at = at.parentElement) path.push([...at.parentElement.children].indexOf(at));
  return path.reverse().join(".");
}"""
FOCUSED = f"""() => {{
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  return {{ key: ({_KEY})(one), outline: getComputedStyle(one).outlineWidth, html: one.outerHTML.slice(0, 120) }};
}}"""
REACHABLE = f"""() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
  .filter(one => one.checkVisibility({{ visibilityProperty: true }}) && !one.disabled)
  .filter(one => !one.matches("input[type=radio]:not(:checked)"))
  .map({_KEY})"""
