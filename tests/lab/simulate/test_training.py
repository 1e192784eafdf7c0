"""All parties in one process: none holds more than its own, and a failure ends all of them with its real cause."""

import _thread
import gc
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import gmpy2
import numpy as np
import pytest

import plumbob
from plumbob.errors import DataError, DivergenceError, TransportError
from plumbob.lab.exchange.arbiter import Arbiter
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.lab.simulate import JointModel, train
from plumbob.lab.simulate.parties import party_class
from plumbob.lab.simulate.training import connected_participants, run_together, transcript_of
from plumbob.lab.transcript import ArbiterTranscript, Transcript
from plumbob.plan import Plan
from plumbob.plan.protocols import PROTOCOLS
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.shares.training import SharesParty
from tests.protocol.support import made_up, plan_for, tables_for, trained, weights_of

Parties = dict[str, TrainingParty | Arbiter]


def reachable(*roots: object) -> Iterator[object]:
    """Everything that an object leads to; code, classes and threads are not what it holds."""
    seen: set[int] = set()
    waiting: list[object] = list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type | ModuleType | BuiltinFunctionType | threading.Thread):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, FunctionType):
            waiting += [*(cell.cell_contents for cell in item.__closure__ or ()), item.__defaults__]
        elif isinstance(item, np.ndarray):
            waiting.append(item.base)
        waiting += [] if isinstance(item, FunctionType) else gc.get_referents(item)


class Knowledge:
    """Every number, array and string of bytes that can be reached from some objects."""

    def __init__(self, *roots: object) -> None:
        found = list(reachable(*roots))
        self.arrays = [item for item in found if isinstance(item, np.ndarray) and item.dtype.kind in "fiub"]
        self.integers = {int(item) for item in found if isinstance(item, int | type(gmpy2.mpz(0)))}
        self.bytes = {bytes(item) for item in found if isinstance(item, bytes | bytearray)}
        loose = [item for item in found if isinstance(item, float)]
        self.numbers = set(loose)
        for array in self.arrays:
            if array.dtype.kind == "f":
                self.numbers |= set(array.ravel().tolist())
            elif array.dtype == np.int64:
                # Features are held as integers too.
                self.numbers |= set((array.ravel() / 2.0**16).tolist())
            if array.dtype == np.uint64 and array.ndim == 2 and len(array) < 300:
                self.integers |= {int.from_bytes(row.tobytes(), "little") for row in array}

    def share_of(self, values: Any) -> float:
        """How many of these numbers are known, as a share."""
        asked = set(np.asarray(values, dtype=float).ravel().tolist()) - {0.0, 1.0}
        return len(asked & self.numbers) / max(len(asked), 1)

    def has_labels(self, y: Any) -> bool:
        """Whether some array is the labels, or a multiple of their signs."""
        signs = 2.0 * np.asarray(y) - 1.0
        for array in self.arrays:
            for column in array.reshape(len(array), -1).T if array.ndim and array.size else ():
                is_candidate = len(column) == len(signs) and column.std() > 0
                if is_candidate and abs(np.corrcoef(column.astype(float), signs)[0, 1]) > 0.999:
                    return True
        return False

    def has_factor(self, n: int) -> bool:
        """Whether some integer gives a factor of this modulus away."""
        product = gmpy2.mpz(1)
        for value in self.integers:
            if value.bit_length() > 64 and value % n:
                product = product * value % n
        # One greatest common divisor serves for all of them.
        return bool(gmpy2.gcd(product, n) != 1)


def run_parties(plan: Plan) -> tuple[Parties, dict[str, Transcript | ArbiterTranscript]]:
    """A run whose parties are kept, through the simulation's own links."""
    tables = tables_for(plan, *made_up(columns=plan.columns))
    participants = connected_participants(plan, None, 1, {})
    parties: Parties = {
        name: party_class(plan.kind)(participant, tables[name]) if name in tables else Arbiter(participant)
        for name, participant in participants.items()
    }
    run_together({name: one.run for name, one in parties.items()}, participants)
    return parties, {name: transcript_of(one) for name, one in parties.items()}


