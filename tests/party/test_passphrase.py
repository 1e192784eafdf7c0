"""A key behind a passphrase: no command works without it, and TLS works with it."""

from pathlib import Path

import pytest

from plumbob import party
from plumbob.errors import IdentityError
from plumbob.net import tls
from plumbob.party import passphrase
from plumbob.party.home import Home

WORDS, OTHERS = "a long walk by the sea", "another walk, uphill"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a party whose key is encrypted."""
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS)
    party.init(tmp_path / "bank", "bank", passphrase=True)
    return tmp_path / "bank"


def say(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Set these variables, as in a new process."""
    for name in (passphrase.VARIABLE, passphrase.NEW_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    passphrase.passphrase.cache_clear()


def test_it_opens_the_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment, once; TLS reads the file with it, and a wrong one is refused."""
    text = (home / "key.pem").read_text()
    assert "BEGIN ENCRYPTED PRIVATE KEY" in text
    assert WORDS not in text
    identity = Home.open(home).identity
    tls.server_context(identity, [tls.Peer("bank", identity.certificate.der, None)])
    Home.open(home).renewed(days=1000)
    say(monkeypatch, PLUMBOB_PASSPHRASE=OTHERS)
    with pytest.raises(IdentityError, match="the passphrase does not open the key"):
        Home.open(home)
    say(monkeypatch)
    with pytest.raises(IdentityError, match="nobody sits here to type it; put it into the variable PLUMBOB_PASSPHRASE"):
        Home.open(home)


def test_a_short_one_sets_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves nothing behind that would refuse the next one."""
    say(monkeypatch, PLUMBOB_PASSPHRASE="short")
    with pytest.raises(IdentityError, match="at least 12 characters"):
        party.init(tmp_path / "bank", "bank", passphrase=True)
    assert not (tmp_path / "bank").exists()
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS)
    party.init(tmp_path / "bank", "bank", passphrase=True)


def test_it_can_be_changed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old one is needed for it, a short one is refused, and peers need not join again."""
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS, PLUMBOB_NEW_PASSPHRASE="short")
    before = (home / "certificate.pem").read_bytes()
    with pytest.raises(IdentityError, match="at least 12 characters"):
        party.renew(home, passphrase=True)
    say(monkeypatch, PLUMBOB_PASSPHRASE=WORDS, PLUMBOB_NEW_PASSPHRASE=OTHERS)
    party.renew(home, passphrase=True)
    say(monkeypatch, PLUMBOB_PASSPHRASE=OTHERS)
    assert Home.open(home).identity.password
    assert (home / "certificate.pem").read_bytes() == before


def test_an_open_key_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party that was set up without a passphrase needs one from then on."""
    say(monkeypatch, PLUMBOB_NEW_PASSPHRASE=WORDS)
    party.init(tmp_path / "bank", "bank")
    party.renew(tmp_path / "bank", passphrase=True)
    say(monkeypatch)
    with pytest.raises(IdentityError, match="nobody sits here to type it; put it into the variable PLUMBOB_PASSPHRASE"):
        Home.open(tmp_path / "bank")
