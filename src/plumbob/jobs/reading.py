"""A component of another system as a table of fields, and the values that a job gives them, each with its source.

A job states some values, leaves others to its system's defaults, and is silent about the rest. `read` goes through the
fields once; what no field asked for is listed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from plumbob.errors import PlanError

Tree = Mapping[str, Any]
SystemVersion = tuple[int, ...]
ValueSource = Literal["file", "default", "assumed"]
LONGEST_SHOWN = 60
ALL_ROWS = "all rows"
"""A batch of the whole table, however a file writes it."""
DEEPEST, LONGEST_TEXT = 30, 2**20
"""Tables and JSON in strings that are looked into."""


@dataclass(frozen=True)
class Read:
    """One value: the word for it, what the job has, and where that came from."""

    key: str
    value: Any
    source: ValueSource
    where: str = ""
    """The name in the file, the file of the other system that holds the default, or why it is assumed."""
    taken_as: Any = None
    """The plan's value, where it differs from the job's."""

    def line(self) -> str:
        """The printed sentence about this value."""
        taken = "" if self.taken_as is None else f", taken as {self.taken_as}"
        where = f": {self.where}" if self.where else ""
        return f"{self.key} = {short_text(self.value)}{taken}  ({self.source}{where})"


@dataclass(frozen=True)
class Parties:
    """The ids that a job states for each role; empty where it states none."""

    label: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    arbiter: tuple[str, ...] = ()

    @property
    def is_stated(self) -> bool:
        return bool(self.label and self.features)


NOBODY = Parties()


@dataclass(frozen=True)
class Meaning:
    """What a component's values come to: the keys of the nearest plan, and what no plan can say."""

    keys: dict[str, Any]
    remarks: tuple[str, ...] = ()
    read: tuple[Read, ...] = ()
    """Values, each with its source; of a component, those that follow from others."""
    decoys: float = 0.0
    """How many decoy rows a step names for each row of its batch; only the guest knows which count."""
    may_be_fixed: bool = False
    """Whether some versions that the file may be for cut batches once; the worse of the two is then shown."""
    scores_rows: bool = False
    """Whether the label party gets the score of every row that was trained on."""
    unprotected: str = ""
    """Why nothing is encrypted or shared at all; empty where something is."""
    no_all_clear: tuple[str, ...] = ()
    """What cannot be seen in the file, or is judged as less than it is; a job with any of it is never called safe."""


@dataclass(frozen=True, kw_only=True)
class Job(Meaning):
    """One logistic regression of another system, in the plan's words, with all that no plan can say."""

    system: str
    component: str
    advice: Mapping[str, str]
    ignored: tuple[str, ...] = ()
    parties: Parties = NOBODY
    fits: int = 1
    """How many trainings use the same rows: folds, further components."""

    @property
    def feature_parties(self) -> int:
        """How many feature parties there are; 0 where the file does not say."""
        return len(self.parties.features)

    @property
    def has_arbiter(self) -> bool:
        """Whether a further party holds the key."""
        return bool(self.keys["protocol"] == "arbiter")

    def as_json(self) -> dict[str, Any]:
        """The lists that `check --json` prints."""
        entries = [{name: given for name, given in asdict(read).items() if given is not None} for read in self.read]
        return {
            "read": [{"value": None, **entry} for entry in entries],
            "ignored": list(self.ignored),
            "no_all_clear": list(self.no_all_clear),
        }


# Fields.


@dataclass(frozen=True)
class ByVersion:
    """A default that changed: the value of the newest version that is not newer than the job's."""

    values: Mapping[SystemVersion, Any]


@dataclass(frozen=True)
class Assumed:
    """A value that neither the file nor the system gives."""

    value: Any
    why: str


@dataclass(frozen=True)
class Field:
    """One setting: the word that is printed for it, where a job has it, how it is read, and its default."""

    key: str
    name: str
    """Leads into tables by dots; empty for what the system fixes."""
    take: Callable[[str, Any], Any]
    default: Any = None
    """None: printed only where the file has it."""
    also: tuple[str, ...] = ()
    """Other names that systems or versions have for it."""
    when: tuple[str, Any] = ("", None)
    """Another field's key and value, without which this one means nothing."""
    otherwise: Any = None
    """The value where it means nothing."""
    in_table: Any = None
    """The default where the file has the field's table without the field."""


@dataclass(frozen=True)
class Component:
    """One kind of training: its settings, what they mean together, and where its defaults were looked up."""

    system: str
    name: str
    since: SystemVersion
    """The oldest version with these defaults; earlier ones may leak more."""
    source: str
    fields: tuple[Field, ...]
    meaning: Callable[["Settings"], Meaning]
    advice: Mapping[str, str]
    """The component's own settings against an attack, by its name; "gradients" against all that opened gradients give;
    otherwise ""."""
    harmless: tuple[str, ...] = ()
    """Settings that change nothing that is opened."""
    ignores_others: bool = False
    """Whether the system itself ignores every name that is not a field."""


