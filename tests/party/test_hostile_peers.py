"""What a peer may cost a party: no disk without a query, no minutes of parsing, no second draft, no line of its own."""

import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from plumbob import party, terminal
from plumbob.caller import QUIET
from plumbob.data.encoder import encoded_width
from plumbob.errors import DataError, PlanError, PlumbobError, RemoteProtocolError
from plumbob.party import proposal
from plumbob.party.evidence import FOLDER, SESSIONS
from plumbob.party.home import Home
from plumbob.party.sealing import PUBLIC_FILE
from plumbob.party.seals import FOLDER as SEALS
from plumbob.plan import Plan
from plumbob.protocol.messages import Kind
from plumbob.protocol.prediction import Asker
from plumbob.record import RunRecord
from plumbob.run_folder import LARGEST_RECORD, RunFolder
from tests.party.kept import accountable
from tests.party.processes import PATIENCE
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for

SPLIT = (2, 3)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Organisations:
    """Two parties that keep evidence, after training."""
    folder = tmp_path_factory.mktemp("trained")
    plan, auditors = accountable(Plan.for_columns(SPLIT, epochs=1, test_share=0.0, most_rows=1000), folder)
    settings = {name: {"evidence_key": str(folder / f"auditor-{name}" / PUBLIC_FILE)} for name in auditors}
    organisations = Organisations(plan, tables_for(plan, *made_up(40, plan.columns)), folder, settings=settings)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: party.train(organisations.home(name), plan, caller=QUIET), auditors))
    return organisations


def folders_of(organisations: Organisations, name: str) -> list[str]:
    """Every file that a prediction may leave, apart from a run's own."""
    run = organisations.run_folder(name)
    places = [*run.glob(f"{SESSIONS}/**/*"), *(run / SEALS).glob("*"), *run.parent.glob("predict-*")]
    return sorted(str(place.relative_to(run.parent)) for place in places)


def predicted(organisations: Organisations, **keys: Any) -> list[Any]:
    """Both sides' `party predict`."""
    homes = {name: Home.open(organisations.home(name)) for name in organisations.names}
    out = organisations.folder / "scores.csv"
    with ThreadPoolExecutor(2) as pool:
        answered = pool.submit(party.predict, homes["features"], organisations.plan, caller=QUIET)
        asked = party.predict(homes["label"], organisations.plan, out=out, caller=QUIET, **keys)
        return [asked, answered.result(PATIENCE)]


