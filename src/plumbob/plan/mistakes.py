"""Mistakes in a plan's values, one by one and together: what cannot be carried is refused here, with the reason.

The rules of studies that parties do not need stand in `study_mistakes`.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any

from plumbob.errors import PlanError
from plumbob.plan.common import Common, Party
from plumbob.plan.keys import SettingKey, cut_short, key, shown, suggestion
from plumbob.plan.levels import MOST_PASSES
from plumbob.plan.row_noise import MOST_ROW_BINS

FINGERPRINT = re.compile(r"[0-9a-f]{64}")
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
ROLES = ("label", "features", "arbiter")
LARGEST_WIDTH = 10**6
LEAST_L2_OF_LONG_RUNS = 0.01
# Of a number in a lattice product's matrix, without its sign: before the point, and in all.
MOST_INTEGER_BITS, MOST_ENTRY_BITS = 7, 20
ROOM_FOR_MISTAKES, LENGTH_OF_A_NAME = 3500, 60
Mistakes = Iterator[tuple[set[str], str]]
"""The keys concerned, and the line to print."""


def raise_if_any(mistakes: Iterable[str]) -> None:
    """Raise PlanError with a line for each mistake, or for as many as fit on a screen."""
    # A rule's own lines are counted one by one.
    lines = [cut_short(line) for line in "\n".join(mistakes).splitlines()]
    # Each is said behind the file's name, and a file may hold nothing but mistakes.
    ends = accumulate(len(line) + LENGTH_OF_A_NAME for line in lines)
    printed = [line for line, end in zip(lines, ends, strict=True) if end <= ROOM_FOR_MISTAKES]
    if lines:
        others = [f"and {len(lines) - len(printed)} more"] if len(printed) < len(lines) else []
        raise PlanError("\n".join([*printed, *others]))


# Each value by itself.


def value_mistakes(values: Mapping[str, Any], keys: Sequence[SettingKey]) -> dict[str, str]:
    """The mistakes by field name."""
    found = {key.name: key.mistake(values[key.name]) for key in keys if key.name in values}
    mistakes = {name: text for name, text in found.items() if text is not None}
    if lines := list(_auditor_mistakes(values.get("auditors", ()))):
        mistakes["auditors"] = "\n".join(lines)
    if lines := list(_party_mistakes(values.get("parties", ()))):
        mistakes["parties"] = "\n".join(lines)
    return mistakes


def _auditor_mistakes(auditors: object) -> Iterator[str]:
    pairs = auditors if isinstance(auditors, tuple) else ("",)
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        yield f'accountability.auditors: expected {{ bank = "FINGERPRINT", ... }}, got {shown(auditors)}'
        return
    for name, fingerprint in pairs:
        if not isinstance(fingerprint, str) or not FINGERPRINT.fullmatch(fingerprint):
            yield (
                f"accountability.auditors.{name}: expected the fingerprint that `plumbob auditor init` prints, 64"
                f" hexadecimal digits, got {shown(fingerprint)}"
            )


def _party_mistakes(parties: Sequence[Party]) -> Iterator[str]:
    if not parties:
        yield "parties: expected a table [parties] with one label party and at least one features party, got none"
        return
    for party in parties:
        yield from _one_party_mistakes(party)
    roles = [party.role for party in parties]
    if roles.count("label") != 1 or roles[0] != "label":
        yield f"parties: expected exactly one label party, and that one first, got roles {', '.join(map(str, roles))}"
    if roles.count("features") == 0:
        yield "parties: expected at least one party with role features, got none"
    if roles.count("arbiter") > 1:
        yield f"parties: expected at most one arbiter, got {roles.count('arbiter')}"
    if len({party.name for party in parties}) != len(parties):
        yield "parties: expected different names, got one twice"


def _one_party_mistakes(party: Party) -> Iterator[str]:
    path = f"parties.{party.name}"
    if not PARTY_NAME.fullmatch(party.name):
        yield f"{path}: expected a name of 1 to 32 letters, digits, - and _, beginning with a letter or digit"
    if party.role not in ROLES:
        choices = ", ".join(f'"{role}"' for role in ROLES)
        yield f"{path}.role: expected one of {choices}, got {shown(party.role)}{suggestion(party.role, ROLES)}"
        return
    limits = key(path, "", ge=1 if party.role == "features" else 0, le=LARGEST_WIDTH)
    width = SettingKey.of("features", 0, Annotated[int, limits])
    if (text := width.mistake(party.features)) is not None:
        yield text
    elif party.role == "arbiter" and party.features:
        yield f"{path}.features: an arbiter holds no columns, got {party.features}"


# Values together.


def rule_mistakes(plan: Common) -> Mistakes:
    """Mistakes in what the protocol cannot carry, of every plan."""
    yield from _party_rules(plan)
    yield from _descent_mistakes(plan)
    yield from _noise_mistakes(plan)
    yield from _evidence_mistakes(plan)
    yield from _release_mistakes(plan)


def _party_rules(plan: Common) -> Mistakes:
    protocol, kind, n_learners = plan.protocol, plan.kind, len(plan.learners)
    if n_learners > kind.most_parties:
        yield (
            {"protocol", "parties"},
            f'study.protocol: "{protocol}" is for two to {kind.most_parties} parties, got {n_learners}; leave some'
            ' out, or set protocol = "exchange"',
        )
    if kind.has_arbiter != (plan.arbiter is not None) and not kind.is_foreign:
        text = (
            '"arbiter" needs a party with role arbiter, the plan has none'
            if kind.has_arbiter
            else f'"{protocol}" has no arbiter, but the plan names one; remove it or set protocol = "arbiter"'
        )
        yield {"protocol", "parties"}, f"study.protocol: {text}"


def _descent_mistakes(plan: Common) -> Mistakes:
    if plan.kind.has_lattices and plan.momentum and plan.epochs > MOST_PASSES and plan.l2 < LEAST_L2_OF_LONG_RUNS:
        yield (
            {"epochs", "l2", "momentum", "protocol"},
            f"model.epochs: {plan.epochs} in shares with momentum: on separable data the weights would run away after"
            f" {MOST_PASSES} passes, and nobody sees it; lower it, or set l2 = {LEAST_L2_OF_LONG_RUNS} or more",
        )


def _noise_mistakes(plan: Common) -> Mistakes:
    has_promise = plan.noise in ("rows", "sound")
    if has_promise and (mistake := delta_mistake(plan.delta, plan.rows)) is not None:
        yield {"noise", "delta", "rows"}, mistake
    if plan.noise == "rows" and "rows" in plan.kind.noises:
        yield from _row_mistakes(plan)


def _row_mistakes(plan: Common) -> Mistakes:
    """Mistakes that would make a promise about whole rows false (docs/privacy.md)."""
    widest = max(plan.learners, key=lambda party: party.features)
    longest = plan.joint_norm * math.sqrt(widest.features / max(1, plan.columns))
    room = 2.0 ** min(MOST_INTEGER_BITS, MOST_ENTRY_BITS - plan.feature_bits)
    if plan.kind.has_lattices and longest >= room:
        yield (
            {"noise", "parties"},
            f'parties: with noise = "rows" {widest.name}\'s rows may be {longest:.3g} long, and products carry numbers'
            f" below {room:g}: a row beyond that would stop the run, which peers see; leave columns out",
        )
    if plan.bins > MOST_ROW_BINS or (plan.bins and plan.scale == "none"):
        yield (
            {"noise", "bins", "scale"},
            f'data.bins: {plan.bins} with noise = "rows" and scale = "{plan.scale}": their cuts are paid for as ranges'
            f' are, from a histogram of {MOST_ROW_BINS} cells; set scale = "whitened" and at most {MOST_ROW_BINS} bins',
        )
    if plan.row_weights:
        yield (
            {"noise", "row_weights"},
            'model.row_weights: true with noise = "rows": the promise is about rows that count the same; set false',
        )
    if plan.class_weight != "none":
        yield (
            {"noise", "class_weight"},
            f'model.class_weight: "{plan.class_weight}" with noise = "rows": the weights depend on every label and are'
            ' not paid for; set "none", and choose your own threshold for the probabilities of scores.csv',
        )


def delta_mistake(delta: float, rows: int) -> str | None:
    """The mistake in a delta too large for this many rows, or None: it would promise nothing about one of them."""
    if rows <= 0 or delta * rows < 1:
        return None
    return (
        f"privacy.delta: {delta:g} is one in {rows:,} rows or more: whoever publishes one whole row, drawn at random,"
        f" would keep such a promise; set it far below {1 / rows:.2g}, such as {fitting_delta(delta, rows):g}"
    )


def refuse_large_delta(plan: Common, rows: int) -> None:
    """Refuse a delta too large for this many rows, which a plan may not know. Raises PlanError."""
    if plan.noise in ("rows", "sound") and (mistake := delta_mistake(plan.delta, rows)) is not None:
        raise PlanError(mistake)


def fitting_delta(delta: float, rows: int) -> float:
    """This delta, or the usual one, or one that is small enough for this many rows."""
    if rows <= 0 or delta * rows < 1:
        return delta
    return min(1e-6, 10.0 ** (math.floor(-math.log10(rows)) - 1))


def _evidence_mistakes(plan: Common) -> Mistakes:
    """Mistakes about evidence. Signing asks who keeps it: `check` judges plans before auditors are known."""
    named = {"days": plan.days, "auditors": plan.auditors}
    if not plan.keeps_evidence:
        for name in (name for name, value in named.items() if value):
            yield (
                {"evidence", name},
                f'accountability.{name}: used with evidence = "keep" only; set that, or leave it out',
            )
        return
    if not plan.is_closed:
        yield (
            {"evidence", "protocol", "open"},
            'accountability.evidence: "keep" needs protocol = "shares" with open = "never", where every message follows'
            " from whole numbers: others send rounded floating point, which may differ by a unit on another processor",
        )
    names = {party.name for party in plan.parties}
    for name, _ in plan.auditors:
        if name not in names:
            yield (
                {"auditors", "parties"},
                f"accountability.auditors: expected parties of the plan, got {shown(name)}"
                f"{suggestion(name, sorted(names))}",
            )


def _release_mistakes(plan: Common) -> Mistakes:
    """Mistakes about scores that wait for a replay. Signing asks for the auditor, as it does for evidence."""
    if not plan.is_replayed:
        return
    if not plan.keeps_evidence:
        yield (
            {"release", "evidence"},
            'opening.release: "replayed" without evidence = "keep": nothing could be replayed; set that, or release ='
            ' "always"',
        )
    if plan.open == "own":
        yield (
            {"release", "open"},
            'opening.release: "replayed" with open = "own": weights are opened when training ends, before any replay;'
            ' set open = "never", or release = "always"',
        )
    if not plan.is_between_two:
        yield (
            {"release", "parties"},
            f'opening.release: "replayed" among {len(plan.learners)} parties: masked numbers are opened in every pass,'
            ' before any replay; it is for two parties, others set "always"',
        )


def unready_evidence(plan: Common) -> str | None:
    """What a plan that keeps evidence still lacks before anybody may sign it, or None."""
    if not plan.keeps_evidence:
        return None
    if plan.days == 0:
        return 'accountability.days: with evidence = "keep", say how many days it is kept, as in the contract'
    how = "the auditor types plumbob auditor init, which prints its fingerprint"
    if not plan.auditors:
        return (
            f'accountability.auditors: with evidence = "keep" at least one party names its auditor, and none did; {how}'
        )
    label_party = plan.label_party.name
    if plan.is_replayed and not plan.has_evidence_of(label_party):
        return (
            f'accountability.auditors: with release = "replayed" the auditor of {label_party} is named, and it is not;'
            f" {how}"
        )
    return None
