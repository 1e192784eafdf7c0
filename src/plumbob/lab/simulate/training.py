"""All parties in one process: each a thread with its own table, keys and channels, talking in the same bytes as on a
network. `clear` has no messages and is calculated directly.

    run = train(plan, tables)      # tables: one aligned Table for each party with columns
    run.model.scores(tables)       # joint scores of new rows
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Draws, new_root
from plumbob.crypto.kernel import cores
from plumbob.data import Shard, Table, all_steps, seed_from_int
from plumbob.data.cells import inputs_of
from plumbob.errors import DataError, TransportError
from plumbob.lab.clear import train_clear
from plumbob.lab.exchange import engines
from plumbob.lab.exchange.arbiter import Arbiter
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.exchange.primitive import PaillierParticipant
from plumbob.lab.simulate.memory_link import linked_pair
from plumbob.lab.simulate.parties import AnyParty, party_at, party_class, play
from plumbob.lab.transcript import ArbiterTranscript, Transcript, flipped_labels
from plumbob.plan import Plan
from plumbob.protocol.account import FirstCommitment, SessionAccount
from plumbob.protocol.channel import Channel
from plumbob.protocol.outcome import account_record, party_record, run_record
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep, TrainingParty
from plumbob.protocol.prediction import begin_session
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder

Result = TypeVar("Result")
NOT_PRIVATE = "Noise, or flipped labels, came from a seed: an experiment, not private."

SECONDS_TO_STOP = 30.0  # After Ctrl-C, for what a party is calculating just then.


@dataclass(frozen=True, repr=False, eq=False)
class JointModel:
    """The parts of all parties, for whoever has them all."""

    plan: Plan
    parts: dict[str, ModelPart]

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {len(part.encoder.names)}" for name, part in self.parts.items())
        return f"JointModel({self.plan.protocol}; columns: {columns})"

    def scores(self, tables: Mapping[str, Table]) -> Vector:
        """Joint scores of new rows; the tables hold the same rows in the same order."""
        _refuse_unaligned(self.plan, tables)
        if any(part.weights is None for part in self.parts.values()):
            return scores_on_shares(self, tables)
        total: Vector = np.sum([part.partial_scores(tables[name]) for name, part in self.parts.items()], axis=0)
        return total

    @property
    def classes(self) -> tuple[Any, Any]:
        """The two classes, the second one positive."""
        classes = self.parts[self.plan.label_party.name].classes
        if classes is None:
            raise DataError("the label party's part names no classes; was it saved by another version?")
        return classes

    def save(self, folder: Path) -> None:
        """Save each part in its party's own folder."""
        place = RunFolder(folder)
        for name, part in self.parts.items():
            place.make_party_folder(name)
            part.save(place.part_file(name))

    @classmethod
    def load(cls, folder: Path) -> "JointModel":
        """Load a model from a folder that holds all parts of a run."""
        place = RunFolder(folder)
        plan = place.plan()
        return cls(plan, {party.name: ModelPart.load(place.part_file(party.name)) for party in plan.learners})


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """The result of a simulated run: the record that may be shown, the transcripts and the model."""

    record: RunRecord
    transcripts: dict[str, Transcript]
    """The transcript of each party with columns."""
    model: JointModel
    arbiter: ArbiterTranscript | None = None
    parties: dict[str, AnyParty] = field(default_factory=dict)
    """The party objects themselves, for whoever must look inside: an active attack keeps there what it read."""
    held_out_key: bytes = b""
    """The key that drew the held-out rows, where it was not the run's seed."""

    def save(self, folder: Path) -> None:
        """Save record, plan, parts and transcripts; a party's own files lie in its own folder."""
        self.model.save(folder)
        place = RunFolder(folder)
        for name, transcript in self.transcripts.items():
            place.make_party_folder(name)
            transcript.save(place.transcript_file(name))
        if self.arbiter is not None:
            place.make_party_folder(self.arbiter.party)
            self.arbiter.save(place.transcript_file(self.arbiter.party))
        place.keep(self.record)


