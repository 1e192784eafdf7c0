"""What a run is: one TOML file, the same bytes at every party, frozen, validated once, hashed.

Each key of the plan is one field of `Plan`, with its section, its limits and its comment beside it; reading, checking,
printing and the command line's flags all follow from that list. What a protocol cannot carry is refused here, before
anything moves, with the reason.
"""

import difflib
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from plumbob.errors import PlanError

ROLES = ("label", "features", "arbiter")
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
HASH_PREFIX = b"plumbob plan 1\n"
PROFILE_BITS = (2048, 3072)
LARGEST_NUMBER = 2**63
# Far beyond what anybody trains with; above them formulas overflow, and keys take days to make.
LARGEST_KEY_BITS = 8192
LARGEST_WIDTH = 10**6
LARGEST_EPOCHS = 10**9
LARGEST_FIGURE = 1e6
LARGEST_PENALTY = 1e30
LARGEST_FLIP_EPSILON = 100
SMALLEST_EPSILON = 1e-9
ROW_LEVEL_REASON = (
    "privacy for whole rows needs another algorithm (clipped residuals and updates, public scaling) and is not offered;"
    ' "sound" protects labels'
)


@dataclass(frozen=True)
class Key:
    """One setting: where it stands in the file, what it may be, what it means."""

    name: str  # flat: as an attribute, a flag and a parameter of the estimator
    section: str
    default: Any
    comment: str
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf  # strict lower limit
    below: float = math.inf  # strict upper limit
    is_rare: bool = False  # written out only where it is not the default
    least: float = -math.inf  # what can be calculated with: these two are said only to those who go beyond them
    most: float = math.inf

    @property
    def in_file(self) -> str:
        """The key's name inside its section."""
        return self.name.removeprefix("tolerance_") if self.section == "tolerance" else self.name

    @property
    def path(self) -> str:
        return f"{self.section}.{self.in_file}" if self.section else self.in_file

    def mistake(self, value: object) -> str | None:
        """What is wrong with this value, or None."""
        if self._has_right_type(value) and self._is_within(value):
            return None
        if self.name == "noise" and value in ("row", "row-level", "rows"):
            return f"{self.path}: {ROW_LEVEL_REASON}"
        expected = self._far_off(value) or self._expectation()
        return f"{self.path}: expected {expected}, got {_shown(value)}{suggestion(value, self.choices)}"

    def _far_off(self, value: object) -> str:
        """What to say to a number that is right but for its size."""
        if not self._has_right_type(value) or not isinstance(value, int | float):
            return ""
        if value > self.most:
            return f"at most {self.most:,.0f}" if self.most < 1e12 else f"at most {self.most:g}"
        return f"at least {self.least:g}" if self.above < value < self.least else ""

    def _has_right_type(self, value: object) -> bool:
        if isinstance(self.default, float):
            return type(value) is int or (isinstance(value, float) and math.isfinite(value))
        return type(value) is type(self.default)

    def _is_within(self, value: Any) -> bool:
        if isinstance(self.default, bool):
            return True
        if isinstance(self.default, str):
            return value in self.choices if self.choices else value.isprintable()
        # A longer whole number is none that a plan could mean, and does not fit where it is calculated with.
        fits = isinstance(value, float) or abs(value) < LARGEST_NUMBER
        is_calculable = self.least <= value <= self.most
        return bool(fits and is_calculable and self.low <= value <= self.high and self.above < value < self.below)

    def _expectation(self) -> str:
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        kinds = {bool: "true or false", str: "one line of text", int: "a whole number", float: "a number"}
        limits = {"of at least": self.low, "of at most": self.high, "above": self.above, "below": self.below}
        stated = [f"{words} {limit:g}" for words, limit in limits.items() if math.isfinite(limit)]
        return " ".join([kinds[type(self.default)], " and ".join(stated)]).strip()


def _key(section: str, default: Any, comment: str = "", **limits: float) -> Any:
    return field(default=default, metadata={"section": section, "default": default, "comment": comment, **limits})


