"""The values read from another system's job file, each with where it came from, and what was left aside.

A job file states some values, leaves others to its system's defaults, and is silent about the rest. `JobDraft` keeps
these three apart while a reader asks for one value after another; `Job` is the result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from plumbob.errors import PlanError
from plumbob.jobs.defaults import Defaults, SystemVersion

Tree = Mapping[str, Any]
ValueSource = Literal["file", "default", "assumed"]
LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Read:
    """One value: the plan's word for it, what the job has, and where that came from."""

    key: str
    value: Any
    source: ValueSource
    where: str = ""
    """The name in the file, or the file of the other system that holds the default."""
    taken_as: Any = None
    """The plan's value, where it differs from the job's."""

    def line(self) -> str:
        """The printed sentence about this value."""
        taken = "" if self.taken_as is None else f", taken as {self.taken_as}"
        where = f": {self.where}" if self.where else ""
        return f"{self.key} = {shown(self.value)}{taken}  ({self.source}{where})"


@dataclass(frozen=True)
class Parties:
    """The ids that a job states for each role; empty where it states none."""

    label: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    arbiter: tuple[str, ...] = ()

    @property
    def is_stated(self) -> bool:
        return bool(self.label and self.features)


@dataclass(frozen=True)
class Job:
    """One logistic regression of another system, in the plan's words, with all that no plan can say."""

    system: str
    component: str
    keys: dict[str, Any]
    read: tuple[Read, ...] = ()
    ignored: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    parties: Parties = Parties()
    fits: int = 1
    """How many trainings use the same rows: folds, further components."""
    decoys: float = 0.0
    """How many decoy rows a step names for each row of its batch; only the guest knows which count."""
    may_be_fixed: bool = False
    """Whether some versions that the file may be for cut batches once; the worse of the two is then shown."""
    has_arbiter: bool = False
    scores_in_the_clear: bool = False
    """Whether the label party gets the joint score of each row while it trains."""
    """How scores are added up: "plain" shows each party's part to whoever adds."""
    unprotected: str = ""
    """Why nothing is encrypted or shared at all; empty where something is."""
    no_all_clear: tuple[str, ...] = ()
    """What cannot be seen in the file; a job with any of it is never called safe."""

    @property
    def feature_parties(self) -> int:
        """How many feature parties there are; 0 where the file does not say."""
        return len(self.parties.features)

    def as_json(self) -> dict[str, Any]:
        """The lists that `check --json` prints."""
        return {
            "read": [_entry(one) for one in self.read],
            "ignored": list(self.ignored),
            "no_all_clear": list(self.no_all_clear),
        }


def _entry(read: Read) -> dict[str, Any]:
    entry = asdict(read)
    return {name: value for name, value in entry.items() if name != "taken_as" or value is not None}


def version_read(stated: SystemVersion | None, otherwise: Read) -> Read:
    """The printed line about the version: as stated by the user, or as the file suggests."""
    return otherwise if stated is None else Read("version", ".".join(map(str, stated)), "file", "--job-version")


def unjudged(others: Iterable[str]) -> Iterator[str]:
    """Remarks on further components, each of which may have its own settings."""
    for other in others:
        yield f"{other} trains too, and its own settings are not judged; check it in a file of its own."


