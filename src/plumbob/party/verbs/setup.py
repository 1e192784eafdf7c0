"""`party init / renew / invite / join`: an organisation's identity, and its peers."""

from dataclasses import asdict, dataclass
from pathlib import Path

from plumbob.caller import Outcome
from plumbob.counting import percent
from plumbob.data import Table, read_table
from plumbob.data.same_rows import remarks_on_ids
from plumbob.data.summary import TableSummary, sizes_of, summarise
from plumbob.data.tables import ColumnChoices, EncodingChoices
from plumbob.errors import SettingsError
from plumbob.net.identity import Certificate, Invitation
from plumbob.party import USUAL_DAYS
from plumbob.party.home import GivenHome, Home, folder_of
from plumbob.party.log import logged_verb
from plumbob.party.passphrase import NEW_VARIABLE, new_passphrase
from plumbob.party.settings import SETTINGS_FILE, HomeSettings
from plumbob.party.verbs.doctor import OWN_ADDRESS, apart, reach_of
from plumbob.plan.encodings import suggested_keys

MOST_EPSILON = 6.0
"""A new party's limit for all runs together: enough for two of the plans that `propose` drafts."""
NO_CHOICES = ColumnChoices()


@logged_verb
def init(
    home: GivenHome,
    name: str,
    *,
    data: str | Path | None = None,
    id: str = "id",
    label: str = "",
    listen: str = "",
    address: str = "",
    proxy: str = "",
    reading: ColumnChoices = NO_CHOICES,
    days: int = USUAL_DAYS,
    passphrase: bool = False,
) -> Outcome:
    """Set up a party in a new folder: its key, its certificate and its settings.

    A table that cannot be read is refused before anything is written. `settings.patience` and the limits on what is
    answered are in the folder's party.toml.
    """
    settings = HomeSettings(
        name=name,
        listen=listen,
        address=address,
        proxy=proxy,
        data=str(Path(data).resolve()) if data else "",
        id=id,
        label=label,
        most_epsilon=MOST_EPSILON,
    ).with_reading(reading)
    folder, table = folder_of(home), _own_table(settings)
    summary, drafted = _summary(table)
    predicted = None if table is None else _label(settings, table)
    made = Home.create(folder, settings, days, new_passphrase() if passphrase else "")
    is_nowhere = bool(settings.listen) and not settings.dialled_at
    missing = [f"peers cannot know where to dial: {OWN_ADDRESS}"] if is_nowhere else []
    lines = [
        f"{name} is set up in {folder}; its settings are in {folder / SETTINGS_FILE}",
        *missing,
        *_fingerprint(made.identity.certificate),
        *([] if summary is None else ["your table, which stays here:", *summary.lines(), drafted]),
        *([] if table is None else remarks_on_ids(table)),
        *([] if predicted is None else [predicted.line]),
        "send this line to each peer, and join the line that it sends you (plumbob party join TOKEN):",
        made.invitation().token(),
        "then, on all sides at once: plumbob party propose",
    ]
    fields = {
        "home": str(folder),
        **_certificate_fields(made.identity.certificate),
        "token": made.invitation().token(),
        "table": None if summary is None else summary.to_dict(),
        "label": None if predicted is None else asdict(predicted),
        "warnings": missing,
        "lines": lines,
    }
    return Outcome(fields)


def _summary(table: Table | None) -> tuple[TableSummary | None, str]:
    """The table under the encoding that would be drafted from it alone, and why it would be that one."""
    if table is None:
        return None, ""
    keys, drafted = suggested_keys({}, sizes_of([table], {}))
    choices = EncodingChoices(keys["bins"])
    why = "" if drafted is None else f"{drafted.sentence} With the peers' tables `party propose` may choose another."
    return summarise(table, choices, has_ends=True), why


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
    """The table, if one is named; raises SettingsError or DataError with what to do where it cannot be read."""
    if not settings.data:
        return None
    if not Path(settings.data).is_file():
        raise SettingsError(
            f"{settings.data}: there is no such file; nothing was set up. Correct --data, or leave it out"
        )
    return read_table(Path(settings.data), settings.id, settings.label or None, choices=settings.reading)


def _label(settings: HomeSettings, table: Table) -> Label | None:
    """The label's column and classes, at the party that has it."""
    if table.labels is None or table.classes is None:
        return None
    negative, positive = map(str, table.classes)
    return Label(settings.label, positive, negative, float(table.labels.mean()))


@logged_verb
def renew(home: GivenHome, *, days: int = USUAL_DAYS, passphrase: bool = False) -> Outcome:
    """Issue a new certificate for the same key or, with `passphrase`, only encrypt the key with another one."""
    if passphrase:
        return _encrypt_key(home)
    renewed = Home.open(home).renewed(days)
    certificate = renewed.identity.certificate
    lines = [
        f"{certificate.name}'s certificate holds until {certificate.valid_until:%Y-%m-%d}; key, peers and runs stay",
        *_fingerprint(certificate),
        "until they have joined the new invitation, your peers refuse you",
        "next: plumbob party invite; then each peer: plumbob party join TOKEN",
    ]
    return Outcome({**_certificate_fields(certificate), "token": renewed.invitation().token(), "lines": lines})


def _encrypt_key(home: GivenHome) -> Outcome:
    """Encrypt the key's file with a passphrase, or with another one."""
    identity = Home.open(home).identity
    identity.encrypt(new_passphrase(NEW_VARIABLE))
    line = f"{identity.key_file}: encrypted; every command now needs the passphrase"
    return Outcome({"encrypted": True, "lines": [line]})


def invite(home: GivenHome) -> Outcome:
    """Print our own invitation, alone on its line."""
    opened = Home.open(home)
    invitation, listens = opened.invitation(), opened.settings.listen
    described = _certificate_fields(invitation.certificate)
    nowhere = (
        OWN_ADDRESS if listens else "this party does not listen, so peers must invite it with an address of theirs"
    )
    whence = f"peers dial {invitation.address}" if invitation.address else f"it has no address: {nowhere}"
    lines = [invitation.token(), *_fingerprint(invitation.certificate), whence]
    return Outcome({"token": invitation.token(), "address": invitation.address, **described, "lines": lines})


@logged_verb
def join(home: GivenHome, token: str, *, address: str | None = None, replace: bool = False) -> Outcome:
    """Accept a peer's invitation: from then on the peer must show the certificate in it."""
    invitation = Invitation.parse(token)
    before = Home.open(home)
    known = before.pinned.get(invitation.name)
    is_renewal = known is not None and invitation.certificate.renews(known)
    opened = before.join(invitation, address, replace=replace)
    reach, others = reach_of(opened, invitation.name), list(apart(opened, opened.pinned))
    missing = [f"{check.found}; {check.todo}" for check in (reach, *others) if check.todo]
    compare = (
        "read both to each other before anything is sent; then, on both sides: plumbob party doctor, to test the "
        "connection; then plumbob party propose"
    )
    renewed = f"{invitation.name} has renewed its certificate with the key that was pinned: no need to compare again"
    lines = [
        f"{invitation.name} is pinned; {reach.found}",
        *missing,
        *_fingerprint(invitation.certificate),
        *_fingerprint(opened.identity.certificate),
        renewed if is_renewal else compare,
    ]
    fields = {
        "renewed": is_renewal,
        "peer": {
            **_certificate_fields(invitation.certificate),
            "address": opened.addresses.get(invitation.name),
        },
        "own": _certificate_fields(opened.identity.certificate),
        "warnings": missing,
        "lines": lines,
    }
    return Outcome(fields)


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
