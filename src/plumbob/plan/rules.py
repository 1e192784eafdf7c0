"""What is wrong with values, one by one and together: what a protocol cannot carry is refused here, with the reason."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plumbob.plan.defaults import VERSION_1
from plumbob.plan.keys import SettingKey, shown, suggestion
from plumbob.plan.settings import (
    KEYS,
    LARGEST_FIGURE,
    LARGEST_WIDTH,
    MOST_EPOCHS_BY_RULE,
    ROLES,
    Heuristic,
    Party,
    PlanSettings,
)

PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
PROFILE_BITS = (2048, 3072)
LEAST_L2_OF_LONG_RUNS = 0.01
MOST_SHARING = 8  # Parties in `shares`: products grow with the square of their number.
# Of a number in a lattice product's matrix, without its sign: before the point, and in all.
MOST_INTEGER_BITS, MOST_ENTRY_BITS = 7, 20
BOUNDED_SIGMOIDS = ("fourier", "exact", "piecewise")
# What version 1 would have refused, so that no earlier plan can say it.
CHOICES_OF_VERSION_2: Mapping[str, tuple[object, ...]] = {
    "scale": ("whitened", "public"),
    "missing": ("indicator",),
    "sigmoid": ("fourier",),
    "epochs": (0,),
    "learning_rate": (0,),
    "scheme": ("lattice",),
    "noise": ("rows",),
}

Mistakes = Iterator[tuple[set[str], str]]
"""The keys concerned, and the line to print."""


# Each value by itself.


def value_mistakes(values: Mapping[str, Any]) -> dict[str, str]:
    """Field name -> its mistakes."""
    mistakes = {
        key.name: text for key in KEYS if key.name in values and (text := key.mistake(values[key.name])) is not None
    }
    if lines := list(_heuristic_mistakes(values.get("heuristic", Heuristic()))):
        mistakes["heuristic"] = "\n".join(lines)
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
    """What the protocol cannot carry."""
    yield from _version_mistakes(plan)
    yield from _data_mistakes(plan)
    yield from _protocol_mistakes(plan)
    yield from _descent_mistakes(plan)
    yield from _scheme_mistakes(plan)
    yield from _key_mistakes(plan)
    yield from _noise_mistakes(plan)


def needs_version_2(values: Mapping[str, Any]) -> bool:
    """Whether a plan with these values cannot be one of version 1."""
    return any(key.name in values and _is_later(key, values[key.name]) for key in KEYS)


def _version_mistakes(plan: PlanSettings) -> Mistakes:
    if plan.version > 1:
        return
    for key in KEYS:
        if _is_later(key, value := getattr(plan, key.name)):
            yield (
                {key.name},
                f"{key.path}: {shown(value)} needs version 2 of the plan; write version = 2 at the top of the file",
            )


def _is_later(key: SettingKey, value: object) -> bool:
    is_later_key = key.since > 1 and value != VERSION_1.get(key.name, key.default)
    return is_later_key or value in CHOICES_OF_VERSION_2.get(key.name, ())


def _data_mistakes(plan: PlanSettings) -> Mistakes:
    if plan.scale == "public" and plan.noise != "rows":
        yield (
            {"scale", "noise"},
            'data.scale: "public" spares the budget of noise = "rows", which this plan has not; set "whitened"',
        )
    learners = [party.name for party in plan.learners]
    if plan.held_out_by and plan.held_out_by not in learners:
        yield (
            {"held_out_by", "parties"},
            f"data.held_out_by: expected one of {', '.join(learners)}, got {shown(plan.held_out_by)}",
        )
    training_rows = plan.rows - plan.held_out(plan.rows)
    if plan.rows > 0 and plan.batches != "full" and plan.batch_size > training_rows:
        yield (
            {"rows", "batches", "batch_size", "test_share"},
            f"model.batch_size: {plan.batch_size} is more than the {training_rows} training rows; lower it or set"
            ' batches = "full"',
        )


def _protocol_mistakes(plan: PlanSettings) -> Mistakes:
    protocol, n_learners = plan.protocol, len(plan.learners)
    if (reason := _sigmoid_reason(plan)) is not None:
        yield (
            {"sigmoid", "protocol", "parties", "scheme"},
            f'model.sigmoid: "{plan.sigmoid}" over "{protocol}": {reason}',
        )
    if protocol == "shares" and n_learners > MOST_SHARING:
        yield (
            {"protocol", "parties"},
            f'crypto.protocol: "shares" is for two to {MOST_SHARING} parties, got {n_learners}; leave some out, or set'
            ' protocol = "exchange"',
        )
    if protocol == "shares" and plan.scheme != "lattice" and n_learners > 2:
        yield (
            {"protocol", "parties", "scheme"},
            f'crypto.scheme: "{plan.scheme}" in "shares" is for two parties, got {n_learners}; set "lattice"',
        )
    if (protocol == "arbiter") != (plan.arbiter is not None):
        text = (
            '"arbiter" needs a party with role arbiter, the plan has none'
            if protocol == "arbiter"
            else f'"{protocol}" has no arbiter, but the plan names one; remove it or set protocol = "arbiter"'
        )
        yield {"protocol", "parties"}, f"crypto.protocol: {text}"
    is_lattice = (protocol, plan.scheme) == ("shares", "lattice")
    if plan.class_weight != "none" and is_lattice and plan.learning_rate:
        yield (
            {"class_weight", "protocol", "scheme", "learning_rate"},
            f'model.class_weight: "{plan.class_weight}" over "shares" needs the public rate, learning_rate = 0: no row'
            " then weighs more than 1",
        )
    if plan.class_weight != "none" and protocol != "clear" and not is_lattice:
        yield (
            {"class_weight", "protocol"},
            f'model.class_weight: "{plan.class_weight}" over "{protocol}": the weights depend on the labels, and the'
            ' second encrypted vector that they need leaks by itself; set protocol = "shares" with scheme = "lattice",'
            ' which carries them, or "none" and balance at prediction with --threshold balanced or --cost',
        )
    if plan.open == "never" and protocol != "shares":
        yield (
            {"open", "protocol"},
            f'crypto.open: "never" over "{protocol}": each party holds its own weights there; it needs "shares"',
        )
    if plan.unmasked_gradients_for_the_arbiter and protocol != "arbiter":
        yield (
            {"unmasked_gradients_for_the_arbiter", "protocol"},
            f'crypto.unmasked_gradients_for_the_arbiter: there is no arbiter over "{protocol}"; set it to false',
        )
    if plan.reply_slots and plan.replies != "packed":
        yield (
            {"reply_slots", "replies"},
            f'crypto.reply_slots: replies = "{plan.replies}" has no slots; leave it out, or use "packed"',
        )
    if plan.replies == "paper" and (reason := _paper_replies_reason(plan)) is not None:
        yield {"replies", "protocol", "parties"}, f'crypto.replies: "paper" over "{protocol}": {reason}'


def _sigmoid_reason(plan: PlanSettings) -> str | None:
    if plan.protocol == "clear":
        return None
    if plan.sigmoid == "fourier":
        return None if plan.scheme == "lattice" else 'its sines need scheme = "lattice" in "shares"; use "taylor"'
    if plan.sigmoid == "taylor":
        is_lattice = (plan.protocol, plan.scheme) == ("shares", "lattice")
        return 'with scheme = "lattice" it is "fourier"' if is_lattice else None
    if plan.sigmoid != "minimax":
        return 'it is not a polynomial, so it cannot be computed under encryption; use "taylor" or protocol = "clear"'
    if plan.protocol != "exchange":
        return 'only two-party "exchange" carries encrypted powers of the score; use "taylor"'
    if len(plan.learners) > 2:
        return f'powers of a sum of {len(plan.learners)} scores need products between peers; use "taylor"'
    return None


def _paper_replies_reason(plan: PlanSettings) -> str | None:
    if plan.protocol == "shares":
        return 'nothing is handed back there; use "packed" or "single"'
    if plan.protocol == "exchange" and len(plan.learners) > 2:
        return 'the helpers\' masks cancel only in replies cut to their public width; use "packed" or "single"'
    if plan.protocol != "clear" and plan.scheme == "okamoto-uchiyama":
        return 'a whole okamoto-uchiyama plaintext can give the secret key away; use "packed" or "single"'
    return None


def _descent_mistakes(plan: PlanSettings) -> Mistakes:
    """What would diverge, or what only a part of the protocols can follow."""
    if plan.learning_rate == 0 and not (plan.is_whitened and plan.batches == "full"):
        yield (
            {"learning_rate", "scale", "batches"},
            'model.learning_rate: 0 is the public rate, which needs scale = "whitened" and batches = "full"; set a'
            " rate, such as 0.1",
        )
    if plan.momentum and plan.protocol not in ("clear", "shares"):
        yield (
            {"momentum", "protocol"},
            f'model.momentum: "{plan.protocol}" has none, as in the paper, got {plan.momentum:g}; set it to 0',
        )
    if (
        plan.protocol == "shares"
        and plan.momentum
        and plan.passes > MOST_EPOCHS_BY_RULE
        and plan.l2 < LEAST_L2_OF_LONG_RUNS
    ):
        yield (
            {"epochs", "l2", "momentum", "protocol"},
            f"model.epochs: {plan.epochs} in shares with momentum: on separable data the weights would run away after"
            f" {MOST_EPOCHS_BY_RULE} passes, and nobody sees it; lower it, or set l2 = {LEAST_L2_OF_LONG_RUNS} or more",
        )


def _scheme_mistakes(plan: PlanSettings) -> Mistakes:
    if plan.scheme == "lattice" and plan.protocol in ("exchange", "arbiter"):
        yield (
            {"scheme", "protocol"},
            f'crypto.scheme: "lattice" over "{plan.protocol}": its products end in shares; set "paillier", or'
            ' protocol = "shares"',
        )
    if plan.scheme == "lattice" and plan.batches != "full":
        yield (
            {"scheme", "batches"},
            f'model.batches: "{plan.batches}" with scheme = "lattice": small batches waste its large products; set'
            ' "full", or scheme = "paillier"',
        )
    if plan.lattice_set and plan.scheme != "lattice":
        yield (
            {"lattice_set", "scheme"},
            f'crypto.lattice_set: used with scheme = "lattice" only, got {plan.lattice_set} with "{plan.scheme}"',
        )
    if plan.l2 and plan.is_whitened and plan.protocol == "shares" and plan.scheme != "lattice":
        yield (
            {"l2", "scale", "scheme", "protocol"},
            f'model.l2: whitened columns make it one more private product, which scheme = "{plan.scheme}" does not'
            ' carry; set it to 0, or scale = "standard"',
        )


def _key_mistakes(plan: PlanSettings) -> Mistakes:
    if plan.key_bits not in PROFILE_BITS and not plan.test_only_keys:
        yield (
            {"key_bits", "test_only_keys"},
            f"crypto.key_bits: expected 2048 or 3072, got {plan.key_bits}; others only with test_only_keys = true",
        )
    elif plan.key_bits % 64:
        yield {"key_bits", "test_only_keys"}, f"crypto.key_bits: expected a multiple of 64, got {plan.key_bits}"
    if plan.scheme == "okamoto-uchiyama" and plan.protocol != "clear" and not plan.trust_peer_keys:
        yield (
            {"scheme", "trust_peer_keys", "protocol"},
            'crypto.scheme: "okamoto-uchiyama" keys cannot be proved, so it is for honest-but-curious parties only;'
            ' set trust_peer_keys = true if that is what they are, or scheme = "paillier"',
        )


def _row_mistakes(plan: PlanSettings) -> Mistakes:
    """A promise about whole rows that would be false is not made (docs/privacy.md)."""
    if plan.protocol in ("exchange", "arbiter"):
        yield (
            {"noise", "protocol"},
            f'privacy.noise: "rows" over "{plan.protocol}": each party gets gradients from released residuals of'
            ' single rows there, so only labels can be protected; set "sound", or protocol = "shares"',
        )
        return
    if (plan.protocol, plan.scheme) == ("shares", "paillier"):
        yield (
            {"noise", "protocol", "scheme"},
            'privacy.noise: "rows" with scheme = "paillier": its residuals have no bound, so one row could move the'
            ' model without limit; set scheme = "lattice"',
        )
        return
    longest = plan.joint_norm * math.sqrt(max(party.features for party in plan.learners) / max(1, plan.columns))
    room = 2.0 ** min(MOST_INTEGER_BITS, MOST_ENTRY_BITS - plan.feature_bits)
    if plan.protocol == "shares" and longest >= room:
        yield (
            {"noise", "row_norm", "feature_bits", "parties"},
            f'privacy.row_norm: with noise = "rows" a party\'s rows may be {longest:.3g} long, and products carry'
            f" numbers below {room:g} with feature_bits = {plan.feature_bits}: a row beyond that would stop the run,"
            " which peers see; lower row_norm or feature_bits",
        )
    if plan.sigmoid not in BOUNDED_SIGMOIDS:
        yield (
            {"noise", "sigmoid"},
            f'model.sigmoid: "{plan.sigmoid}" with noise = "rows": its residuals have no bound, so one row could move'
            ' the model without limit; set "fourier"',
        )
    if plan.scale not in ("whitened", "public", "none"):
        yield (
            {"noise", "scale"},
            f'data.scale: "{plan.scale}" with noise = "rows": means and deviations depend on every row and are not paid'
            ' for; set "whitened", whose noisy ranges and covariance are, or "public" with ranges that are stated',
        )
    if plan.batches != "full":
        yield (
            {"noise", "batches"},
            f'model.batches: "{plan.batches}" with noise = "rows": each pass must be one noisy sum over all rows; set'
            ' "full"',
        )
    if plan.bins and plan.scale != "public":
        yield (
            {"noise", "bins", "scale"},
            f'data.bins: {plan.bins} with noise = "rows": quantile bins depend on every row and are not paid for; set'
            ' scale = "public", where bins lie within ranges that are stated, or bins = 0',
        )
    if plan.held_out_by:
        yield (
            {"noise", "held_out_by"},
            f'data.held_out_by: "{plan.held_out_by}" with noise = "rows": which rows are trained on then depends on'
            " their values, which is not paid for; leave it empty",
        )
    if plan.missing == "indicator":
        yield (
            {"noise", "missing"},
            'data.missing: "indicator" with noise = "rows": which columns have gaps depends on single rows; set "mean",'
            ' or bins with scale = "public"',
        )
    if plan.class_weight != "none":
        yield (
            {"noise", "class_weight"},
            f'model.class_weight: "{plan.class_weight}" with noise = "rows": the weights depend on every label and are'
            ' not paid for; set "none", and balance at prediction with --threshold balanced or --cost',
        )
    if plan.label_flip_epsilon:
        yield (
            {"noise", "label_flip_epsilon"},
            'privacy.label_flip_epsilon: with noise = "rows" flipped labels would enlarge the residuals beyond their'
            " bound; set 0",
        )


def delta_mistake(delta: float, rows: int) -> str | None:
    """A promise that may fail for one of these rows promises nothing about that person; None where it is smaller."""
    if rows <= 0 or delta * rows < 1:
        return None
    return (
        f"privacy.delta: {delta:g} is one in {rows:,} rows or more: whoever publishes one whole row, drawn at random,"
        f" would keep such a promise; set it far below {1 / rows:.2g}, such as {fitting_delta(delta, rows):g}"
    )


def fitting_delta(delta: float, rows: int) -> float:
    """This one, or the usual one, or one that is small enough for so many rows."""
    if rows <= 0 or delta * rows < 1:
        return delta
    return min(1e-6, 10.0 ** (math.floor(-math.log10(rows)) - 1))


def _noise_mistakes(plan: PlanSettings) -> Mistakes:
    # A plan of version 1 was agreed on without this rule, and its records must open; a run of it is refused anyway.
    has_promise = plan.noise in ("rows", "sound") and plan.version > 1
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
    if plan.protocol == "shares":
        yield (
            {"noise", "protocol"},
            f'privacy.noise: "{plan.noise}" over "shares": no residual is released there, so there is nothing to add'
            ' noise to; set "none" or another protocol',
        )
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
