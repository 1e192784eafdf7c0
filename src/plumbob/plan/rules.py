"""Mistakes in values, one by one and together: what a protocol cannot carry is refused here, with the reason."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from plumbob.errors import PlanError
from plumbob.plan.keys import SettingKey, shown, suggestion
from plumbob.plan.levels import MOST_PASSES
from plumbob.plan.settings import (
    KEYS,
    LARGEST_FIGURE,
    LARGEST_WIDTH,
    MOST_ROW_BINS,
    ROLES,
    Heuristic,
    Party,
    PlanSettings,
)
from plumbob.plan.sigmoids import SIGMOIDS

FINGERPRINT = re.compile(r"[0-9a-f]{64}")
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
PROFILE_BITS = (2048, 3072)
LEAST_L2_OF_LONG_RUNS = 0.01
# Of a number in a lattice product's matrix, without its sign: before the point, and in all.
MOST_INTEGER_BITS, MOST_ENTRY_BITS = 7, 20
Mistakes = Iterator[tuple[set[str], str]]
"""The keys concerned, and the line to print."""


# Each value by itself.


def value_mistakes(values: Mapping[str, Any]) -> dict[str, str]:
    """The mistakes by field name."""
    found = {key.name: key.mistake(values[key.name]) for key in KEYS if key.name in values}
    mistakes = {name: text for name, text in found.items() if text is not None}
    if lines := list(_heuristic_mistakes(values.get("heuristic", Heuristic()))):
        mistakes["heuristic"] = "\n".join(lines)
    if lines := list(_auditor_mistakes(values.get("auditors", ()))):
        mistakes["auditors"] = "\n".join(lines)
    if lines := list(_party_mistakes(values.get("parties", ()))):
        mistakes["parties"] = "\n".join(lines)
    return mistakes


def _heuristic_mistakes(heuristic: object) -> Iterator[str]:
    if not isinstance(heuristic, Heuristic):
        yield f"privacy.heuristic: expected {{ G = 1.0, T = 30, e = 0 }}, got {shown(heuristic)}"
        return
    limits = (
        SettingKey("G", "privacy.heuristic", 1.0, "", above=0.5, most=LARGEST_FIGURE),
        SettingKey("T", "privacy.heuristic", 1, "", low=1),
        SettingKey("e", "privacy.heuristic", 0, "", low=0),
    )
    for key in limits:
        if (text := key.mistake(getattr(heuristic, key.name))) is not None:
            yield text


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
    width = SettingKey("features", path, 0, "", low=1 if party.role == "features" else 0, most=LARGEST_WIDTH)
    if (text := width.mistake(party.features)) is not None:
        yield text
    elif party.role == "arbiter" and party.features:
        yield f"{path}.features: an arbiter holds no columns, got {party.features}"


# Values together.


def rule_mistakes(plan: PlanSettings) -> Mistakes:
    """Mistakes in what the protocol cannot carry."""
    of_studies = list(_study_mistakes(plan))
    yield from of_studies
    refused = {name for keys, _ in of_studies for name in keys} - {"protocol"}
    for part in (
        _data_mistakes,
        _protocol_mistakes,
        _descent_mistakes,
        _key_mistakes,
        _noise_mistakes,
        _evidence_mistakes,
        _release_mistakes,
    ):
        # Of a key that is refused altogether, nothing else is said.
        yield from ((keys, text) for keys, text in part(plan) if not keys & refused)


def _study_mistakes(plan: PlanSettings) -> Mistakes:
    """Keys that a study of `shares` may not set: it trains as parties do, whose plans have none of them."""
    if not plan.kind.has_lattices:
        return
    for key in KEYS:
        if key.is_study and key.name not in ("protocol", "seed") and getattr(plan, key.name) != key.default:
            yield (
                {"protocol", key.name},
                f'{key.path}: {shown(getattr(plan, key.name))} over "{plan.protocol}", where it is a constant or a'
                " public rule; leave it out, or study another protocol",
            )
    if plan.heuristic != Heuristic():
        yield {"protocol", "heuristic"}, f'privacy.heuristic: no noise over "{plan.protocol}" needs it; leave it out'


def _data_mistakes(plan: PlanSettings) -> Mistakes:
    training_rows = plan.rows - plan.held_out(plan.rows)
    if plan.rows > 0 and plan.batches != "full" and plan.batch_size > training_rows:
        yield (
            {"rows", "batches", "batch_size", "test_share"},
            f"model.batch_size: {plan.batch_size} is more than the {training_rows} training rows; lower it or set"
            ' batches = "full"',
        )


def _protocol_mistakes(plan: PlanSettings) -> Mistakes:
    protocol, kind, n_learners = plan.protocol, plan.kind, len(plan.learners)
    if plan.sigmoid not in kind.sigmoids:
        yield (
            {"sigmoid", "protocol"},
            f'model.sigmoid: "{plan.sigmoid}" over "{protocol}", which carries {_listed(kind.sigmoids)}; use that, or'
            ' protocol = "clear"',
        )
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
    for name, unweighted in (("class_weight", "none"), ("row_weights", False)):
        if getattr(plan, name) != unweighted and not kind.carries_row_weights:
            yield (
                {name, "protocol"},
                f'model.{name}: {shown(getattr(plan, name))} over "{protocol}": only the label party knows the'
                " weights, and the second encrypted vector that they need leaks by itself; set protocol ="
                f' "shares", which carries them, or {shown(unweighted)}',
            )
    if plan.open == "never" and kind.shows_gradients:
        yield (
            {"open", "protocol"},
            f'opening.open: "never" over "{protocol}": each party holds its own weights there; it needs "shares"',
        )
    if plan.unmasked_gradients_for_the_arbiter and not kind.has_arbiter:
        yield (
            {"unmasked_gradients_for_the_arbiter", "protocol"},
            f'study.unmasked_gradients_for_the_arbiter: there is no arbiter over "{protocol}"; set it to false',
        )
    if plan.replies == "paper" and (reason := _paper_replies_reason(plan)) is not None:
        yield {"replies", "protocol", "parties"}, f'study.replies: "paper" over "{protocol}": {reason}'


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f'"{name}"' for name in sorted(names))


def _paper_replies_reason(plan: PlanSettings) -> str | None:
    if plan.kind.lends_keys and not plan.is_between_two:
        return 'the helpers\' masks cancel only in replies cut to their public width; use "packed"'
    return None


def _descent_mistakes(plan: PlanSettings) -> Mistakes:
    """Mistakes in descent: settings that would diverge, or that only some protocols can follow."""
    if plan.learning_rate == 0 and not (plan.is_whitened and plan.batches == "full"):
        yield (
            {"learning_rate", "scale", "batches"},
            'model.learning_rate: 0 is the public rate, which needs scale = "whitened" and batches = "full"; set a'
            " rate, such as 0.1",
        )
    if plan.momentum and not plan.kind.carries_momentum:
        yield (
            {"momentum", "protocol"},
            f'model.momentum: "{plan.protocol}" has none, as in the paper, got {plan.momentum:g}; set it to 0',
        )
    if plan.kind.has_lattices and plan.momentum and plan.epochs > MOST_PASSES and plan.l2 < LEAST_L2_OF_LONG_RUNS:
        yield (
            {"epochs", "l2", "momentum", "protocol"},
            f"model.epochs: {plan.epochs} in shares with momentum: on separable data the weights would run away after"
            f" {MOST_PASSES} passes, and nobody sees it; lower it, or set l2 = {LEAST_L2_OF_LONG_RUNS} or more",
        )


def _key_mistakes(plan: PlanSettings) -> Mistakes:
    if plan.key_bits not in PROFILE_BITS and not plan.test_only_keys:
        yield (
            {"key_bits", "test_only_keys"},
            f"study.key_bits: expected 2048 or 3072, got {plan.key_bits}; others only with test_only_keys = true",
        )
    elif plan.key_bits % 64:
        yield {"key_bits", "test_only_keys"}, f"study.key_bits: expected a multiple of 64, got {plan.key_bits}"


def _row_mistakes(plan: PlanSettings) -> Mistakes:
    """Mistakes that would make a promise about whole rows false (docs/privacy.md)."""
    if "rows" not in plan.kind.noises:
        yield (
            {"noise", "protocol"},
            f'privacy.noise: "rows" over "{plan.protocol}": each party gets gradients from released residuals of'
            ' single rows there, so only labels can be protected; set "sound", or protocol = "shares"',
        )
        return
    widest = max(plan.learners, key=lambda party: party.features)
    longest = plan.joint_norm * math.sqrt(widest.features / max(1, plan.columns))
    room = 2.0 ** min(MOST_INTEGER_BITS, MOST_ENTRY_BITS - plan.feature_bits)
    if plan.kind.has_lattices and longest >= room:
        yield (
            {"noise", "parties"},
            f'parties: with noise = "rows" {widest.name}\'s rows may be {longest:.3g} long, and products carry numbers'
            f" below {room:g}: a row beyond that would stop the run, which peers see; leave columns out",
        )
    if not SIGMOIDS[plan.sigmoid].is_bounded:
        yield (
            {"noise", "sigmoid"},
            f'model.sigmoid: "{plan.sigmoid}" with noise = "rows": its residuals have no bound, so one row could move'
            ' the model without limit; set "fourier"',
        )
    if plan.scale not in ("whitened", "none"):
        yield (
            {"noise", "scale"},
            f'data.scale: "{plan.scale}" with noise = "rows": means and deviations depend on every row and are not paid'
            ' for; set "whitened", whose noisy ranges and covariance are',
        )
    if plan.batches != "full":
        yield (
            {"noise", "batches"},
            f'model.batches: "{plan.batches}" with noise = "rows": each pass must be one noisy sum over all rows; set'
            ' "full"',
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
    if plan.label_flip_epsilon:
        yield (
            {"noise", "label_flip_epsilon"},
            'privacy.label_flip_epsilon: with noise = "rows" flipped labels would enlarge the residuals beyond their'
            " bound; set 0",
        )


def delta_mistake(delta: float, rows: int) -> str | None:
    """The mistake in a delta too large for this many rows, or None: it would promise nothing about one of them."""
    if rows <= 0 or delta * rows < 1:
        return None
    return (
        f"privacy.delta: {delta:g} is one in {rows:,} rows or more: whoever publishes one whole row, drawn at random,"
        f" would keep such a promise; set it far below {1 / rows:.2g}, such as {fitting_delta(delta, rows):g}"
    )


def refuse_large_delta(plan: PlanSettings, rows: int) -> None:
    """Refuse a delta too large for this many rows, which a plan may not know. Raises PlanError."""
    if plan.noise in ("rows", "sound") and (mistake := delta_mistake(plan.delta, rows)) is not None:
        raise PlanError(mistake)


def fitting_delta(delta: float, rows: int) -> float:
    """This delta, or the usual one, or one that is small enough for this many rows."""
    if rows <= 0 or delta * rows < 1:
        return delta
    return min(1e-6, 10.0 ** (math.floor(-math.log10(rows)) - 1))


def _noise_mistakes(plan: PlanSettings) -> Mistakes:
    has_promise = plan.noise in ("rows", "sound")
    if has_promise and (mistake := delta_mistake(plan.delta, plan.rows)) is not None:
        yield {"noise", "delta", "rows"}, mistake
    if plan.noise == "std" and plan.noise_std == 0:
        yield {"noise", "noise_std"}, 'privacy.noise_std: noise = "std" needs it above 0, got 0'
    if plan.noise != "std" and plan.noise_std > 0:
        yield (
            {"noise", "noise_std"},
            f'privacy.noise_std: used with noise = "std" only, got {plan.noise_std:g} with noise = "{plan.noise}"',
        )
    if plan.noise == "rows":
        yield from _row_mistakes(plan)
    if plan.noise in ("none", "rows"):
        return
    if plan.noise not in plan.kind.noises:
        yield (
            {"noise", "protocol"},
            f'privacy.noise: "{plan.noise}" over "{plan.protocol}": no residual is released there, so there is nothing'
            ' to add noise to; set "none" or another protocol',
        )
        return
    if plan.row_norm == 0:
        yield (
            {"noise", "row_norm"},
            f'privacy.row_norm: noise = "{plan.noise}" needs rows of bounded norm, set it above 0',
        )
    if plan.noise == "heuristic" and plan.sigmoid != "taylor":
        yield (
            {"noise", "sigmoid"},
            f'privacy.noise: "heuristic" is derived for sigmoid = "taylor" (Theorem D.5), got "{plan.sigmoid}"',
        )
    if plan.noise == "heuristic" and plan.rate > 1:
        yield (
            {"noise", "learning_rate"},
            f'privacy.noise: "heuristic" needs learning_rate <= 1 (Theorem D.5), got {plan.rate:g}',
        )


def _evidence_mistakes(plan: PlanSettings) -> Mistakes:
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


def _release_mistakes(plan: PlanSettings) -> Mistakes:
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


def unready_evidence(plan: PlanSettings) -> str | None:
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
