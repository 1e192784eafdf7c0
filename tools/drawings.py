"""Draw the pictures of the documentation: `python tools/drawings.py` writes docs/pictures/*.svg.

The ledger's numbers come from the ledger itself. Each picture carries its colours for light and for dark, and a ground
of its own, so that it can be read on any page.
"""

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

from plumbob.checking.ledger import planned
from plumbob.plan import Plan

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2933 }
  .small { font-size: 12px } .quiet { fill: #52606d } .middle { text-anchor: middle } .end { text-anchor: end }
  .bold { font-weight: 600 }
  .ground { fill: #ffffff } .box { fill: #f5f7fa; stroke: #9aa5b1 }
  .bank { fill: #dbeafe; stroke: #1d4ed8 } .processor { fill: #ffedd5; stroke: #c2410c }
  .truth { fill: #dcfce7; stroke: #15803d }
  .line { stroke: #52606d; fill: none; stroke-width: 1.5 } .dashed { stroke-dasharray: 5 4 }
  .curve { fill: none; stroke-width: 2.5 }
  .first { stroke: #c2410c } .second { stroke: #7c3aed } .third { stroke: #15803d }
  .head { fill: #52606d }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .quiet { fill: #9aa5b1 }
    .ground { fill: #161b22 } .box { fill: #222a35; stroke: #616e7c }
    .bank { fill: #1e3a5f; stroke: #60a5fa } .processor { fill: #4a2a12; stroke: #fb923c }
    .truth { fill: #14391f; stroke: #4ade80 }
    .line { stroke: #9aa5b1 } .head { fill: #9aa5b1 }
    .first { stroke: #fb923c } .second { stroke: #a78bfa } .third { stroke: #4ade80 }
  }
"""
Point = tuple[float, float]

# The ledger's example, which the page speaks of.
ROWS, BANK, PROCESSOR, BATCH, EPOCHS = 3200, 5, 18, 64, 5
MOST_EQUATIONS, MARKS = 3500, range(0, 3001, 1000)
CURVES = (
    ("first", "exchange, reshuffled batches", {"protocol": "exchange"}),
    ("second", "exchange, the same batches in every epoch", {"protocol": "exchange", "batches": "fixed"}),
    ("third", "shares, --open own: the opened weights", {"protocol": "shares", "open": "own"}),
)


def main() -> None:
    """Write all pictures."""
    for name, text in drawings().items():
        (PICTURES / name).write_text(text, encoding="utf-8")


def drawings() -> dict[str, str]:
    """Every picture's text by its file's name."""
    return {"views.svg": views(), "ledger.svg": ledger(), "shares.svg": shares(), "protocols.svg": protocols()}


def views() -> str:
    """Two parties, what each knows, and the auditor who alone can say how right a claim is."""
    common = ("its own weights", "the plan and its batches", "every message it received")
    return picture(
        (760, 330),
        "What a party knows is its view; an attack turns a view into a claim; the auditor scores it",
        [
            *party(20, 20, "bank", "bank", ("its columns, the labels", *common)),
            *party(530, 20, "processor", "processor", ("its columns", *common)),
            arrow((240, 55), (520, 55)),
            arrow((520, 85), (240, 85)),
            words(380, 45, "ciphertexts, masked sums", "small middle"),
            words(380, 105, "opened sums: its own gradient", "small middle"),
            arrow((630, 147), (630, 182)),
            words(620, 167, "all of this, and nothing else", "small end quiet"),
            *box(530, 185, 210, 45, "processor", "view of the processor"),
            arrow((525, 207), (410, 207)),
            words(467, 198, "attack", "small middle"),
            *box(270, 185, 135, 45, "box", "claim"),
            arrow((337, 232), (337, 262)),
            arrow((125, 147), (125, 262)),
            words(135, 205, "the truth", "small quiet"),
            *box(20, 267, 720, 45, "truth", "auditor: a rate, beside what the attacker could say without any attack"),
        ],
    )


def ledger() -> str:
    """Independent equations about labels, step by step, against the labels there are."""
    left, top, width, height, steps = 70.0, 50.0, 650.0, 210.0, EPOCHS * (ROWS // BATCH)

    def place(step: float, equations: float) -> Point:
        return left + width * step / steps, top + height * (1 - equations / MOST_EQUATIONS)

    drawn = [
        words(
            20, 28, f"The processor's equations about {ROWS:,} labels: {PROCESSOR} columns, batches of {BATCH}", "bold"
        ),
        line([place(0, 0), place(steps, 0)]),
        line([place(0, 0), place(0, MOST_EQUATIONS)]),
        line([place(0, ROWS), place(steps, ROWS)], "line dashed"),
        words(place(0, ROWS)[0] + 8, place(0, ROWS)[1] - 7, f"{ROWS:,} unknown labels", "small quiet"),
        words(place(steps, 0)[0], place(0, 0)[1] + 20, f"{steps} steps, {EPOCHS} epochs", "small end quiet"),
    ]
    for equations in MARKS:
        drawn.append(words(left - 8, place(0, equations)[1] + 4, f"{equations:,}", "small end quiet"))
    for order, (kind, name, keys) in enumerate(CURVES):
        plan = Plan.for_columns((BANK, PROCESSOR), batch_size=BATCH, epochs=EPOCHS, **keys)
        account = planned(plan, ROWS).account("features", "labels")
        totals = [0, *(account.totals.tolist() if account is not None else [])]
        # A pass of shares, over all rows, is as long as an epoch.
        length = steps / (len(totals) - 1)
        drawn.append(line([place(step * length, total) for step, total in enumerate(totals)], f"curve {kind}"))
        drawn.append(line([(left, 305 + 22 * order), (left + 30, 305 + 22 * order)], f"curve {kind}"))
        drawn.append(words(left + 40, 310 + 22 * order, f"{name}: {totals[-1]:,} at the end", "small"))
    return picture((760, 370), "Equations add up over steps until they are as many as the unknowns", drawn)


def shares() -> str:
    """What crosses the line in one pass of two parties, and what each side holds after every stage."""
    stages = (
        ("weights", (), "half of every weight", "the other half"),
        (
            "scores",
            (("bank", "half of the peer's weights, encrypted"), ("processor", "the same; and products, encrypted")),
            "half of every score",
            "the other half",
        ),
        (
            "residuals",
            (("bank", "sines and cosines of its halves, encrypted"), ("processor", "products with its own, encrypted")),
            "half, less the labels",
            "the other half",
        ),
        (
            "gradients",
            (("bank", "half of every residual, encrypted"), ("processor", "the same; and products, encrypted")),
            "half of every gradient",
            "the other half",
        ),
        ("new weights", (), "its half, moved", "its half, moved"),
    )
    drawn = [
        words(125, 28, "bank: its columns, the labels", "middle bold"),
        words(635, 28, "processor: its columns", "middle bold"),
    ]
    for place, (stage, sent, left, right) in enumerate(stages):
        y = 45 + 72 * place
        drawn += box(20, y, 210, 44, "bank", left)
        drawn += box(530, y, 210, 44, "processor", right)
        drawn.append(words(380, y - 3 if sent else y + 26, stage, "middle bold"))
        for line_of, (sender, what) in enumerate(sent):
            height = y + 20 + 24 * line_of
            start, end = (240, 520) if sender == "bank" else (520, 240)
            drawn += [arrow((start, height), (end, height)), words(380, height - 5, what, "small middle quiet")]
        if place + 1 < len(stages):
            drawn += [arrow((x, y + 46), (x, y + 70)) for x in (125, 635)]
    drawn += [
        words(
            20,
            420,
            "Each half alone is a random number; nobody ever holds both. Keys are erased when training ends.",
            "small",
        ),
        words(20, 440, "open = “never” leaves the weights in halves, also for prediction;", "small"),
        words(20, 458, "open = “own” gives each party both halves of its own weights.", "small"),
    ]
    return picture((760, 475), "One pass of shares: what is sent, and what each party holds after each stage", drawn)


def protocols() -> str:
    """Four questions from the top, each with the protocol that a yes leads to."""
    questions = (
        ("Is all data yours, and this an experiment?", "box", "clear", "nothing is encrypted; the yardstick"),
        ("Must it be the paper's protocol?", "processor", "exchange", "each party reads its own gradient"),
        ("Must it be FATE's, with a third party?", "processor", "arbiter", "as exchange; a third party holds the key"),
        ("Anything else", "truth", "shares", "the default: nobody sees a gradient"),
    )
    drawn = [words(20, 30, "Which protocol?", "bold")]
    for place, (question, kind, name, why) in enumerate(questions):
        y = 50 + 78 * place
        is_last = place + 1 == len(questions)
        drawn += box(20, y, 330, 48, "bank", question)
        drawn.append(arrow((352, y + 24), (436, y + 24)))
        drawn.append(words(394, y + 17, "" if is_last else "yes", "small middle"))
        drawn += [rectangle(440, y, 300, 48, kind), words(456, y + 20, name, "bold"), words(456, y + 38, why, "small")]
        if not is_last:
            drawn += [arrow((185, y + 50), (185, y + 76)), words(197, y + 68, "no", "small")]
    return picture((760, 352), "Four questions lead to one of four protocols; the last answer is the default", drawn)


# Pieces.


def picture(size: tuple[int, int], title: str, drawn: Iterable[str]) -> str:
    """A whole file; the title is for those who cannot see it."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n'
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>\n'
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def party(x: float, y: float, kind: str, name: str, knows: Iterable[str]) -> list[str]:
    """A party's box with what it holds."""
    lines = [words(x + 12, y + 48 + 20 * place, text, "small") for place, text in enumerate(knows)]
    return [rectangle(x, y, 210, 122, kind), words(x + 12, y + 24, name, "bold"), *lines]


def box(x: float, y: float, width: float, height: float, kind: str, text: str) -> list[str]:
    """A box with one line in its middle."""
    return [
        rectangle(x, y, width, height, kind),
        *([words(x + width / 2, y + height / 2 + 5, text, "middle")] if text else []),
    ]


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Rounded a little."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'


def words(x: float, y: float, text: str, kind: str = "") -> str:
    """One line of text."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def arrow(start: Point, end: Point) -> str:
    """A line with a head."""
    return f'<path class="line" marker-end="url(#head)" d="M{start[0]:g} {start[1]:g} {end[0]:g} {end[1]:g}"/>'


def line(points: Iterable[Point], kind: str = "line") -> str:
    """Through all points."""
    return f'<path class="{kind}" d="M' + " ".join(f"{x:.1f} {y:.1f}" for x, y in points) + '"/>'


if __name__ == "__main__":
    main()
