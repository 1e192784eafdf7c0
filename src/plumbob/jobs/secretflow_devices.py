"""SecretFlow's secure devices: which protocol the SPU runs, whom it makes you trust, and how long the HEU's keys are.

What each protocol promises is said in SPU's own `docs/reference/runtime_config.md` and `spu.proto`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plumbob.jobs.reading import Read, ValueSource, mapping

# In the order of SPU's numbers, from 1.
PROTOCOLS = ("REF2K", "SEMI2K", "ABY3", "CHEETAH", "SECURENN", "SWIFT")
DEALERS = ("TrustedFirstParty", "TrustedThirdParty", "MultiParty")
TRUST = {
    "ABY3": "The SPU runs ABY3 on three nodes: you must trust that no two of them pool what they hold.",
    "CHEETAH": "The SPU runs CHEETAH between two nodes, without a dealer: you must trust that both run it as it is.",
    "SECURENN": "The SPU runs SECURENN: you must trust that the third node, the helper, sides with nobody.",
    "SWIFT": "The SPU runs SWIFT on three nodes, which SPU calls experimental: you must trust that two keep to it.",
    "TrustedThirdParty": "The SPU runs SEMI2K with a dealer of its own: you must trust that it sides with nobody.",
    "MultiParty": "The SPU runs SEMI2K, and its nodes draw the random numbers together: you must trust nobody else.",
}
FIRST_PARTY = (
    "The SPU runs SEMI2K with its default dealer, the first party, which knows every random number that hides the "
    "others' values: you must trust it with all data. SPU calls this not safe for production."
)
UNPROTECTED = "The SPU runs REF2K, which protects nothing: SPU's documentation keeps it for debugging only."


@dataclass(frozen=True)
class SecureDevice:
    """What hides the values while SecretFlow calculates."""

    protocol: str = ""
    """Empty where the file does not say."""
    dealer: str = DEALERS[0]
    is_mock: bool = False
    """Whether the HEU's schema encrypts nothing."""
    key_bits: Any = None

    @property
    def unprotected(self) -> str:
        if self.is_mock:
            return "The HEU's schema is mock, which encrypts nothing."
        return UNPROTECTED if self.protocol == "REF2K" else ""

    @property
    def trust(self) -> str:
        """Whom this makes you trust; empty where that is the first party, or not stated."""
        return TRUST.get(self.dealer if self.protocol == "SEMI2K" else self.protocol, "")

    @property
    def no_all_clear(self) -> str:
        if self.trust or self.unprotected:
            return ""
        missing = "The file does not say which protocol the SPU runs; provide the cluster's description with it. "
        return FIRST_PARTY if self.protocol else f"{missing}By default: {FIRST_PARTY}"

    def read(self) -> Read:
        """What is printed about the SPU."""
        source: ValueSource = "file" if self.protocol else "assumed"
        where = (
            "runtime_config.protocol" if self.protocol else "the file does not say; SecretFlow's own examples have it"
        )
        return Read("spu_protocol", self.protocol or "SEMI2K", source, where)


UNKNOWN = SecureDevice()


def device_of(tables: Iterable[Mapping[str, Any]]) -> SecureDevice:
    """From all tables of a file; of several SPUs or keys the weakest."""
    spus: list[tuple[int, int]] = []
    bits: list[int] = []
    is_mock = False
    for table in tables:
        if (protocol := _place(PROTOCOLS, table.get("protocol"), 1, "field" in table)) is not None:
            dealer = _place(DEALERS, table.get("beaver_type"), 0, True) or 0
            spus.append((protocol, dealer))
        keys = mapping(table, "he_parameters")
        size = mapping(mapping(keys, "key_pair"), "generate").get("bit_size", table.get("key_size"))
        if (known := _number(size)) is not None:
            bits.append(known)
        is_mock = is_mock or "mock" in (keys.get("schema"), table.get("schema"))
    protocol, dealer = min(spus, default=(None, 0))
    name = "" if protocol is None else PROTOCOLS[protocol]
    return SecureDevice(name, DEALERS[dealer], is_mock, min(bits, default=None))


def _place(names: tuple[str, ...], given: Any, first: int, takes_numbers: bool) -> int | None:
    """Where a name stands, which may come as a number or with a prefix: `ProtocolKind.REF2K`."""
    number = _number(given)
    if takes_numbers and number is not None and first <= number < first + len(names):
        return number - first
    word = given.rsplit(".", 1)[-1].lower() if isinstance(given, str) else ""
    lowered = [name.lower() for name in names]
    return lowered.index(word) if word in lowered else None


def _number(given: Any) -> int | None:
    """Of at most six digits, also in quotes."""
    if isinstance(given, str) and len(given) <= 6 and given.isdecimal():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 10**6 else None
