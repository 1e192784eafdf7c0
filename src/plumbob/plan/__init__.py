"""A plan, which fixes a run: one TOML file, the same bytes at every party, frozen, validated once, hashed.

`common` has the keys that organisations sign, `plan` the validated plan, `study` what only a study may set, which
nothing loads before somebody asks for it. `keys` says what a key is, `file` turns a file into a plan and back, and
`mistakes` refuses what a protocol cannot carry, before anything moves, with the reason.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plumbob.plan.common import VERSION, Common, Heuristic, Party
from plumbob.plan.file import toml_value
from plumbob.plan.keys import SECTIONS, SettingKey, suggestion
from plumbob.plan.levels import Level, RowLevels, in_words, total_passes
from plumbob.plan.mistakes import PARTY_NAME, ROLES, unready_evidence
from plumbob.plan.plan import PARTY_KEYS, Plan
from plumbob.plan.protocols import OURS, PROTOCOLS, Protocol

if TYPE_CHECKING:
    from plumbob.plan.study import KEYS, PAPER, PAPERS_PROTOCOL, Study, default_of
    from plumbob.plan.study_mistakes import PROFILE_BITS

OF_STUDIES = {
    "KEYS": "study",
    "PAPER": "study",
    "PAPERS_PROTOCOL": "study",
    "PROFILE_BITS": "study_mistakes",
    "Study": "study",
    "default_of": "study",
}

__all__ = [
    "KEYS",
    "OURS",
    "PAPER",
    "PAPERS_PROTOCOL",
    "PARTY_KEYS",
    "PARTY_NAME",
    "PROFILE_BITS",
    "PROTOCOLS",
    "ROLES",
    "SECTIONS",
    "VERSION",
    "Common",
    "Heuristic",
    "Level",
    "Party",
    "Plan",
    "Protocol",
    "RowLevels",
    "SettingKey",
    "Study",
    "default_of",
    "in_words",
    "suggestion",
    "toml_value",
    "total_passes",
    "unready_evidence",
]


def __getattr__(name: str) -> Any:
    if name not in OF_STUDIES:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    return getattr(import_module(f"plumbob.plan.{OF_STUDIES[name]}"), name)
