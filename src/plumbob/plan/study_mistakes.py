"""Mistakes that only a study can make: its keys together, and what each protocol cannot carry."""

from collections.abc import Iterable, Iterator
from typing import Annotated

from plumbob.plan.common import LARGEST_FIGURE, Common, Heuristic
from plumbob.plan.keys import SettingKey, key, shown
from plumbob.plan.mistakes import Mistakes, rule_mistakes
from plumbob.plan.sigmoids import SIGMOIDS

PROFILE_BITS = (2048, 3072)
OF_HEURISTIC = (
    SettingKey.of("G", 1.0, Annotated[float, key("privacy.heuristic", "", gt=0.5, le=LARGEST_FIGURE)]),
    SettingKey.of("T", 1, Annotated[int, key("privacy.heuristic", "", ge=1)]),
    SettingKey.of("e", 0, Annotated[int, key("privacy.heuristic", "", ge=0)]),
)


def heuristic_mistakes(heuristic: object) -> Iterator[str]:
    """Mistakes in the numbers of the paper's noise formula."""
    if not isinstance(heuristic, Heuristic):
        yield f"privacy.heuristic: expected {{ G = 1.0, T = 30, e = 0 }}, got {shown(heuristic)}"
        return
    for item in OF_HEURISTIC:
        if (text := item.mistake(getattr(heuristic, item.name))) is not None:
            yield text


def study_mistakes(plan: Common, keys: Iterable[SettingKey]) -> Mistakes:
    """Mistakes in what the protocol of a study cannot carry, with those of every plan."""
    of_shares = list(_changed_constants(plan, keys))
    yield from of_shares
    refused = {name for names, _ in of_shares for name in names} - {"protocol"}
    for part in (
        _data_mistakes,
        _protocol_mistakes,
        _descent_mistakes,
        _key_mistakes,
        _row_mistakes,
        _noise_mistakes,
        rule_mistakes,
    ):
        # Of a key that is refused altogether, nothing else is said.
        yield from ((names, text) for names, text in part(plan) if not names & refused)


def _changed_constants(plan: Common, keys: Iterable[SettingKey]) -> Mistakes:
    """Keys that a study of `shares` may not set: it trains as parties do, whose plans have none of them."""
    if not plan.kind.has_lattices:
        return
    for item in keys:
        if item.is_study and item.name not in ("protocol", "seed") and getattr(plan, item.name) != item.default:
            yield (
                {"protocol", item.name},
                f'{item.path}: {shown(getattr(plan, item.name))} over "{plan.protocol}", where it is a constant or a'
                " public rule; leave it out, or study another protocol",
            )
    if plan.heuristic != Heuristic():
        yield {"protocol", "heuristic"}, f'privacy.heuristic: no noise over "{plan.protocol}" needs it; leave it out'


def _data_mistakes(plan: Common) -> Mistakes:
    training_rows = plan.rows - plan.held_out(plan.rows)
    if plan.rows > 0 and plan.batches != "full" and plan.batch_size > training_rows:
        yield (
            {"rows", "batches", "batch_size", "test_share"},
            f"model.batch_size: {plan.batch_size} is more than the {training_rows} training rows; lower it or set"
            ' batches = "full"',
        )


def _protocol_mistakes(plan: Common) -> Mistakes:
    protocol, kind = plan.protocol, plan.kind
    if plan.sigmoid not in kind.sigmoids:
        yield (
            {"sigmoid", "protocol"},
            f'model.sigmoid: "{plan.sigmoid}" over "{protocol}", which carries {_listed(kind.sigmoids)}; use that, or'
            ' protocol = "clear"',
        )
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
    if plan.replies == "paper" and kind.lends_keys and not plan.is_between_two:
        yield (
            {"replies", "protocol", "parties"},
            f'study.replies: "paper" over "{protocol}": the helpers\' masks cancel only in replies cut to their'
            ' public width; use "packed"',
        )


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f'"{name}"' for name in sorted(names))


def _descent_mistakes(plan: Common) -> Mistakes:
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


def _key_mistakes(plan: Common) -> Mistakes:
    if plan.key_bits not in PROFILE_BITS and not plan.test_only_keys:
        yield (
            {"key_bits", "test_only_keys"},
            f"study.key_bits: expected 2048 or 3072, got {plan.key_bits}; others only with test_only_keys = true",
        )
    elif plan.key_bits % 64:
        yield {"key_bits", "test_only_keys"}, f"study.key_bits: expected a multiple of 64, got {plan.key_bits}"


def _row_mistakes(plan: Common) -> Mistakes:
    """Mistakes of studies alone that would make a promise about whole rows false (docs/privacy.md)."""
    if plan.noise != "rows":
        return
    if "rows" not in plan.kind.noises:
        yield (
            {"noise", "protocol"},
            f'privacy.noise: "rows" over "{plan.protocol}": each party gets gradients from released residuals of'
            ' single rows there, so only labels can be protected; set "sound", or protocol = "shares"',
        )
        return
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
    if plan.label_flip_epsilon:
        yield (
            {"noise", "label_flip_epsilon"},
            'privacy.label_flip_epsilon: with noise = "rows" flipped labels would enlarge the residuals beyond their'
            " bound; set 0",
        )


def _noise_mistakes(plan: Common) -> Mistakes:
    """Mistakes in the noise that the paper adds to residuals."""
    if plan.noise == "std" and plan.noise_std == 0:
        yield {"noise", "noise_std"}, 'privacy.noise_std: noise = "std" needs it above 0, got 0'
    if plan.noise != "std" and plan.noise_std > 0:
        yield (
            {"noise", "noise_std"},
            f'privacy.noise_std: used with noise = "std" only, got {plan.noise_std:g} with noise = "{plan.noise}"',
        )
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