@dataclass
class Settings:
    """The values of one component's fields."""

    component: Component
    reads: dict[str, Read] = field(default_factory=dict)
    is_version_stated: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.reads[key].value

    def has(self, key: str) -> bool:
        """Whether the component has this field."""
        return key in self.reads

    def is_stated(self, *keys: str) -> bool:
        """Whether the file has one of these values."""
        return any(self.reads[key].source == "file" for key in keys)

    def follows(self, key: str, value: Any, of: str) -> Read:
        """A value that follows from another one, and has its source."""
        return Read(key, value, self.reads[of].source, f"follows from {of}")


def read(component: Component, given: Tree, path: str, version: SystemVersion | None) -> tuple[Settings, list[str]]:
    """The values of all fields, and a line for everything else in the file."""
    at = component.since if version is None else version
    if at < component.since:
        stated, oldest = (".".join(map(str, numbers)) for numbers in (at, component.since))
        raise PlanError(
            f"{component.system} {stated}: the defaults of {component.name} are known from {oldest} on; leave "
            "--job-version out, and the file is judged with those"
        )
    settings = Settings(component, is_version_stated=version is not None)
    used, idle = set(), set()
    for one in component.fields:
        name = next((name for name in (one.name, *one.also) if name and _find(given, name)[0]), "")
        condition, wanted = one.when
        if condition and settings[condition] != wanted:
            settings.reads[one.key] = settings.follows(one.key, one.otherwise, condition)
            idle.add(name)
            continue
        if name:
            used.add(name)
            where = f"{path}.{name}"
            settings.reads[one.key] = Read(one.key, one.take(where, _find(given, name)[1]), "file", where)
        else:
            settings.reads[one.key] = _by_default(one, given, at, component)
    return settings, list(_rest(component, given, path, used, idle))


def _by_default(one: Field, given: Tree, version: SystemVersion, component: Component) -> Read:
    default = one.default
    if one.in_table is not None and isinstance(_find(given, one.name.rpartition(".")[0])[1], Mapping):
        default = one.in_table
    if isinstance(default, Assumed):
        return Read(one.key, default.value, "assumed", default.why)
    if isinstance(default, ByVersion):
        default = default.values[max(since for since in default.values if since <= version)]
    return Read(one.key, default, "default", f"{component.system} {component.source}")


def _rest(component: Component, given: Tree, path: str, used: set[str], idle: set[str]) -> Iterator[str]:
    """A line for each value that no field asked for: whether that matters, we say only where we know it."""
    for name in _paths(given):
        if any(f"{name}.".startswith(f"{other}.") for other in used):
            continue
        if name in idle:
            why = "means nothing beside the other settings"
        elif _is_harmless(component, name):
            why = "changes nothing that is opened"
        elif component.ignores_others:
            why = "the system knows no such setting and ignores it"
        else:
            why = UNKNOWN
        yield f"{path}.{name}: {why}"


UNKNOWN = "unknown to us, and not judged"


def _is_harmless(component: Component, name: str) -> bool:
    # SecretFlow puts a column's name below the input's: input/train_dataset/label.
    return not {name, name.split(".")[0], name.rsplit("/", 1)[-1]}.isdisjoint(component.harmless)


def _find(tree: Tree, path: str) -> tuple[bool, Any]:
    """Whether the path is there, and what it holds."""
    value: Any = tree
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False, None
        value = value[part]
    return True, value


def _paths(tree: Tree, prefix: str = "", depth: int = 3) -> list[str]:
    paths: list[str] = []
    for name, value in tree.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value and depth > 1:
            paths += _paths(value, f"{path}.", depth - 1)
        else:
            paths.append(path)
    return paths


# A job from a component's values.


def job_of(
    component: Component,
    given: Tree,
    path: str,
    version: SystemVersion | None,
    *,
    reads: Iterable[Read] = (),
    ignored: Iterable[str] = (),
    others: tuple[str, ...] = (),
    no_all_clear: Iterable[str] = (),
    parties: Parties = NOBODY,
) -> Job:
    """The job that a component's parameters describe; `others` train on the same rows."""
    settings, rest = read(component, given, path, version)
    meaning = component.meaning(settings)
    values = [value for value in (*settings.reads.values(), *meaning.read) if value.value is not None]
    together = [
        f"{', '.join(others)} also train{'s' if len(others) == 1 else ''} on these rows; {path} is read, and what all "
        "of them show is counted together."
    ]
    unjudged = [
        f"{other} trains too, and its own settings are not judged; check it in a file of its own." for other in others
    ]
    unknown = [line for line in rest if line.endswith(UNKNOWN)]
    return Job(
        **{
            **vars(meaning),
            "read": (*reads, *(_as_taken(value, meaning.keys) for value in values)),
            "remarks": (*meaning.remarks, *(together if others else ())),
            "no_all_clear": (*filter(None, no_all_clear), *meaning.no_all_clear, *unjudged, *unknown),
        },
        system=component.system,
        component=component.name,
        advice=component.advice,
        ignored=(*rest, *ignored),
        parties=parties,
        fits=_fits(settings) * (1 + len(others)),
    )


