"""A key behind a passphrase: no command works without it, and TLS works with it."""

import os
from pathlib import Path

import pytest

from plumbob.errors import IdentityError
from plumbob.net import tls
from plumbob.party import passphrase
from plumbob.party.home import Home
from plumbob.party.verbs import EncryptKey, Init
from plumbob.verb import Caller

WORDS, OTHERS = "a long walk by the sea", "another walk, uphill"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a party whose key is encrypted."""
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS)
    Init("bank", home=tmp_path / "bank", passphrase=True).do(Caller())
    return tmp_path / "bank"


def say(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Set these variables, as in a new process."""
    for name in (passphrase.VARIABLE, passphrase.NEW_VARIABLE):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FD", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    passphrase.passphrase.cache_clear()


def test_it_opens_the_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment or a descriptor, once; TLS reads the file with it, and a wrong one is refused."""
    text = (home / "key.pem").read_text()
    assert "BEGIN ENCRYPTED PRIVATE KEY" in text
    assert WORDS not in text
    identity = Home.open(home).identity
    tls.server_context(identity, [tls.Peer("bank", identity.certificate.der, None)])
    read, write = os.pipe()
    os.write(write, f"{WORDS}\n".encode())
    os.close(write)
    say(monkeypatch, PLUMBOB_PASSPHRASE_FD=str(read))
    Home.open(home)
    Home.open(home).renewed(days=1000)
    say(monkeypatch, PLUMBOB_PASSPHRASE=OTHERS)
    with pytest.raises(IdentityError, match="the passphrase does not open the key"):
        Home.open(home)
    say(monkeypatch)
    with pytest.raises(IdentityError, match="nobody sits here to type it; put it into PLUMBOB_PASSPHRASE"):
        Home.open(home)


def test_it_can_be_changed_and_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old one is needed for it; a short one is refused."""
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS, PLUMBOB_NEW_PASSPHRASE="short")
    with pytest.raises(IdentityError, match="at least 12 characters"):
        EncryptKey(home=home).do(Caller())
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS, PLUMBOB_NEW_PASSPHRASE=OTHERS)
    EncryptKey(home=home).do(Caller())
    say(monkeypatch, PLUMBOB_PASSPHRASE=OTHERS)
    EncryptKey(home=home, remove=True).do(Caller())
    say(monkeypatch)
    assert Home.open(home).identity.password == ""