def test_an_empty_session_leaves_nothing(trained: Organisations, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label party that asks for nothing, again and again, costs its peer no disk."""
    before = folders_of(trained, "features")

    def ask_nothing(self: Asker, rows: Any, to_follow: int = 0) -> Any:
        raise DataError("nothing asked")

    with monkeypatch.context() as patch:
        patch.setattr(Asker, "scores", lambda self, rows, to_follow=0: [0.0] * len(rows))
        predicted(trained)
    assert folders_of(trained, "features") == before
    with monkeypatch.context() as patch, suppress(PlumbobError):
        patch.setattr(Asker, "scores", ask_nothing)
        predicted(trained)
    assert [name for name in folders_of(trained, "features") if SEALS not in name] == [
        name for name in before if SEALS not in name
    ]


def test_nobody_met_leaves_no_folder(trained: Organisations) -> None:
    """A label party whose peer is away finds its runs as they were."""
    before = folders_of(trained, "label")
    with pytest.raises(PlumbobError):
        party.predict(trained.home("label"), trained.plan, wait=0.2, out=trained.folder / "x.csv", caller=QUIET)
    assert folders_of(trained, "label") == before


def test_evidence_begins_with_the_first_query(trained: Organisations) -> None:
    """A session in which rows were asked for has all of it: the list as it was read, too."""
    predicted(trained, ids=trained.tables["label"].ids[:2])
    for name in trained.names:
        [session] = (trained.run_folder(name) / SESSIONS).iterdir()
        assert {"columns", "root", "brought", "messages-1", "rows-1"} <= {
            file.name for file in (session / FOLDER).iterdir()
        }


# Limits before parsing.


BOMBS = {
    "dots": ".".join("a" * 30_000) + " = 1",
    "quoted dots": '"a".' * 9 + '"a" = 1',
    "spaced dots": " . ".join("a" * 10) + " = 1",
    "table": "[" + ".".join("a" * 30_000) + "]",
    "inline": "a = { " + ".".join("b" * 20) + " = 1 }",
    "long": "# " + "x" * (1 << 16) + "\nversion = 2",
    "brackets": "a = " + "[" * 30_000,
    "tables in tables": "a = " + "{a=" * 20_000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_plan_that_takes_minutes_to_parse_is_refused(text: str) -> None:
    """By its length, or by a key with more parts than any plan has; nothing is parsed before."""
    with pytest.raises(PlanError):
        Plan.from_toml(text)
    with pytest.raises(RemoteProtocolError, match="sent no plan that we can read"):
        proposal._unpack(zlib.compress(text.encode()), "bank")


def test_dots_in_words_and_numbers_are_no_keys() -> None:
    """A title may have as many as it likes, and so may a list of numbers."""
    plan = Plan.for_columns(SPLIT).replace(title="a.b.c.d.e.f.g.h.i.j.k")
    assert Plan.from_toml(plan.to_toml() + "# " + "a." * 30).hash() == plan.hash()


def test_a_record_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    """Nor is a peer's bomb inside one that is not."""
    run = RunFolder(tmp_path)
    run.record_file.write_text(" " * LARGEST_RECORD + "{}")
    with pytest.raises(DataError, match="larger than"):
        run.record()
    stored = {"plan": BOMBS["dots"]}
    with pytest.raises(DataError):
        RunRecord.from_dict(stored, "run.json")


# Proposals.


@pytest.mark.parametrize("change", [{"rare": 2}, {"most_rows": 7}, {"title": "another"}, {"bins": 10}])
def test_the_plan_is_the_draft(change: dict[str, Any]) -> None:
    """A label party that fills in more than encoding, noise and columns, or a width that is not ours, is refused."""
    plan = Plan.for_columns(SPLIT)
    table = tables_for(plan, *made_up(40, plan.columns))["features"]

    class OneChannel:
        peer = "label"

        def __init__(self, draft: Plan, final: Plan) -> None:
            self.said = {
                Kind.PROPOSAL_DRAFT: proposal._pack(draft),
                Kind.PROPOSAL_PLAN: bytes(24) + proposal._pack(final),
            }

        def receive(self, kind: Kind, step: int, size: int | None) -> bytes:
            return self.said[kind]

        def send(self, kind: Kind, step: int, body: bytes) -> None:
            assert len(body) == 8 * 8

    brought = proposal.Proposal(table, False, "", lambda parties, sizes: (plan, None))
    honest = plan.replace(features=[2, encoded_width(table, plan)])
    accepted, _ = proposal._accept("features", brought, OneChannel(plan, honest))  # type: ignore[arg-type]  # Not the net.
    assert accepted.hash() == honest.hash()
    with pytest.raises(RemoteProtocolError, match=r"not the draft|another number of columns"):
        proposal._accept("features", brought, OneChannel(plan, honest.replace(**change)))  # type: ignore[arg-type]  # The same.


# Words on a terminal.


CLAIM = "plumbob: all is well"


def test_a_peers_words_make_no_line_of_their_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In an error about a peer or its plan, in a result and in progress."""
    terminal.complain(f"plumbob: {RemoteProtocolError(f'bank: sent no plan (x{chr(10)}{CLAIM})')}")
    for name in (f"a\\n{CLAIM}", f"parties.a\\n{CLAIM}"):
        with pytest.raises(PlanError) as caught:
            Plan.from_toml(f'"{name}" = 1\nversion = 2\n[parties]\n"b\\n{CLAIM}" = 5\n[model]\n"c\\n{CLAIM}" = 5\n')
        terminal.complain(f"plumbob: {caught.value}")
    terminal.print_line(f"statement    the auditor signed: x\n{CLAIM}")
    terminal.print_progress(Console(stderr=True), f"waiting for bank\n{CLAIM}")
    heard = capsys.readouterr()
    assert CLAIM in heard.out
    assert CLAIM in heard.err
    assert not [line for line in (heard.out + heard.err).splitlines() if line.strip().startswith(CLAIM)]
