"""A party's folder: private, strict, and joined with peers on purpose only."""

import datetime
import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.crypto.kernel import INSTRUCTIONS
from plumbob.errors import IdentityError, SettingsError, TransportError
from plumbob.net.identity import Identity, Invitation, now
from plumbob.party.home import Home
from plumbob.party.settings import KINDS, HomeSettings


def made(folder: Path, name: str, **settings: str) -> Home:
    """A new party."""
    return Home.create(folder, HomeSettings(name=name, **settings))  # type: ignore[arg-type]


def change(home: Home, old: str, new: str) -> None:
    """Edit a party's settings by hand."""
    file = home.folder / "party.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_everything_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """Folders are 0700 and files 0600 under umask 0, also those that joining writes."""
    before = os.umask(0)
    try:
        bank, fund = made(tmp_path / "bank", "bank"), made(tmp_path / "fund", "fund")
        bank.join(fund.invitation(), "fund.example:7700")
    finally:
        os.umask(before)
    paths = [bank.folder, *bank.folder.rglob("*")]
    assert {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in paths} == {(True, 0o700), (False, 0o600)}


@pytest.mark.parametrize("path", ["party.toml", "peers", "peers/fund.pem", "key.pem", "."])
def test_loose_permissions_are_refused(tmp_path: Path, path: str) -> None:
    """Whatever of it others may read or change, the home does not open, and says what to type."""
    bank, fund = made(tmp_path / "bank", "bank"), made(tmp_path / "fund", "fund")
    bank.join(fund.invitation())
    (bank.folder / path).chmod(0o770)
    with pytest.raises(IdentityError, match=r"run: chmod [67]00"):
        Home.open(bank.folder)


def test_settings_read_back_with_every_key_explained(tmp_path: Path) -> None:
    """The written file holds each key with a comment and gives the same settings."""
    settings = HomeSettings(
        name="bank",
        listen="0.0.0.0:7700",
        address="bank.example:7700",
        proxy='http://user:p"w@proxy.example:3128',
        data="tables/bank.csv",
        id="client “id”",
        label="default\\next",
        patience=30,
        category=("town", "kind"),
    )
    text = settings.to_toml()
    assert HomeSettings.from_toml(text) == settings
    lines = [line for line in text.splitlines()[1:] if re.fullmatch(r"\w+ = .* # .+", line)]
    assert [line.split()[0] for line in lines] == list(KINDS)


@given(st.text(st.characters(exclude_categories=("C", "Z")), max_size=30))
def test_any_printable_text_survives(text: str) -> None:
    """Column names are other people's words: each is written so that it reads back."""
    settings = HomeSettings(name="bank", id=text, label=text)
    assert HomeSettings.from_toml(settings.to_toml()) == settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name = "bank"\nlisten_at = "x"', 'listen_at: unknown key; did you mean "listen"'),
        ('name = "bank"\nclustr = "x"', 'did you mean "cluster"'),
        ('listen = ""', "name: say who"),
        ('name = "a b"', "name: expected up to 32"),
        ("name = 7", "name: expected `str`, got `int`"),
        ('name = "bank"\ndata = "a\\tb"', "data: expected one line of text"),
        (
            'name = "bank"\nmost_rows = -1\ncategory = 3',
            "(?s)most_rows: .*category: expected `array`|category: .*most_rows",
        ),
        ('name = "bank"\nlisten = "7700"', "listen: .*expected HOST:PORT"),
        ('name = "bank"\naddress = "x:0"', "address: .*expected HOST:PORT"),
        ('name = "bank"\nproxy = "socks5://u:secret@h:1"', "proxy: expected http://"),
        ('name = "bank"\npatience = 0', "patience: expected `float` > 0.0"),
        ('name = "bank"\n[peers.fund]\nadress = "x:1"', r"\[peers\.NAME\] adress: unknown key"),
        ('name = "bank"\n[peers.fund]\naddress = "x:1"', "plumbob party join TOKEN --address HOST:PORT"),
        ('name = "bank"\n[table]\nna = ["?"]', r"\[table\] na: .* any more; write it above"),
        ('name = "bank"\nid_column = "x"', "id_column: .* any more; it is called `id`"),
        ("name = ", "not valid TOML"),
    ],
)
def test_wrong_settings_are_told(text: str, words: str) -> None:
    """Each mistake names its key and what was expected, never a password."""
    with pytest.raises(SettingsError, match=words) as caught:
        HomeSettings.from_toml(text)
    assert str(caught.value).startswith("party.toml: ")
    assert "secret" not in str(caught.value)


def test_settings_are_not_printed() -> None:
    """The proxy may have a password in it."""
    assert "secret" not in repr(HomeSettings(name="bank", proxy="http://u:secret@h:1"))


def test_joining_is_symmetric(tmp_path: Path) -> None:
    """Each side joins the other's token; then each knows the other's certificate, and one where to dial."""
    bank = made(tmp_path / "bank", "bank", listen="127.0.0.1:7700", address="bank.example:7700")
    fund = made(tmp_path / "fund", "fund")
    bank = bank.join(Invitation.parse(fund.invitation().token()))
    fund = fund.join(Invitation.parse(bank.invitation().token()))
    assert [(peer.name, peer.certificate, peer.address) for peer in bank.peers] == [
        ("fund", fund.identity.certificate.der, None)
    ]
    assert [(peer.name, peer.certificate, peer.address) for peer in fund.peers] == [
        ("bank", bank.identity.certificate.der, "bank.example:7700")
    ]


