"""The verbs of `plumbob party`: what can be typed, and what `Home` offers in Python. The work is in the modules beside.

Every verb opens the party's folder and can be stopped and started again.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from plumbob.verb import CONSISTENT, DONE, Argument, Caller, Flag, Result, Verb, flags

if TYPE_CHECKING:
    from plumbob.data import ColumnChoices

SET_UP, AGREE, RUN, LOOK_AFTER = "Set up", "Agree on a plan", "Run", "Look after runs"
USUAL_DAYS = 730

OwnTable = Annotated[str | Path | None, Flag("Use this table instead of the one named in party.toml.", is_file=True)]
MostAnsweredRows = Annotated[
    int | None,
    Flag(
        "Answer at most this many rows for this plan, across all sessions (default: most_rows in party.toml); "
        "the plan's own limit holds as well.",
        low=1,
    ),
]


@dataclass(frozen=True)
class FolderVerb(Verb):
    """A verb of one organisation, in its folder."""

    home: flags.HomeFolder = field(default=flags.HOME, kw_only=True)


@dataclass(frozen=True)
class PartyVerb(FolderVerb):
    """A verb that changes something or meets peers: what it did stands in the folder's log."""

    def noted(self) -> AbstractContextManager[Callable[[Result], None]]:
        from plumbob.party.log import logged_verb

        return logged_verb(self.home, self.words.split()[-1], getattr(self, "plan", None))


@dataclass(frozen=True)
class Init(
    PartyVerb,
    words="party init",
    section=SET_UP,
    example="party init bank --data bank.csv --id id --label default --listen 0.0.0.0:7700",
):
    """Set up your side: key, certificate, settings.

    Shows a summary of your table, and your invitation for peers.
    """

    name: Annotated[str, Argument("This party's name, as it appears in plans.", "NAME")]
    _: KW_ONLY
    listen: Annotated[
        str, Flag("Address to listen on; without it, this party only makes outgoing connections.", "HOST:PORT")
    ] = ""
    address: Annotated[
        str, Flag("Address peers should connect to, written into invitations (default: --listen).", "HOST:PORT")
    ] = ""
    proxy: Annotated[str, Flag("Dial out through this HTTP proxy.", "URL")] = ""
    data: Annotated[str | Path | None, Flag("File of this party's table.", is_file=True)] = None
    id_words: Annotated[
        Sequence[str],
        Flag(
            "Column that identifies each row; PARTY=COLUMN for every party works too (default: id).",
            "[PARTY=]COLUMN",
            "--id",
        ),
    ] = ()
    label_column: Annotated[str, Flag("Column that holds the label, if this party has it.", "COLUMN", "--label")] = ""
    days: Annotated[int, Flag("Validity of the certificate, in days.", low=1)] = USUAL_DAYS
    passphrase: Annotated[
        bool,
        Flag("Encrypt the key. Commands then ask for the passphrase, or read it from PLUMBOB_PASSPHRASE."),
    ] = False
    table: flags.TableFlags = flags.NOTHING_SAID
    reading: "ColumnChoices | None" = None
    """Replaces the flags about the table, in Python."""

    def do(self, caller: Caller) -> Result:
        from plumbob.party.settings import HomeSettings
        from plumbob.party.verbs.setup import init

        settings = HomeSettings(
            name=self.name,
            listen=self.listen,
            address=self.address,
            proxy=self.proxy,
            data=str(Path(self.data).resolve()) if self.data else "",
            id=flags.own_id_column(self.id_words, self.name) or "id",
            label=self.label_column,
        ).with_reading(self.reading or self.table.choices())
        return init(self.home, settings, self.days, self.passphrase)


@dataclass(frozen=True)
class Invite(FolderVerb, words="party invite", section=SET_UP):
    """Print a one-line invitation for a peer, and your fingerprint to read out over the phone."""

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.setup import invite

        return invite(self.home)


@dataclass(frozen=True)
class Join(PartyVerb, words="party join", section=SET_UP, example="party join plumbob-invite-1.eyJuYW1lIjo..."):
    """Accept a peer's invitation; from then on the peer must show the certificate in it."""

    token: Annotated[str, Argument("The line that the peer's `party invite` printed.", "TOKEN")]
    _: KW_ONLY
    address: Annotated[
        str | None, Flag("Connect to this address instead of the one in the invitation.", "HOST:PORT")
    ] = None
    replace: Annotated[bool, Flag("Replace the pinned identity.")] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.setup import join

        return join(self)


@dataclass(frozen=True)
class Renew(PartyVerb, words="party renew", section=SET_UP, example="party renew --days 365"):
    """Issue a new certificate for the same key; peers must join again.

    You can do this before or after the old one expires. With --passphrase, only the key's passphrase changes.
    """

    days: Annotated[int, Flag("Validity of the new certificate, in days.", low=1)] = USUAL_DAYS
    passphrase: Annotated[
        bool,
        Flag(
            "Encrypt the key with a new passphrase (read from PLUMBOB_NEW_PASSPHRASE, or asked for) and keep the"
            " certificate."
        ),
    ] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.setup import encrypt_key, renew

        return encrypt_key(self.home) if self.passphrase else renew(self.home, self.days)


