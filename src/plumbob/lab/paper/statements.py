"""The statements of section 7, and some that it leaves out, tested under one reading."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plumbob.lab.paper.findings import NOT_IN_THE_PAPER, Curve, PaperClaim, judged
from plumbob.lab.paper.quality import Curves, majority
from plumbob.lab.paper.readings import BUDGETS, RATE, RATES, Setting, Study, noise_of

ALMOST_ALL = 0.999
"""The share of right labels that counts as 100 %: one wrong label in a thousand is not seen in a plot."""
COIN = (0.48, 0.53)
"""The range that counts as tossing a coin; MNIST's larger class has 53 %."""


class NotRunError(LookupError):
    """Raised where a statement needs a setting that was left out."""


@dataclass(frozen=True, repr=False, eq=False)
class Evidence:
    """All curves of one reading."""

    study: Study
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


@dataclass(frozen=True)
class Tested:
    """The result for one statement."""

    is_true: bool
    measured: str
    values: dict[str, float]


@dataclass(frozen=True)
class Statement:
    """A sentence, and how it is tested."""

    name: str
    reference: str
    says: str
    needed: str
    test: Callable[[Evidence], Tested]

    def claim(self, evidence: Evidence) -> PaperClaim:
        """The claim, judged against one reading's curves."""
        reading = f"{evidence.study.name}, {evidence.preset}"
        common = (self.name, self.reference, self.says, reading, self.needed)
        try:
            tested = self.test(evidence)
        except NotRunError as missing:
            return PaperClaim(*common, f"not run: {missing}", "not run")
        return PaperClaim(*common, tested.measured, judged(tested.is_true), tested.values)


def claims_of(evidence: Evidence) -> list[PaperClaim]:
    """The claims of every statement about this data set."""
    return [statement.claim(evidence) for statement in STATEMENTS[evidence.study.name]]


# The tests


def first_epochs(curve: Curve, level: float = ALMOST_ALL) -> int:
    """How many epochs from the first one on stay at this level."""
    return next((place for place, mean in enumerate(curve.means) if mean < level), len(curve.points))


def _accurate_under_noise(evidence: Evidence) -> Tested:
    last = evidence.curve("test_accuracy", "xavier", 0.2).last
    return Tested(last > 0.9, f"test accuracy {last:.3f} at epsilon 0.2", {"test_accuracy": last})


def _comparable(evidence: Evidence) -> Tested:
    without = evidence.curve("test_accuracy", "xavier").last
    noisy = {f"{epsilon:g}": evidence.curve("test_accuracy", "xavier", epsilon).last for epsilon in (0.5, 0.2, 0.1)}
    measured = f"{without:.3f} without defence; " + ", ".join(f"{last:.3f} at {name}" for name, last in noisy.items())
    is_ordered = noisy["0.5"] >= noisy["0.2"] >= noisy["0.1"]
    return Tested(without - noisy["0.5"] <= 0.02 and is_ordered, measured, {"none": without, **noisy})


def _several_epochs(evidence: Evidence) -> Tested:
    count = first_epochs(evidence.curve("attack", "xavier"))
    first = evidence.curve("attack", "xavier").means[0]
    return Tested(count >= 3, f"{count} epochs, {first:.4f} in the first", {"epochs": count, "first": first})


def _as_a_coin(evidence: Evidence) -> Tested:
    means = [sum(curve.means) / len(curve.means) for curve in evidence.defended("attack")]
    low, high = min(means), max(means)
    is_coin = COIN[0] <= low and high <= COIN[1]
    return Tested(is_coin, f"{low:.3f} to {high:.3f} over all settings with noise", {"lowest": low, "highest": high})


def _large_noise(evidence: Evidence) -> Tested:
    label, features = noise_of(evidence.study, evidence.preset, evidence.rows, 0.5)
    measured = f"sigma_A {label:.1f}, sigma_B {features:.1f}"
    return Tested(min(label, features) > 10, measured, {"sigma_A": label, "sigma_B": features})


def _kaiming_alike(evidence: Evidence) -> Tested:
    pairs = [
        [evidence.curve("test_accuracy", start, epsilon).last for start in ("xavier", "kaiming")] for epsilon in BUDGETS
    ]
    apart = max(abs(one - other) for one, other in pairs)
    epochs = [first_epochs(evidence.curve("attack", start)) for start in ("xavier", "kaiming")]
    measured = f"test accuracy at most {apart:.3f} apart; attack at 100 % for {epochs[0]} and {epochs[1]} epochs"
    values = {"apart": apart, "xavier_epochs": epochs[0], "kaiming_epochs": epochs[1]}
    return Tested(apart <= 0.05 and abs(epochs[0] - epochs[1]) <= 3, measured, values)