def _as_taken(one: Read, keys: Mapping[str, Any]) -> Read:
    taken = keys.get(one.key, one.value)
    return one if taken == one.value or one.key == "batch_size" else replace(one, taken_as=taken)


MOST_FITS = 1000


def _fits(settings: Settings) -> int:
    """How many trainings see the same row: all folds but its own, and each step of a selection."""
    folds, steps = (settings[key] if settings.has(key) else None for key in ("folds", "steps"))
    return max(1, min(folds or 2, MOST_FITS) - 1) * max(1, min(steps or 1, MOST_FITS))


def version_read(stated: SystemVersion | None, otherwise: Read) -> Read:
    """The printed line about the version: as stated by the user, or as the file suggests."""
    return otherwise if stated is None else Read("version", ".".join(map(str, stated)), "file", "--job-version")


def parse_version(text: str) -> SystemVersion:
    """A version as numbers: `1.9.2` or `v2.0.0-beta`."""
    numbers = text.strip().lstrip("vV").split("-")[0].split(".")
    try:
        version = tuple(int(part) for part in numbers[:3])
    except ValueError:
        version = ()
    if not version or any(part > 999 for part in version):
        raise PlanError(f"--job-version: expected the other system's version, such as 1.9.2, got {text[:40]!r}")
    return version


# From what a file may hold to a value. YAML gives texts, and FATE and SecretFlow take numbers in quotes.


def short_text(value: Any) -> str:
    """A value on one short line."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def whole(where: str, value: Any) -> int:
    """A whole number, also where the file has it in quotes or with a decimal point."""
    try:
        number = int(value) if isinstance(value, str) else value
        if isinstance(number, bool) or number != int(number):
            raise ValueError
        return int(number)
    except (TypeError, ValueError, OverflowError):
        raise PlanError(f"{where}: expected a whole number in the job file, got {short_text(value)}") from None


def number(where: str, value: Any) -> float:
    """A finite number, also where the file has it in quotes."""
    try:
        result = float("nan") if isinstance(value, bool) else float(value)
        if result != result or result in (float("inf"), float("-inf")):
            raise ValueError
        return result
    except (TypeError, ValueError, OverflowError):
        raise PlanError(f"{where}: expected a number in the job file, got {short_text(value)}") from None


def flag(where: str, value: Any) -> bool:
    """True or false, also where the file writes it as text; nothing is false."""
    text = word(where, value)
    if text not in (*TRUE, *FALSE):
        raise PlanError(f"{where}: expected true or false in the job file, got {short_text(value)}")
    return text in TRUE


TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "none")


def word(where: str, value: Any) -> str:
    """A name in lower case; `none` for nothing."""
    if isinstance(value, Mapping | list):
        raise PlanError(f"{where}: expected a name in the job file, got {short_text(value)}")
    text = str(value).strip().lower()
    return "none" if text in ("", "null", "~") else text


NO_ENCRYPTION = ("none", "mock")
CIPHERS = ("paillier", "ou", *NO_ENCRYPTION)


def cipher(where: str, value: Any) -> str:
    """How values are encrypted; one that we do not know may be as weak as IterativeAffine, which FATE removed."""
    text = word(where, value)
    if text not in CIPHERS:
        raise PlanError(f"{where}: expected one of {', '.join(CIPHERS)} in the job file, got {short_text(value)}")
    return text


def batch(where: str, value: Any) -> int | str:
    """A batch's rows; FATE writes -1, 0 or nothing for all of them."""
    if not isinstance(value, Mapping | list | bool) and word(where, value) in ("-1", "0", "none", "-1.0"):
        return ALL_ROWS
    return whole(where, value)


def anything(where: str, value: Any) -> Any:
    """Whatever the file has: that it is there is what counts."""
    return None if not isinstance(value, Mapping | list) and word(where, value) == "none" else value


def tables(value: Any, depth: int = 0) -> Iterator[Tree]:
    """Every table in a file, also those in JSON in a string, as Kuscia keeps a task's configuration."""
    if isinstance(value, str) and '"' in value and value.lstrip().startswith("{"):
        value = _parse(value)
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner if depth < DEEPEST else ():
        yield from tables(one, depth + 1)


def _parse(text: str) -> Any:
    try:
        return json.loads(text) if len(text) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        return None


def mapping(tree: Any, name: str) -> Tree:
    """A table inside a table; empty where there is none."""
    content = tree.get(name) if isinstance(tree, Mapping) else None
    return content if isinstance(content, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """A list, or one value as a list."""
    return list(value) if isinstance(value, list) else [] if value is None else [value]
