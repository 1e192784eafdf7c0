"""Every sentence about what a plan opens, to whom, and what that leaves open: one table, from which all places choose.

A fact holds of some plans, and each place where people read it has its own words for it: notes of `check` and `audit`,
what stands before a signature, the report, the decision sheet. docs/limitations.md has the same at length.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from plumbob.plan import Plan
from plumbob.protocol.openings import shows_quality
from plumbob.protocol.releases import released_to

Words = str | Callable[["PlanFacts"], str]


class SaidWhere(Enum):
    """Where a sentence is read."""

    NOTES = "beside the findings, and before a signature"
    LIMITS = "the report: what is not protected"
    SHEET_LIMITS = "the decision sheet: what is not protected"
    SHEET_OPENINGS = "the decision sheet: what is opened"
    CHEATING = "what a party gains that does not keep to the protocol"
    SIGNING = "before a signature alone"


@dataclass(frozen=True)
class PlanFacts:
    """A plan on so many training rows, as the sentences need it."""

    plan: Plan
    trained: int
    held_out: int

    @property
    def label(self) -> str:
        return self.plan.label_party.name

    @property
    def features(self) -> list[str]:
        return [party.name for party in self.plan.feature_parties]

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
        return self.says if isinstance(self.says, str) else self.says(facts)


def said(place: SaidWhere, plan: Plan, trained: int = 0, held_out: int = 0) -> Iterator[str]:
    """What holds of this plan, in the words of this place."""
    facts = PlanFacts(plan, trained, held_out)
    return (fact.sentence(facts) for fact in FACTS if fact.place is place and fact.holds(facts))


# What a dishonest party carries out, in bits.


def carried_in_words(plan: Plan, trained: int) -> str:
    """What a dishonest one of two parties can read of the other's rows in `shares`: all that is opened to it."""
    label = plan.label_party.name
    if (scores := released_to(plan, label, "scores", trained)) is not None:
        in_all = f", at most {scores.bits_in_all:,} bits in all" if scores.numbers else ""
        return f"{label} can read {scores.bits} bits of each row that is scored for it{in_all}"
    opened = [released_to(plan, party.name, "weights", trained) for party in plan.learners]
    weights = max(one.bits_in_all for one in opened if one is not None)
    parts = released_to(plan, label, "parts of scores", trained)
    each = 0 if parts is None else parts.bits
    return (
        f"each can read at most {weights:,} bits in its opened weights, and {label} another {each} bits of each row "
        "that is scored for it"
    )


def masked_in_words(plan: Plan, trained: int) -> str:
    """What a label party that breaks the protocol reads among three or more."""
    masked = released_to(plan, plan.label_party.name, "masked numbers", trained)
    bits, numbers = (0, 0) if masked is None else (masked.bits, masked.numbers)
    return f"a label party that breaks it can read up to {bits} bits of each of {numbers:,} masked numbers per pass"


# Predictions.


def _a_score(facts: PlanFacts) -> str:
    asker, others = facts.label, facts.features
    if facts.plan.is_closed:
        return f"The weights are never opened: each prediction shows {asker} one joint score and nobody's part of it."
    if len(others) == 1:
        return (
            f"Each joint score that {asker} sees also shows it the part of {others[0]}, because it knows its own part; "
            "nothing can hide that between two parties."
        )
    return (
        f"Each joint score that {asker} sees also shows it the sum of {len(others)} feature parties' parts, but no "
        f"single part, unless all the others tell {asker} theirs."
    )


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


def _opened_under_promise(facts: PlanFacts) -> bool:
    return facts.plan.opens_weights and facts.plan.noise == "rows"


def _opened(facts: PlanFacts) -> bool:
    return facts.plan.opens_weights and facts.plan.noise != "rows"


def _clear(facts: PlanFacts) -> bool:
    return not facts.plan.kind.is_encrypted


def _many(facts: PlanFacts) -> bool:
    return facts.plan.kind.has_lattices and not facts.plan.is_between_two


def _arbiter(facts: PlanFacts) -> str:
    return facts.plan.arbiter.name if facts.plan.arbiter is not None else ""


NOTHING_ENCRYPTED = "Nothing was encrypted: clear is for research and protects nobody."
EVERY_STEP = (
    "Every party gets its own gradient in every step, and each gradient is an equation about labels. "
    "Encryption does not change that, and larger batches only slow it down."
)
CHOSEN = "A party that sets all but a few of its rows to zero chooses whose labels it learns; nobody can notice."
WITHIN_PROMISE = (
    "The weights opened at the end say something about single people, but no more than the promise in numbers allows."
)
OPENED = (
    "The weights opened at the end give each party one equation about labels per column, and a party that "
    "chooses its rows chooses whose labels these are about."
)
NOT_PROMISED = "Who takes part and how many, held-out rows, later predictions: the promise about rows leaves these out."
LABELS_ONLY = "The noise gives differential privacy to single labels, not about whole rows, and not about columns."
FLIPPED = "Flipped labels give differential privacy to labels, not about columns."