@dataclass(frozen=True)
class InitAuditor(Verb, words="auditor init", section=SET_UP, example="auditor init audit-house"):
    """Make an auditor's certificate and sealing key, on the auditor's own machine.

    The party gets the file auditor.json; plans name the fingerprint.
    """

    name: Annotated[str, Argument("The auditor's name.", "NAME")]
    _: KW_ONLY
    out: Annotated[Path, Flag("Folder to make.", is_folder=True)] = Path("auditor")

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.auditing import init_auditor

        return init_auditor(self)


@dataclass(frozen=True)
class Propose(PartyVerb, words="party propose", section=AGREE, example="party propose --bins 10 --out joint.toml"):
    """Draft a plan with your peers from everybody's tables, of which only numbers of rows, columns and levels leave.

    Run it on all sides at once. The party that has the label may change the plan's keys with the flags below.
    """

    out: Annotated[str | Path, Flag("Plan file to write.", is_file=True)] = Path("joint.toml")
    _: KW_ONLY
    table: flags.TableFlags = flags.NOTHING_SAID
    keys: flags.PartyKeys = field(default_factory=dict)
    reading: "ColumnChoices | None" = None
    """Replaces the flags about the table, in Python."""

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.propose import propose

        return propose(self.home, self.keys, self.reading or self.table.choices(), Path(self.out), caller.tell)


@dataclass(frozen=True)
class Doctor(PartyVerb, words="party doctor", section=AGREE, example="party doctor joint.toml"):
    """Check your own table, then test network, clock, versions, plan and message size with each peer.

    Run it on all sides at once.
    """

    plan: Annotated[flags.GivenPlan | None, Argument("A plan's TOML file, to compare it too.", "PLAN")] = None
    _: KW_ONLY
    peers: Annotated[Sequence[str], Flag("Only this peer; may be repeated.", "NAME", "--peer")] = ()
    wait: Annotated[float, Flag("Seconds to wait for the peers.", low=0)] = 60

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.setup import doctor

        return doctor(self, caller)

    def exit_code(self, result: Result) -> int:
        return 0 if result["ready"] else 1


@dataclass(frozen=True)
class Sign(PartyVerb, words="party sign", section=AGREE, example="party sign joint.toml"):
    """Sign a plan; training starts only once every party has signed.

    Shows what each party can work out if everyone keeps to the protocol, and what if someone cheats; in a terminal it
    asks first. What must be accepted by name is refused without its flag.
    """

    plan: flags.PlanFile
    _: KW_ONLY
    accept_leaks: flags.AcceptLeaks = False
    accept_cheating: flags.AcceptCheating = False
    accept_evidence: flags.AcceptEvidence = False
    yes: Annotated[bool, Flag("Sign without asking for confirmation.")] = False
    verbose: Annotated[bool, Flag("Show all findings, with the reason for each.")] = False

    @property
    def accepted(self) -> list[str]:
        """What is accepted, by the names of `signature.ACCEPTED`."""
        return [name for name in ("leaks", "cheating", "evidence") if getattr(self, f"accept_{name}")]

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.sign import sign

        return sign(self, None if self.yes else caller.ask)


@dataclass(frozen=True)
class Align(PartyVerb, words="party align", section=RUN, example="party align joint.toml"):
    """Find the rows that all parties share, without revealing any other ids."""

    plan: flags.PlanFile
    _: KW_ONLY
    data: OwnTable = None
    name: Annotated[
        str, Flag("Name for this row list (all parties must use the same one), e.g. for rows to predict.")
    ] = ""
    at_least: Annotated[
        int | None, Flag("Reveal the overlap size first; continue only if at least this many rows are shared.", low=1)
    ] = None
    at_most: Annotated[int, Flag("Reject a peer that submits more than this many ids.", low=1)] = 10_000_000
    jobs: flags.Jobs = None

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.align import align

        return align(self, caller)


@dataclass(frozen=True)
class Train(PartyVerb, words="party train", section=RUN, example="party train joint.toml"):
    """Train with your peers.

    Every party types this at about the same time. If it is interrupted, type it again to resume.
    """

    plan: flags.PlanFile
    _: KW_ONLY
    new: Annotated[bool, Flag("Begin a run without a result again; all parties must do so.")] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.train import train

        return train(self, caller)


@dataclass(frozen=True)
class Predict(PartyVerb, words="party predict", section=RUN, example="party predict joint.toml --out scores.csv"):
    """Score aligned rows: the label party gets the scores, the others answer."""

    plan: flags.PlanFile
    _: KW_ONLY
    ids: Annotated[Sequence[str], Flag("Id of a row to score; may be repeated (default: all rows).", "ID")] = ()
    data: OwnTable = None
    name: Annotated[str, Flag("Name under which these rows were aligned.")] = ""
    most_rows: MostAnsweredRows = None
    out: Annotated[str | Path, Flag("CSV file to write, at the label party.", is_file=True)] = Path("scores.csv")
    strict: flags.StrictRows = False
    wait: Annotated[float | None, Flag("Seconds that the label party waits for absent peers (default: 20).", low=0)] = (
        None
    )
    test: Annotated[
        str | Path | None,
        Flag(
            "File of your test rows: aligned with those of the peers (who use --test too), scored and judged.",
            is_file=True,
        ),
    ] = None

    held_out: Annotated[
        bool,
        Flag("Score the rows that training held out, and judge the model on them (for release = replayed)."),
    ] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.predict import predict

        return predict(self, caller.tell)


