"""The page's controls, one for each key of a plan, the plan that they say, and what the page shows of a plan."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from plumbob.checking.check import check, figures_of
from plumbob.checking.findings import Findings
from plumbob.checking.judgement import HeadlineBlock
from plumbob.errors import PlanError
from plumbob.plan import KEYS, PROTOCOLS, Party, Plan, SettingKey, default_of, in_words

FIRST = Plan((Party("bank", "label", 5), Party("processor", "features", 18)), rows=3_200)
"""What the page opens with: the safe defaults, on the running example."""
MOST_PARTIES = 8
LARGEST_COLUMNS, LARGEST_ROWS, MOST_EPOCHS = 100_000, 10_000_000, 100_000
"""Beyond these a page is no place to plan a run, and the arithmetic takes noticeable time."""
BEYOND = "expected numbers that can be calculated with: one is far too large or too small"
IN_SIGHT = ("rows", "protocol", "noise", "epsilon", "delta", "release", "open", "most_rows", "evidence", "batch_size")
"""The controls that matter first; all others are folded."""
TITLES = {
    "rows": "Rows that all parties have",
    "release": "Scores for the label party",
    "open": "Weights at the end",
    "most_rows": "Rows ever scored",
    "evidence": "Evidence for auditors",
    "epsilon": "Epsilon of the noise",
    "delta": "Delta of the noise",
    "batch_size": "Rows in a batch",
    "noise_std": "Noise, standard deviation",
    "row_norm": "Rows clipped to norm",
    "label_flip_epsilon": "Flipped labels, epsilon",
    "l2": "L2 penalty",
}
HINTS = {
    "rows": "0 where nobody knows yet.",
    "protocol": "What the parties send one another.",
    "noise": "What the noise hides.",
    "epsilon": "Smaller hides more and costs more quality.",
    "delta": "The chance that the promise fails.",
    "release": "A replay shows whether the label party trained on its own rows with the agreed software.",
    "open": "Who gets weights when training ends.",
    "most_rows": "Rows held out for testing count. 0: as many as all parties have.",
    "evidence": "What an auditor can replay, sealed for this auditor.",
    "batch_size": "A step of training sees this many rows.",
}
WORDS = {
    "protocol": {
        "shares": "shares: random numbers only",
        "exchange": "exchange: the paper's own",
        "arbiter": "arbiter: a third holds the key",
        "clear": "clear: nothing is hidden",
    },
    "noise": {
        "none": "no noise",
        "rows": "each person's whole row",
        "sound": "each label, proved",
        "heuristic": "the paper's, by its formula",
        "std": "the paper's, by a number",
    },
    "release": {"always": "whenever it asks", "replayed": "after its auditor replayed training"},
    "open": {"never": "stay shared", "own": "each party gets its own"},
    "evidence": {"none": "is not kept", "keep": "is kept"},
}
"""What choices of the controls in sight are called."""
OF_EVERY_STUDY = ("protocol", "seed")
"""What a study of any protocol may set; all else that only studies have means nothing in `shares`."""
NO_YES = ("no", "yes")
KeyTexts = dict[str, Annotated[str, msgspec.Meta(max_length=200)]]


@dataclass(frozen=True)
class Control:
    """The control of one key; an empty one means the plan's default."""

    name: str
    title: str
    hint: str
    choices: tuple[tuple[str, str], ...]
    """What can be chosen, and what it is called; nothing where something is typed."""
    value: str


@dataclass(frozen=True)
class PartyControl:
    """One party's line: its name and the number of its columns, as texts."""

    name: str
    columns: str


@dataclass(frozen=True)
class PlanControls:
    """All controls, as the page shows them."""

    parties: tuple[PartyControl, ...]
    first: tuple[Control, ...]
    others: tuple[Control, ...]


@dataclass(frozen=True)
class Change:
    """One key that a remedy changes, in words and as the control holds it."""

    name: str
    title: str
    value: str
    words: str


@dataclass(frozen=True)
class ShownBlock:
    """One of the two headlines, and the changes that stop what leaks."""

    block: HeadlineBlock
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class PlanAnswer:
    """What the page shows of a plan, or what is wrong with it."""

    mistakes: tuple[str, ...] = ()
    plan: Plan | None = None
    blocks: tuple[ShownBlock, ...] = ()
    notes: tuple[str, ...] = ()
    passes: str = ""

    @property
    def hash(self) -> str:
        """The plan's hash, which its pages are found by."""
        return "" if self.plan is None else self.plan.hash()


class Draft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the page's controls say, as texts; an empty one is left to the plan."""

    names: Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=MOST_PARTIES)]
    columns: Annotated[list[Annotated[str, msgspec.Meta(max_length=12)]], msgspec.Meta(max_length=MOST_PARTIES)]
    keys: KeyTexts

    @classmethod
    def of(cls, body: object) -> "Draft":
        """Parse strictly: the page is ours, but whoever holds its address can send anything."""
        try:
            return msgspec.convert(body, cls)
        except msgspec.ValidationError as error:
            raise PlanError(f"expected a plan as this page sends it: {error}") from error


