"""How sentences call a party: by its name, or, where a plan from flags gives it none, by what it is.

Rules write names into their sentences. So a plan without names is judged under names that can be told from other words,
and these are put into plain words afterwards.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from plumbob.plan import Party, Plan
from plumbob.record import Finding

GIVEN_BY_FLAGS = re.compile(r"label|features(-\d+)?|arbiter")
STANDING_IN = re.compile(r"(?:the-(?:label|feature)-party|the-arbiter|feature-party-\d+)(?:\+\S*[\w])?")
SENTENCE_START = re.compile(r"(?:^|(?<=[.!?] ))(the|feature|all) ")


def spoken_names(names: Sequence[str]) -> dict[str, str]:
    """What sentences say for each of a plan's parties, the label party first."""
    if not all(GIVEN_BY_FLAGS.fullmatch(name) for name in names):
        return {name: name for name in names}
    features = [name for name in names if name.startswith("features")]
    many = {name: f"feature party {place}" for place, name in enumerate(features, 1)}
    return {
        "label": "the label party",
        "arbiter": "the arbiter",
        **(many if len(features) > 1 else dict.fromkeys(features, "the feature party")),
    }


def joined_names(names: Sequence[str], word: str = "and") -> str:
    """a; a and b; a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def sentence(text: str) -> str:
    """With a capital letter where it begins with words; a party's own name is written as it is."""
    return SENTENCE_START.sub(lambda found: found[0].capitalize(), text)


def stand_ins(plan: Plan) -> dict[str, str]:
    """For each party of a plan without names, one that a plan takes and no other word looks like; else none."""
    spoken = spoken_names([party.name for party in plan.parties])
    return {name: said.replace(" ", "-") for name, said in spoken.items() if said != name}


def renamed(plan: Plan, names: Mapping[str, str]) -> Plan:
    """The same plan between parties of other names."""
    parties = tuple(Party(names[party.name], party.role, party.features) for party in plan.parties)
    auditors = {names[name]: auditor for name, auditor in plan.auditors}
    return plan.replace(parties=parties, held_out_by=names.get(plan.held_out_by, plan.held_out_by), auditors=auditors)


def in_plain_words(findings: Iterable[Finding], names: Mapping[str, str]) -> Iterable[Finding]:
    """Findings under stand-ins, with the plan's own names in their fields and plain words in their sentences."""
    original = {standing_in: name for name, standing_in in names.items()}
    for one in findings:
        by = "+".join(original.get(name, name) for name in one.by.split("+"))
        yield replace(one, by=by, against=original.get(one.against, one.against), why=plain(one.why))


def plain(text: str) -> str:
    """The sentence with its stand-ins replaced by ordinary words."""
    return sentence(STANDING_IN.sub(lambda found: joined_names(found[0].replace("-", " ").split("+")), text))