def _limits(place: SaidWhere) -> Iterator[Fact]:
    """What the report and the decision sheet have in common, from the most to the least important."""
    yield Fact(place, _clear, NOTHING_ENCRYPTED)
    yield Fact(place, _gradients, EVERY_STEP)
    yield Fact(place, _gradients, CHOSEN)
    yield Fact(place, _opened_under_promise, WITHIN_PROMISE)
    yield Fact(place, _opened, OPENED)
    yield Fact(place, lambda facts: facts.plan.noise == "rows", NOT_PROMISED)
    yield Fact(place, lambda facts: facts.plan.noise == "sound", LABELS_ONLY)
    yield Fact(place, lambda facts: facts.plan.label_flip_epsilon > 0, FLIPPED)


FACTS: tuple[Fact, ...] = (
    Fact(
        SaidWhere.NOTES,
        lambda facts: not facts.plan.is_closed,
        "The finished model is not judged: a party's final weights depend on everybody's data.",
    ),
    Fact(
        SaidWhere.NOTES,
        _many,
        "shares between three or more parties is for parties that keep to the protocol: all but one together learn "
        "nothing but what is opened. A party that breaks it can read more than the bits counted here: masked-shares "
        "counts what masked numbers can tell.",
    ),
    Fact(SaidWhere.NOTES, _always, _a_score),
    Fact(SaidWhere.NOTES, _always, _known_rows),
    Fact(
        SaidWhere.NOTES,
        _always,
        "A party that answers learns which rows are requested, when and how often, but no scores.",
    ),
    Fact(
        SaidWhere.NOTES,
        lambda facts: bool(facts.plan.held_out_by),
        lambda facts: (
            f"{facts.plan.held_out_by} chooses which common rows are held out, for example the newest by a date: the "
            "others learn one bit per row, on which side of that date it lies, and nothing else about the column."
        ),
    ),
    Fact(
        SaidWhere.NOTES,
        lambda facts: facts.plan.intercept,
        "The intercept tells the label party nothing new; anyone who sees joint scores learns the base rate of class "
        "1.",
    ),
    Fact(
        SaidWhere.NOTES,
        lambda facts: facts.plan.arbiter is not None,
        lambda facts: (
            f"{_arbiter(facts)} together with any one party can read every residual: it must side with nobody."
        ),
    ),
    Fact(
        SaidWhere.NOTES,
        lambda facts: facts.plan.unmasked_gradients_for_the_arbiter and facts.plan.arbiter is not None,
        lambda facts: f"{_arbiter(facts)} reads all parties' gradients, because the plan leaves the masks out.",
    ),
    Fact(
        SaidWhere.NOTES,
        lambda facts: facts.plan.noise == "heuristic",
        "The paper's epsilon and delta for this noise are heuristic, as the paper itself says.",
    ),
    Fact(
        SaidWhere.NOTES,
        lambda facts: facts.plan.noise == "sound",
        "This noise protects labels only, not features or whole rows, and can destroy the model: on credit, one of "
        'three seeds ended at an AUC of .43. Over shares, noise = "rows" promises more and costs less.',
    ),
    Fact(
        SaidWhere.SIGNING,
        lambda facts: shows_quality(facts.plan, facts.trained + facts.held_out),
        lambda facts: f"When training ends, {facts.label} sees the joint scores of {facts.held_out:,} held-out rows.",
    ),
    Fact(
        SaidWhere.CHEATING,
        lambda facts: facts.plan.kind.has_lattices and facts.plan.is_between_two,
        lambda facts: f"A dishonest party can spoil the model, and {carried_in_words(facts.plan, facts.trained)}.",
    ),
    Fact(
        SaidWhere.CHEATING,
        lambda facts: facts.plan.kind.has_lattices and facts.plan.is_closed and facts.plan.test_share > 0,
        lambda facts: (
            f"Held-out rows are scored when training ends. If {facts.label} breaks the protocol, their scores can show "
            "it one of a peer's columns instead: at most 22 bits per row (altered-shares; `plumbob check PLAN "
            "--predicted N` judges it)."
        ),
    ),
    *_limits(SaidWhere.LIMITS),
    Fact(
        SaidWhere.LIMITS, _always, "The finished model and every prediction that is shown depend on everybody's data."
    ),
    Fact(SaidWhere.LIMITS, _always, "Integrity: a dishonest party can spoil the model without being noticed."),
    Fact(SaidWhere.LIMITS, _always, "Shapes are public: rows, columns, steps and the length of messages."),
    Fact(
        SaidWhere.LIMITS,
        _always,
        "Attacks that nobody has thought of: blocked only means that the known attacks got nowhere.",
    ),
    *_limits(SaidWhere.SHEET_LIMITS),
    Fact(
        SaidWhere.SHEET_LIMITS,
        _always,
        "What the finished model and each prediction say: they depend on everybody's data.",
    ),
    Fact(
        SaidWhere.SHEET_LIMITS,
        _always,
        "The result itself: a dishonest organisation can spoil the model without being noticed.",
    ),
    Fact(
        SaidWhere.SHEET_LIMITS,
        _always,
        "That a person is in several tables: the organisations learn which rows they have in common.",
    ),
    Fact(
        SaidWhere.SHEET_OPENINGS,
        lambda facts: facts.plan.is_closed,
        "No weights: they stay in shares, also after training.",
    ),
    Fact(
        SaidWhere.SHEET_OPENINGS,
        lambda facts: not facts.plan.is_closed,
        "At the end, to each organisation: the weights of its own columns.",
    ),
    Fact(
        SaidWhere.SHEET_OPENINGS,
        _gradients,
        "In every step, to each organisation: the gradient of its own columns.",
    ),
)
