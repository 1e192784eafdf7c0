"""Identities: who may read them, what they sign, and which certificates are taken."""

import datetime
import os
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from plumbob.errors import IdentityError
from plumbob.net.identity import CERTIFICATE_FILE, KEY_FILE, Certificate, Identity, now, write_over


def mode(path: Path) -> int:
    """The permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """With umask 0 the folder is 0700 and each file 0600 all the same."""
    before = os.umask(0)
    try:
        Identity.create(tmp_path / "home", "bank")
    finally:
        os.umask(before)
    assert mode(tmp_path / "home") == 0o700
    assert {mode(file) for file in (tmp_path / "home").iterdir()} == {0o600}


def test_it_is_the_same_after_loading(tmp_path: Path) -> None:
    """What was created is what is loaded, and its certificate says its name and two years."""
    made = Identity.create(tmp_path / "home", "bank")
    loaded = Identity.load(tmp_path / "home")
    assert loaded.certificate == made.certificate
    assert loaded.name == "bank"
    assert (loaded.certificate.valid_until - loaded.certificate.valid_from).days == 730
    assert loaded.certificate.mistake_at(now()) is None


@pytest.mark.parametrize(("file", "command"), [(".", "chmod 700"), (KEY_FILE, "chmod 600")])
def test_loose_permissions_are_refused(tmp_path: Path, file: str, command: str) -> None:
    """A key that others may read is not used, and the message has the command to type."""
    home = tmp_path / "home of bank"
    Identity.create(home, "bank")
    (home / file).chmod(0o755 if file == "." else 0o640)
    with pytest.raises(IdentityError, match=command) as caught:
        Identity.load(home)
    # As a shell takes it.
    assert f"'{home / file}'" in str(caught.value)


def test_a_loose_folder_is_not_filled(tmp_path: Path) -> None:
    """No key is written where others can look."""
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    with pytest.raises(IdentityError, match="chmod 700"):
        Identity.create(home, "bank")
    assert list(home.iterdir()) == []


def test_an_identity_is_never_overwritten(tmp_path: Path) -> None:
    """A second creation in the same folder is refused and changes nothing."""
    made = Identity.create(tmp_path / "home", "bank")
    with pytest.raises(IdentityError, match="already"):
        Identity.create(tmp_path / "home", "bank")
    assert Identity.load(tmp_path / "home").certificate == made.certificate


@pytest.mark.parametrize("name", ["", "-bank", "a b", "x" * 33, "../up", "naïve", "a\nb"])
def test_only_plain_names_are_taken(tmp_path: Path, name: str) -> None:
    """A party's name is the plan's: letters, digits, two signs."""
    with pytest.raises(IdentityError, match="party name"):
        Identity.create(tmp_path / "home", name)


def test_the_key_is_shown_nowhere(tmp_path: Path) -> None:
    """Neither the text of an identity nor the error about a broken key file holds the key."""
    identity = Identity.create(tmp_path / "home", "bank")
    lines = identity.key_file.read_text().splitlines()
    assert repr(identity) == str(identity) == "Identity(bank)"
    identity.key_file.write_text("\n".join([lines[0], lines[1][:-8], lines[-1]]))
    with pytest.raises(IdentityError) as caught:
        Identity.load(tmp_path / "home")
    assert lines[1][:20] not in str(caught.value)
    assert caught.value.__cause__ is None


def test_key_and_certificate_belong_together(tmp_path: Path) -> None:
    """A certificate beside another's key is refused."""
    Identity.create(tmp_path / "one", "bank")
    other = Identity.create(tmp_path / "two", "bank")
    (tmp_path / "one" / CERTIFICATE_FILE).write_bytes(other.certificate_file.read_bytes())
    with pytest.raises(IdentityError, match="do not belong together"):
        Identity.load(tmp_path / "one")


def test_a_missing_identity_says_what_to_type(tmp_path: Path) -> None:
    """Where there is nothing, the way to make it is named."""
    with pytest.raises(IdentityError, match="plumbob party init"):
        Identity.load(tmp_path / "nowhere")


