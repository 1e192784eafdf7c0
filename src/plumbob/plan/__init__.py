"""A plan, which fixes a run: one TOML file, the same bytes at every party, frozen, validated once, hashed.

`keys` says what a key is, `settings` lists them all, `plan` says what a plan gets that leaves them out, `reading` and
`writing` turn files into plans and back, and `rules` refuses what a protocol cannot carry, before anything moves, with
the reason.
"""

from plumbob.plan.keys import SettingKey, suggestion
from plumbob.plan.levels import Level, RowLevels, in_words, total_passes
from plumbob.plan.plan import PAPER, PAPERS_PROTOCOL, Plan, default_of
from plumbob.plan.protocols import OURS, PROTOCOLS, Protocol
from plumbob.plan.rules import PARTY_NAME, PROFILE_BITS, unready_evidence
from plumbob.plan.settings import KEYS, PARTY_KEYS, ROLES, SECTIONS, VERSION, Heuristic, Party
from plumbob.plan.writing import toml_value

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
    "Heuristic",
    "Level",
    "Party",
    "Plan",
    "Protocol",
    "RowLevels",
    "SettingKey",
    "default_of",
    "in_words",
    "suggestion",
    "toml_value",
    "total_passes",
    "unready_evidence",
]