@dataclass
class JobDraft:
    """A job that is still being read: a component's parameters, the defaults behind them, and what they came to."""

    given: Tree
    defaults: Defaults
    path: str
    """The component's name, as prefix of what is printed."""
    knows_no_other: bool = False
    """Whether the system ignores every name that is not among its defaults."""
    read: list[Read] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    fits: int = 1
    decoys: float = 0.0
    may_be_fixed: bool = False
    unprotected: str = ""
    _used: set[str] = field(default_factory=set)

    def job(self, meanings: Mapping[str, str], ignored: Iterable[str] = (), **more: Any) -> Job:
        """The job, once everything was asked for; `meanings` explains what nobody asked for."""
        return Job(
            self.defaults.system,
            self.defaults.component,
            self.keys,
            tuple(self.read),
            (*self._left(meanings), *ignored),
            tuple(self.remarks),
            fits=self.fits,
            decoys=self.decoys,
            may_be_fixed=self.may_be_fixed,
            unprotected=self.unprotected,
            **more,
        )

    def take(self, key: str, *names: str) -> Any:
        """The file's value, else the default of the system's version; `names` may lead into a table: `a.b`."""
        for name in self._known(names):
            found, value = _lookup(self.given, name)
            if found:
                self._used.add(name)
                self.read.append(Read(key, value, "file", f"{self.path}.{name}"))
                return value
        return self.by_default(key, self.defaults.of(names))

    def by_default(self, key: str, value: Any, source: str = "", taken_as: Any = None) -> Any:
        """A value that the system's version fixes; `source` is the file that says so, if another one than usual."""
        self.read.append(Read(key, value, "default", source or self.defaults.source, taken_as))
        return value

    def follows(self, key: str, value: Any, where: str = "") -> Any:
        """A value that follows from the one read last."""
        last = self.read[-1]
        self.read.append(Read(key, value, last.source, where or last.where))
        return value

    def peek(self, *names: str) -> Any:
        """A stated value without noting it; None where there is none, ."""
        for name in names:
            found, value = _lookup(self.given, name)
            if found:
                self._used.add(name)
                return value
        return None

    def table(self, name: str) -> Tree:
        """A table inside the parameters, none of which is noted yet."""
        return mapping(self.given, name)

    def states(self, *names: str) -> bool:
        """Whether the file has one of these names."""
        return any(_lookup(self.given, name)[0] for name in self._known(names))

    def _known(self, names: Sequence[str]) -> Sequence[str]:
        return [name for name in names if name in self.defaults.values] if self.knows_no_other else names

    def assume(self, key: str, value: Any, why: str) -> Any:
        """A value that neither file nor system gives."""
        self.read.append(Read(key, value, "assumed", why))
        return value

    def describe(self, key: str, taken_as: Any) -> None:
        """Note the plan's value for the one read last under this key, where it differs."""
        position = max(place for place, one in enumerate(self.read) if one.key == key)
        if self.read[position].value != taken_as:
            self.read[position] = replace(self.read[position], taken_as=taken_as)

    def _left(self, meanings: Mapping[str, str]) -> list[str]:
        """Values that the file states and nobody asked for, with their meaning where it is known."""
        used = {path for path in _paths(self.given) for name in self._used if f"{path}.".startswith(f"{name}.")}
        paths = [path for path in _paths(self.given) if path not in used]
        unknown = (
            "the system knows no such setting and ignores it"
            if self.knows_no_other
            else "unknown to us, and not judged"
        )
        return [
            f"{self.path}.{path}: {meanings.get(path) or meanings.get(path.split('.')[0]) or unknown}" for path in paths
        ]


def _lookup(tree: Tree, path: str) -> tuple[bool, Any]:
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


def shown(value: Any) -> str:
    """A value on one short line."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


# From what a file may hold to what a plan may hold.


def whole(name: str, value: Any) -> int:
    """A whole number, also where the file has it in quotes or with a decimal point."""
    try:
        number = int(value) if isinstance(value, str) else value
        if isinstance(number, bool) or number != int(number):
            raise ValueError
        return int(number)
    except (TypeError, ValueError, OverflowError):
        raise PlanError(f"{name}: expected a whole number in the job file, got {shown(value)}") from None


def number(name: str, value: Any) -> float:
    """A finite number, also where the file has it in quotes."""
    try:
        result = float("nan") if isinstance(value, bool) else float(value)
        if result != result or result in (float("inf"), float("-inf")):
            raise ValueError
        return result
    except (TypeError, ValueError, OverflowError):
        raise PlanError(f"{name}: expected a number in the job file, got {shown(value)}") from None


def flag(value: Any) -> bool:
    """True or false, also where the file writes it as text."""
    return value.strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)


def mapping(tree: Any, name: str) -> Tree:
    """A table inside a table; empty where there is none."""
    content = tree.get(name) if isinstance(tree, Mapping) else None
    return content if isinstance(content, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """A list, or one value as a list."""
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
