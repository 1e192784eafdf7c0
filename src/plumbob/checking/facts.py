"""Every sentence about what a plan opens, to whom, and what that leaves open: one table, from which all places choose.

A fact holds of some plans. docs/limitations.md has the same at length.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from plumbob.checking.figures import Figures
from plumbob.checking.names import sentence, spoken_names
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.protocol.openings import most_scored_rows

Words = str | Callable[["PlanFacts"], str]


class SaidWhere(Enum):
    """Where a sentence is read."""

    OPENED = "the headline if everyone keeps to the protocol, and the decision sheet: what is opened on purpose"
    TRACE = "the headline if someone cheats: what would show it, and what limits it"
    NOTES = "beside the findings"
    LIMITS = "the report and the decision sheet: what is not protected"


@dataclass(frozen=True)
class PlanFacts:
    """A plan on its rows, as the sentences need it."""

    figures: Figures

    @property
    def plan(self) -> Plan:
        return self.figures.plan

    @property
    def _spoken(self) -> dict[str, str]:
        return spoken_names([party.name for party in self.plan.parties])

    @property
    def label(self) -> str:
        return self._spoken[self.plan.label_party.name]

    @property
    def arbiter(self) -> str:
        return "" if self.plan.arbiter is None else self._spoken[self.plan.arbiter.name]

    @property
    def features(self) -> list[str]:
        return [self._spoken[party.name] for party in self.plan.feature_parties]

    @property
    def holder(self) -> str:
        """Of the rows held out, where one party chooses them."""
        return self._spoken.get(self.plan.held_out_by, "")

    @property
    def their_columns(self) -> int:
        return sum(party.features for party in self.plan.feature_parties)


@dataclass(frozen=True)
class Fact:
    """One sentence for one place, where it holds."""

    place: SaidWhere
    holds: Callable[[PlanFacts], bool]
    says: Words

    def sentence(self, facts: PlanFacts) -> str:
        return sentence(self.says if isinstance(self.says, str) else self.says(facts))


def said(place: SaidWhere, figures: Figures) -> Iterator[str]:
    """What holds of this plan, in this place."""
    facts = PlanFacts(figures)
    return (fact.sentence(facts) for fact in FACTS if fact.place is place and fact.holds(facts))


# What is opened on purpose.


def _scores(facts: PlanFacts) -> str:
    """How many scores the label party gets, and what it sees with each."""
    plan, figures = facts.plan, facts.figures
    held_out = f", {figures.held_out:,} held out for testing included" if figures.held_out else ""
    limit = most_scored_rows(plan, figures.rows) if figures.predicted is None else figures.scored
    whom = f"each of up to {counted(limit, 'person', 'people')}" if limit else "every person that it asks about"
    return f"{facts.label} gets the joint score of {whom}{held_out}"


def _with_part(facts: PlanFacts) -> str:
    others = facts.features
    if len(others) == 1:
        return f"{_scores(facts)}, and so {others[0]}'s part of it, because it knows its own part."
    return f"{_scores(facts)}, and so the sum of the others' parts, but no single part."


def _known_rows(facts: PlanFacts) -> str:
    """A score is affine in a row's columns: known rows, one more than there are weights, fix these and the offset."""
    plan, theirs = facts.plan, facts.their_columns
    if plan.is_closed:
        weights, whose = plan.columns, "the joint weights"
    else:
        weights = theirs
        whose = f"the weights of {facts.features[0]}" if len(facts.features) == 1 else "all feature parties' weights"
    equation = f"one equation about {theirs} unknown columns" if theirs > 1 else "the value of the unknown column"
    return (
        f"Scores of {weights + 1} rows whose columns {facts.label} knows from elsewhere give it {whose}; each further "
        f"score is then {equation} of its row. A feature party can limit the rows that it answers."
    )


def _always(facts: PlanFacts) -> bool:
    return True


def _gradients(facts: PlanFacts) -> bool:
    return facts.plan.kind.is_encrypted and facts.plan.kind.shows_gradients


def _clear(facts: PlanFacts) -> bool:
    return not facts.plan.kind.is_encrypted


def _keeps_evidence(facts: PlanFacts) -> bool:
    return facts.plan.keeps_evidence


def _noise(kind: str) -> Callable[[PlanFacts], bool]:
    return lambda facts: facts.plan.noise == kind