@dataclass(frozen=True)
class Serve(PartyVerb, words="party serve", section=RUN, example="party serve joint.toml --most-rows 5000"):
    """Answer predictions about one list of rows until you stop it, once `party train` has finished.

    For a scheduler or a service. It waits for absent peers, refuses what is over a limit and continues.
    """

    plan: flags.PlanFile
    _: KW_ONLY
    data: OwnTable = None
    name: Annotated[str, Flag("Name under which these rows were aligned.")] = ""
    most_rows: MostAnsweredRows = None
    sessions: Annotated[int | None, Flag("End after answering this many times (default: never).", low=1)] = None

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.serve import serve

        return serve(self, caller.tell)


@dataclass(frozen=True)
class ShowStatus(FolderVerb, words="party status", section=LOOK_AFTER):
    """Show the progress of each run and which peers it is waiting for."""

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.status import status

        return status(self.home)


@dataclass(frozen=True)
class Forget(PartyVerb, words="party forget", section=LOOK_AFTER, example="party forget RUN --give-up"):
    """Erase the secrets that a run keeps for a peer to resume with; results stay."""

    run: Annotated[str, Argument("Name of the run, as `party status` shows it.", "RUN")]
    _: KW_ONLY
    give_up: Annotated[bool, Flag("Also delete an unfinished run; no party will be able to complete it.")] = False
    evidence: Annotated[bool, Flag("Delete the run's evidence: a replay can then show nothing any more.")] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.status import forget

        return forget(self)


@dataclass(frozen=True)
class ShowReceipt(
    Verb, words="party receipt", section=LOOK_AFTER, example="party receipt party/runs/3f2a9c01b7de", codes=CONSISTENT
):
    """Show which protections a run really used, or compare two parties' records of it."""

    folders: Annotated[Sequence[Path], Argument("Folder of a run, or of each party's side of one run.", "RUN_DIR...")]
    home: Annotated[
        Path | None,
        Flag(
            "A party's folder: signatures are verified by the certificates pinned there.",
            envvar="PLUMBOB_HOME",
            is_folder=True,
        ),
    ] = None
    fingerprint: Annotated[
        Sequence[str], Flag("Fingerprint of a signer's certificate, as you compared it (repeatable).")
    ] = ()

    statement: Annotated[
        Path | None, Flag("An auditor's statement about a peer's replay, to check against this run.", is_file=True)
    ] = None

    def do(self, caller: Caller) -> Result:
        from plumbob.party.home import Home
        from plumbob.party.verbs.receipt import KnownCertificates, compare, run

        known = KnownCertificates.given(None if self.home is None else Home.open(self.home), self.fingerprint)
        return run(self.folders[0], known, self.statement) if len(self.folders) == 1 else compare(self.folders, known)

    def exit_code(self, result: Result) -> int:
        statement = result.get("statement")
        is_cleared = statement is None or statement.get("honest") is True
        return 0 if is_cleared and result["consistent"] and (result["verified"] or not self.fingerprint) else 1


@dataclass(frozen=True)
class ReplayRun(
    Verb,
    words="auditor replay",
    section=LOOK_AFTER,
    example="auditor replay party/runs/3f2a9c01b7de --auditor audit-house",
    codes={
        **DONE,
        1: "error, or the evidence ends with a seal that does not hold",
        5: "done, and a message does not follow from what was fixed before the run",
    },
):
    """Open a run's evidence, compute every message again, and sign what was found, on a machine of the auditor's.

    The statement says whether every message follows from what was fixed before the run. Nothing else is ever signed.
    """

    run: Annotated[Path, Argument("Folder of the run.", "RUN", is_folder=True)]
    _: KW_ONLY
    auditor: Annotated[Path, Flag("Folder that `auditor init` made.", is_folder=True)] = Path("auditor")
    table: Annotated[Path | None, Flag("Table from the system of record, to compare the rows with.", is_file=True)] = (
        None
    )
    id_column: Annotated[str, Flag("Column of that table that identifies each row.", name="--id")] = "id"
    label_column: Annotated[str, Flag("Column of that table that holds the label.", name="--label")] = ""
    training: Annotated[
        Path | None,
        Flag(
            "For a session of prediction: signed statement about the training, to compare the model part with.",
            is_file=True,
        ),
    ] = None
    out: Annotated[
        Path | None,
        Flag("Statement to write, never over an earlier one (default: statement.json in the run).", is_file=True),
    ] = None

    def do(self, caller: Caller) -> Result:
        from plumbob.party.verbs.auditing import replay_run

        return replay_run(self, caller)

    def exit_code(self, result: Result) -> int:
        return {True: 0, False: 5, None: 1}[result["honest"]]
