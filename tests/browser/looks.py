"""What must hold for every page, at every width, in both colours: asked of a page that is open in a browser."""

from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

WIDTHS = (390, 1280, 1920)
PHONE, DESKTOP, _ = WIDTHS
HEIGHT = 900
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_STOPS = 400
# WCAG 2, level AA: for text, and for headings in large letters.
SMALLEST_CONTRAST, SMALLEST_IN_LARGE = 4.5, 3.0


def look_at(page: Page, turn: int, uncropped_from: int = DESKTOP) -> None:
    """Look at each width: nothing sideways, nothing cropped on a desktop, no text too faint in light or dark.

    Colours do not depend on the width: axe-core measures them once, at a width that changes from page to page.
    """
    page.evaluate(WITHOUT_FADING)
    for place, width in enumerate(WIDTHS):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = page.evaluate(CUT_WORDS)
        assert cut == [], (width, cut)
        if width >= uncropped_from:
            assert page.evaluate(SCROLLED_INSIDE) == [], width
        for scheme in SCHEMES if (place + turn) % 2 else SCHEMES[::-1]:
            page.emulate_media(color_scheme=scheme)
            assert faint(page, SMALLEST_IN_LARGE, drawn=False) == [], (width, scheme)
        assert violations(page, some_of_each_kind=True, colours=place == turn % len(WIDTHS)) == [], width


# Colours that fade into others are faint for a while.
WITHOUT_FADING = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { transition: none !important; animation: none !important }");
  document.adoptedStyleSheets = [sheet];
}"""


def violations(page: Page, *, some_of_each_kind: bool = False, colours: bool = True) -> list[tuple[str, list[str]]]:
    """Rules of axe-core that the page breaks, with where; all of them, or all but that about colours.

    Nine tenths of axe-core's time are for the contrast of each word that a page marks up. With `some_of_each_kind` it
    measures three of those that look alike, and are inside elements that look alike; the other rules see everything.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    page.evaluate(MARK_SOME)
    measured = f"[{SOME}]" if some_of_each_kind else "*"
    asked = """([measured, enabled]) => {
      axe.configure({ rules: [{ id: "color-contrast", selector: measured, enabled }] });
      return axe.run(document, { resultTypes: ["violations"] });
    }"""
    found: dict[str, Any] = page.evaluate(asked, [measured, colours])
    return [
        (one["id"], [f"{node['target']}: {node['html'][:160]}" for node in one["nodes"]]) for one in found["violations"]
    ]


SOME = "data-some-of-its-kind"
# The first, the middle and the last of the texts in sight with the same looks, from the root of the page down.
MARK_SOME = f"""() => {{
  for (const one of document.querySelectorAll("[{SOME}]")) one.removeAttribute("{SOME}");
  const looks = new Map([[null, ""]]), kinds = new Map();
  const look = (one) => {{
    if (!looks.has(one)) {{
      const style = getComputedStyle(one);
      const own = [one.tagName, one.getAttribute("class"), one.getAttribute("style"), style.color, style.opacity,
        style.backgroundColor, style.backgroundImage, style.position, style.filter, style.mixBlendMode];
      looks.set(one, look(one.parentElement) + " > " + own.join("|"));
    }}
    return looks.get(one);
  }};
  for (const one of document.body.querySelectorAll("*")) {{
    const isText = [...one.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!(isText || one.matches("input, select, textarea")) || !one.checkVisibility()) continue;
    const style = getComputedStyle(one);
    const kind = [look(one), style.fontSize, style.fontWeight, style.textShadow, one.disabled].join("|");
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(one);
  }}
  for (const alike of kinds.values())
    for (const place of [0, alike.length >> 1, alike.length - 1]) alike[place].setAttribute("{SOME}", "");
}}"""


def faint(page: Page, in_large: float = SMALLEST_CONTRAST, *, drawn: bool = True) -> list[tuple[str, float]]:
    """Every text in sight that is too much like what is behind it, and its contrast.

    Without `drawn`, text of drawings is left out, as axe-core does: another part of the drawing may be behind it.
    """
    smallest = {True: in_large, False: SMALLEST_CONTRAST}
    texts = [one for one in page.evaluate(CONTRASTS) if drawn or not one["isDrawn"]]
    return [(one["text"], one["ratio"]) for one in texts if one["ratio"] < smallest[one["isLarge"]]]


# Every text in sight against the colours behind it, by WCAG's formula.
CONTRASTS = """() => {
  const parts = (text) => [...(text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number), 1].slice(0, 4);
  const light = (colour) => colour.slice(0, 3).map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const over = (top, below) => below.map((one, place) => top[place] * top[3] + one * (1 - top[3]));
  const papers = new Map([[null, [255, 255, 255]]]), found = [];
  const behind = (one) => {
    if (!papers.has(one))
      papers.set(one, over(parts(getComputedStyle(one).backgroundColor), behind(one.parentElement)));
    return papers.get(one);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.closest("script, style, title, desc, noscript")) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    // WCAG asks nothing of what cannot be used now.
    if (element.closest(":disabled, [aria-disabled=true]")) continue;
    if (element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element), isDrawn = element instanceof SVGElement, below = behind(element);
    const ink = light(over(parts(isDrawn ? style.fill : style.color), below)), paper = light(below);
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    const size = parseFloat(style.fontSize), isBold = Number(style.fontWeight) >= 700;
    const text = walker.currentNode.textContent.slice(0, 60);
    found.push({ text, ratio, isDrawn, isLarge: size >= 24 || (isBold && size >= 18.66) });
  }
  return found;
}"""


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


def settle(page: Page) -> None:
    """Wait until nothing on the page has changed for a second: an answer that is still coming may add elements."""
    page.evaluate(
        """() => new Promise((done) => {
          let timer = setTimeout(done, 1000);
          const again = () => { clearTimeout(timer); timer = setTimeout(done, 1000); };
          new MutationObserver(again).observe(document.body, { subtree: true, childList: true, attributes: true });
        })"""
    )


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
