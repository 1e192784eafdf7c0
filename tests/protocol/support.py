"""What several tests of the protocols need: small data and plans, parties whose every message is seen or changed."""

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import Draws
from plumbob.data import Table, split_array
from plumbob.lab import datasets
from plumbob.lab.audit.again import in_clear
from plumbob.lab.exchange.primitive import PaillierParticipant
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.memory_link import linked_pair
from plumbob.lab.simulate.parties import AnyParty, party_at, play
from plumbob.lab.simulate.training import transcript_of
from plumbob.lab.transcript import Transcript
from plumbob.net import Data, Link
from plumbob.net.identity import Identity
from plumbob.party.signature import MessageSigner
from plumbob.plan import PAPER, Plan
from plumbob.protocol.account import SessionAccount
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind, Message, decode
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import TrainingParty

Labels = NDArray[np.int64]
Tables = dict[str, Table]

MAKING_SIGNERS = threading.Lock()
PATIENCE = 120.0  # Seconds: a test that waits longer than this hangs.


def plan_for(split: Sequence[int], **keys: Any) -> Plan:
    """A plan with keys that are too short for anything but tests, and just long enough to pack two sums."""
    small: dict[str, Any] = {"seed": 7, "epochs": 2}
    if keys.get("protocol", "shares") == "shares":
        # Most tests look at weights; those of closed ones say so.
        small["open"] = "own"
    else:
        small |= {"test_only_keys": True, "key_bits": 512, "batch_size": 16}
    # What encrypted residuals are compared with.
    if keys.get("protocol") == "clear":
        small |= PAPER
    return Plan.for_columns(split, **(small | keys))


def shares_plan(split: Sequence[int] = (2, 3), **keys: Any) -> Plan:
    """A short run of `shares` whose weights are opened."""
    return plan_for(split, **({"epochs": 4} | keys))


def made_up(rows: int = 40, columns: int = 5) -> tuple[Matrix, Labels]:
    """Rows with some signal in them, always the same."""
    generator = np.random.default_rng(20)
    X = generator.normal(size=(rows, columns)) * np.linspace(0.5, 3.0, columns)
    scores = X @ np.linspace(-1.0, 1.0, columns) + generator.normal(size=rows)
    return X, (scores > 0).astype(np.int64)


def cut(name: str, rows: int, columns: int) -> tuple[Matrix, Labels]:
    """The first rows, and evenly spaced columns, of a bundled data set."""
    X, y = datasets.load(name)
    kept = np.linspace(0, X.shape[1] - 1, columns).astype(int)
    return X[:rows, kept], y[:rows].astype(np.int64)


def tables_for(plan: Plan, X: Matrix, y: Labels | None) -> Tables:
    """One table for each party with columns."""
    tables = split_array(X, y, [party.features for party in plan.learners])
    if plan.row_weights:
        tables = (replace(tables[0], weights=np.linspace(0.0, 1.0, len(X))), *tables[1:])
    return {party.name: table for party, table in zip(plan.learners, tables, strict=True)}


def trained(plan: Plan, data: tuple[Matrix, Labels] | None = None, **options: Any) -> Run:
    """A whole run on these data, or on made-up ones."""
    X, y = data or made_up(columns=plan.columns)
    return train(plan, tables_for(plan, X, y), **options)


def weights_of(run: Run) -> Vector:
    """The weights of all parties, one after the other."""
    return np.concatenate([run.transcripts[party.name].weights for party in run.model.plan.learners])


def distance_from_clear(plan: Plan, data: tuple[Matrix, Labels] | None = None) -> float:
    """The largest difference between a protocol's weights and those of `clear`."""
    difference = weights_of(trained(plan, data)) - weights_of(trained(in_clear(plan), data))
    return float(np.abs(difference).max())


@dataclass
class Wire:
    """Every message of a run, in the order of sending, and what a test does to them on their way."""

    tamper: Callable[[str, str, Message], bytes | None] | None = None
    log: list[tuple[str, str, Message]] = field(default_factory=list)
    grown: threading.Condition = field(default_factory=threading.Condition)
    """Notified of each message in the log."""

    def bodies(self, kind: Kind, sender: str | None = None, receiver: str | None = None) -> list[bytes]:
        return [message.body for message in self.messages(kind, sender, receiver)]

    def messages(self, kind: Kind, sender: str | None = None, receiver: str | None = None) -> Iterator[Message]:
        for source, target, message in self.log:
            if message.kind is kind and sender in (None, source) and receiver in (None, target):
                yield message


def changing(
    kind: Kind, change: Callable[[bytes], bytes], sender: str = "features", receiver: str | None = None
) -> Wire:
    """A wire on which one kind of message of one party has another body, toward one peer or all."""

    def tamper(source: str, target: str, message: Message) -> bytes | None:
        if (source, message.kind) != (sender, kind) or receiver not in (None, target):
            return None
        return replace(message, body=change(message.body)).encode()

    return Wire(tamper)


def mirroring(kind: Kind, of: Kind | None = None) -> Wire:
    """A wire on which `features` says back, as one kind of message, what `label` said as this or another one."""
    wire = Wire()

    def tamper(source: str, _target: str, message: Message) -> bytes | None:
        if (source, message.kind) != ("features", kind):
            return None

        def ours() -> list[bytes]:
            return [body for body in wire.bodies(of or kind, "label") if len(body) == len(message.body)]

        with wire.grown:
            found = wire.grown.wait_for(ours, PATIENCE)
        return replace(message, body=found[0]).encode() if found else None

    wire.tamper = tamper
    return wire


