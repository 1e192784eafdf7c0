"""What a run leaves: one JSON object that says what was planned, what really happened and what came out of it.

It holds no features, no labels, no keys and, but for the model's weights, nothing that a party would keep to itself.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from plumbob.errors import DataError

FORMAT = 1
FINISHED = "finished"


@dataclass(frozen=True)
class Finding:
    """What one attack by one party gives, before a run (`verdict` from the plan alone) or after it (with the rates).

    `rate` and its neighbours are None where they do not apply. docs/auditing.md says how each is measured.
    """

    attack: str
    by: str
    against: str
    target: str
    """labels, scores or features."""
    verdict: str
    """leaks, degrades, blocked or not applicable."""
    why: str
    reference: str
    fix: str
    rate: float | None = None
    baseline: float | None = None
    auc: float | None = None
    baseline_auc: float | None = None
    balanced_accuracy: float | None = None
    interval: tuple[float, float] | None = None
    coverage: float | None = None
    determined: float | None = None
    n: int | None = None
    advantage: float | None = None
    conditions: tuple[dict[str, Any], ...] = ()

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Finding":
        """From JSON, which has lists for tuples."""
        interval = stored.get("interval")
        tuples = {"interval": interval and tuple(interval), "conditions": tuple(stored.get("conditions", ()))}
        return cls(**{**stored, **tuples})


@dataclass(frozen=True)
class PartyRecord:
    """One party's side of a run. `coefficients` are in the units of its own table, `None` if they were never opened."""

    name: str
    role: str
    columns: list[str]
    coefficients: list[float] | None
    offset: float
    messages_sent: int
    bytes_sent: int
    encryptions: int
    decryptions: int
    randomisations: int
    noise_draws: int
    streams: dict[str, str]
    """For each peer, the hash over all bytes sent to it; the peer's hash over what it received must be the same."""
    received_streams: dict[str, str]
    """For each peer, the hash over all bytes that came from it."""


@dataclass(frozen=True)
class RunRecord:
    """Everything about a run that may be shown."""

    plumbob: str
    plan: str
    plan_hash: str
    protocol: str
    engine: str
    key_profile: str
    randomness: str
    """kernel, or test source: then nothing in the run was secret."""
    seed: str
    rows: int
    test_rows: int
    steps: int
    seconds: float
    status: str
    """finished, running, or how it ended before that: interrupted or failed, at some step."""
    parties: list[PartyRecord]
    quality: dict[str, dict[str, dict[str, float | None]]] = field(default_factory=dict)
    """For the rows it was judged on, for joint, local-only and pooled models: the metrics, None where undefined."""
    epochs: list[dict[str, float | None]] = field(default_factory=list)
    """The label party's quality after each epoch, where weights are known by then."""
    accepted_leaks: bool = False
    findings: list[Finding] = field(default_factory=list)
    """What the red team found, where it was asked."""
    notes: list[str] = field(default_factory=list)
    format: int = FORMAT
    transcripts: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What each party saw, for the auditor; it stays in memory, or in the parties' own files, not in the JSON."""

    @property
    def is_finished(self) -> bool:
        return self.status == FINISHED

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(replace(self, transcripts={}), dict_factory=_without_transcripts)

    def save(self, folder: Path) -> None:
        """As run.json, in one move, so that an interrupted write leaves no half of it."""
        target = folder / "run.json"
        draft = target.with_suffix(".draft")
        draft.write_text(self.to_json(), encoding="utf-8")
        draft.replace(target)

    @classmethod
    def load(cls, folder: Path) -> "RunRecord":
        """The record of a run's folder."""
        path = folder / "run.json"
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"{folder}: expected the folder of a run with a run.json that can be read") from error
        return cls.from_dict(stored, path)

    @classmethod
    def from_dict(cls, stored: Any, source: object) -> "RunRecord":
        """Strict: a record of another format, or with other fields, is refused."""
        names = {item.name for item in fields(cls)} - {"transcripts"}
        if not isinstance(stored, dict) or stored.get("format") != FORMAT or set(stored) != names:
            raise DataError(f"{source}: expected a run record of format {FORMAT}; was it written by another version?")
        try:
            parties = [PartyRecord(**party) for party in stored["parties"]]
            findings = [Finding.from_dict(finding) for finding in stored["findings"]]
        except (TypeError, AttributeError) as error:
            raise DataError(
                f"{source}: a party or a finding in the run record has other fields than format {FORMAT}"
            ) from error
        return cls(**{**stored, "parties": parties, "findings": findings})


def _without_transcripts(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if name != "transcripts"}
