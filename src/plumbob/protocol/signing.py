"""Signing what was said in a session, so that each party answers for it.

Before anything is opened, everybody has signed all commitments and the hashes of all its streams so far (`account`);
whatever opens something is signed by its sender. In a simulation nobody signs, and nothing here does anything.
"""

from collections.abc import Iterable
from dataclasses import replace

from plumbob.errors import IdentityError, RemoteProtocolError
from plumbob.protocol.account import Seal, Signer, seal_bytes
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant


def mark(participant: Participant) -> None:
    """Note what we have sent so far: a peer that signs need not have received anything later."""
    participant.account.marks = {peer: channel.sent_hash for peer, channel in participant.channels.items()}


def meet(participant: Participant, step: int, names: Iterable[str] | None = None) -> None:
    """Sign everything so far and check what the others signed; among these peers, or all."""
    peers = _signing(participant, names)
    mark(participant)
    seal(participant, step, peers)
    check_seals(participant, step, peers)
    if participant.account.signer is not None:
        participant.account.refuse_other_versions(peers)


def seal(participant: Participant, step: int, names: Iterable[str] | None = None) -> None:
    """Sign everything so far, for these peers or for all."""
    account = participant.account
    if account.signer is None:
        return
    peers = {peer: participant.channels[peer] for peer in account.peers_of(participant.name)}
    streams = {peer: (channel.sent_hash, channel.received_hash) for peer, channel in peers.items()}
    unsigned = Seal(account.all_commitments(), streams)
    signature = account.signer.sign(unsigned.to_sign(account.session, participant.name, step))
    account.seals[participant.name] = replace(unsigned, signature=signature)
    participant.keep_seal(participant.name, step)
    for peer in _signing(participant, names):
        peers[peer].send(Kind.SEAL, step, account.seals[participant.name].to_bytes())


def check_seals(participant: Participant, step: int, names: Iterable[str] | None = None) -> None:
    """Check that these peers, or all, signed what we sent up to the last mark and what we got from them."""
    if participant.account.signer is not None:
        for peer in _signing(participant, names):
            _check_seal(participant, step, peer, participant.account.signer)


def _check_seal(participant: Participant, step: int, peer: str, signer: Signer) -> None:
    account, channel = participant.account, participant.channels[peer]
    body = channel.receive(Kind.SEAL, step, seal_bytes(len(account.names)))
    theirs = Seal.from_bytes(body, account.peers_of(peer))
    try:
        signer.verify(peer, theirs.to_sign(account.session, peer, step), theirs.signature)
    except IdentityError:
        raise RemoteProtocolError(
            f"{peer}: its signature over the messages so far does not hold, so the run ends here; what was opened "
            "before this step stays opened. Start over with --new"
        ) from None
    if theirs.commitments != account.all_commitments():
        raise RemoteProtocolError(
            f"{peer}: it was told other commitments than we were, so some party tells two versions and the run "
            "ends here; start over with --new"
        )
    if theirs.streams[participant.name] != (channel.received_hash, account.marks[peer]):
        raise RemoteProtocolError(
            f"{peer}: the two sides' message logs differ, so their results would too; start over with --new"
        )
    account.seals[peer] = theirs
    participant.keep_seal(peer, step)


def _signing(participant: Participant, names: Iterable[str] | None) -> list[str]:
    peers = participant.account.peers_of(participant.name)
    return [peer for peer in peers if names is None or peer in names]