class TappedLink:
    """A link whose messages a `Wire` sees and may replace."""

    def __init__(self, inner: Link, wire: Wire, sender: str, receiver: str) -> None:
        self._inner = inner
        self._wire = wire
        self._ends = sender, receiver

    def send(self, *parts: Data) -> None:
        data = b"".join(parts)
        message = decode(data)
        with self._wire.grown:
            self._wire.log.append((*self._ends, message))
            self._wire.grown.notify_all()
        changed = self._wire.tamper(*self._ends, message) if self._wire.tamper is not None else None
        self._inner.send(data if changed is None else changed)

    def receive(self, seconds: float) -> Data:
        return self._inner.receive(seconds)

    def close(self) -> None:
        self._inner.close()


def signers_of(names: tuple[str, ...]) -> dict[str, MessageSigner]:
    """Everybody's real signatures, under certificates that all of them know; the same for all who ask."""
    with MAKING_SIGNERS:
        return _made_signers(names)


@cache
def _made_signers(names: tuple[str, ...]) -> dict[str, MessageSigner]:
    with tempfile.TemporaryDirectory() as folder:
        identities = {name: Identity.create(Path(folder) / name, name) for name in names}
    certificates = {name: identity.certificate for name, identity in identities.items()}
    return {name: MessageSigner(identity, certificates) for name, identity in identities.items()}


def seated(
    plans: Plan | Mapping[str, Plan],
    wire: Wire | None = None,
    draws: Mapping[str, Draws] | None = None,
    *,
    signed: bool = False,
) -> dict[str, Participant]:
    """A participant for every party, each with a plan and draws of its own if the test wants that.

    `signed`: they sign before every opening, as on a network.
    """
    plan_of = plans if isinstance(plans, Mapping) else {party.name: plans for party in plans.parties}
    names = list(plan_of)
    channels: dict[str, dict[str, Channel]] = {name: {} for name in names}
    tap = wire or Wire()
    for first, second in combinations(names, 2):
        here, there = linked_pair()
        channels[first][second] = Channel(second, TappedLink(here, tap, first, second), PATIENCE)
        channels[second][first] = Channel(first, TappedLink(there, tap, second, first), PATIENCE)
    signers = signers_of(tuple(names)) if signed else {}
    return {
        name: (PaillierParticipant if plan_of[name].kind.keys == "paillier" else Participant)(
            name,
            plan_of[name],
            channels[name],
            (draws or {}).get(name) or Draws.begin(),
            account=SessionAccount(signer=signers.get(name)),
        )
        for name in names
    }


def outcomes(
    tasks: Mapping[str, Callable[[], Any]], participants: Mapping[str, Participant] = MappingProxyType({})
) -> dict[str, Any]:
    """What each task returned or raised, each in a thread of its own; who fails hangs up."""
    found: dict[str, Any] = {}

    def work(name: str) -> None:
        try:
            found[name] = tasks[name]()
        except Exception as error:
            found[name] = error
            for channel in participants[name].channels.values() if name in participants else ():
                channel.close()

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return found


def together(participants: Mapping[str, Participant], task: Callable[[Participant], Any]) -> dict[str, Any]:
    """What the same task returned or raised at every participant."""
    return outcomes({name: partial(task, participant) for name, participant in participants.items()}, participants)


@dataclass
class Played:
    """A run whose parties are kept."""

    parties: dict[str, AnyParty]
    ends: dict[str, Any]
    participants: dict[str, Participant]
    wire: Wire

    def transcript(self, name: str) -> Transcript:
        assert self.ends[name] is None, self.ends[name]
        transcript = transcript_of(self.parties[name])
        assert isinstance(transcript, Transcript)
        return transcript


def played(
    plan: Plan,
    data: tuple[Matrix, Labels] | None = None,
    wire: Wire | None = None,
    draws: Mapping[str, Draws] | None = None,
    instead: Mapping[str, type[TrainingParty]] = MappingProxyType({}),
    *,
    signed: bool = False,
    quality: bool = False,
) -> Played:
    """All parties of a plan, each in its thread, over tapped links; `instead` as in a simulation.

    `quality`: held-out rows are scored at the end, as between organisations.
    """
    X, y = data or made_up(columns=plan.columns)
    tables, tap = tables_for(plan, X, y), wire or Wire()
    participants = seated(plan, tap, draws, signed=signed)
    parties = {
        name: party_at(participant, tables.get(name), None, instead.get(name))
        for name, participant in participants.items()
    }
    tasks = {name: partial(play, party) if quality else party.run for name, party in parties.items()}
    ends = outcomes(tasks, participants)
    return Played(parties, ends, participants, tap)


def uniformity(data: bytes) -> float:
    """The p-value of a chi-squared test that these bytes are uniform; each half of a byte is one draw."""
    from scipy.stats import chisquare

    both = np.frombuffer(data, dtype=np.uint8)
    counts = np.bincount(np.concatenate([both & 15, both >> 4]), minlength=16)
    return float(chisquare(counts).pvalue)


def has_deviation(noise: ArrayLike, deviation: float) -> bool:
    """Whether normal noise agrees with a deviation: a right one is turned away once in 10**8 runs.

    Squares in units of the variance add up to a chi-square, so the bound follows from how many values there are. From
    160 values on, noise of 0.6 of the deviation, as where three parties share it, is noticed in 997 of 1,000 runs.
    """
    from scipy.stats import chi2

    units = np.asarray(noise) / deviation
    lowest, highest = chi2.ppf((0.5e-8, 1 - 0.5e-8), units.size)
    return bool(lowest < np.square(units).sum() < highest)