def _one_of(section: str, choices: str, comment: str = "") -> Any:
    """A key with named choices, the first of which is the default."""
    words = tuple(choices.split())
    metadata = {"section": section, "default": words[0], "comment": comment or " | ".join(words), "choices": words}
    return field(default=words[0], metadata=metadata)


@dataclass(frozen=True)
class Party:
    """One party as everybody knows it; `features` counts its columns after encoding, without the intercept."""

    name: str
    role: str
    features: int = 0


@dataclass(frozen=True)
class Heuristic:
    """What the paper's noise formula (Theorem D.5) needs besides the plan; the letters are the paper's."""

    G: float = 1.0  # bound on one row's gradient, above 1/2
    T: int = 30  # steps
    e: int = 0  # epochs; 0 = those really run

    def __post_init__(self) -> None:
        if type(self.G) is int:
            object.__setattr__(self, "G", float(self.G))


@dataclass(frozen=True)
class Plan:
    """A validated plan; an invalid one cannot be built. Raises PlanError with one line per mistake."""

    parties: tuple[Party, ...]
    title: str = _key("", "")

    rows: int = _key("data", 0, "aligned rows if known, 0 = not yet", low=0)
    scale: str = _one_of("data", "standard none", "standard (each party, its own training rows) | none")
    missing: str = _one_of("data", "refuse mean", "refuse | mean (each party, its own training rows)")
    categorical: str = _one_of(
        "data", "refuse one-hot", "refuse | one-hot (each party; `features` counts the columns after encoding)"
    )
    test_share: float = _key(
        "data", 0.0, "rows held out for quality, by a keyed hash of the id, the same at every party", low=0, below=1
    )

    sigmoid: str = _one_of("model", "taylor minimax piecewise exact")
    start: str = _one_of("model", "zero xavier kaiming small normal")
    epochs: int = _key("model", 10, low=1, most=LARGEST_EPOCHS)
    batch_size: int = _key("model", 256, low=1)
    batches: str = _one_of(
        "model",
        "reshuffled fixed full",
        "reshuffled | fixed | full; reshuffled learns best and, outside shares, leaks most",
    )
    remainder: str = _one_of("model", "merge drop", "merge into the last batch | drop")
    learning_rate: float = _key("model", 0.1, above=0, most=LARGEST_FIGURE)
    intercept: bool = _key("model", True)
    l2: float = _key("model", 0.0, low=0, most=LARGEST_PENALTY)
    class_weight: str = _one_of("model", "none balanced", "none | balanced (clear only)")
    seed: int = _key("model", 0, "experiments only; 0 = drawn jointly by commit and reveal", low=0, high=2**63 - 1)

    protocol: str = _one_of("crypto", "shares clear exchange arbiter", "clear | exchange | arbiter | shares")
    scheme: str = _one_of(
        "crypto",
        "paillier okamoto-uchiyama",
        "paillier | okamoto-uchiyama (honest-but-curious parties only, trust_peer_keys = true)",
    )
    key_bits: int = _key(
        "crypto", 2048, "less only with test_only_keys = true, and the record says so", low=256, most=LARGEST_KEY_BITS
    )
    test_only_keys: bool = _key("crypto", False, "keys too short to protect anything: experiments and tests only")
    trust_peer_keys: bool = _key("crypto", False, "accept keys that carry no proof, as okamoto-uchiyama needs")
    replies: str = _one_of(
        "crypto",
        "packed single paper",
        "packed | single | paper (whole plaintexts handed back: what the packing attack needs)",
    )
    reply_slots: int = _key("crypto", 0, "most sums in a packed reply, 0 = all that fit", low=0, is_rare=True)
    feature_bits: int = _key("crypto", 16, "fraction bits", low=1, high=40)
    residual_bits: int = _key("crypto", 20, low=1, high=40)
    open: str = _one_of(
        "crypto", "own never", "shares: own = each party gets its own weights | never = predict on shares"
    )
    unmasked_gradients_for_the_arbiter: bool = _key("crypto", False)

    noise: str = _one_of(
        "privacy",
        "none std heuristic sound",
        "none | std (a given noise_std) | heuristic (the paper's sigma) | sound",
    )
    noise_std: float = _key("privacy", 0.0, low=0, most=LARGEST_FIGURE)
    epsilon: float = _key("privacy", 1.0, above=0, least=SMALLEST_EPSILON, most=LARGEST_FIGURE)
    delta: float = _key("privacy", 1e-6, above=0, below=1)
    heuristic: Heuristic = field(default=Heuristic())
    row_norm: float = _key(
        "privacy", 0.0, "rows are clipped to this joint norm, 0 = not; any noise needs it", low=0, most=LARGEST_FIGURE
    )
    label_flip_epsilon: float = _key(
        "privacy", 0.0, "randomised response on labels, 0 = off", low=0, most=LARGEST_FLIP_EPSILON
    )

    tolerance_labels: float = _key("tolerance", 0.05, low=0, high=1)
    tolerance_features: float = _key("tolerance", 0.05, low=0, high=1)

    def __post_init__(self) -> None:
        _raise_if_any(_value_mistakes(vars(self)))
        for key in KEYS:
            if isinstance(key.default, float):
                # 1 and 1.0 are the same plan and must have the same hash.
                object.__setattr__(self, key.name, float(getattr(self, key.name)))
        _raise_if_any(text for _, text in _rule_mistakes(self))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """From a file; what is wrong with it is said after its name."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except FileNotFoundError as error:
            raise PlanError(f"{path}: there is no such plan; `plumbob plan new --out {path}` writes one") from error
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"{path}: the plan cannot be read as text in UTF-8 ({type(error).__name__})") from error
        try:
            return cls.from_toml(text)
        except PlanError as error:
            raise PlanError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error

    @classmethod
    def from_toml(cls, text: str) -> Self:
        try:
            tree = tomllib.loads(text)
        # Besides its own error the parser lets through what Python says of endless numbers and of endless nesting.
        except (ValueError, RecursionError) as error:
            raise PlanError(f"not valid TOML: {error}") from error
        return cls.from_dict(tree)

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """From the file's own shape: `{"parties": {...}, "model": {...}, ...}`."""
        values, mistakes = _flatten(tree)
        return cls._from_values(values, mistakes)

    @classmethod
    def for_columns(cls, features: Sequence[int], **keys: Any) -> Self:
        """A plan from flags: parties called `label`, `features`, `features-2`, ... and, where needed, `arbiter`."""
        with_arbiter = keys.get("protocol") == "arbiter"
        return cls._from_values({"parties": _named_parties(features, with_arbiter), **keys}, _unknown_flags(keys))

    @classmethod
    def _from_values(cls, values: dict[str, Any], mistakes: list[str]) -> Self:
        """All mistakes at once; a rule between keys is tried only where its keys are right by themselves."""
        if isinstance(values.get("heuristic"), Mapping):
            values = {**values, "heuristic": _read_heuristic(values["heuristic"], mistakes)}
        value_mistakes = _value_mistakes(values)
        trial = {name: value for name, value in values.items() if name in _FIELD_NAMES and name not in value_mistakes}
        # Rules are tried on a plan that never passed validation, with defaults where a value is wrong.
        blank = object.__new__(cls)
        for item in fields(cls):
            object.__setattr__(blank, item.name, trial.get(item.name, item.default))
        if "parties" in value_mistakes:
            object.__setattr__(blank, "parties", _named_parties((1, 1), with_arbiter=False))
        rule_mistakes = [text for keys, text in _rule_mistakes(blank) if not keys & value_mistakes.keys()]
        _raise_if_any([*mistakes, *value_mistakes.values(), *rule_mistakes])
        return cls(**trial)

    def replace(self, **changes: Any) -> Self:
        """The same plan with other values, by flat names; `features=(11, 12)` changes the parties' columns."""
        mistakes = _unknown_flags(changes)
        values = {**vars(self), **changes}
        if "features" in values:
            values["parties"] = self._resized(values.pop("features"))
        if isinstance(values["heuristic"], Mapping):
            values["heuristic"] = {**asdict(self.heuristic), **values["heuristic"]}
        return self._from_values(values, mistakes)

    def _resized(self, features: Sequence[int]) -> tuple[Party, ...]:
        """The names stay as long as their number does."""
        if len(features) != len(self.learners):
            return _named_parties(features, self.arbiter is not None)
        resized = [Party(party.name, party.role, width) for party, width in zip(self.learners, features, strict=True)]
        return (*resized, *(party for party in self.parties if party.role == "arbiter"))

    @property
    def learners(self) -> tuple[Party, ...]:
        """The parties that hold columns, the label party first."""
        return tuple(party for party in self.parties if party.role != "arbiter")

    @property
    def label_party(self) -> Party:
        return self.parties[0]

    @property
    def feature_parties(self) -> tuple[Party, ...]:
        return self.learners[1:]

    @property
    def arbiter(self) -> Party | None:
        return next((party for party in self.parties if party.role == "arbiter"), None)

    @property
    def columns(self) -> int:
        """All parties' columns, without the intercept."""
        return sum(party.features for party in self.parties)

    def party(self, name: str) -> Party:
        for party in self.parties:
            if party.name == name:
                return party
        names = [party.name for party in self.parties]
        raise PlanError(f'no party "{name}" in the plan, only {", ".join(names)}{suggestion(name, names)}')

    def held_out(self, rows: int) -> int:
        """How many of so many aligned rows are kept for testing."""
        return round(rows * self.test_share)

    def hash(self) -> str:
        """Hex SHA-256 over all values, defaults included but for rare keys; layout and the order of keys do not matter.

        The order of the parties does: it says whose columns come first.
        """
        said = {name: value for name, value in asdict(self).items() if name not in self._unsaid}
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(HASH_PREFIX + canonical.encode()).hexdigest()

    @property
    def _unsaid(self) -> set[str]:
        """Rare keys at their default: a plan without them is the plan that it was before there were such keys."""
        return {key.name for key in KEYS if key.is_rare and getattr(self, key.name) == key.default}

    def to_toml(self) -> str:
        """The whole plan with every default written out and explained; reads back as the same plan."""
        sections = {section: [f"[{section}]"] for section in SECTIONS}
        sections["parties"][0] += '                    # first the label party; an arbiter is { role = "arbiter" }'
        for party in self.parties:
            sections["parties"].append(f"{party.name} = {_inline(_party_items(party))}")
        for key in KEYS:
            if key.section and key.name not in self._unsaid:
                line = f"{key.in_file} = {_toml_value(getattr(self, key.name))}"
                sections[key.section].append(f"{line:<28} # {key.comment}" if key.comment else line)
        line = f"heuristic = {_inline(asdict(self.heuristic))}"
        sections["privacy"].append(f"{line}        # e = 0: the epochs really run")
        sections["tolerance"][0] += '                  # advantage over the best baseline above which a finding "leaks"'
        head = f"title = {_toml_value(self.title)}\n"
        return head + "".join("\n".join(lines) + "\n" for lines in sections.values())


