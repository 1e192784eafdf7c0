"""`VerticalLogisticRegression`: a scikit-learn classifier whose columns belong to several parties.

Its parameters are the plan's keys by the same names, "auto" where the protocol decides; `random_state` is the plan's
`seed`. `fit` trains all parties in
this process, through the same bytes as on a network.
"""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from plumbob.arrays import Matrix, Vector
from plumbob.data import Table, column_counts, split_array
from plumbob.data.encoder import fit_encoder
from plumbob.model.links import log_odds, odds_factor
from plumbob.model.metrics import probabilities
from plumbob.plan import KEYS, Heuristic, Plan
from plumbob.workshop.simulation.training import JointModel, Run, train

AUTO = "auto"  # The protocol's own default, looked up in `fit`.


class VerticalLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types.
    """Logistic regression over columns that several parties hold.

    `split` counts columns from the left, label party first; without it the label party has the first half. `record_`
    says what happened; with `record=True` it also holds what each party could read, with "bytes" the ciphertexts too.
    """

    def __init__(
        self,
        split: Sequence[int] | None = None,
        protocol: str = "shares",
        *,
        scale: str = "auto",
        missing: str = "refuse",
        categorical: str = "refuse",
        bins: int = 0,
        rare: int = 30,
        test_share: float = 0.0,
        sigmoid: str = "auto",
        start: str = "zero",
        epochs: int = 0,
        batch_size: int = 256,
        batches: str = "auto",
        momentum: float | str = "auto",
        remainder: str = "merge",
        learning_rate: float | str = "auto",
        intercept: bool = True,
        l2: float = 0.0,
        class_weight: str = "none",
        scheme: str = "auto",
        key_bits: int = 2048,
        test_only_keys: bool = False,
        trust_peer_keys: bool = False,
        replies: str = "packed",
        reply_slots: int = 0,
        feature_bits: int | str = "auto",
        residual_bits: int = 20,
        open: str = "auto",
        most_rows: int = 0,
        lattice_set: int = 0,
        unmasked_gradients_for_the_arbiter: bool = False,
        noise: str = "none",
        noise_std: float = 0.0,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        heuristic: Heuristic | dict[str, float] | None = None,
        row_norm: float = 0.0,
        label_flip_epsilon: float = 0.0,
        tolerance_labels: float = 0.05,
        tolerance_features: float = 0.05,
        engine: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        record: bool | str = True,
    ) -> None:
        self.split = split
        self.protocol = protocol
        self.scale = scale
        self.missing = missing
        self.categorical = categorical
        self.bins = bins
        self.rare = rare
        self.test_share = test_share
        self.sigmoid = sigmoid
        self.start = start
        self.epochs = epochs
        self.batch_size = batch_size
        self.batches = batches
        self.momentum = momentum
        self.remainder = remainder
        self.learning_rate = learning_rate
        self.intercept = intercept
        self.l2 = l2
        self.class_weight = class_weight
        self.scheme = scheme
        self.key_bits = key_bits
        self.test_only_keys = test_only_keys
        self.trust_peer_keys = trust_peer_keys
        self.replies = replies
        self.reply_slots = reply_slots
        self.feature_bits = feature_bits
        self.residual_bits = residual_bits
        self.open = open
        self.most_rows = most_rows
        self.lattice_set = lattice_set
        self.unmasked_gradients_for_the_arbiter = unmasked_gradients_for_the_arbiter
        self.noise = noise
        self.noise_std = noise_std
        self.epsilon = epsilon
        self.delta = delta
        self.heuristic = heuristic
        self.row_norm = row_norm
        self.label_flip_epsilon = label_flip_epsilon
        self.tolerance_labels = tolerance_labels
        self.tolerance_features = tolerance_features
        self.engine = engine
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.record = record

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train between the parties; X holds everybody's columns, y any two classes."""
        jobs, keep_bytes = self._jobs(), self._keeps_bytes()
        checked, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=self._finite())
        self.classes_, coded = _two_classes(labels)
        widths = column_counts(checked.shape[1], self._split_of(checked.shape[1]))
        split = split_array(checked, coded, widths)
        plan = self._plan(widths, len(checked))
        if plan.bins:
            plan = plan.replace(features=[_encoded_width(table, plan) for table in split])
        tables = dict(zip([party.name for party in plan.learners], split, strict=True))
        run = train(plan, tables, engine=self.engine, jobs=jobs, keep_bytes=keep_bytes)
        self._keep(run, widths)
        return self

    def decision_function(self, X: ArrayLike) -> Vector:
        """Joint scores; above 0 means the second class."""
        check_is_fitted(self)
        checked = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=self._finite())
        return self.model_.scores(self._tables(checked))

    def predict_proba(self, X: ArrayLike) -> Vector:
        """The two classes' probabilities."""
        scores = self.decision_function(X)
        positive = probabilities(log_odds(self.model_.plan, scores))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more probable class of each row."""
        is_second = (self.decision_function(X) > 0).astype(np.intp)
        chosen: NDArray[Any] = self.classes_[is_second]
        return chosen

    def summary(self) -> str:
        """Weights per party with their odds ratios, in the units of the X that was passed in."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        lines, column = [], 0
        plan = self.model_.plan
        factor = odds_factor(plan, self.model_.parts[plan.label_party.name].positive_share)
        for party, width in zip(self.model_.plan.learners, self.split_, strict=True):
            lines.append(f"{party.name} ({party.role}, {width} columns)")
            part = self.model_.parts[party.name]
            if self.model_.plan.bins and part.weights is not None:
                weights = zip(part.encoder.names, part.in_input_units()[0].tolist(), strict=True)
                lines += [_weight_line(name, weight, factor) for name, weight in weights]
                continue
            if not hasattr(self, "coef_"):
                lines.append('  weights were never opened (open = "never")')
                continue
            for place in range(column, column + width):
                lines.append(_weight_line(str(names[place]), self.coef_[0, place], factor))
            column += width
        if hasattr(self, "intercept_"):
            lines.append(f"intercept {self.intercept_[0]:.6g}")
        return "\n".join(lines)

    def __getattr__(self, name: str) -> Any:
        """Weights that stay shared are missing for a reason, which whoever asks for them should hear."""
        if name in ("coef_", "intercept_") and "model_" in self.__dict__:
            if self.__dict__["model_"].plan.bins:
                raise AttributeError(
                    f"{name} does not exist: with bins a score is no sum over your columns; see `summary()`"
                )
            raise AttributeError(
                f'{name} does not exist: the plan says open = "never", so the weights stayed shared and no party has '
                'them; predict works without them, and open = "own" opens them'
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _finite(self) -> bool | str:
        """Whether gaps may come: where they are filled, or have a bin of their own."""
        return "allow-nan" if self.missing == "mean" or self.bins else True

    def _split_of(self, columns: int) -> Sequence[int] | None:
        return self.split if self.split is not None or columns > 1 else (0, 1)

    def _plan(self, widths: Sequence[int], rows: int) -> Plan:
        """The plan that these parameters are; a batch larger than the data means all of it."""
        own = self.get_params(deep=False)
        keys = {key.name: _plain(own[key.name]) for key in KEYS if key.name in own}
        keys = {name: None if _is_auto(value) else value for name, value in keys.items()}
        keys["seed"] = self._seed()
        if self.heuristic is not None:
            keys["heuristic"] = self.heuristic
        plan = Plan.for_columns(widths, **keys)
        training_rows = rows - plan.held_out(rows)
        if plan.batches != "full" and plan.batch_size > training_rows:
            return plan.replace(batches="full")
        return plan

    def _seed(self) -> int:
        """The plan's seed: 0 means drawn jointly, so a state of 0 is moved out of its way."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral) and int(self.random_state) >= 0:
            return int(self.random_state) + 1
        return int(check_random_state(self.random_state).randint(1, 2**31 - 1))

    def _jobs(self) -> int | None:
        """The cores to use, None for all; scikit-learn's users write -1 for that."""
        # Anything, because a parameter is not looked at before `fit`.
        jobs: Any = self.n_jobs
        if jobs is None or jobs == -1:
            return None
        if not isinstance(jobs, Integral):
            raise TypeError(f"n_jobs: expected a whole number or None, got {jobs!r}")
        if int(jobs) < 1:
            raise ValueError(f"n_jobs: expected 1 or more, or None or -1 for all cores, got {jobs}")
        return int(jobs)

    def _keeps_bytes(self) -> bool:
        if not isinstance(self.record, bool | np.bool_) and self.record != "bytes":
            raise ValueError(f'record: expected True, False or "bytes", got {self.record!r}')
        return self.record == "bytes"

    def _keep(self, run: Run, widths: Sequence[int]) -> None:
        self.split_ = tuple(widths)
        self.model_: JointModel = run.model
        self.record_ = run.record if self.record else replace(run.record, transcripts={})
        self.n_iter_ = run.record.steps
        parts = list(run.model.parts.values())
        # With bins the score is no sum over the columns that were passed in, so there is no coefficient for them.
        if all(part.weights is not None for part in parts) and not run.model.plan.bins:
            in_units = [part.in_input_units() for part in parts]
            self.coef_ = np.concatenate([coefficients for coefficients, _ in in_units])[None, :]
            self.intercept_ = np.array([sum(offset for _, offset in in_units)])

    def _tables(self, X: Matrix) -> dict[str, Table]:
        return dict(zip(self.model_.parts, split_array(X, None, self.split_), strict=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = self.missing == "mean" or self.bins > 0
        return tags


def _weight_line(name: str, weight: float, factor: float) -> str:
    """`factor` turns a weight into a change of log-odds."""
    return f"  {name:<32} weight {weight:>12.6g}  odds ratio {np.exp(weight * factor):>12.6g}"


def _encoded_width(table: Table, plan: Plan) -> int:
    return len(fit_encoder(table, np.arange(len(table)), plan).names)


def _two_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    check_classification_targets(labels)
    classes, coded = np.unique(labels, return_inverse=True)
    if len(classes) == 2:
        return classes, coded
    kind = type_of_target(labels, input_name="y")
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: {len(classes)} classes."
        )
    raise ValueError("expected two classes in y, got one class only; there is nothing to learn")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's, which is what a plan holds."""
    return value.item() if isinstance(value, np.generic) else value
