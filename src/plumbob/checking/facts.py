"""Every sentence about what a plan opens, to whom, and what that leaves open: one table, from which all places choose.

A sentence holds of some plans. What depends on a plan's numbers or names stands in it as `{facts.NAME}`, a property of
`PlanFacts`. docs/limitations.md has the same at length.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from plumbob.checking.figures import Figures
from plumbob.checking.words import sentence
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.protocol.limits import most_scored_rows

Holds = Callable[[Plan], bool]


class SaidWhere(Enum):
    """Where a sentence is read."""

    OPENED = "the headline if everyone keeps to the protocol, and the decision sheet: what is opened on purpose"
    SHUT = "the headline if someone cheats, before its lines: what opens only after a replay"
    TRACE = "the headline if someone cheats: what would show it, and what limits it"
    NOTES = "beside the findings"
    PROTECTED = "the decision sheet: what is protected, from whom, how strongly"
    LIMITS = "the report and the decision sheet: what is not protected"
    ASSUMED = "the decision sheet: what is taken for granted"


@dataclass(frozen=True)
class PlanFacts:
    """A plan on its rows, as the sentences need it."""

    figures: Figures

    @property
    def plan(self) -> Plan:
        return self.figures.plan

    @property
    def label(self) -> str:
        return self.figures.spoken(self.plan.label_party.name)

    @property
    def auditor(self) -> str:
        """The auditor who replays the label party's training, with the beginning of the fingerprint if it is named."""
        fingerprint = dict(self.plan.auditors).get(self.plan.label_party.name, "")
        named = f" ({fingerprint[:4]} {fingerprint[4:8]} ...)" if fingerprint else ""
        return f"{self.label}'s auditor{named}"

    @property
    def not_from_others(self) -> str:
        """What noise does not hide from: where scores wait for a replay, a false message gains nobody anything."""
        return "" if self.plan.is_replayed else ", not from one that sends false messages"

    @property
    def arbiter(self) -> str:
        return "" if self.plan.arbiter is None else self.figures.spoken(self.plan.arbiter.name)

    @property
    def scores(self) -> str:
        """How many scores the label party gets."""
        plan, figures = self.plan, self.figures
        held_out = f", {figures.held_out:,} held out for testing included" if figures.held_out else ""
        limit = most_scored_rows(plan, figures.rows) if figures.predicted is None else figures.scored
        whom = f"each of up to {counted(limit, 'person', 'people')}" if limit else "every person that it asks about"
        return f"{self.label} gets the joint score of {whom}{held_out}"

    @property
    def known_parts(self) -> str:
        """What the label party sees with each score, because it knows its own part."""
        others = [self.figures.spoken(party.name) for party in self.plan.feature_parties]
        if len(others) == 1:
            return f"{others[0]}'s part of it, because it knows its own part"
        return "the sum of the others' parts, but no single part"


def said(place: SaidWhere, figures: Figures) -> Iterator[str]:
    """The sentences that hold for this plan, in this place."""
    facts = PlanFacts(figures)
    return (sentence(says.format(facts=facts)) for holds, says in FACTS[place] if holds(facts.plan))


def _always(plan: Plan) -> bool:
    return True


def _clear(plan: Plan) -> bool:
    return not plan.kind.is_encrypted


def _gradients(plan: Plan) -> bool:
    return plan.kind.is_encrypted and plan.kind.shows_gradients


def _shares(plan: Plan) -> bool:
    return plan.kind.is_encrypted and not plan.kind.shows_gradients


def _scores(plan: Plan) -> bool:
    """Whether the label party reads joint scores; with opened weights it reads the others' parts of them."""
    return plan.kind.is_encrypted and plan.is_closed


def _parts_of_scores(plan: Plan) -> bool:
    return plan.kind.is_encrypted and not plan.is_closed


def _noise(kind: str) -> Holds:
    return lambda plan: plan.noise == kind


