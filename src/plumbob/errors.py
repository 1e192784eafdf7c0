"""Every error that Plumbob raises, as one tree.

A message says what was expected, what came, and what to do. It never holds a key, a label, a feature or a mask.
"""


class PlumbobError(Exception):
    """Anything that Plumbob raises on purpose."""

    for_peers = "something went wrong on its own side; the reason is shown there"
    """What the peers of a run hear: a sentence that tells nothing about this side's data or folders."""


class PlanError(PlumbobError, ValueError):
    """The plan is not one that can be run as written. A ValueError too, as a wrong parameter is in scikit-learn."""

    for_peers = "something about the plan stops it; the reason is shown there"


class DivergenceError(PlanError):
    """Training left the range in which the plan's approximation means anything: its numbers do not fit these data."""


class SettingsError(PlanError):
    """What a party wrote for itself (`party.toml`) is not usable as written."""

    for_peers = "its own settings do not fit; the reason is shown there"


class DataError(PlumbobError, ValueError):
    """A table, a column or a row is not what the plan needs. A ValueError too, as wrong data are in scikit-learn."""

    for_peers = "it cannot use its own table as it is; the reason is shown there"


class CryptoError(PlumbobError):
    """A key, a ciphertext, a proof or a number to encrypt was refused."""


class EngineError(CryptoError):
    """What calculates here is missing or has failed: no peer and no message is to blame."""


class EncodingError(CryptoError):
    """A number does not fit the fixed-point width that the plan makes public."""


class KeyRefusedError(CryptoError):
    """A key that we will not use: malformed, too short, already seen, or without a valid proof."""


class CiphertextRefusedError(CryptoError):
    """Bytes that are not ciphertexts under the key they claim; the secret key was not touched."""


class TransportError(PlumbobError):
    """Bytes could not be carried: connection, certificate, deadline."""


class DeadlineError(TransportError):
    """Nothing came in the time that was given; the connection itself may be sound."""


class PeerAwayError(TransportError):
    """A peer was not there in the time that it was waited for; nothing was said yet."""


class IdentityError(TransportError):
    """A key, a certificate or an invitation was refused, here or by the peer: only a person can change that."""


ROOM_ADVICE = "make room or repair the disk, then run the same command again to resume"
"""The same words wherever the disk turns out to be full: which write finds out first is a matter of timing."""


class JournalError(TransportError):
    """The journal could not be written, read or locked; nothing left that it does not hold."""


class PrivacyError(PlumbobError):
    """A promise about privacy that we could not keep."""


class UnsafePlanError(PrivacyError):
    """The plan leaks above its own tolerance, and nobody accepted that."""

    for_peers = "it does not accept this plan as it is; the reason is shown there"


class UnsignedPlanError(UnsafePlanError):
    """Nobody here has signed the plan."""

    for_peers = "it has not signed this plan yet"


class BudgetExceededError(PrivacyError):
    """The next release would cost more than what is left of the privacy budget."""

    for_peers = "its limit on what it gives away is reached; the reason is shown there"


class ScoresWaitError(PrivacyError):
    """The plan opens scores only after a replay, and no statement here says that it was clean."""

    for_peers = "scores wait for your auditor's statement that your training was replayed and is clean"


class ProtocolError(PlumbobError):
    """The rules of the protocol were, or would be, broken."""


class LocalProtocolError(ProtocolError):
    """We would break the rules: a mistake on this side."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the rules. Its words may stand in the message, and never make a line of their own."""

    def __init__(self, message: str = "") -> None:
        super().__init__("; ".join(message.splitlines()))
