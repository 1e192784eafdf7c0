"""A party's word that it has read a plan: nothing moves before everybody has given it.

The signature is over the plan's hash, by the key of the party's certificate, which the peers have pinned. It is kept
with the run, so that each can show later what the others agreed to. What a party accepts beside the plan (its leaks,
what cheating could reach without a trace, evidence that outlives noise) is a word of the same kind each, which stays at
home and is named in the party's own record.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from plumbob.errors import IdentityError, RemoteProtocolError, UnsignedPlanError
from plumbob.net.identity import Certificate, Identity, make_private_folder, write_over, write_private
from plumbob.party.home import Home
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind

PURPOSE = "plan"
MESSAGES = "messages of a session"
COORDINATE_BYTES = 32
PLAN_COPY = ".toml"  # How the name of a signed plan's copy ends.
ACCEPTED = ("leaks", "cheating", "evidence")
"""What can be accepted, each separately."""


@dataclass(frozen=True, repr=False)
class PlanSignature:
    """Our own signature of the plan, and the certificates that the others' are verified with."""

    signature: bytes
    certificates: Mapping[str, Certificate]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class MessageSigner:
    """Signs what this party says in a session, and knows its peers' certificates."""

    identity: Identity
    certificates: Mapping[str, Certificate]

    def sign(self, data: bytes) -> bytes:
        pair = decode_dss_signature(self.identity.sign(MESSAGES, data))
        return b"".join(number.to_bytes(COORDINATE_BYTES, "big") for number in pair)

    def verify(self, name: str, data: bytes, signature: bytes) -> None:
        verify_message(self.certificates[name], data, signature)


def verify_message(certificate: Certificate, data: bytes, signature: bytes) -> None:
    """Raises IdentityError unless the certificate's owner signed this in a session."""
    halves = (signature[:COORDINATE_BYTES], signature[COORDINATE_BYTES:])
    certificate.verify(MESSAGES, data, encode_dss_signature(*(int.from_bytes(half, "big") for half in halves)))


def sign(home: Home, plan: Plan, accepted: Collection[str] = ()) -> Path:
    """Sign a plan and return the signature's file; what is accepted is replaced by what this call says."""
    for consent in ACCEPTED:
        if consent in accepted:
            _give_word(home, plan, f"{consent} of a plan")
        else:
            _file(home, plan, f"{consent} of a plan").unlink(missing_ok=True)
    word = _give_word(home, plan, PURPOSE)
    write_over(home.signed / f"{plan.hash()}{PLAN_COPY}", plan.to_toml().encode())
    return word


def _give_word(home: Home, plan: Plan, purpose: str) -> Path:
    """Write a signature and return its file; one that is no longer valid is replaced."""
    file = _file(home, plan, purpose)
    if _own(home, plan, purpose) is None:
        make_private_folder(file.parent)
        file.unlink(missing_ok=True)
        write_private(file, home.identity.sign(purpose, plan.hash().encode()))
    return file


def own_signature(home: Home, plan: Plan) -> PlanSignature:
    """This party's signature of the plan; UnsignedPlanError if it was never signed here."""
    own = _own(home, plan, PURPOSE)
    if own is None:
        raise UnsignedPlanError(
            f"this plan was not signed here{_changed_since(home, plan)}; read it, then type: plumbob party sign PLAN"
        )
    accepted = tuple(consent for consent in ACCEPTED if _own(home, plan, f"{consent} of a plan") is not None)
    return PlanSignature(own, home.pinned, accepted)


def _changed_since(home: Home, plan: Plan) -> str:
    """The keys in which the plan that was signed here last differs from this one; empty where none was signed."""
    copies = sorted(home.signed.glob(f"*{PLAN_COPY}"), key=lambda file: file.stat().st_mtime)
    if not copies:
        return ""
    signed = Plan.load(copies[-1])
    changed = [name for name, value in plan.values().items() if value != getattr(signed, name)]
    return f"; the plan that was signed here last differs from it in {', '.join(changed)}"


def _own(home: Home, plan: Plan, purpose: str) -> bytes | None:
    """Our valid signature of this plan, or of what it makes us accept; None without one."""
    try:
        own = _file(home, plan, purpose).read_bytes()
        home.identity.certificate.verify(purpose, plan.hash().encode(), own)
    except (OSError, IdentityError):
        return None
    return own


def swap_signatures(channels: Mapping[str, Channel], own: PlanSignature, plan: Plan) -> dict[str, bytes]:
    """Send our signature to everybody, and return everybody's, checked."""
    for channel in channels.values():
        channel.send(Kind.SIGNATURE, 0, own.signature)
    signatures = {peer: channel.receive(Kind.SIGNATURE, 0, None) for peer, channel in channels.items()}
    for peer, signature in signatures.items():
        try:
            own.certificates[peer].verify(PURPOSE, plan.hash().encode(), signature)
        except IdentityError:
            raise RemoteProtocolError(f"{peer}: its signature is not over this plan; ask it to sign again") from None
    return signatures


def _file(home: Home, plan: Plan, purpose: str) -> Path:
    accepted = "" if purpose == PURPOSE else f".{purpose.split()[0]}"
    return home.signed / f"{plan.hash()}{accepted}.signature"
