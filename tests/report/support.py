"""Charts of every kind, and names that would like to be more than text."""

import itertools
import random

from plumbob.report.charts import Axis, Chart, Series

EPOCHS = [1.0, 2.0, 3.0, 4.0, 5.0]


def line_chart(name: str = "label-sign") -> Chart:
    """Two lines, one with a band and a gap, and a baseline."""
    return Chart(
        f"Labels read by {name}",
        "The share of labels recovered correctly after each epoch.",
        Axis("epoch"),
        Axis("rate", low=0.0, high=1.0, unit="percent"),
        [
            Series(name, [0.5, 0.7, 0.9, 0.95, 0.99], EPOCHS),
            Series("with noise", [0.5, None, 0.6, 0.55, 0.5], EPOCHS, [0.4] * 5, [0.7] * 5),
            Series("guessing", [0.5] * 5, EPOCHS, is_reference=True),
        ],
    )


def bar_chart(name: str = "label-sign") -> Chart:
    """Bars with a baseline, and one that is missing."""
    series = [Series("attack", [0.9, None, 0.2]), Series("baseline", [0.5, 0.5, 0.5], is_reference=True)]
    return Chart("Attacks", "Beside their baselines.", Axis(""), Axis("rate"), series, [name, "label-only", "other"])


PAYLOADS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "</desc></svg><img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style>",
    "<math><mtext></p><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' onfocus='alert(1)' autofocus='",
    "` onclick=alert(1) `",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "<a href=javascript:alert(1)>press</a>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>go</button></form>",
    "<object data=//evil.example></object>",
    "<video><source onerror=alert(1)></video>",
    "<details open ontoggle=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "{{7*7}}{% include '/etc/passwd' %}${alert(1)}",
    "url(//evil.example/x.png);}*{background:url(//evil.example/y)}",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>",
    "\\u003cscript\\u003ealert(1)",
)
TRICKS = (
    *("\u202e", "\u202d", "\u2066", "\u2069", "\u200f", "\u061c", "\u2028"),
    *("\x00", "\x08", "\x0b", "\x1b[31m", "\x7f", "\x9b", "\ud800", "\ufeff", "\uffff", "\n", "\r", "\t"),
    *("\u0301" * 30, "\U0001f469\u200d\U0001f52c", "\ufdfa" * 20, "\u05d0" * 8, "%00", "=cmd|'/c calc'!A0"),
)


def hostile_names(count: int = 200) -> list[str]:
    """This many different names: each payload as it is, then payloads with tricks before, within and after them."""
    generator = random.Random(7)
    names = [*PAYLOADS, *TRICKS, "x" * 5000]
    for payload, trick in itertools.islice(itertools.cycle(itertools.product(PAYLOADS, TRICKS)), 10 * count):
        cut = generator.randrange(len(payload) + 1)
        names.append(generator.choice([trick + payload, payload + trick, payload[:cut] + trick + payload[cut:]]))
    return list(dict.fromkeys(names))[:count]