FACTS: Mapping[SaidWhere, tuple[tuple[Holds, str], ...]] = {
    SaidWhere.OPENED: (
        (
            _clear,
            "Nothing is encrypted: clear is for research and protects nobody. Whoever runs it has everybody's data; "
            "what follows is what each party would learn from its own messages.",
        ),
        (_gradients, "In every step, each party gets the gradient of its own columns."),
        (lambda plan: plan.opens_weights, "When training ends, each party gets the weights of its own columns."),
        (
            _scores,
            "{facts.scores}. Nobody is sent a weight: the model stays split between the parties.",
        ),
        (
            _parts_of_scores,
            "{facts.scores}, and so {facts.known_parts}.",
        ),
        (
            lambda plan: plan.row_weights,
            "{facts.label} decides how much each row counts in training. Nobody else learns these weights or can check "
            "them: they are an input like its labels.",
        ),
        (
            lambda plan: plan.arbiter is not None and plan.unmasked_gradients_for_the_arbiter,
            "{facts.arbiter} reads all parties' gradients, because nothing masks them.",
        ),
    ),
    SaidWhere.SHUT: (
        (
            lambda plan: plan.is_replayed,
            "Scores stay shut until {facts.auditor} has replayed {facts.label}'s training. If that auditor is honest, "
            "{facts.label} learns nothing more with other software. With data of its choice {facts.label} can still "
            "learn what is listed below.",
        ),
    ),
    SaidWhere.TRACE: (
        (
            lambda plan: plan.kind.is_encrypted and not plan.keeps_evidence,
            "Nothing would show a cheat: the plan keeps no evidence.",
        ),
        (
            lambda plan: plan.keeps_evidence and not plan.is_replayed,
            "The plan keeps evidence: a replay names any message that other software sent. Invented rows or labels "
            "show only if the auditor compares them with their source, and people who were left out not even then.",
        ),
        (
            lambda plan: plan.kind.is_encrypted,
            "A feature party can sway scores with false values, because values are an input. It learns nothing by it.",
        ),
        (
            _noise("rows"),
            "Noise for rows hides one person's row also from a party that invents its own rows or labels (up to "
            "epsilon 4){facts.not_from_others}.",
        ),
    ),
    SaidWhere.NOTES: (
        (
            lambda plan: plan.intercept,
            "The intercept tells the label party nothing new; anyone who sees joint scores learns the base rate of "
            "class 1.",
        ),
        (_noise("heuristic"), "The paper's epsilon and delta for this noise are heuristic, as the paper itself says."),
        (
            _noise("sound"),
            "This noise can destroy the model: on credit, one of three seeds ended at an AUC of 0.43. Over shares, "
            'noise = "rows" promises more and costs less.',
        ),
        (
            lambda plan: plan.kind.has_lattices,
            "Lattice products rest on RLWE with ternary secrets: 128 bits by the table of Bossuat et al. (2024).",
        ),
        (
            _always,
            "Publishing a loss or an AUC adds one equation about all labels, and early stopping reveals something too; "
            "no finding covers either.",
        ),
        (
            _always,
            "No verdict is a proof of safety: it says what these attacks are shown to reach, not what others might.",
        ),
    ),
    SaidWhere.PROTECTED: (
        (
            _clear,
            "Nothing, in this run: no number was encrypted. It shows what a model is worth, and what attacks reach.",
        ),
        (
            lambda plan: _shares(plan) and plan.is_between_two,
            "Every organisation's columns, and {facts.label}'s labels, from the other: during training it sees only "
            "encrypted numbers, and shares that look random.",
        ),
        (
            lambda plan: _shares(plan) and not plan.is_between_two,
            "Every organisation's columns, and {facts.label}'s labels, from all the others together if they keep to "
            "the protocol: during training they see only encrypted numbers, and shares that look random.",
        ),
        (_gradients, "Columns and labels, from anyone outside: every number travels encrypted."),
        (
            _gradients,
            "Between the organisations encryption settles little: each gets the gradient of its own columns in every "
            "step. The verdicts say what can be worked out from these.",
        ),
        (
            lambda plan: plan.kind.has_lattices,
            "Breaking the encryption is rated at 2^128 operations: more than all computers together can do.",
        ),
        (
            lambda plan: plan.kind.has_key_bits and plan.test_only_keys,
            "The keys are for tests only: they are too short to protect anything.",
        ),
        (
            lambda plan: plan.kind.has_key_bits and not plan.test_only_keys,
            "Breaking the encryption means factoring a number of {facts.plan.key_bits} bits, which nobody can do "
            "today.",
        ),
    ),
    SaidWhere.LIMITS: (
        (
            _gradients,
            "Every party gets its own gradient in every step, and each gradient is an equation about labels. "
            "Encryption does not change that, and larger batches only slow it down.",
        ),
        (
            lambda plan: plan.opens_weights and plan.noise == "rows",
            "The weights opened at the end say something about single people, but no more than the promise in numbers "
            "allows.",
        ),
        (
            lambda plan: plan.opens_weights and plan.noise != "rows",
            "The weights opened at the end give each party one equation about labels per column, and a party that "
            "chooses its rows chooses whose labels these are about.",
        ),
        (
            _noise("rows"),
            "Who takes part and how many, held-out rows, later predictions: the promise about rows leaves these out.",
        ),
        (
            _noise("sound"),
            "The noise gives differential privacy to single labels, not about whole rows, and not about columns.",
        ),
        (
            lambda plan: plan.label_flip_epsilon > 0,
            "Flipped labels give differential privacy to labels, not about columns.",
        ),
        (_always, "The finished model and every prediction that is shown depend on everybody's data."),
        (lambda plan: not plan.keeps_evidence, "A cheating party can spoil the model without being noticed."),
        (
            lambda plan: plan.keeps_evidence,
            "Evidence holds more than the rows: whoever opens a party's evidence reads, with the peers' traffic, every "
            "residual, weight and score of the run.",
        ),
        (
            _always,
            "Shapes are public: who takes part, which rows they have in common, and how many rows, columns and steps "
            "there are.",
        ),
        (_always, "Attacks that nobody has thought of: blocked only means that the known attacks got nowhere."),
    ),
    SaidWhere.ASSUMED: (
        (
            _always,
            "For the first headline: every organisation keeps to the protocol, however closely it studies what it "
            "gets.",
        ),
        (_always, "Each organisation's own machines, keys and staff can be trusted by that organisation."),
        (lambda plan: plan.arbiter is not None, "{facts.arbiter}, which holds the key, sides with nobody."),
        (
            _noise("rows"),
            "For the promise in numbers, each organisation shortens its rows as agreed and sends true messages: the "
            "promise does not bind one that cheats.",
        ),
    ),
}
