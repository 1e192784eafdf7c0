"""`party init / renew / invite / join / doctor`: an organisation's identity, its peers, and whether all is ready."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec.structs import replace

from plumbob.counting import percent
from plumbob.data import Table, read_table
from plumbob.data.align import remarks_on_ids
from plumbob.data.summary import TableSummary, sizes_of, summarise
from plumbob.data.tables import EncodingChoices
from plumbob.errors import SettingsError
from plumbob.net.identity import Certificate, Invitation
from plumbob.party.doctor import OWN_ADDRESS, apart, examine, next_step, reach_of, remedy
from plumbob.party.home import Home
from plumbob.party.passphrase import NEW_VARIABLE, new_passphrase
from plumbob.party.settings import SETTINGS_FILE, HomeSettings
from plumbob.party.verbs import Doctor, Join
from plumbob.plan.encodings import suggested_keys
from plumbob.verb import Caller, Result
from plumbob.verb.flags import plan_argument, plan_of

MOST_EPSILON = 6.0
"""A new party's limit for all runs together: enough for two of the plans that `propose` drafts."""


def init(folder: Path, settings: HomeSettings, days: int, is_encrypted: bool = False) -> Result:
    """Set up a new party and summarise its table; a table that cannot be read is refused first."""
    table = _own_table(settings)
    summary, drafted = _summary(table)
    label = None if table is None else _label(settings, table)
    settings = replace(settings, most_epsilon=settings.most_epsilon or MOST_EPSILON)
    if settings.data and not Path(settings.data).is_file():
        raise SettingsError(
            f"{settings.data}: there is no such file; nothing was set up. Correct --data, or leave it out"
        )
    home = Home.create(folder, settings, days, new_passphrase() if is_encrypted else "")
    missing = list(_missing(settings))
    lines = [
        f"{home.identity.name} is set up in {folder}; its settings are in {folder / SETTINGS_FILE}",
        *missing,
        *_fingerprint(home.identity.certificate),
        *([] if summary is None else ["your table, which stays here:", *summary.lines(), drafted]),
        *([] if table is None else remarks_on_ids(table)),
        *([] if label is None else [label.line]),
        "send this line to each peer, and join the line that it sends you (plumbob party join TOKEN):",
        home.invitation().token(),
        "then, on all sides at once: plumbob party propose",
    ]
    return {
        "home": str(folder),
        **_certificate_fields(home.identity.certificate),
        "token": home.invitation().token(),
        "table": None if summary is None else summary.to_dict(),
        "label": None if label is None else asdict(label),
        "warnings": missing,
        "lines": lines,
    }


def _summary(table: Table | None) -> tuple[TableSummary | None, str]:
    """The table under the encoding that would be drafted from it alone, and why it would be that one."""
    if table is None:
        return None, ""
    keys, drafted = suggested_keys({}, sizes_of([table], {}))
    choices = EncodingChoices(keys["bins"])
    told = "" if drafted is None else f"{drafted.sentence} With the peers' tables `party propose` may choose another."
    return summarise(table, choices, has_ends=True), told


def _missing(settings: HomeSettings) -> Iterator[str]:
    """Sentences on what this party will need before it can run anything."""
    if settings.listen and not settings.dialled_at:
        yield f"peers cannot know where to dial: {OWN_ADDRESS}"


@dataclass(frozen=True, repr=False)
class Label:
    """The column that is to be predicted; it is shown to its owner alone."""

    column: str
    positive: str
    negative: str
    share: float

    @property
    def line(self) -> str:
        return (
            f"label: {self.column}; the model predicts {self.positive} ({percent(self.share)} of the rows) against "
            f"{self.negative}; --positive {self.negative} predicts {self.negative} instead"
        )


def _own_table(settings: HomeSettings) -> Table | None:
    """The table, if it is there; raises DataError with what to do where it cannot be read."""
    if not settings.data or not Path(settings.data).is_file():
        return None
    return read_table(Path(settings.data), settings.id, settings.label or None, choices=settings.reading)


def _label(settings: HomeSettings, table: Table) -> Label | None:
    """The label's column and classes, at the party that has it."""
    if table.labels is None or table.classes is None:
        return None
    negative, positive = map(str, table.classes)
    return Label(settings.label, positive, negative, float(table.labels.mean()))


