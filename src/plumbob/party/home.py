"""A party's folder: its key, its certificate, the peers it has pinned, and its own settings.

    party/                0700
      key.pem             0600  never leaves this folder; encrypted if its owner wants that
      certificate.pem     0600  what peers pin
      party.toml          0600  settings; the proxy may have a password in it
      peers/NAME.pem      0600  the certificates of the peers
      peers/NAME.address  0600  where this party dials that peer; without it the peer dials us
      signed/             plans that this party agreed to: HASH.signature, and HASH.leaks.signature,
                          HASH.cheating.signature and HASH.evidence.signature with what it accepted
      aligned/            the common ids: PARTIES.json, for every plan between these parties
      answered/           how many rows of a plan were answered: HASH.json
      ledger.db           what runs have spent of each row
      log.jsonl           what this party did, one JSON object per line (`plumbob.party.log`)
      runs/               see `plumbob.party.runs`

All files are the owner's alone. Nothing in it is shared but the certificate and the address, by an invitation.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from plumbob.crypto.kernel import INSTRUCTIONS
from plumbob.errors import IdentityError, SettingsError
from plumbob.net.address import Address
from plumbob.net.connector import Connection, Connector, Peer
from plumbob.net.frames import FRAME
from plumbob.net.identity import (
    CERTIFICATE_FILE,
    KEY_FILE,
    Certificate,
    Identity,
    Invitation,
    make_private_folder,
    now,
    pem_of,
    read_certificate,
    refuse_loose,
    write_over,
    write_private,
)
from plumbob.net.wire import Timeouts
from plumbob.party import USUAL_DAYS
from plumbob.party.passphrase import passphrase
from plumbob.party.settings import SETTINGS_FILE, HomeSettings, read_settings

if TYPE_CHECKING:
    from plumbob.party.sealing import Auditor

ALIGNED = "aligned"
PEERS = "peers"
ADDRESS = ".address"
RUNS = "runs"
LEDGER = "ledger.db"


class Home:
    """A party's folder, opened: everything in it was checked."""

    def __init__(
        self,
        folder: Path,
        identity: Identity,
        settings: HomeSettings,
        pinned: Mapping[str, Certificate],
        addresses: Mapping[str, str],
    ) -> None:
        self.folder = folder
        self.identity = identity
        self.settings = settings
        self.pinned = pinned
        self.addresses = addresses

    def __repr__(self) -> str:
        return f"Home({self.identity.name})"

    @classmethod
    def create(cls, folder: Path, settings: HomeSettings, days: int = USUAL_DAYS, passphrase: str = "") -> Self:
        """A new party; raises IdentityError where there is one already."""
        files = (folder / CERTIFICATE_FILE, folder / KEY_FILE, folder / SETTINGS_FILE)
        had_any = any(file.exists() for file in files)
        try:
            identity = Identity.create(folder, settings.name, days=days, passphrase=passphrase)
            make_private_folder(folder / PEERS)
            write_private(folder / SETTINGS_FILE, settings.to_toml().encode())
        except OSError:
            for file in () if had_any else files:
                file.unlink(missing_ok=True)  # Half an identity would refuse the next attempt.
            raise
        return cls._open(folder, identity)

    @classmethod
    def open(cls, home: "GivenHome") -> Self:
        """Open a party's folder; raises IdentityError or SettingsError with what to do."""
        folder = folder_of(home)
        return cls._open(folder, Identity.load(folder, passphrase))

    @classmethod
    def _open(cls, folder: Path, identity: Identity) -> Self:
        if os.environ.get(INSTRUCTIONS):
            raise SettingsError(f"{INSTRUCTIONS} is set, which is for tests: unset it")
        settings = read_settings(folder / SETTINGS_FILE)
        if settings.name != identity.name:
            raise SettingsError(
                f'{SETTINGS_FILE}: name = "{settings.name}", but the certificate is {identity.name}\'s; '
                "write that name, or make a new identity in another folder"
            )
        pinned = _read_pinned(folder / PEERS)
        return cls(folder, identity, settings, pinned, _read_addresses(folder / PEERS, pinned))

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Every pinned peer, by name."""
        return tuple(Peer(name, certificate.der, self.addresses.get(name)) for name, certificate in self.pinned.items())

    @property
    def data_file(self) -> Path:
        """The table; raises SettingsError where none is named."""
        if not self.settings.data:
            raise SettingsError(f"{SETTINGS_FILE}: data: name the file of this party's table")
        return self.folder / self.settings.data

    @property
    def auditor(self) -> "Auditor":
        """The auditor that its evidence is sealed for; SettingsError where none is named."""
        from plumbob.party.sealing import Auditor

        if not self.settings.evidence_key:
            raise SettingsError(
                f'{SETTINGS_FILE}: the plan keeps evidence; put evidence_key = "FILE" there, your auditor\'s key'
            )
        return Auditor.load(self.folder / self.settings.evidence_key)

    @property
    def runs(self) -> Path:
        """The folder of this party's runs."""
        return self.folder / RUNS

    @property
    def signed(self) -> Path:
        """The folder of the plans that this party agreed to."""
        return self.folder / "signed"

    @property
    def aligned(self) -> Path:
        """The folder of the rows that were found in common."""
        return self.folder / ALIGNED

    @property
    def answered(self) -> Path:
        """The folder that counts the rows this party has answered."""
        return self.folder / "answered"

    @property
    def ledger_file(self) -> Path:
        """The file of what runs have spent of each row."""
        return self.folder / LEDGER

    def connector(
        self,
        peers: Sequence[Peer],
        largest_message: int,
        on_connection: Callable[[Connection], None],
        on_refusal: Callable[[str], None],
        timeouts: Timeouts = Timeouts(),  # noqa: B008  # Frozen.
    ) -> Connector:
        """This party's connector as the settings have it; not opened yet."""
        return Connector(
            self.identity,
            peers,
            listen=self.settings.listen or None,
            proxy=self.settings.proxy or None,
            largest_message=FRAME.size + largest_message,
            on_connection=on_connection,
            on_refusal=on_refusal,
            timeouts=timeouts,
        )

    def invitation(self) -> Invitation:
        """The invitation that a peer needs to meet us."""
        return Invitation(self.identity.certificate, self.settings.dialled_at or None)

    def renewed(self, days: int = USUAL_DAYS) -> Self:
        """The same party with a certificate that is valid from now on; the peers must join it again."""
        return self._open(self.folder, self.identity.renewed(days))

    def join(self, invitation: Invitation | str, address: str | None = None, *, replace: bool = False) -> Self:
        """Pin a peer's certificate and note its address; returns the changed home."""
        invitation = Invitation.parse(invitation) if isinstance(invitation, str) else invitation
        self._refuse(invitation, replace)
        address = address if address is not None else invitation.address
        if address:
            Address.parse(address)
        write_over(self.folder / PEERS / f"{invitation.name}.pem", pem_of(invitation.certificate))
        if address is not None:
            write_over(self.folder / PEERS / f"{invitation.name}{ADDRESS}", f"{address}\n".encode())
        return self._open(self.folder, self.identity)

    def with_settings(self, settings: HomeSettings) -> Self:
        """The home with other settings, written to the disk too; comments that people added to the file are lost."""
        write_over(self.folder / SETTINGS_FILE, settings.to_toml().encode())
        return self._open(self.folder, self.identity)

    if not TYPE_CHECKING:  # A type checker would believe in every name.

        def __getattr__(self, name: str) -> Any:
            from plumbob.retired import no_attribute  # Late: hardly any name is missing.

            raise no_attribute("plumbob.party.Home", name)

    def _refuse(self, invitation: Invitation, replace: bool) -> None:
        name, certificate = invitation.name, invitation.certificate
        if certificate == self.identity.certificate:
            raise IdentityError("this is our own invitation: send it to the peer, and join the one that it sends back")
        if name.lower() == self.identity.name.lower():
            raise IdentityError(
                f"the peer has the same name as this party ({name}); one side must create an identity with another name"
            )
        for other in self.pinned:
            if other != name and other.lower() == name.lower():
                raise IdentityError(f"{other} is pinned already, and {name} differs only in upper/lower case")
        known = self.pinned.get(name)
        # Whoever has the pinned key may say that it holds for longer; anything else is for people to compare.
        if known is not None and known != certificate and not replace and not certificate.renews(known):
            raise IdentityError(
                f"{name} is pinned already with another certificate ({known.fingerprint[:19]} ...); if {name} told you "
                "of a new identity, compare fingerprints and type: plumbob party join TOKEN --replace"
            )
        mistake = certificate.mistake_at(now())
        if mistake is not None:
            raise IdentityError(mistake)


GivenHome = Home | str | Path
"""A party's folder, opened or by its path."""


def folder_of(home: GivenHome) -> Path:
    """The folder itself."""
    return home.folder if isinstance(home, Home) else Path(home)


def _read_pinned(folder: Path) -> dict[str, Certificate]:
    refuse_loose(folder)
    pinned = {}
    for file in sorted(folder.glob("*.pem")):
        refuse_loose(file)
        certificate = read_certificate(file)
        if certificate.name != file.stem:
            raise IdentityError(f"{file}: the certificate is {certificate.name}'s; join that invitation again")
        pinned[file.stem] = certificate
    return pinned


def _read_addresses(folder: Path, pinned: Iterable[str]) -> dict[str, str]:
    """Where this party dials its peers, by their names; a peer without a line dials us."""
    addresses = {}
    for file in (folder / f"{name}{ADDRESS}" for name in pinned):
        if not file.exists():
            continue
        refuse_loose(file)
        if address := file.read_text(encoding="utf-8").strip():
            Address.parse(address)
            addresses[file.name.removesuffix(ADDRESS)] = address
    return addresses
