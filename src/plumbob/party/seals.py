"""Everybody's last signature in each session of a run: RUN/seals/SESSION.json.

A peer's signature is kept as soon as it was checked, whether the session ends or not, with evidence or without. A
peer's auditor may later speak about less of the session than the peer signed; whoever kept the signature can show so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from plumbob.errors import ROOM_ADVICE, DataError, JournalError
from plumbob.net.identity import make_private_folder, write_over
from plumbob.protocol.account import Seal, SessionAccount

FOLDER = "seals"
SHORT = 16  # Characters of a session's identity in a file's name.
IDENTITY = re.compile("[0-9a-f]{64}")


class KeptSeal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One party's last signature in a session, and the step that it belongs to."""

    step: int
    seal: str

    def parse(self, signer: str, names: Sequence[str]) -> Seal:
        return Seal.from_bytes(bytes.fromhex(self.seal), [name for name in names if name != signer])


class SessionSeals(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of a session's file."""

    session: str
    names: list[str]
    """Everybody in the session, in the plan's order."""
    seals: dict[str, KeptSeal]
    """The last signature of this party and of each peer that signed anything."""

    def seal_of(self, party: str) -> Seal | None:
        """A party's last signature; None where it signed nothing. DataError where the file is damaged."""
        try:
            return self.seals[party].parse(party, self.names) if party in self.seals else None
        except ValueError:
            raise DataError(f"the signature of {party} that was kept of a session is damaged") from None


STORED = msgspec.json.Decoder(SessionSeals)
"""Made here, where no second thread is: two that make it at once would end the process."""


@dataclass(frozen=True)
class SealKeeper:
    """Keeps everybody's signatures in one session in a run's folder."""

    run: Path
    account: SessionAccount

    def keep(self, party: str, step: int) -> None:
        """Keep a party's last signature, on the disk when it returns; only the last one of each party stays."""
        session = self.account.session.hex()
        kept = seals_in(self.run, session) or SessionSeals(session, list(self.account.names), {})
        kept.seals[party] = KeptSeal(step, self.account.seals[party].to_bytes().hex())
        file = _file(self.run, session)
        try:
            make_private_folder(file.parent)
            write_over(file, msgspec.json.format(msgspec.json.encode(kept), indent=1))
        except OSError as error:
            raise JournalError(f"{file}: a signature could not be written ({error}); {ROOM_ADVICE}") from None

    def forget(self) -> None:
        """Remove the file of a session in which nothing was asked for."""
        _file(self.run, self.account.session.hex()).unlink(missing_ok=True)


def seals_in(run: Path, session: str) -> SessionSeals | None:
    """The signatures that were kept of a session; None where nobody has signed anything in it."""
    if not IDENTITY.fullmatch(session):
        # A statement says it, and somebody else may have written that: nothing else becomes part of a path.
        return None
    file = _file(run, session)
    try:
        kept = STORED.decode(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: expected everybody's signatures in a session; the file is damaged") from error
    return kept if kept.session == session else None


def _file(run: Path, session: str) -> Path:
    return run / FOLDER / f"{session[:SHORT]}.json"
