"""The statements of section 7, and some that it leaves out, each beside its test under one reading."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plumbob.lab.paper.frames import NOT_IN_THE_PAPER, Curve, PaperClaim, judge
from plumbob.lab.paper.quality import Curves, majority
from plumbob.lab.paper.study import BUDGETS, CREDIT, MNIST, RATE, RATES, PaperStudy, Setting, noise_of

ALMOST_ALL = 0.999
"""The share of right labels that counts as 100 %: one wrong label in a thousand is not seen in a plot."""
COIN = (0.48, 0.53)
"""The range that counts as tossing a coin; MNIST's larger class has 53 %."""


class NotRunError(LookupError):
    """Raised where a statement needs a setting that was left out."""


@dataclass(frozen=True, repr=False, eq=False)
class Evidence:
    """All curves of one reading."""

    study: PaperStudy
    preset: str
    curves: Curves
    rows: int

    def curve(self, metric: str, start: str, epsilon: float | None = None, **more: Any) -> Curve:
        """The curve of one setting; raises NotRunError where it was left out."""
        setting = Setting(self.preset, start, epsilon, **more)
        if setting not in self.curves:
            raise NotRunError(setting.name)
        return self.curves[setting][metric]

    def defended(self, metric: str) -> list[Curve]:
        """The curves of every setting with noise."""
        found = [curves[metric] for setting, curves in self.curves.items() if setting.epsilon is not None]
        if not found:
            raise NotRunError("noise")
        return found


Tested = tuple[bool, str, dict[str, float]]
"""Whether a statement is true, what was measured in words, and the numbers behind it."""
Test = Callable[[Evidence], Tested]


@dataclass(frozen=True)
class Statement:
    """A sentence about some studies, and how it is tested."""

    studies: Sequence[PaperStudy]
    name: str
    reference: str
    says: str
    needed: str
    test: Test

    def claim(self, evidence: Evidence) -> PaperClaim:
        """The claim, judged against one reading's curves."""
        reading = f"{evidence.study.name}, {evidence.preset}"
        common = (self.name, self.reference, self.says, reading, self.needed)
        try:
            is_true, measured, values = self.test(evidence)
        except NotRunError as missing:
            return PaperClaim(*common, f"not run: {missing}", "not run")
        return PaperClaim(*common, measured, judge(is_true), values)


STATEMENTS: list[Statement] = []


def claims_of(evidence: Evidence) -> Iterator[PaperClaim]:
    """The claims of every statement about this data set."""
    name = evidence.study.name
    return (one.claim(evidence) for one in STATEMENTS if name in [study.name for study in one.studies])


def statement(
    *studies: PaperStudy, name: str, reference: str = NOT_IN_THE_PAPER, says: str, needed: str
) -> Callable[[Test], Test]:
    """Put the statement that a function tests on the list."""

    def add(test: Test) -> Test:
        STATEMENTS.append(Statement(studies, name, reference, says, needed, test))
        return test

    return add


def first_epochs(curve: Curve, level: float = ALMOST_ALL) -> int:
    """How many epochs from the first one on stay at this level."""
    return next((place for place, mean in enumerate(curve.means) if mean < level), len(curve.points))


# About MNIST.


@statement(
    MNIST,
    name="accuracy-at-0.2",
    reference="Figure 2 (training and test accuracy on MNIST)",
    says="More than 90 % test accuracy, even for epsilon as small as 0.2.",
    needed="test accuracy above 0.9 after the last epoch",
)
def _accurate_under_noise(evidence: Evidence) -> Tested:
    last = evidence.curve("test_accuracy", "xavier", 0.2).last
    return last > 0.9, f"test accuracy {last:.3f} at epsilon 0.2", {"test_accuracy": last}


@statement(
    MNIST,
    name="comparable",
    reference="section 7, results on MNIST",
    says="Performance under the defence is comparable to that without, especially for larger epsilon.",
    needed="epsilon 0.5 at most 0.02 below no defence, and accuracy rises with epsilon",
)
def _comparable(evidence: Evidence) -> Tested:
    without = evidence.curve("test_accuracy", "xavier").last
    noisy = {f"{epsilon:g}": evidence.curve("test_accuracy", "xavier", epsilon).last for epsilon in (0.5, 0.2, 0.1)}
    measured = f"{without:.3f} without defence; " + ", ".join(f"{last:.3f} at {name}" for name, last in noisy.items())
    is_ordered = noisy["0.5"] >= noisy["0.2"] >= noisy["0.1"]
    return without - noisy["0.5"] <= 0.02 and is_ordered, measured, {"none": without, **noisy}


@statement(
    MNIST,
    name="attack-undefended",
    reference="Figure 3 (top)",
    says="Without defence the success rate of the label attack is 100 % for several epochs.",
    needed=f"at least {ALMOST_ALL} for three epochs or more, Xavier",
)
def _several_epochs(evidence: Evidence) -> Tested:
    curve = evidence.curve("attack", "xavier")
    count, first = first_epochs(curve), curve.means[0]
    return count >= 3, f"{count} epochs, {first:.4f} in the first", {"epochs": count, "first": first}