def _zero_lasts_longer(evidence: Evidence) -> Tested:
    zero, xavier = (first_epochs(evidence.curve("attack", start)) for start in ("zero", "xavier"))
    measured = f"{zero} epochs from zero, {xavier} from Xavier: {zero - xavier} more"
    return Tested(5 <= zero - xavier <= 15, measured, {"zero": zero, "xavier": xavier})


def _zero_is_faster(evidence: Evidence) -> Tested:
    """Test by the accuracy in the first third of the run."""
    third = max(1, evidence.study.epochs // 3)
    zero, xavier = (sum(evidence.curve("train_accuracy", start).means[:third]) / third for start in ("zero", "xavier"))
    measured = f"training accuracy over the first {third} epochs: {zero:.3f} from zero, {xavier:.3f} from Xavier"
    return Tested(zero > xavier, measured, {"zero": zero, "xavier": xavier})


def _xavier_is_slower(evidence: Evidence) -> Tested:
    """Test by the area under both curves: what is reached later counts less."""
    values: dict[str, float] = {}
    words = []
    for metric, name in (("train_accuracy", "training accuracy"), ("test_auc", "test AUC")):
        xavier, zero = (evidence.curve(metric, start).means for start in ("xavier", "zero"))
        values |= {f"xavier_{metric}": sum(xavier) / len(xavier), f"zero_{metric}": sum(zero) / len(zero)}
        words.append(
            f"{name} {xavier[0]:.3f} to {xavier[-1]:.3f} from Xavier, {zero[0]:.3f} to {zero[-1]:.3f} from zero"
        )
    is_slower = all(values[f"xavier_{one}"] < values[f"zero_{one}"] for one in ("train_accuracy", "test_auc"))
    return Tested(is_slower, "; ".join(words), values)


def _small_norm(evidence: Evidence) -> Tested:
    norms = {
        setting.name: max(curves["weight_norm"].means)
        for setting, curves in evidence.curves.items()
        if setting.is_plotted
    }
    worst = max(norms, key=lambda name: norms[name])
    return Tested(norms[worst] < 2, f"at most {norms[worst]:.2f} ({worst})", {"largest": norms[worst]})


def _xavier_below_one(evidence: Evidence) -> Tested:
    xavier, zero = (evidence.curve("attack", start).means for start in ("xavier", "zero"))
    is_below = max(xavier) < 1 and sum(xavier) < sum(zero)
    measured = f"Xavier {min(xavier):.4f} to {max(xavier):.4f}, zero {min(zero):.4f} to {max(zero):.4f}"
    return Tested(is_below, measured, {"xavier": max(xavier), "zero": max(zero)})


def _zero_is_certain(evidence: Evidence) -> Tested:
    zero = evidence.curve("attack", "zero").means
    return Tested(
        zero[0] >= ALMOST_ALL, f"{zero[0]:.4f} in the first epoch, {zero[-1]:.4f} in the last", {"first": zero[0]}
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
    return Tested(without > baseline, measured, values)


def _own_scores_help(evidence: Evidence) -> Tested:
    plain = evidence.curve("attack", "xavier").last
    stronger = evidence.curve("attack_without_own_scores", "xavier").last
    measured = f"{stronger:.4f} against {plain:.4f} in the last epoch, without defence"
    return Tested(stronger > plain, measured, {"plain": plain, "without_own_scores": stronger})


def _unit_rows_leak(evidence: Evidence) -> Tested:
    found = [evidence.curve("attack", start, has_unit_rows=True) for start in ("xavier", "zero")]
    lowest = min(min(curve.means) for curve in found)
    return Tested(lowest >= ALMOST_ALL, f"at least {lowest:.4f} in every epoch", {"lowest": lowest})


def _chosen_rate_is_best(evidence: Evidence) -> Tested:
    last = {rate: evidence.curve("test_accuracy", "xavier", rate=rate).last for rate in RATES}
    measured = ", ".join(f"{accuracy:.3f} at {rate:g}" for rate, accuracy in last.items())
    is_best = last[RATE] == max(last.values())
    return Tested(is_best, f"test accuracy {measured}", {f"{rate:g}": accuracy for rate, accuracy in last.items()})


COIN_WORDS = f"mean over the epochs between {COIN[0]:g} and {COIN[1]:g}, in every setting"
COMMON = (
    Statement(
        "rate",
        "section 7, learning setting",
        "Of the learning rates 0.001, 0.003 and 0.01, the last one is the choice.",
        "the highest test accuracy after the last epoch, from Xavier, without defence",
        _chosen_rate_is_best,
    ),
    Statement(
        "own-scores",
        NOT_IN_THE_PAPER,
        "An attacker that subtracts its own part of the score works for longer than the criterion.",
        "more labels than the criterion in the last epoch",
        _own_scores_help,
    ),
    Statement(
        "majority",
        NOT_IN_THE_PAPER,
        "The model without an intercept, as the paper has it, beats always saying the larger class.",
        "a higher test accuracy, from a zero start",
        _model_is_worth_having,
    ),
    Statement(
        "unit-rows",
        f"{NOT_IN_THE_PAPER}; its theorems assume such rows",
        "With rows clipped to norm 1 the criterion is right about every label throughout.",
        f"at least {ALMOST_ALL} in every epoch, from Xavier and from zero",
        _unit_rows_leak,
    ),
)
STATEMENTS: dict[str, tuple[Statement, ...]] = {
    "mnist": (
        Statement(
            "accuracy-at-0.2",
            "Figure 2 (training and test accuracy on MNIST)",
            "More than 90 % test accuracy, even for epsilon as small as 0.2.",
            "test accuracy above 0.9 after the last epoch",
            _accurate_under_noise,
        ),
        Statement(
            "comparable",
            "section 7, results on MNIST",
            "Performance under the defence is comparable to that without, especially for larger epsilon.",
            "epsilon 0.5 at most 0.02 below no defence, and accuracy rises with epsilon",
            _comparable,
        ),
        Statement(
            "attack-undefended",
            "Figure 3 (top)",
            "Without defence the success rate of the label attack is 100 % for several epochs.",
            f"at least {ALMOST_ALL} for three epochs or more, Xavier",
            _several_epochs,
        ),
        Statement(
            "attack-defended",
            "Figure 3 (top)",
            "For all choices of epsilon the success rate is reduced to about 50 %, as random guessing.",
            COIN_WORDS,
            _as_a_coin,
        ),
        Statement(
            "large-sigma",
            "section 7, results on MNIST",
            "sigma_A and sigma_B are larger than 10 already at epsilon 0.5.",
            "both above 10",
            _large_noise,
        ),
        Statement(
            "kaiming",
            "section 7, results on MNIST",
            "The results under Kaiming initialisation are similar.",
            "test accuracies within 0.05, attack epochs within 3",
            _kaiming_alike,
        ),
        Statement(
            "zero-attack",
            "section 7, results on MNIST",
            "From zero the attack stays at 100 % for 10 more epochs than from Xavier.",
            "5 to 15 epochs more",
            _zero_lasts_longer,
        ),
        Statement(
            "zero-accuracy",
            "section 7, results on MNIST",
            "From zero the accuracy increases faster.",
            "a higher mean training accuracy over the first third of the epochs",
            _zero_is_faster,
        ),
        Statement(
            "small-norm",
            "Figure 3 (bottom)",
            "The norm of the weights is bounded by 2 throughout training, which verifies the choice of G = 1.",
            "below 2 after every epoch, in every setting",
            _small_norm,
        ),
        *COMMON,
    ),
    "credit": (
        Statement(
            "attack-defended",
            "section 7, results on credit",
            "The results are similar to MNIST: under the defence the attack is a random guess.",
            COIN_WORDS,
            _as_a_coin,
        ),
        Statement(
            "xavier-attack",
            "Figure 4",
            "The success rate is less than 1 for Xavier, whose scale is large in 23 dimensions.",
            "below 1 in every epoch, and below the zero start's",
            _xavier_below_one,
        ),
        Statement(
            "zero-attack",
            "Figure 4",
            "From zero the attack starts at 100 %.",
            f"at least {ALMOST_ALL} in the first epoch",
            _zero_is_certain,
        ),
        Statement(
            "xavier-slower",
            "Figure 4 (top and middle)",
            "Models with Xavier initialisation converge slower than those from zero.",
            "a lower training accuracy and a lower test AUC, as means over the epochs",
            _xavier_is_slower,
        ),
        *COMMON,
    ),
}