def test_our_word_on_the_address_counts(tmp_path: Path) -> None:
    """`--address` wins over the invitation, and joining again with another one changes it."""
    bank, fund = made(tmp_path / "bank", "bank"), made(tmp_path / "fund", "fund", address="fund.example:1")
    bank = bank.join(fund.invitation(), "10.0.0.7:7700")
    assert bank.addresses == {"fund": "10.0.0.7:7700"}
    assert bank.join(fund.invitation()).addresses == {"fund": "fund.example:1"}
    assert bank.join(fund.invitation(), "").addresses == {}


def test_wrong_invitations_are_refused(tmp_path: Path) -> None:
    """Our own, a namesake, another certificate under a pinned name: each is refused and changes nothing."""
    bank = made(tmp_path / "bank", "bank")
    fund, other_fund = made(tmp_path / "fund", "fund"), made(tmp_path / "other", "fund")
    bank = bank.join(fund.invitation())
    with pytest.raises(IdentityError, match="our own invitation"):
        bank.join(bank.invitation())
    for name in ("bank", "Bank"):
        with pytest.raises(IdentityError, match="the same name as this party"):
            bank.join(made(tmp_path / f"{name}-2", name).invitation())
    with pytest.raises(IdentityError, match="differs only in upper/lower case"):
        bank.join(made(tmp_path / "shout", "FUND").invitation())
    with pytest.raises(IdentityError, match="--replace"):
        bank.join(other_fund.invitation())
    assert Home.open(bank.folder).pinned == {"fund": fund.identity.certificate}
    assert bank.join(other_fund.invitation(), replace=True).pinned == {"fund": other_fund.identity.certificate}


@pytest.mark.parametrize(("days", "words"), [(-9, "ended on"), (9, "is valid from")])
def test_an_invitation_out_of_its_time_is_refused(tmp_path: Path, days: int, words: str) -> None:
    """A certificate that is over, or not yet begun, is not pinned."""
    bank = made(tmp_path / "bank", "bank")
    stale = Identity.create(tmp_path / "fund", "fund", days=1, valid_from=now() + datetime.timedelta(days=days))
    with pytest.raises(IdentityError, match=words):
        bank.join(Invitation(stale.certificate))
    assert Home.open(bank.folder).peers == ()


def test_a_renewed_certificate(tmp_path: Path) -> None:
    """The same key for longer: peers take it without `--replace`, signatures hold; never a shorter or an older one."""
    folder = tmp_path / "fund"
    Identity.create(folder, "fund", days=1, valid_from=now() - datetime.timedelta(hours=23))
    (folder / "peers").mkdir(mode=0o700)
    (folder / "party.toml").touch(mode=0o600)
    (folder / "party.toml").write_text(HomeSettings(name="fund").to_toml())
    fund = Home.open(folder)
    bank = made(tmp_path / "bank", "bank").join(fund.invitation())
    signed = fund.identity.sign("plan", b"words")
    with pytest.raises(IdentityError, match="give it more days"):
        fund.renewed(days=2).renewed(days=1)
    renewed = Home.open(folder).renewed()
    assert renewed.identity.certificate.mistake_at(now() + datetime.timedelta(days=700)) is None
    joined = bank.join(renewed.invitation())
    assert joined.pinned == {"fund": renewed.identity.certificate}
    joined.pinned["fund"].verify("plan", b"words", signed)
    with pytest.raises(IdentityError, match="--replace"):
        joined.join(fund.invitation())
    with pytest.raises(IdentityError, match="--replace"):
        joined.join(Home.create(tmp_path / "thief", HomeSettings(name="fund"), days=3650).invitation())


def test_a_home_is_never_overwritten(tmp_path: Path) -> None:
    """A second party in the same folder is refused and leaves the first as it was."""
    first = made(tmp_path / "bank", "bank")
    with pytest.raises(IdentityError, match="already"):
        made(tmp_path / "bank", "other")
    assert Home.open(first.folder).identity.certificate == first.identity.certificate


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    """Another name in the settings, a pinned file under another name, an address that is none."""
    bank, fund = made(tmp_path / "bank", "bank"), made(tmp_path / "fund", "fund")
    bank.join(fund.invitation())
    change(bank, 'name = "bank"', 'name = "tank"')
    with pytest.raises(SettingsError, match="the certificate is bank's"):
        Home.open(bank.folder)
    change(bank, 'name = "tank"', 'name = "bank"')
    address = bank.folder / "peers" / "fund.address"
    address.write_text("nowhere\n")
    address.chmod(0o600)
    with pytest.raises(TransportError, match="HOST:PORT"):
        Home.open(bank.folder)
    address.unlink()
    (bank.folder / "peers" / "fund.pem").rename(bank.folder / "peers" / "hospital.pem")
    with pytest.raises(IdentityError, match="the certificate is fund's"):
        Home.open(bank.folder)


def test_a_wrong_address_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Neither the certificate nor the settings change."""
    bank, fund = made(tmp_path / "bank", "bank"), made(tmp_path / "fund", "fund")
    with pytest.raises(TransportError, match="HOST:PORT"):
        bank.join(fund.invitation(), "fund")
    assert Home.open(bank.folder).peers == ()


def test_the_data_file_is_found_from_the_folder(tmp_path: Path) -> None:
    """A relative path counts from the home, an absolute one stays, none is told."""
    assert made(tmp_path / "a", "a", data="rows.csv").data_file == tmp_path / "a" / "rows.csv"
    assert made(tmp_path / "b", "b", data="/data/rows.csv").data_file == Path("/data/rows.csv")
    with pytest.raises(SettingsError, match="name the file"):
        _ = made(tmp_path / "c", "c").data_file


def test_a_party_takes_the_best_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable by which tests choose others is refused, before anything is read."""
    made(tmp_path / "bank", "bank")
    monkeypatch.setenv(INSTRUCTIONS, "portable")
    with pytest.raises(SettingsError, match="unset it"):
        Home.open(tmp_path / "bank")