PLANS = {
    "exchange": plan_for((2, 3), protocol="exchange", seed=0, start="normal"),
    "exchange of three": plan_for((2, 2, 2), protocol="exchange", seed=0, start="normal"),
    "arbiter": plan_for((2, 3), protocol="arbiter", seed=0, start="normal"),
    "shares": plan_for((2, 3), protocol="shares", seed=0),
    "shares, never opened": plan_for((2, 3), protocol="shares", seed=0, open="never"),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_nobody_holds_more_than_its_own(plan: Plan) -> None:
    """From a party, its transcript and its part no peer's feature, label, weight or secret key can be reached."""
    parties, transcripts = run_parties(plan)
    for name, party in parties.items():
        kept = [party.model_part()] if isinstance(party, TrainingParty) else []
        knowledge = Knowledge(party, transcripts[name], *kept)
        for other, peer in parties.items():
            if other != name:
                check_ignorance(knowledge, peer, transcripts[other])


def check_ignorance(
    knowledge: Knowledge, peer: TrainingParty | Arbiter, transcript: Transcript | ArbiterTranscript
) -> None:
    """Check that nothing of this peer is known."""
    if isinstance(peer, ExchangeParty | Arbiter):
        assert not knowledge.has_factor(peer.key.public.n)
    if not isinstance(peer, TrainingParty) or not isinstance(transcript, Transcript):
        return
    for column in peer.table.columns:
        assert knowledge.share_of(column.values) == 0
    own_columns = transcript.X[:, : len(peer.table.columns)]
    for values in own_columns.T:
        # Rounded to 16 bits, a number may be met by chance.
        assert knowledge.share_of(values) < 0.2
    assert knowledge.share_of(transcript.weights) == 0
    assert knowledge.share_of(transcript.start) == 0
    if transcript.y is not None:
        assert not knowledge.has_labels(transcript.y)
    if isinstance(peer, SharesParty):
        for share in peer.held.values():
            assert not knowledge.integers & set(share)


def test_the_search_finds_what_is_there() -> None:
    """Each party's own things are found by the same search that must not find its peers'."""
    parties, transcripts = run_parties(PLANS["shares"])
    party, transcript = parties["label"], transcripts["label"]
    assert isinstance(party, SharesParty)
    assert isinstance(transcript, Transcript)
    knowledge = Knowledge(party, transcript)
    assert knowledge.share_of(party.table.columns[0].values) == 1
    assert knowledge.share_of(transcript.X) == 1
    assert knowledge.share_of(transcript.weights) == 1
    assert knowledge.has_labels(transcript.y)
    assert knowledge.integers >= {value for share in party.held.values() for value in share}
    hidden = Knowledge(lambda: transcript)
    assert hidden.has_labels(transcript.y)
    exchanging, _ = run_parties(PLANS["exchange"])
    exchanging_party = exchanging["label"]
    assert isinstance(exchanging_party, ExchangeParty)
    assert Knowledge(exchanging_party).has_factor(exchanging_party.key.public.n)


def test_a_third_party_has_no_key_of_a_pair() -> None:
    """Of three parties, each holds the two keys that it shares and not the third."""
    parties, _ = run_parties(PLANS["exchange of three"])
    keys = {name: party.pair_masks.keys for name, party in parties.items() if isinstance(party, ExchangeParty)}
    for name, party in parties.items():
        known = Knowledge(party).bytes
        first, second = (other for other in keys if other != name)
        assert keys[name][first] in known
        assert keys[first][second] not in known


def test_no_message_waits_after_a_run() -> None:
    """Every byte that was sent was read: the links end empty."""
    parties, _ = run_parties(PLANS["exchange of three"])
    for party in parties.values():
        for channel in party.participant.channels.values():
            with pytest.raises(TransportError, match="no message arrived"):
                channel._link.receive(0.01)


def test_nothing_is_ever_pickled() -> None:
    """No file of the package imports a pickler, or lets numpy use one."""
    picklers = re.compile(
        r"^\s*(import|from) (pickle|shelve|marshal|cloudpickle|dill)\b|allow_pickle=True", re.MULTILINE
    )
    files = Path(plumbob.__file__).parent.rglob("*.py")
    assert [file.name for file in files if picklers.search(file.read_text(encoding="utf-8"))] == []


# Failures.


def still_running() -> list[str]:
    """The parties whose threads have not ended."""
    return [thread.name for thread in threading.enumerate() if thread.name in ("label", "features", "arbiter")]


class Broken(RuntimeError):
    """What a party dies of in these tests."""


@pytest.mark.parametrize("protocol", ["exchange", "arbiter", "shares"])
@pytest.mark.parametrize("victim", ["label", "features"])
def test_a_failing_party_ends_the_others_quickly(protocol: str, victim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever fails in the middle of a run, the others end at once, and the cause is what is raised."""
    played = party_class(PROTOCOLS[protocol])
    original = played.step

    def step(self: TrainingParty, batch: Any) -> Any:
        if self.participant.name == victim and batch.step == 2:
            raise Broken("in step 2")
        return original(self, batch)

    monkeypatch.setattr(played, "step", step)
    started = time.monotonic()
    with pytest.raises(Broken, match="in step 2"):
        trained(plan_for((2, 3), protocol=protocol))
    while still_running() and time.monotonic() - started < 120:
        time.sleep(0.01)
    assert not still_running()


def test_a_failing_arbiter_ends_the_parties(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third party's failure is heard by both others too."""

    def fail(*_: object) -> None:
        raise Broken("arbiter")

    monkeypatch.setattr(Arbiter, "_open", fail)
    with pytest.raises(Broken, match="arbiter"):
        trained(plan_for((2, 3), protocol="arbiter"))


def test_the_cause_is_raised_and_not_its_echo() -> None:
    """Of several failures, the first that is not only a lost peer is raised; of lost peers only, the first."""
    plan = plan_for((1, 1), protocol="exchange")
    participants = connected_participants(plan, None, 1, {})

    def lost() -> None:
        participants["label"].channels["features"]._link.receive(30)

    def broken() -> None:
        time.sleep(0.1)
        raise Broken("the cause")

    with pytest.raises(Broken, match="the cause"):
        run_together({"label": lost, "features": broken}, participants)
    again = connected_participants(plan, None, 1, {})
    again["features"].channels["label"].close()
    with pytest.raises(TransportError, match="closed"):
        run_together({"label": lambda: again["label"].channels["features"]._link.receive(30)}, again)


def test_ctrl_c_ends_all_parties() -> None:
    """An interrupt is raised on, and the parties that wait for one another end at once."""
    participants = connected_participants(plan_for((1, 1), protocol="exchange"), None, 1, {})
    ended: list[str] = []

    def wait(name: str, peer: str) -> None:
        try:
            participants[name].channels[peer]._link.receive(600)
        except TransportError as error:
            ended.append(f"{name}: {error}")

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread hears an interrupt")
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        run_together(
            {"label": lambda: wait("label", "features"), "features": lambda: wait("features", "label")}, participants
        )
    # Not for a deadline, which is far off, but because the other end was closed.
    assert sorted(error.partition(":")[0] for error in ended) == ["features", "label"]
    assert all("closed" in error for error in ended)


def test_an_interrupt_in_a_party_is_raised_too() -> None:
    """A progress callback that raises KeyboardInterrupt stops the run with it."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(plan_for((2, 3), protocol="exchange"), progress=stop)


def test_a_local_error_of_one_party_is_the_runs_error() -> None:
    """One party's data problem is raised as it is, whatever its peers made of it."""
    plan = plan_for((2, 3), protocol="exchange", scale="none")
    X, y = made_up()
    X[3, 4] = 500.0
    with pytest.raises(Exception, match="features: expected absolute values below") as caught:
        train(plan, tables_for(plan, X, y))
    assert "500" not in str(caught.value)


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_tables_must_be_aligned_and_complete(protocol: str) -> None:
    """A missing table, one too many, or rows in another order are refused before anything starts."""
    plan = plan_for((2, 3), protocol=protocol)
    tables = tables_for(plan, *made_up())
    with pytest.raises(DataError, match="expected tables of label, features"):
        train(plan, {"label": tables["label"]})
    with pytest.raises(DataError, match="expected tables of label, features"):
        train(plan, tables | {"third": tables["label"]})
    with pytest.raises(DataError, match="different order"):
        train(plan, tables | {"features": tables["features"].take(list(range(40))[::-1])})
    with pytest.raises(DataError, match="batch_size 64 is more than the 40 training rows"):
        train(plan.replace(batch_size=64), tables)


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_scores_need_the_same_rows_at_all_parties(protocol: str) -> None:
    """New rows that do not fit together are refused by the same words as in training."""
    plan = plan_for((2, 3), protocol=protocol, epochs=1)
    model, tables = trained(plan).model, tables_for(plan, made_up()[0], None)
    with pytest.raises(DataError, match="align them"):
        model.scores(tables | {"features": tables["features"].take([0, 1])})
    with pytest.raises(DataError, match="expected tables of"):
        model.scores({})


# What a run leaves.


def test_a_seed_of_zero_is_drawn_jointly() -> None:
    """Without a seed every run has batches and starting weights of its own, with one the same."""
    for protocol in ("clear", "exchange"):
        plan = plan_for((2, 3), protocol=protocol, seed=0, start="normal", epochs=1)
        first, second = trained(plan), trained(plan)
        assert first.record.seed != second.record.seed
        assert not np.array_equal(weights_of(first), weights_of(second))
        fixed = plan.replace(seed=3)
        assert np.array_equal(weights_of(trained(fixed)), weights_of(trained(fixed)))


def test_the_record_counts_what_happened() -> None:
    """Messages and bytes are those of the protocol."""
    plan = plan_for((2, 3), protocol="exchange", replies="paper")
    record = trained(plan).record
    assert (record.rows, record.steps, record.status, record.key_profile) == (40, 4, "finished", "test-only")
    label, features = record.parties
    # Before the first step: a greeting, a confirmation, a commitment to the numbers and a key.
    assert label.messages_sent == features.messages_sent == 4 + 3 * record.steps
    assert label.bytes_sent > 40 * plan.epochs * 2 * plan.key_bits // 8
    assert label.noise_draws == features.noise_draws == 0


def test_a_tests_randomness_is_recorded() -> None:
    """A run that did not draw from the kernel says so: nothing in it was secret."""
    plan = plan_for((1, 1), protocol="exchange", epochs=1, batches="full")
    assert trained(plan, roots={"label": bytes(32), "features": bytes([1]) * 32}).record.randomness == "test source"
    assert trained(plan).record.randomness == "kernel"


@pytest.mark.parametrize(
    "keys", [{"protocol": "clear"}, {"protocol": "arbiter"}, {"protocol": "shares", "open": "never"}], ids=str
)
def test_a_saved_run_gives_the_same_scores(tmp_path: Path, keys: dict[str, Any]) -> None:
    """Record, plan, parts and transcripts are read back, each party's files from its own folder."""
    plan = plan_for((2, 3), epochs=1, **keys)
    run = trained(plan)
    run.save(tmp_path)
    loaded = plumbob.load(tmp_path)
    tables = tables_for(plan, made_up()[0], None)
    # Scores that are opened from shares are rounded up or down.
    last_place = 2.0**-16 if plan.protocol == "shares" else 1e-9
    assert np.abs(loaded.scores(tables) - run.model.scores(tables)).max() <= last_place
    assert loaded.classes == (0, 1)
    assert Plan.load(tmp_path / "plan.toml") == plan
    for name in run.transcripts:
        assert Transcript.load(tmp_path / "parties" / name / "transcript.npz").party == name


def test_a_run_without_a_part_cannot_be_loaded(tmp_path: Path) -> None:
    """Where one party's part is missing there is no joint model, and the error names the file."""
    trained(plan_for((2, 3), protocol="clear")).save(tmp_path)
    (tmp_path / "parties" / "features" / "part.json").unlink()
    with pytest.raises(DataError, match=r"features.part\.json"):
        JointModel.load(tmp_path)


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_progress_is_told_once_a_step(protocol: str) -> None:
    """The callback hears every batch of the run once, with the number of steps in all."""
    heard: list[tuple[int, int, int]] = []
    plan = plan_for((2, 3), protocol=protocol)
    trained(plan, progress=lambda batch, steps: heard.append((batch.step, batch.epoch, steps)))
    assert heard == [(1, 1, 4), (2, 1, 4), (3, 2, 4), (4, 2, 4)]


def test_every_party_learns_of_divergence() -> None:
    """The party whose scores run away stops the run for all."""
    with pytest.raises(DivergenceError):
        trained(plan_for((2, 2, 1), protocol="exchange", learning_rate=900.0, epochs=4))


@pytest.mark.parametrize(
    ("protocol", "roots", "is_stamped"),
    [
        ("clear", {}, True),
        ("exchange", {}, False),
        ("exchange", {"label": bytes(32), "features": bytes([1]) * 32}, True),
    ],
)
def test_seeded_noise_is_stamped(protocol: str, roots: dict[str, bytes], is_stamped: bool) -> None:
    """Noise that anybody can draw again is for experiments, and the record says that the run is not private."""
    plan = plan_for((2, 3), protocol=protocol, noise="std", noise_std=1.0, row_norm=1.0, epochs=1)
    notes = trained(plan, roots=roots).record.notes
    assert any("not private" in note for note in notes) == is_stamped
