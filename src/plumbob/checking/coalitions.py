"""Coalitions: with three or more parties, all but one may pool what they have against the one that is left.

A coalition is one party with all its members' columns. So the plan is taken as one of two parties, and judged by the
same rules. A coalition that holds the label attacks as the label party, any other as a feature party.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plumbob.checking.words import joined_names, spoken_names
from plumbob.plan import Party, Plan


@dataclass(frozen=True)
class Coalition:
    """All parties but one, acting as one."""

    plan: Plan
    """The plan as one of two parties: the coalition, under its first member's name, and the one that is left."""
    whole: Plan
    """The plan that is run."""
    members: tuple[str, ...]
    victim: str
    spoken: Mapping[str, str]
    """What sentences call each party of the whole plan."""

    @property
    def name(self) -> str:
        return "+".join(self.members)

    @property
    def joint(self) -> str:
        """The name that the coalition has in the merged plan."""
        return self.members[0]

    @property
    def members_in_words(self) -> str:
        return joined_names([self.spoken[name] for name in self.members])

    @property
    def spoken_in_plan(self) -> dict[str, str]:
        """What sentences call the two parties of the merged plan."""
        return {**self.spoken, self.joint: self.members_in_words}


def coalitions(plan: Plan) -> Iterator[Coalition]:
    """One coalition against each party; none where there are only two."""
    if len(plan.learners) < 3:
        return
    spoken = spoken_names([party.name for party in plan.parties])
    for victim in plan.learners:
        members = tuple(party for party in plan.learners if party is not victim)
        if victim.features or victim.role == "label":
            names = tuple(party.name for party in members)
            yield Coalition(_merge_parties(plan, members, victim), plan, names, victim.name, spoken)


def _merge_parties(plan: Plan, members: tuple[Party, ...], victim: Party) -> Plan:
    columns = sum(party.features for party in members)
    joint = Party(members[0].name, "features" if victim.role == "label" else "label", columns)
    parties = (victim, joint) if victim.role == "label" else (joint, victim)
    arbiters = tuple(party for party in plan.parties if party.role == "arbiter")
    # Evidence is the whole plan's matter: what a replay names is judged there.
    return plan.replace(parties=(*parties, *arbiters), evidence="none", days=0, auditors={})