def renew(folder: Path, days: int) -> Result:
    """Extend the certificate of the same key."""
    home = Home.open(folder).renewed(days)
    certificate = home.identity.certificate
    lines = [
        f"{certificate.name}'s certificate holds until {certificate.valid_until:%Y-%m-%d}; key, peers and runs stay",
        *_fingerprint(certificate),
        "until they have joined the new invitation, your peers refuse you",
        "next: plumbob party invite; then each peer: plumbob party join TOKEN",
    ]
    return {**_certificate_fields(certificate), "token": home.invitation().token(), "lines": lines}


def encrypt_key(folder: Path) -> Result:
    """Encrypt the key's file with a passphrase, or with another one."""
    identity = Home.open(folder).identity
    identity.encrypt(new_passphrase(NEW_VARIABLE))
    return {"encrypted": True, "lines": [f"{identity.key_file}: encrypted; every command now needs the passphrase"]}


def invite(folder: Path) -> Result:
    """Print our own invitation, alone on its line."""
    home = Home.open(folder)
    invitation, listens = home.invitation(), home.settings.listen
    described = _certificate_fields(invitation.certificate)
    nowhere = (
        OWN_ADDRESS if listens else "this party does not listen, so peers must invite it with an address of theirs"
    )
    whence = f"peers dial {invitation.address}" if invitation.address else f"it has no address: {nowhere}"
    lines = [invitation.token(), *_fingerprint(invitation.certificate), whence]
    return {"token": invitation.token(), "address": invitation.address, **described, "lines": lines}


def join(asked: Join) -> Result:
    """Pin the certificate of the peer that invites."""
    invitation = Invitation.parse(asked.token)
    home = Home.open(asked.home)
    known = home.pinned.get(invitation.name)
    is_renewal = known is not None and invitation.certificate.renews(known)
    home = home.join(invitation, asked.address, replace=asked.replace)
    reach, others = reach_of(home, invitation.name), list(apart(home, home.pinned))
    missing = [f"{one.found}; {one.todo}" for one in (reach, *others) if one.todo]
    compare = (
        "read both to each other before anything is sent; then, on both sides: plumbob party doctor, to test the "
        "connection; then plumbob party propose"
    )
    renewed = f"{invitation.name} has renewed its certificate with the key that was pinned: no need to compare again"
    lines = [
        f"{invitation.name} is pinned; {reach.found}",
        *missing,
        *_fingerprint(invitation.certificate),
        *_fingerprint(home.identity.certificate),
        renewed if is_renewal else compare,
    ]
    return {
        "renewed": is_renewal,
        "peer": {
            **_certificate_fields(invitation.certificate),
            "address": home.addresses.get(invitation.name),
        },
        "own": _certificate_fields(home.identity.certificate),
        "warnings": missing,
        "lines": lines,
    }


def doctor(asked: Doctor, caller: Caller) -> Result:
    """Make every check; each is told as soon as it is made, because peers may take their time."""
    home, plan = Home.open(asked.home), asked.plan
    agreed = None if plan is None else plan_of(plan)
    lines: list[str] = []
    say = caller.say or lines.append
    checks = []
    for check in examine(home, agreed, only=list(asked.peers), seconds=asked.wait, progress=caller.tell):
        checks.append(check)
        say(check.line)
    is_ready = all(check.is_ok for check in checks)
    step = next_step(home, agreed, plan_argument(plan or "PLAN")) if is_ready else remedy(checks)
    say(f"{'ready' if is_ready else 'not ready'}; {step}")
    return {"ready": is_ready, "checks": [asdict(check) for check in checks], "next": step, "lines": lines}


def _certificate_fields(certificate: Certificate) -> dict[str, object]:
    return {
        "name": certificate.name,
        "fingerprint": certificate.fingerprint,
        "valid_until": certificate.valid_until.isoformat(),
    }


def _fingerprint(certificate: Certificate) -> list[str]:
    """The fingerprint in two lines, so that neither is too long to be read out."""
    first, second = certificate.fingerprint[:39], certificate.fingerprint[40:]
    return [f"fingerprint of {certificate.name}:", f"  {first}", f"  {second}"]