KEYS: tuple[Key, ...] = tuple(Key(item.name, **item.metadata) for item in fields(Plan) if item.metadata)
SECTIONS = ("parties", "data", "model", "crypto", "privacy", "tolerance")
_FIELD_NAMES = tuple(item.name for item in fields(Plan))


def _raise_if_any(mistakes: Iterable[str] | Mapping[str, str]) -> None:
    lines = list(mistakes.values() if isinstance(mistakes, Mapping) else mistakes)
    if lines:
        raise PlanError("\n".join(lines))


# From the file's shape to flat values.


def _flatten(tree: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for name, content in tree.items():
        if name == "title":
            values["title"] = content
        elif name not in SECTIONS:
            mistakes.append(_unknown(name, "", (*SECTIONS, "title")))
        elif not isinstance(content, Mapping):
            mistakes.append(f"{name}: expected a table [{name}], got {_shown(content)}")
        elif name == "parties":
            values["parties"] = _read_parties(content, mistakes)
        else:
            values.update(_read_section(name, content, mistakes))
    return values, mistakes


def _read_section(section: str, content: Mapping[str, Any], mistakes: list[str]) -> dict[str, Any]:
    known = {key.in_file: key.name for key in KEYS if key.section == section}
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name in known:
            values[known[name]] = value
        elif (section, name) == ("privacy", "heuristic"):
            values["heuristic"] = value
        else:
            mistakes.append(_unknown(name, section, (*known, "heuristic") if section == "privacy" else tuple(known)))
    return values


def _read_heuristic(content: Mapping[str, Any], mistakes: list[str]) -> Heuristic:
    names = [item.name for item in fields(Heuristic)]
    mistakes.extend(_unknown(name, "privacy.heuristic", names) for name in content if name not in names)
    return Heuristic(**{name: value for name, value in content.items() if name in names})


def _read_parties(content: Mapping[str, Any], mistakes: list[str]) -> tuple[Party, ...]:
    parties = []
    for name, entry in content.items():
        if not isinstance(entry, Mapping):
            mistakes.append(f'parties.{name}: expected {{ role = "features", features = 12 }}, got {_shown(entry)}')
            continue
        known = ("role", "features")
        mistakes.extend(_unknown(key, f"parties.{name}", known) for key in entry if key not in known)
        role = entry.get("role", "")
        if role in ("label", "features") and "features" not in entry:
            mistakes.append(f"parties.{name}: say how many columns it has, features = ...")
        parties.append(Party(name, role, entry.get("features", 1 if role == "features" else 0)))
    return tuple(parties)


def _named_parties(features: Sequence[int], with_arbiter: bool) -> tuple[Party, ...]:
    names = ["label", "features", *(f"features-{number}" for number in range(2, len(features)))]
    roles = ["label"] + ["features"] * (len(features) - 1)
    parties = [Party(*item) for item in zip(names, roles, features, strict=False)]
    return (*parties, Party("arbiter", "arbiter")) if with_arbiter else tuple(parties)


def _unknown(name: str, section: str, known: Sequence[str]) -> str:
    path = f"{section}.{name}" if section else name
    elsewhere = [key for key in KEYS if name == key.in_file and key.section != section]
    if elsewhere:
        return f"{path}: unknown key; it belongs in [{elsewhere[0].section}]"
    return f"{path}: unknown key{suggestion(name, known) or _far_suggestion(name)}"


def _unknown_flags(changes: Mapping[str, Any]) -> list[str]:
    known = (*_FIELD_NAMES, "features")
    return [f"{name}: unknown key{suggestion(name, known)}" for name in changes if name not in known]


def suggestion(word: object, known: Sequence[str]) -> str:
    """`; did you mean "..."?`, or nothing."""
    by_small_letters = {name.lower(): name for name in known}
    # Through `_shown`, which is short also for what Python does not write out.
    close = difflib.get_close_matches(_shown(word).strip('"').lower(), by_small_letters, n=1)
    return f'; did you mean "{by_small_letters[close[0]]}"?' if close else ""


def _far_suggestion(name: str) -> str:
    paths = {key.in_file: key.path for key in KEYS}
    close = difflib.get_close_matches(name, list(paths), n=1)
    return f'; did you mean "{paths[close[0]]}"?' if close else ""


def _shown(value: object) -> str:
    """A value as the file would have it, cut so that one mistake stays one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


# What is wrong with values, one by one and together.


def _value_mistakes(values: Mapping[str, Any]) -> dict[str, str]:
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
        yield f"privacy.heuristic: expected {{ G = 1.0, T = 30, e = 0 }}, got {_shown(heuristic)}"
        return
    limits = (
        Key("G", "privacy.heuristic", 1.0, "", above=0.5, most=LARGEST_FIGURE),
        Key("T", "privacy.heuristic", 1, "", low=1),
        Key("e", "privacy.heuristic", 0, "", low=0),
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
        yield f"{path}.role: expected one of {choices}, got {_shown(party.role)}{suggestion(party.role, ROLES)}"
        return
    width = Key("features", path, 0, "", low=1 if party.role == "features" else 0, most=LARGEST_WIDTH)
    if (text := width.mistake(party.features)) is not None:
        yield text
    elif party.role == "arbiter" and party.features:
        yield f"{path}.features: an arbiter holds no columns, got {party.features}"


def _rule_mistakes(plan: Plan) -> Iterator[tuple[set[str], str]]:
    """What the protocol cannot carry, as (the keys concerned, the line to print)."""
    yield from _protocol_mistakes(plan)
    yield from _key_mistakes(plan)
    yield from _noise_mistakes(plan)
    training_rows = plan.rows - plan.held_out(plan.rows)
    if plan.rows > 0 and plan.batches != "full" and plan.batch_size > training_rows:
        yield (
            {"rows", "batches", "batch_size", "test_share"},
            f"model.batch_size: {plan.batch_size} is more than the {training_rows} training rows; lower it or set"
            ' batches = "full"',
        )


def _protocol_mistakes(plan: Plan) -> Iterator[tuple[set[str], str]]:
    protocol, n_learners = plan.protocol, len(plan.learners)
    if (reason := _sigmoid_reason(plan)) is not None:
        yield {"sigmoid", "protocol", "parties"}, f'model.sigmoid: "{plan.sigmoid}" over "{protocol}": {reason}'
    if protocol == "shares" and n_learners != 2:
        yield {"protocol", "parties"}, f'crypto.protocol: "shares" is for exactly two parties, got {n_learners}'
    if (protocol == "arbiter") != (plan.arbiter is not None):
        text = (
            '"arbiter" needs a party with role arbiter, the plan has none'
            if protocol == "arbiter"
            else f'"{protocol}" has no arbiter, but the plan names one; remove it or set protocol = "arbiter"'
        )
        yield {"protocol", "parties"}, f"crypto.protocol: {text}"
    if plan.class_weight != "none" and protocol != "clear":
        yield (
            {"class_weight", "protocol"},
            f'model.class_weight: "{plan.class_weight}" over "{protocol}": the weights depend on the labels, and the'
            ' second encrypted vector that they need leaks by itself; set "none" or protocol = "clear"',
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


def _sigmoid_reason(plan: Plan) -> str | None:
    if plan.protocol == "clear" or plan.sigmoid == "taylor":
        return None
    if plan.sigmoid != "minimax":
        return 'it is not a polynomial, so it cannot be computed under encryption; use "taylor" or protocol = "clear"'
    if plan.protocol != "exchange":
        return 'only two-party "exchange" carries encrypted powers of the score; use "taylor"'
    if len(plan.learners) > 2:
        return f'powers of a sum of {len(plan.learners)} scores need products between peers; use "taylor"'
    return None


def _paper_replies_reason(plan: Plan) -> str | None:
    if plan.protocol == "shares":
        return 'nothing is handed back there; use "packed" or "single"'
    if plan.protocol == "exchange" and len(plan.learners) > 2:
        return 'the helpers\' masks cancel only in replies cut to their public width; use "packed" or "single"'
    if plan.protocol != "clear" and plan.scheme == "okamoto-uchiyama":
        return 'a whole okamoto-uchiyama plaintext can give the secret key away; use "packed" or "single"'
    return None


def _key_mistakes(plan: Plan) -> Iterator[tuple[set[str], str]]:
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


def _noise_mistakes(plan: Plan) -> Iterator[tuple[set[str], str]]:
    if plan.noise == "std" and plan.noise_std == 0:
        yield {"noise", "noise_std"}, 'privacy.noise_std: noise = "std" needs it above 0, got 0'
    if plan.noise != "std" and plan.noise_std > 0:
        yield (
            {"noise", "noise_std"},
            f'privacy.noise_std: used with noise = "std" only, got {plan.noise_std:g} with noise = "{plan.noise}"',
        )
    if plan.noise == "none":
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
    if plan.noise == "heuristic" and plan.learning_rate > 1:
        yield (
            {"noise", "learning_rate"},
            f'privacy.noise: "heuristic" needs learning_rate <= 1 (Theorem D.5), got {plan.learning_rate:g}',
        )


# Writing TOML.


def _party_items(party: Party) -> dict[str, Any]:
    items: dict[str, Any] = {"role": party.role}
    return items if party.role == "arbiter" else items | {"features": party.features}


def _inline(items: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{name} = {_toml_value(value)}" for name, value in items.items()) + " }"


def _toml_value(value: bool | int | float | str) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else repr(value)