@statement(
    MNIST,
    name="attack-defended",
    reference="Figure 3 (top)",
    says="For all choices of epsilon the success rate is reduced to about 50 %, as random guessing.",
    needed=f"mean over the epochs between {COIN[0]:g} and {COIN[1]:g}, in every setting",
)
@statement(
    CREDIT,
    name="attack-defended",
    reference="section 7, results on credit",
    says="The results are similar to MNIST: under the defence the attack is a random guess.",
    needed=f"mean over the epochs between {COIN[0]:g} and {COIN[1]:g}, in every setting",
)
def _as_a_coin(evidence: Evidence) -> Tested:
    means = [sum(curve.means) / len(curve.means) for curve in evidence.defended("attack")]
    low, high = min(means), max(means)
    measured = f"{low:.3f} to {high:.3f} over all settings with noise"
    return COIN[0] <= low and high <= COIN[1], measured, {"lowest": low, "highest": high}


@statement(
    MNIST,
    name="large-sigma",
    reference="section 7, results on MNIST",
    says="sigma_A and sigma_B are larger than 10 already at epsilon 0.5.",
    needed="both above 10",
)
def _large_noise(evidence: Evidence) -> Tested:
    label, features = noise_of(evidence.study, evidence.preset, evidence.rows, 0.5)
    measured = f"sigma_A {label:.1f}, sigma_B {features:.1f}"
    return min(label, features) > 10, measured, {"sigma_A": label, "sigma_B": features}


@statement(
    MNIST,
    name="kaiming",
    reference="section 7, results on MNIST",
    says="The results under Kaiming initialisation are similar.",
    needed="test accuracies within 0.05, attack epochs within 3",
)
def _kaiming_alike(evidence: Evidence) -> Tested:
    pairs = [
        [evidence.curve("test_accuracy", start, epsilon).last for start in ("xavier", "kaiming")] for epsilon in BUDGETS
    ]
    apart = max(abs(one - other) for one, other in pairs)
    epochs = [first_epochs(evidence.curve("attack", start)) for start in ("xavier", "kaiming")]
    measured = f"test accuracy at most {apart:.3f} apart; attack at 100 % for {epochs[0]} and {epochs[1]} epochs"
    values = {"apart": apart, "xavier_epochs": epochs[0], "kaiming_epochs": epochs[1]}
    return apart <= 0.05 and abs(epochs[0] - epochs[1]) <= 3, measured, values


@statement(
    MNIST,
    name="zero-attack",
    reference="section 7, results on MNIST",
    says="From zero the attack stays at 100 % for 10 more epochs than from Xavier.",
    needed="5 to 15 epochs more",
)
def _zero_lasts_longer(evidence: Evidence) -> Tested:
    zero, xavier = (first_epochs(evidence.curve("attack", start)) for start in ("zero", "xavier"))
    measured = f"{zero} epochs from zero, {xavier} from Xavier: {zero - xavier} more"
    return 5 <= zero - xavier <= 15, measured, {"zero": zero, "xavier": xavier}