def test_signatures_hold_for_their_bytes_purpose_and_key(bank: Identity, fund: Identity) -> None:
    """Another text, purpose, signer or a changed signature is refused."""
    signature = bank.sign("plan", b"hash")
    bank.certificate.verify("plan", b"hash", signature)
    for certificate, purpose, data, proof in [
        (bank.certificate, "plan", b"hush", signature),
        (bank.certificate, "model", b"hash", signature),
        (fund.certificate, "plan", b"hash", signature),
        (bank.certificate, "plan", b"hash", signature[:-1] + bytes([signature[-1] ^ 1])),
        (bank.certificate, "plan", b"hash", b""),
    ]:
        with pytest.raises(IdentityError, match="signature"):
            certificate.verify(purpose, data, proof)


def test_a_purpose_cannot_run_into_the_data(bank: Identity) -> None:
    """A line break inside the purpose is refused: two meanings could share one signature."""
    with pytest.raises(IdentityError, match="one line"):
        bank.sign("plan\nmore", b"")


def test_a_signature_is_what_any_library_checks(bank: Identity) -> None:
    """It is ECDSA with SHA-256 over the prefix, the purpose, a line break and the data."""
    key = x509.load_der_x509_certificate(bank.certificate.der).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(bank.sign("plan", b"data"), b"plumbob signature 1\nplan\ndata", ec.ECDSA(hashes.SHA256()))


def test_validity_is_told_with_its_day(tmp_path: Path) -> None:
    """Before its first and after its last moment a certificate says why it does not hold."""
    certificate = Identity.create(tmp_path / "home", "bank", days=30).certificate
    assert "clock" in (certificate.mistake_at(now() - datetime.timedelta(days=1)) or "")
    assert "ended" in (certificate.mistake_at(now() + datetime.timedelta(days=31)) or "")


def test_the_fingerprint_is_the_usual_one(bank: Identity) -> None:
    """SHA-256 over the DER, as openssl prints it but for the layout."""
    expected = x509.load_der_x509_certificate(bank.certificate.der).fingerprint(hashes.SHA256()).hex()
    assert bank.certificate.fingerprint.replace(" ", "") == expected


Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def certificate_of(key: Key, signer: Key, names: list[str]) -> bytes:
    """Any certificate, right or wrong."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now())
        .not_valid_after(now() + datetime.timedelta(days=1))
    )
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(signer, digest).public_bytes(serialization.Encoding.DER)


def wrong_certificates() -> dict[str, bytes]:
    """Well-formed certificates, each wrong in one respect, and one that is not."""
    right, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    short, bent = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())
    modern = ed25519.Ed25519PrivateKey.generate()
    return {
        "another kind of key": certificate_of(short, short, ["bank"]),
        "another curve": certificate_of(bent, bent, ["bank"]),
        "a modern key": certificate_of(modern, modern, ["bank"]),
        "signed by another": certificate_of(right, other, ["bank"]),
        "a wrong name": certificate_of(right, right, ["bank and fund"]),
        "two names": certificate_of(right, right, ["bank", "fund"]),
        "no name": certificate_of(right, right, []),
        "bytes behind it": certificate_of(right, right, ["bank"]) + b"\0",
        "no certificate": b"certificate",
        "too long": bytes(10_000),
    }


def test_other_certificates_are_refused() -> None:
    """Only a self-signed P-256 certificate of one plain name is taken."""
    right = ec.generate_private_key(ec.SECP256R1())
    assert Certificate.parse(certificate_of(right, right, ["bank"])).name == "bank"
    for der in wrong_certificates().values():
        with pytest.raises(IdentityError):
            Certificate.parse(der)


def test_a_file_is_replaced_once_its_successor_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes, name and folder reach the disk in this order: a loss of power leaves the old or the new file."""
    file, done = tmp_path / "count", list[str]()
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"{os.fstat(handle).st_size} bytes")
        fsync(handle)

    def replaced(source: Path, target: Path) -> None:
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    for content in (b"first", b"second"):
        write_over(file, content)
        assert file.read_bytes() == content
    assert done == ["5 bytes", "name", "folder", "6 bytes", "name", "folder"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["count"]
