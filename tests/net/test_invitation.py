"""Invitations: one line, whole or refused."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.errors import IdentityError, TransportError
from plumbob.net.identity import PREFIX, Identity, Invitation


def token_of(content: object, *, prefix: str = PREFIX) -> str:
    """A token with a right checksum around any content."""
    packed = content if isinstance(content, bytes) else json.dumps(content).encode()
    checksum = hashlib.sha256(prefix.encode() + packed).digest()[:8]
    return prefix + base64.urlsafe_b64encode(packed + checksum).decode().rstrip("=")


@pytest.mark.parametrize("address", [None, "bank.example:7700", "[::1]:7700"])
def test_it_reads_back(bank: Identity, address: str | None) -> None:
    """A token is one line of plain characters and gives back what went in, also with blanks around it."""
    token = Invitation(bank.certificate, address).token()
    assert token.isascii()
    assert len(token.split()) == 1
    found = Invitation.parse(f"  {token}\n")
    assert found == Invitation(bank.certificate, address)
    assert found.name == "bank"


@given(data=st.data())
def test_any_changed_character_is_seen(parties: dict[str, Identity], data: st.DataObject) -> None:
    """One replaced, removed or added character anywhere is refused."""
    token = Invitation(parties["bank"].certificate, "bank.example:7700").token()
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from("ABCxyz019-_.=!é \n"))
    kind = data.draw(st.sampled_from(["replace", "remove", "insert", "cut"]))
    changed = {
        "replace": token[:place] + letter + token[place + 1 :],
        "remove": token[:place] + token[place + 1 :],
        "insert": token[:place] + letter + token[place:],
        "cut": token[:place],
    }[kind]
    if changed.strip() == token:
        return
    with pytest.raises(IdentityError):
        Invitation.parse(changed)


def test_contents_are_strict(bank: Identity) -> None:
    """A missing, an unknown or a wrong field, another name, another layout: each is refused."""
    right = {"name": "bank", "certificate": base64.b64encode(bank.certificate.der).decode(), "address": ""}
    compact = json.dumps(right, separators=(",", ":")).encode()
    assert Invitation.parse(token_of(compact)).name == "bank"
    for wrong in (
        {**right, "more": 1},
        {"name": "bank"},
        {**right, "name": "fund"},
        {**right, "certificate": 7},
        [right],
        right,  # the same values, laid out in another way
    ):
        with pytest.raises(IdentityError):
            Invitation.parse(token_of(wrong))
    with pytest.raises(TransportError, match="HOST:PORT"):
        Invitation.parse(token_of(json.dumps({**right, "address": "x y"}, separators=(",", ":")).encode()))


def test_other_versions_and_sizes_are_refused(bank: Identity) -> None:
    """Another version of tokens, and one that is far too long, are refused before they are decoded."""
    token = Invitation(bank.certificate).token()
    with pytest.raises(IdentityError, match="begins with"):
        Invitation.parse(token.replace("invite-1", "invite-2"))
    with pytest.raises(IdentityError, match="at most"):
        Invitation.parse(token + "A" * 10_000)