@statement(
    MNIST,
    name="zero-accuracy",
    reference="section 7, results on MNIST",
    says="From zero the accuracy increases faster.",
    needed="a higher mean training accuracy over the first third of the epochs",
)
def _zero_is_faster(evidence: Evidence) -> Tested:
    third = max(1, evidence.study.epochs // 3)
    zero, xavier = (sum(evidence.curve("train_accuracy", start).means[:third]) / third for start in ("zero", "xavier"))
    measured = f"training accuracy over the first {third} epochs: {zero:.3f} from zero, {xavier:.3f} from Xavier"
    return zero > xavier, measured, {"zero": zero, "xavier": xavier}


@statement(
    MNIST,
    name="small-norm",
    reference="Figure 3 (bottom)",
    says="The norm of the weights is bounded by 2 throughout training, which verifies the choice of G = 1.",
    needed="below 2 after every epoch, in every setting",
)
def _small_norm(evidence: Evidence) -> Tested:
    plotted = {setting.name: curves for setting, curves in evidence.curves.items() if setting.is_plotted}
    norms = {name: max(curves["weight_norm"].means) for name, curves in plotted.items()}
    worst = max(norms, key=lambda name: norms[name])
    return norms[worst] < 2, f"at most {norms[worst]:.2f} ({worst})", {"largest": norms[worst]}


# About the credit data.


@statement(
    CREDIT,
    name="xavier-attack",
    reference="Figure 4",
    says="The success rate is less than 1 for Xavier, whose scale is large in 23 dimensions.",
    needed="below 1 in every epoch, and below the zero start's",
)
def _xavier_below_one(evidence: Evidence) -> Tested:
    xavier, zero = (evidence.curve("attack", start).means for start in ("xavier", "zero"))
    is_below = max(xavier) < 1 and sum(xavier) < sum(zero)
    measured = f"Xavier {min(xavier):.4f} to {max(xavier):.4f}, zero {min(zero):.4f} to {max(zero):.4f}"
    return is_below, measured, {"xavier": max(xavier), "zero": max(zero)}


@statement(
    CREDIT,
    name="zero-attack",
    reference="Figure 4",
    says="From zero the attack starts at 100 %.",
    needed=f"at least {ALMOST_ALL} in the first epoch",
)
def _zero_is_certain(evidence: Evidence) -> Tested:
    zero = evidence.curve("attack", "zero").means
    measured = f"{zero[0]:.4f} in the first epoch, {zero[-1]:.4f} in the last"
    return zero[0] >= ALMOST_ALL, measured, {"first": zero[0]}


@statement(
    CREDIT,
    name="xavier-slower",
    reference="Figure 4 (top and middle)",
    says="Models with Xavier initialisation converge slower than those from zero.",
    needed="a lower training accuracy and a lower test AUC, as means over the epochs",
)
def _xavier_is_slower(evidence: Evidence) -> Tested:
    # The area under both curves: what is reached later counts less.
    values: dict[str, float] = {}
    words = []
    for metric, name in (("train_accuracy", "training accuracy"), ("test_auc", "test AUC")):
        xavier, zero = (evidence.curve(metric, start).means for start in ("xavier", "zero"))
        values |= {f"xavier_{metric}": sum(xavier) / len(xavier), f"zero_{metric}": sum(zero) / len(zero)}
        words.append(
            f"{name} {xavier[0]:.3f} to {xavier[-1]:.3f} from Xavier, {zero[0]:.3f} to {zero[-1]:.3f} from zero"
        )
    is_slower = all(values[f"xavier_{one}"] < values[f"zero_{one}"] for one in ("train_accuracy", "test_auc"))
    return is_slower, "; ".join(words), values


# About both.


@statement(
    MNIST,
    CREDIT,
    name="rate",
    reference="section 7, learning setting",
    says="Of the learning rates 0.001, 0.003 and 0.01, the last one is the choice.",
    needed="the highest test accuracy after the last epoch, from Xavier, without defence",
)
def _chosen_rate_is_best(evidence: Evidence) -> Tested:
    last = {rate: evidence.curve("test_accuracy", "xavier", rate=rate).last for rate in RATES}
    measured = ", ".join(f"{accuracy:.3f} at {rate:g}" for rate, accuracy in last.items())
    values = {f"{rate:g}": accuracy for rate, accuracy in last.items()}
    return last[RATE] == max(last.values()), f"test accuracy {measured}", values


@statement(
    MNIST,
    CREDIT,
    name="own-scores",
    says="An attacker that subtracts its own part of the score works for longer than the criterion.",
    needed="more labels than the criterion in the last epoch",
)
def _own_scores_help(evidence: Evidence) -> Tested:
    plain = evidence.curve("attack", "xavier").last
    stronger = evidence.curve("attack_without_own_scores", "xavier").last
    measured = f"{stronger:.4f} against {plain:.4f} in the last epoch, without defence"
    return stronger > plain, measured, {"plain": plain, "without_own_scores": stronger}


@statement(
    MNIST,
    CREDIT,
    name="majority",
    says="The model without an intercept, as the paper has it, beats always saying the larger class.",
    needed="a higher test accuracy, from a zero start",
)
def _model_is_worth_having(evidence: Evidence) -> Tested:
    without = evidence.curve("test_accuracy", "zero").last
    curve, ranks = (evidence.curve(metric, "zero", intercept=True).last for metric in ("test_accuracy", "test_auc"))
    # Last, because it reads the data, which a statement that was not run has no need of.
    baseline = majority(evidence.study)
    measured = (
        f"test accuracy {without:.3f} without an intercept, {curve:.3f} with one, {baseline:.3f} for always saying the "
        f"larger class; AUC {ranks:.3f}"
    )
    values = {"without": without, "with_intercept": curve, "majority": baseline, "auc": ranks}
    return without > baseline, measured, values


@statement(
    MNIST,
    CREDIT,
    name="unit-rows",
    reference=f"{NOT_IN_THE_PAPER}; its theorems assume such rows",
    says="With rows clipped to norm 1 the criterion is right about every label throughout.",
    needed=f"at least {ALMOST_ALL} in every epoch, from Xavier and from zero",
)
def _unit_rows_leak(evidence: Evidence) -> Tested:
    curves = [evidence.curve("attack", start, has_unit_rows=True) for start in ("xavier", "zero")]
    lowest = min(min(curve.means) for curve in curves)
    return lowest >= ALMOST_ALL, f"at least {lowest:.4f} in every epoch", {"lowest": lowest}