def train(
    plan: Plan,
    tables: Mapping[str, Table],
    *,
    paillier: PaillierEngine | None = None,
    cluster: str = "",
    jobs: int | None = None,
    roots: Mapping[str, bytes] = MappingProxyType({}),
    progress: AfterStep | None = None,
    instead: Mapping[str, type[TrainingParty]] = MappingProxyType({}),
    keep_bytes: bool = False,
    held_out_key: bytes = b"",
    shards: Mapping[str, Shard] = MappingProxyType({}),
) -> Run:
    """Train as the plan says. `tables` are aligned: the same ids in the same order.

    `instead` gives a party's part to another class, one that overrides a step: that is what an active attack is.
    `roots` gives what a party's draws begin from, where a test wants it to draw the same again; the record says so.
    `keep_bytes` keeps every message, ciphertexts included, in the transcripts' `frames`.
    `held_out_key` draws the held-out rows by their ids, the same in every run with this key; without one, each run
    draws others.
    `shards` are all parties' rows where they are prepared already; the tables then say whose they are.
    """
    _refuse_unaligned(plan, tables)
    started = time.perf_counter()
    begun = {party.name: roots.get(party.name) or new_root() for party in plan.parties}
    if not plan.kind.is_encrypted:
        root = begun[plan.label_party.name]
        run = _train_clear(plan, tables, Draws.begin(root, not roots), progress, held_out_key, shards)
    else:
        participants = connected_participants(plan, paillier, jobs, begun, tables, cluster=cluster, is_kernel=not roots)
        participants = {name: replace(one, held_out_key=held_out_key) for name, one in participants.items()}
        if keep_bytes:
            _keep_bytes(participants)
        parties = _parties_at(participants, tables, progress, _on_prepared_rows(plan, shards, instead))
        tasks = {name: partial(play, party) for name, party in parties.items()}
        run_together(tasks, participants)
        run = _finish(plan, parties)
    seconds = time.perf_counter() - started
    sides = [
        replace(one, inputs=inputs_of(tables[one.name])) if one.name in tables else one for one in run.record.parties
    ]
    record = replace(run.record, seconds=seconds, parties=sides, transcripts=run.transcripts)
    return replace(run, record=record, held_out_key=held_out_key)


def _refuse_unaligned(plan: Plan, tables: Mapping[str, Table]) -> None:
    expected = [party.name for party in plan.learners]
    if sorted(tables) != sorted(expected):
        raise DataError(f"expected tables of {', '.join(expected)}, got {', '.join(tables) or 'none'}")
    if len({table.ids for table in tables.values()}) != 1:
        raise DataError("the tables hold different rows, or in a different order; align them first")


def _train_clear(
    plan: Plan,
    tables: Mapping[str, Table],
    draws: Draws,
    progress: AfterStep | None,
    held_out_key: bytes,
    prepared: Mapping[str, Shard],
) -> Run:
    draws.open(b"clear", b"")
    seed = seed_from_int(plan.seed) if plan.seed else draws.of("seed").draw(32)
    transcripts, shards = train_clear(plan, tables, seed, progress, held_out_key, prepared)
    named = {transcript.party: transcript for transcript in transcripts}
    parts = {
        name: ModelPart.of(plan.party(name), shards[name], transcript.weights, tables[name].classes)
        for name, transcript in named.items()
    }
    label = named[plan.label_party.name]
    records = [party_record(plan, name, part) for name, part in parts.items()]
    record = run_record(plan, "none", draws, records, len(label.X), label.seed)
    record = replace(record, notes=_notes(plan, draws))
    return Run(record, named, JointModel(plan, parts))


def _parties_at(
    participants: Mapping[str, Participant],
    tables: Mapping[str, Table],
    progress: AfterStep | None,
    instead: Mapping[str, type[TrainingParty]],
) -> dict[str, AnyParty]:
    """The party at each participant; only the label party reports progress."""
    return {
        name: party_at(
            one, tables.get(name), progress if name == one.plan.label_party.name else None, instead.get(name)
        )
        for name, one in participants.items()
    }


def _on_prepared_rows(
    plan: Plan, shards: Mapping[str, Shard], instead: Mapping[str, type[TrainingParty]]
) -> dict[str, type[TrainingParty]]:
    """Each party's class, which takes its prepared rows as they are."""

    def prepared(honest: type[TrainingParty], shard: Shard) -> type[TrainingParty]:
        class PreparedParty(honest):  # type: ignore[valid-type, misc]  # The class is chosen by the plan.
            def own_rows(self) -> Shard:
                return shard

        return PreparedParty

    usual = {name: instead.get(name) or party_class(plan.kind) for name in shards}
    return {**instead, **{name: prepared(usual[name], shard) for name, shard in shards.items()}}


def _finish(plan: Plan, parties: dict[str, AnyParty]) -> Run:
    """The result of a run in which everybody finished."""
    ends = [transcript_of(party) for party in parties.values()]
    transcripts = {end.party: end for end in ends if isinstance(end, Transcript)}
    arbiter = next((end for end in ends if isinstance(end, ArbiterTranscript)), None)
    learners = {name: party for name, party in parties.items() if isinstance(party, TrainingParty)}
    for party in learners.values():
        party.refuse_result()
    parts = {name: party.model_part() for name, party in learners.items()}
    records = [
        party_record(plan, name, parts.get(name), party.participant, getattr(party, "noise_draws", 0))
        for name, party in parties.items()
    ]
    label = transcripts[plan.label_party.name]
    reporter = parties[label.party].participant
    record = run_record(plan, parties[label.party].engine_name, reporter.draws, records, len(label.X), label.seed)
    record = replace(record, account=account_record(reporter), notes=_notes(plan, reporter.draws))
    return Run(record, transcripts, JointModel(plan, parts), arbiter, parties)


def _notes(plan: Plan, draws: Draws) -> list[str]:
    """What a record says of noise or flipped labels that came from a seed: anybody can draw them again."""
    has_draws = plan.noise != "none" or plan.label_flip_epsilon > 0
    is_seeded = not plan.kind.is_encrypted or not draws.is_kernel
    return [NOT_PRIVATE] if has_draws and is_seeded else []