def controls_of(plan: Plan) -> PlanControls:
    """The controls that say this plan; what is a default anyway is left empty."""
    by_name = {key.name: _control(key, plan) for key in KEYS}
    learners = [PartyControl(party.name, str(party.features)) for party in plan.learners]
    empty = [PartyControl("", "")] * (MOST_PARTIES - len(learners))
    others = tuple(control for name, control in by_name.items() if name not in IN_SIGHT)
    return PlanControls((*learners, *empty), tuple(by_name[name] for name in IN_SIGHT if name in by_name), others)


def _control(key: SettingKey, plan: Plan) -> Control:
    value = getattr(plan, key.name)
    is_said = key.name == "protocol" or value != default_of(key, plan.protocol, plan.batches)
    choices = NO_YES if isinstance(key.default, bool) else tuple(key.choices)
    named = tuple((choice, _in_words(key.name, choice)) for choice in choices)
    return Control(key.name, _title(key.name), HINTS.get(key.name, key.meaning), named, _text(value) if is_said else "")


def _in_words(name: str, value: object) -> str:
    return WORDS.get(name, {}).get(_text(value), _text(value))


def _title(name: str) -> str:
    spaced = name.replace("_", " ")
    return TITLES.get(name, spaced[0].upper() + spaced[1:])


def _text(value: object) -> str:
    return NO_YES[value] if isinstance(value, bool) else str(value)


def plan_of(draft: Draft, like: Plan) -> Plan:
    """The plan that the controls say; what has no control is as in the plan that the lab was opened on."""
    stated = {name: text for name, text in draft.keys.items() if text and name not in unused(draft)}
    if stated.get("release") == "replayed":
        # Nothing else can be replayed.
        stated.setdefault("evidence", "keep")
    keys = {key.name: _typed(key, stated[key.name]) for key in KEYS if key.name in stated}
    if unknown := set(draft.keys) - {key.name for key in KEYS}:
        raise PlanError(f"expected keys of a plan, got unknown ones: {', '.join(sorted(unknown))}")
    if len(draft.names) != len(draft.columns):
        raise PlanError("parties: expected as many numbers of columns as names")
    parties = [pair for pair in zip(draft.names, draft.columns, strict=True) if any(pair)]
    columns = [_whole(f"columns of {name or 'a party'}", text) for name, text in parties]
    _refuse_huge(columns, keys)
    is_shares = keys.get("protocol", FIRST.protocol) == "shares"
    heuristic = {} if is_shares or like.heuristic == FIRST.heuristic else {"heuristic": vars(like.heuristic)}
    return Plan.for_columns(columns, **{**keys, **heuristic}).with_names([name for name, _ in parties])


def _typed(key: SettingKey, text: str) -> Any:
    """The text as the key's kind of value."""
    if isinstance(key.default, bool):
        if text not in NO_YES:
            raise PlanError(f"{key.path}: expected yes or no")
        return text == NO_YES[1]
    if isinstance(key.default, int):
        return _whole(key.path, text)
    if isinstance(key.default, float):
        try:
            return float(text)
        except ValueError:
            raise PlanError(f"{key.path}: expected a number") from None
    return text


def _whole(path: str, text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise PlanError(f"{path}: expected a whole number") from None


def _refuse_huge(columns: list[int], keys: Mapping[str, Any]) -> None:
    if sum(columns) > LARGEST_COLUMNS:
        raise PlanError(f"parties: expected at most {LARGEST_COLUMNS} columns on this page, got more")
    for name, most in (("rows", LARGEST_ROWS), ("batch_size", LARGEST_ROWS), ("epochs", MOST_EPOCHS)):
        if keys.get(name, 0) > most:
            raise PlanError(f"{name}: expected at most {most} on this page, got more")


def answer(plan: Plan) -> PlanAnswer:
    """What `check` says about the plan."""
    try:
        findings = check(plan)
    except PlanError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise PlanError(BEYOND) from error
    return PlanAnswer((), plan, tuple(_blocks(findings)), tuple(findings.notes), in_words(figures_of(plan).levels))


def _blocks(findings: Findings) -> Iterator[ShownBlock]:
    headlines = findings.headlines
    for block in (headlines.honest, headlines.cheating):
        changes = tuple(
            Change(name, _title(name), _text(value), _in_words(name, value)) for name, value in block.changes.items()
        )
        yield ShownBlock(block, changes)


def defaults_of(draft: Draft) -> dict[str, str]:
    """What each empty control stands for, with the protocol that was chosen."""
    protocol = draft.keys.get("protocol") or FIRST.protocol
    batches = draft.keys.get("batches") or ("reshuffled" if draft.keys.get("batch_size") else "full")
    return {key.name: _in_words(key.name, default_of(key, protocol, batches)) for key in KEYS}


def unused(draft: Draft) -> list[str]:
    """The controls that mean nothing in the protocol, or with the noise, that was chosen."""
    kind = PROTOCOLS.get(draft.keys.get("protocol") or FIRST.protocol, PROTOCOLS[FIRST.protocol])
    is_shares, has_noise = kind.has_lattices, draft.keys.get("noise") not in ("", None, "none", "std")
    hidden = {key.name: is_shares for key in KEYS if key.is_study and key.name not in OF_EVERY_STUDY}
    hidden |= {"epsilon": not has_noise, "delta": not has_noise}
    hidden |= dict.fromkeys(("release", "open", "most_rows", "evidence"), not is_shares)
    return [name for name, is_hidden in hidden.items() if is_hidden]
