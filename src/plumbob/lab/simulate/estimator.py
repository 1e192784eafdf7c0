"""`VerticalLogisticRegression`: a scikit-learn classifier whose columns belong to several parties.

Its parameters are the plan's keys by the same names, "auto" where the protocol or the table decides; `random_state` is
the plan's `seed`. `fit` trains all parties in this process, through the same bytes as on a network.
"""

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from plumbob.arrays import Vector
from plumbob.checking.check import check
from plumbob.checking.consent import LeakWarning, refusing, warning_about
from plumbob.checking.filing import with_predictions
from plumbob.checking.rules.gradients import OWN_WEIGHTS
from plumbob.checking.rules.keys import KEYS as WEAK_KEYS
from plumbob.counting import counted
from plumbob.data import ColumnChoices, Table
from plumbob.data.encoder import choices_of, encoded_width
from plumbob.data.summary import sizes_of, summarise
from plumbob.errors import DataError
from plumbob.lab.simulate.columns import Owners, Split, deviations, has_gaps, has_texts, is_frame
from plumbob.lab.simulate.training import JointModel, Run, train
from plumbob.model.links import log_odds, odds_factor
from plumbob.model.metrics import probabilities
from plumbob.plan import KEYS, Heuristic, Plan
from plumbob.plan.encodings import ENCODING_KEYS, suggested_keys
from plumbob.protocol.party import AfterStep
from plumbob.record import Finding
from plumbob.report.page import ReportPage
from plumbob.report.run import page_of
from plumbob.retired import no_attribute, refuse_retired

AUTO = "auto"  # The protocol's own default, looked up in `fit`.


class VerticalLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types.
    """Logistic regression over columns that several parties hold.

    `split` says whose columns are whose, label party first: counts from the left, `(11, 12)`; a frame's column names,
    `(["age"], ["income", "debt"])`; or names by party, `{"bank": ["age"], "fund": ["income", "debt"]}`. Without it the
    label party has the first half. `record_` says what happened; with `record=True` it also holds what each party could
    read. `verbose=True` tells on standard error how far training is.

    A frame with texts or gaps is encoded by the rule for drafted plans (`plumbob.plan.encodings`), as on the command
    line, unless `bins` says how. Arrays, and frames of numbers without gaps, stay
    as they are: `decision_function(X)` is `X @ coef_.T + intercept_`.
    """

    @refuse_retired("plumbob.VerticalLogisticRegression")
    def __init__(
        self,
        split: Split | None = None,
        protocol: str = "shares",
        *,
        scale: str = "auto",
        bins: int | str = "auto",
        rare: int = 30,
        test_share: float = 0.0,
        sigmoid: str = "auto",
        start: str = "zero",
        epochs: int = 0,
        batch_size: int | str = "auto",
        batches: str = "auto",
        momentum: float | str = "auto",
        learning_rate: float | str = "auto",
        intercept: bool = True,
        l2: float | str = "auto",
        class_weight: str = "none",
        key_bits: int = 2048,
        test_only_keys: bool = False,
        replies: str = "packed",
        feature_bits: int | str = "auto",
        residual_bits: int = 20,
        open: str = "auto",
        most_rows: int = 0,
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
        random_state: Any = None,
        n_jobs: int | None = None,
        record: bool = True,
        verbose: bool = False,
    ) -> None:
        # Each as it came, under its own name, as scikit-learn wants them.
        for name, value in list(locals().items()):
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    @refuse_retired("plumbob.VerticalLogisticRegression")
    def set_params(self, **params: Any) -> Self:
        """Change parameters, as scikit-learn does."""
        super().set_params(**params)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train between the parties; X holds everybody's columns, y any two classes.

        `sample_weight` says how much each row counts; it belongs to the label party, and is divided by its largest
        value if that is above 1. A plan that leaks above its tolerance is trained all the same, with a `LeakWarning`.
        """
        jobs = self._jobs()
        if not isinstance(self.record, bool | np.bool_):
            raise ValueError(f"record: expected True or False, got {self.record!r}")
        checked, labels = self._check(X, y)
        self.classes_, coded = _two_classes(labels)
        self._owners = Owners.of(self.split, getattr(self, "feature_names_in_", None), self.n_features_in_)
        tables = self._tables(checked, coded)
        if sample_weight is not None:
            tables = (replace(tables[0], weights=_bounded(sample_weight, checked)), *tables[1:])
        plan = self._plan(self._owners, tables)
        self._warn_of_leaks(plan, tables[0])
        self._warn_of_lost_columns(plan, tables)
        named = dict(zip([party.name for party in plan.learners], tables, strict=True))
        with self._progress(plan) as progress:
            run = train(plan, named, jobs=jobs, progress=progress)
        self._keep(run, tables)
        return self

    def decision_function(self, X: ArrayLike) -> Vector:
        """Joint scores; above 0 means the second class."""
        check_is_fitted(self)
        parts = self.model_.parts
        readings = [part.encoder.reading for part in parts.values()]
        tables = self._tables(self._check_again(X), None, readings)
        return self.model_.scores(dict(zip(parts, tables, strict=True)))

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
        """Weights per party with their odds ratios, in the units of X and per standard deviation of the column."""
        check_is_fitted(self)
        plan = self.model_.plan
        factor = odds_factor(plan, self.model_.parts[plan.label_party.name].positive_share)
        deviation = dict(zip(self._owners.names, self.feature_std_.tolist(), strict=True))
        lines = []
        for party, width in zip(plan.learners, self.split_, strict=True):
            lines.append(f"{party.name} ({party.role}, {width} columns)")
            part = self.model_.parts[party.name]
            if part.weights is None:
                lines.append('  weights were never opened (open = "never")')
                continue
            lines.append(f"  {'':<32} {'weight':>12} {'odds ratio':>12} {'per std. dev.':>14}")
            weights = zip(part.encoder.names, part.in_input_units()[0].tolist(), strict=True)
            lines += [_weight_line(name, weight, factor, deviation.get(name)) for name, weight in weights]
        if hasattr(self, "intercept_"):
            lines.append(f"intercept {self.intercept_[0]:.6g}")
        return "\n".join(lines)

    def report(self, findings: Sequence[Finding] | None = None, path: str | Path | None = None) -> ReportPage:
        """The run as a page: a notebook shows it in the cell. `path` saves it too.

        `findings` are what `plumbob.audit` found; without them the page shows what `check` says of the plan.
        """
        check_is_fitted(self)
        record = with_predictions(self.record_)
        page = ReportPage(page_of(record if findings is None else replace(record, findings=list(findings))))
        if path is not None:
            page.save(path)
        return page

    def __getattr__(self, name: str) -> Any:
        """Explain why weights that stay shared are missing."""
        if name in ("coef_", "intercept_") and "model_" in self.__dict__:
            raise AttributeError(f"{name} does not exist: {self._why_no_coefficients()}")
        raise no_attribute("plumbob.VerticalLogisticRegression", name)

    def _why_no_coefficients(self) -> str:
        plan = self.model_.plan
        if any(part.weights is None for part in self.model_.parts.values()):
            return (
                f'the plan says open = "{plan.open}", so the weights stayed shared and no party has them; predict '
                'works without them, and open = "own" opens them'
            )
        return "with bins or categories a score is no sum over your columns; see `summary()`"

    def _check(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X as numbers, or as the frame it is where it has texts; y as it came."""
        given = list(X.values()) if isinstance(X, dict) else X
        if isinstance(given, list | tuple) and any(hasattr(one, "columns") for one in given):
            raise DataError(
                f"X: expected one frame with all parties' columns, got {len(X)} frames; join them by their ids, such as"
                " first.join(second), and say with split how many columns each party has"
            )
        self._has_texts = has_texts(X)
        self._has_gaps = has_gaps(X)
        needs_slots = self._has_texts or self._has_gaps or self.noise == "rows"
        self._is_drafted = needs_slots and not self._chosen_encoding()
        if not self._has_texts:
            checked: tuple[Any, Any] = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=_finite(X))
            return checked
        validate_data(self, X, skip_check_array=True)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        return X, labels

    def _check_again(self, X: Any) -> Any:
        # Text where training had numbers is refused later, by column; scikit-learn's own message would quote a cell.
        if self._has_texts or has_texts(X):
            return validate_data(self, X, reset=False, skip_check_array=True)
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=_finite(X))

    def _chosen_encoding(self) -> dict[str, Any]:
        """The parameters about how columns become numbers, if any were set."""
        own = self.get_params(deep=False)
        return {name: own[name] for name in ENCODING_KEYS if not (isinstance(own[name], str) and own[name] == AUTO)}

    def _tables(
        self, X: Any, labels: NDArray[np.intp] | None, readings: Sequence[ColumnChoices] | None = None
    ) -> tuple[Table, ...]:
        if isinstance(X, np.ndarray):
            return self._owners.tables_of_numbers(X, labels)
        try:
            return self._owners.tables_of_frame(X, labels, readings)
        except DataError as error:
            if "--category " not in str(error):
                raise
            raise DataError(f"{error}; in Python, change the column: pandas.to_numeric, astype('category')") from None

    def _warn_of_leaks(self, plan: Plan, labelled: Table) -> None:
        positives = None if labelled.labels is None else float(labelled.labels.mean())
        # All data are here already: short keys and a model that remembers its rows give this machine nothing more.
        if leaking := refusing(check(plan, len(labelled), positives=positives), but=[WEAK_KEYS, OWN_WEIGHTS]):
            warnings.warn(warning_about(leaking), LeakWarning, stacklevel=3)

    def _warn_of_lost_columns(self, plan: Plan, tables: Sequence[Table]) -> None:
        """A text that is different in every row, or whose levels are all rare, is in the frame and not in the model."""
        if not self._is_drafted:
            return
        summaries = (summarise(table, choices_of(plan)) for table in tables)
        lost = [column for summary in summaries for column in summary.columns if not column.encoded]
        if lost:
            names = ", ".join(f"{one.name} ({one.kind}, {counted(one.different, 'value')})" for one in lost)
            warnings.warn(f"these columns give the model nothing: {names}", UserWarning, stacklevel=3)

    def _progress(self, plan: Plan) -> "AbstractContextManager[AfterStep | None]":
        if not self.verbose:
            return nullcontext()
        from plumbob.report.progress import StepProgress

        return StepProgress(plan.protocol, quiet=False, noun=plan.step_nouns[0])

    def _plan(self, owners: Owners, tables: Sequence[Table]) -> Plan:
        """The plan with these parameters; a batch larger than the data means all of it."""
        own = self.get_params(deep=False)
        keys = {key.name: _plain(own[key.name]) for key in KEYS if key.name in own}
        keys = {name: None if isinstance(value, str) and value == AUTO else value for name, value in keys.items()}
        keys["seed"] = self._seed()
        keys["row_weights"] = tables[0].weights is not None
        if self.heuristic is not None:
            keys["heuristic"] = self.heuristic
        keys = {name: value for name, value in keys.items() if value is not None}
        if self._is_drafted:
            keys, _ = suggested_keys(keys, sizes_of(tables, keys))
        plan = Plan.for_columns(owners.widths, **keys)
        plan = plan.with_names(owners.parties) if owners.parties else plan
        if plan.bins or self._has_texts or self._has_gaps or plan.noise == "rows":
            plan = plan.replace(features=[encoded_width(table, plan) for table in tables])
        training_rows = len(tables[0]) - plan.held_out(len(tables[0]))
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

    def _keep(self, run: Run, tables: Sequence[Table]) -> None:
        self.split_ = self._owners.widths
        self.model_: JointModel = run.model
        names = [party.name for party in run.model.plan.learners]
        self.columns_ = {name: self._owners.names_of(place) for place, name in enumerate(names)}
        self.feature_std_ = self._owners.in_order_of_input(deviations(tables))
        record = replace(run.record, test_rows=len(tables[0]) - run.record.rows)
        self.record_ = record if self.record else replace(record, transcripts={})
        self.n_iter_ = run.record.steps
        parts = list(run.model.parts.values())
        # With bins or categories the score is no sum over the columns that were passed in.
        has_slots = any(column.count > 1 for part in parts for column in part.encoder.columns)
        is_sum = not has_slots and not any(column.is_text for table in tables for column in table.columns)
        if is_sum and all(part.weights is not None for part in parts):
            in_units = [part.in_input_units() for part in parts]
            self.coef_ = self._owners.in_order_of_input([coefficients for coefficients, _ in in_units])[None, :]
            self.intercept_ = np.array([sum(offset for _, offset in in_units)])
        else:
            # What an earlier fit left would pass for this one's.
            for name in ("coef_", "intercept_"):
                self.__dict__.pop(name, None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = False
        return tags


def _weight_line(name: str, weight: float, factor: float, deviation: float | None) -> str:
    """A line about one weight; `factor` turns it into a change of log-odds, and categories have no deviation."""
    with np.errstate(over="ignore"):
        odds = np.exp(weight * factor)
        per_deviation = "" if deviation is None or np.isnan(deviation) else f"{np.exp(weight * factor * deviation):.6g}"
    return f"  {name:<32} {weight:>12.6g} {odds:>12.6g} {per_deviation:>14}".rstrip()


def _finite(X: Any) -> bool | str:
    """Whether gaps are allowed: a frame's have columns of their own, as a party's table has."""
    return "allow-nan" if is_frame(X) else True


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


def _plain(value: Any) -> Any:
    """A value with numpy's numbers as Python's, which a plan holds."""
    return value.item() if isinstance(value, np.generic) else value


def _bounded(sample_weight: ArrayLike, X: Any) -> Vector:
    """One weight per row, divided so that none is above 1."""
    weights: Vector = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise DataError("sample_weight: every row has weight 0; give some of them more")
    return weights / max(1.0, float(weights.max()))