def transcript_of(party: AnyParty) -> Transcript | ArbiterTranscript:
    """What a party saw in a finished run."""
    name, plan, frames = party.participant.name, party.participant.plan.to_toml(), _frames(party.participant)
    if isinstance(party, Arbiter):
        return ArbiterTranscript(name, plan, party.sums, frames)
    sums = np.zeros((all_steps(party.training_rows, party.plan), 0))
    noise: list[Vector] = []
    if isinstance(party, GradientParty):
        sums, noise = np.array(party.sums).reshape(len(party.sums), -1), party.returned_noise
    return Transcript(
        party=name,
        plan=plan,
        seed=party.session.seed,
        X=party.shard.X,
        y=party.shard.y,
        start=party.start,
        sums=sums,
        weights=party.weights,
        own_noise=np.array(noise) if noise else None,
        flipped=flipped_labels(party.plan, party.shard.y, party.all_signs),
        frames=frames,
    )


def _keep_bytes(participants: Mapping[str, Participant]) -> None:
    for participant in participants.values():
        for channel in participant.channels.values():
            channel.recording = []


def _frames(participant: Participant) -> dict[str, list[bytes]]:
    return {peer: channel.recording for peer, channel in participant.channels.items() if channel.recording is not None}


def connected_participants(
    plan: Plan,
    paillier: PaillierEngine | None,
    jobs: int | None,
    roots: Mapping[str, bytes] = MappingProxyType({}),
    tables: Mapping[str, Table] = MappingProxyType({}),
    *,
    cluster: str = "",
    is_kernel: bool = True,
) -> dict[str, Participant]:
    """A participant for every party, with a channel to every other one; the cores are shared out among them.

    They commit to roots and rows as on a network. Nobody signs.
    """
    names = [party.name for party in plan.parties]
    channels: dict[str, dict[str, Channel]] = {name: {} for name in names}
    for first, second in combinations(names, 2):
        ends = linked_pair()
        channels[first][second] = Channel(second, ends[0])
        channels[second][first] = Channel(first, ends[1])
    threads = max(1, (jobs or cores()) // len(plan.learners))

    def participant(name: str) -> Participant:
        root = roots.get(name) or new_root()
        account = SessionAccount(FirstCommitment.to(root, tables.get(name)).hash())
        common = (name, plan, channels[name], Draws.begin(root, is_kernel), threads)
        if plan.kind.keys != "paillier":
            return Participant(*common, cluster, account=account)
        return PaillierParticipant(*common, account=account, paillier=paillier or engines.choose(threads=threads))

    return {name: participant(name) for name in names}


def run_together(
    tasks: Mapping[str, Callable[[], Result]], participants: Mapping[str, Participant]
) -> dict[str, Result]:
    """Run each task in its own thread. The first real failure is raised, not that others then lost their peer."""
    results: dict[str, Result] = {}
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            results[name] = tasks[name]()
        except BaseException as error:
            failures.append(error)
            _hang_up(participants[name])
        finally:
            ended[name].set()

    # Events, because a thread's own join, once interrupted, takes the thread for ended.
    ended = {name: threading.Event() for name in tasks}
    for name in tasks:
        threading.Thread(target=work, args=(name,), name=name, daemon=True).start()
    try:
        for event in ended.values():
            # With a limit, because a signal that another thread happens to get does not wake this one.
            while not event.wait(0.2):
                pass
    except KeyboardInterrupt:
        for participant in participants.values():
            _hang_up(participant)
        # Each notices at its next message. An interpreter that ends while a thread is in the kernel is aborted.
        for event in ended.values():
            event.wait(SECONDS_TO_STOP)
        raise
    if failures:
        raise next((error for error in failures if not isinstance(error, TransportError)), failures[0])
    # In the order of the tasks, not in that of the threads' ends.
    return {name: results[name] for name in tasks}


def _hang_up(participant: Participant) -> None:
    for channel in participant.channels.values():
        channel.close()


def scores_on_shares(model: JointModel, tables: Mapping[str, Table]) -> Vector:
    """Scores from weights that stay shared: the protocol's prediction, which opens scores to the label party only."""
    if not len(tables[model.plan.label_party.name]):
        return np.zeros(0)
    participants = connected_participants(model.plan, None, None, tables=tables)
    tasks = {name: partial(score_all, one, tables[name], model.parts[name]) for name, one in participants.items()}
    scores = run_together(tasks, participants)[model.plan.label_party.name]
    if scores is None:
        raise DataError("the label party got no scores; is its part from this run?")
    return scores


def score_all(participant: Participant, table: Table, part: ModelPart) -> Vector | None:
    """One party's side of a prediction of all rows of its table; the label party gets their scores."""
    scoring, rows = begin_session(participant, table, part), range(len(table))
    if participant.name == participant.plan.label_party.name:
        return scoring.collect(1, rows)
    scoring.answer(1, rows)
    return None
