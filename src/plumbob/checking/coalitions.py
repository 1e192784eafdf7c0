"""Coalitions: with three or more parties, all but one may pool what they have against the one that is left.

A coalition is one party with all its members' columns. So the plan is taken as one of two parties, and judged by the
same rules. A coalition that holds the label attacks as the label party, any other as a feature party.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plumbob.checking.words import joined_names, sentence, spoken_names
from plumbob.plan import Party, Plan

JOINT, ALONE = "coalition", "victim"
"""The names of the two parties in a merged plan; names may hold no `+`."""


@dataclass(frozen=True)
class Coalition:
    """All parties but one, acting as one."""

    plan: Plan
    """The plan as one of two parties: the coalition and the one that is left."""
    members: tuple[str, ...]
    victim: str
    spoken: Mapping[str, str]
    """What sentences call each party."""

    @property
    def name(self) -> str:
        return "+".join(self.members)

    @property
    def members_in_words(self) -> str:
        return joined_names([self.spoken[name] for name in self.members])

    def renamed(self, text: str) -> str:
        """The text with the parties' real names."""
        return sentence(text.replace(JOINT, self.members_in_words).replace(ALONE, self.spoken[self.victim]))


def coalitions(plan: Plan) -> Iterator[Coalition]:
    """One coalition against each party; none where there are only two."""
    if len(plan.learners) < 3:
        return
    spoken = spoken_names([party.name for party in plan.parties])
    for victim in plan.learners:
        members = tuple(party for party in plan.learners if party is not victim)
        if victim.features or victim.role == "label":
            names = tuple(party.name for party in members)
            yield Coalition(_merge_parties(plan, members, victim), names, victim.name, spoken)


def _merge_parties(plan: Plan, members: tuple[Party, ...], victim: Party) -> Plan:
    columns = sum(party.features for party in members)
    if victim.role == "label":
        parties = (Party(ALONE, "label", victim.features), Party(JOINT, "features", columns))
    else:
        parties = (Party(JOINT, "label", columns), Party(ALONE, "features", victim.features))
    arbiters = tuple(party for party in plan.parties if party.role == "arbiter")
    # Evidence is the whole plan's matter: what a replay names is judged there.
    return plan.replace(parties=(*parties, *arbiters), evidence="none", days=0, auditors={})