OPENED, TRACE, NOTES, LIMITS = SaidWhere
FACTS: tuple[Fact, ...] = (
    Fact(OPENED, _clear, "Nothing is encrypted: clear is for research and protects nobody."),
    Fact(OPENED, _gradients, "In every step, each party gets the gradient of its own columns."),
    Fact(
        OPENED,
        lambda facts: facts.plan.opens_weights,
        "When training ends, each party gets the weights of its own columns.",
    ),
    Fact(
        OPENED,
        lambda facts: facts.plan.is_closed,
        lambda facts: f"{_scores(facts)}. Nobody is sent a weight: the model stays split between the parties.",
    ),
    Fact(OPENED, lambda facts: facts.plan.kind.is_encrypted and not facts.plan.is_closed, _with_part),
    Fact(
        OPENED,
        lambda facts: bool(facts.plan.held_out_by),
        lambda facts: (
            f"{facts.holder} chooses which common rows are held out, for example the newest by a date: the others "
            "learn one bit per row, on which side of that date it lies, and nothing else about the column."
        ),
    ),
    Fact(
        OPENED,
        lambda facts: facts.plan.row_weights != "none",
        lambda facts: (
            f"{facts.label} decides how much each row counts in training. Nobody else learns these weights or can "
            "check them: they are an input like its labels."
        ),
    ),
    Fact(
        OPENED,
        lambda facts: facts.plan.unmasked_gradients_for_the_arbiter and facts.plan.arbiter is not None,
        lambda facts: f"{facts.arbiter} reads all parties' gradients, because the plan leaves the masks out.",
    ),
    Fact(
        TRACE,
        lambda facts: facts.plan.kind.is_encrypted and not _keeps_evidence(facts),
        "Nothing would show it: the plan keeps no evidence.",
    ),
    Fact(
        TRACE,
        _keeps_evidence,
        "The plan keeps evidence: a replay names any message that other software sent. Invented rows or labels show "
        "only if the auditor compares them with their source.",
    ),
    Fact(
        TRACE,
        _noise("rows"),
        'noise = "rows" hides a row also from a party that invents its own rows or labels, not from one that sends '
        "false messages.",
    ),
    Fact(
        NOTES,
        lambda facts: not facts.plan.is_closed,
        "The finished model is not judged: a party's final weights depend on everybody's data.",
    ),
    Fact(NOTES, _always, _known_rows),
    Fact(
        NOTES,
        _always,
        "A party that answers learns which rows are requested, when and how often, but no scores.",
    ),
    Fact(
        NOTES,
        lambda facts: facts.plan.intercept,
        "The intercept tells the label party nothing new; anyone who sees joint scores learns the base rate of class "
        "1.",
    ),
    Fact(
        NOTES,
        lambda facts: facts.plan.arbiter is not None,
        lambda facts: f"{facts.arbiter} together with any one party can read every residual: it must side with nobody.",
    ),
    Fact(
        NOTES,
        _noise("heuristic"),
        "The paper's epsilon and delta for this noise are heuristic, as the paper itself says.",
    ),
    Fact(
        NOTES,
        _noise("sound"),
        "This noise protects labels only, not features or whole rows, and can destroy the model: on credit, one of "
        'three seeds ended at an AUC of .43. Over shares, noise = "rows" promises more and costs less.',
    ),
    Fact(
        LIMITS,
        _gradients,
        "Every party gets its own gradient in every step, and each gradient is an equation about labels. Encryption "
        "does not change that, and larger batches only slow it down.",
    ),
    Fact(
        LIMITS,
        lambda facts: facts.plan.opens_weights and facts.plan.noise == "rows",
        "The weights opened at the end say something about single people, but no more than the promise in numbers "
        "allows.",
    ),
    Fact(
        LIMITS,
        lambda facts: facts.plan.opens_weights and facts.plan.noise != "rows",
        "The weights opened at the end give each party one equation about labels per column, and a party that chooses "
        "its rows chooses whose labels these are about.",
    ),
    Fact(
        LIMITS,
        _noise("rows"),
        "Who takes part and how many, held-out rows, later predictions: the promise about rows leaves these out.",
    ),
    Fact(
        LIMITS,
        _noise("sound"),
        "The noise gives differential privacy to single labels, not about whole rows, and not about columns.",
    ),
    Fact(
        LIMITS,
        lambda facts: facts.plan.label_flip_epsilon > 0,
        "Flipped labels give differential privacy to labels, not about columns.",
    ),
    Fact(LIMITS, _always, "The finished model and every prediction that is shown depend on everybody's data."),
    Fact(
        LIMITS,
        lambda facts: not _keeps_evidence(facts),
        "A cheating party can spoil the model without being noticed.",
    ),
    Fact(
        LIMITS,
        _keeps_evidence,
        "Evidence holds more than the rows: whoever opens a party's evidence reads, with the peers' traffic, every "
        "residual, weight and score of the run.",
    ),
    Fact(
        LIMITS,
        _always,
        "Shapes are public: who takes part, which rows they have in common, and how many rows, columns and steps there "
        "are.",
    ),
    Fact(
        LIMITS,
        _always,
        "Attacks that nobody has thought of: blocked only means that the known attacks got nowhere.",
    ),
)
