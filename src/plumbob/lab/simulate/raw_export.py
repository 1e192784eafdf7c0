"""Exports models with bins and levels in terms of the columns that the parties' tables have.

What each column adds to the score is written as steps, so that every program can calculate it: a number adds the weight
of its first bin and one step for each cut that it is above, a text the weight of its level. A level that training never
saw adds what the rare ones do, or the average where there are none; a gap what gaps do, or the average.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plumbob.data.encoding import Bins, EncodedColumn, Levels, Marked
from plumbob.errors import DataError
from plumbob.protocol.part import ModelPart

BELOW_ALL = -1e300
"""The number for a gap where a program compares numbers: below every cut."""


@dataclass(frozen=True)
class NumberScore:
    """A score of `base`, plus a step for each cut that the number is above; `gap` instead where it is missing."""

    name: str
    base: float
    cuts: tuple[float, ...]
    steps: tuple[float, ...]
    gap: float


@dataclass(frozen=True)
class SlopeScore:
    """A score of `slope` times the number, clipped where there are limits.

    `fill` stands for a gap, None where gaps are refused, and `at_gap` is added there.
    """

    name: str
    slope: float
    fill: float | None
    at_gap: float = 0.0
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class LevelScore:
    """The weight of each level; `others` for every other text, `gap` for a missing one."""

    name: str
    weights: dict[str, float]
    others: float
    gap: float


ColumnScore = NumberScore | SlopeScore | LevelScore


@dataclass(frozen=True)
class RawScores:
    """A score of `intercept` plus the sum over columns; `classes` is None for one party's part."""

    columns: tuple[ColumnScore, ...]
    intercept: float
    classes: tuple[Any, Any] | None


def has_slots(parts: Sequence[ModelPart]) -> bool:
    """Whether a part's columns are bins, levels or marks of a gap."""
    return any(isinstance(source, Marked | Bins | Levels) for part in parts for source in part.encoder.sources)


def raw_scores(parts: Sequence[ModelPart], classes: tuple[Any, Any] | None) -> RawScores:
    """The scores column by column; names must differ between parties."""
    columns = [column for part in parts for column in _columns(part)]
    # A party's column may be there twice: as it is, and in bins.
    names = [name for part in parts for name in {source.name for source in part.encoder.sources}]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(
            f"columns of two parties have one name: {', '.join(map(repr, repeated))}; export each part with --party"
        )
    intercept = sum(part.in_input_units()[1] for part in parts)
    return RawScores(tuple(columns), intercept, classes)


def _columns(part: ModelPart) -> Iterator[ColumnScore]:
    coefficients, limits = part.in_input_units()[0].tolist(), part.input_limits()
    place = 0
    for source in part.encoder.sources:
        fill = None if part.encoder.fill is None else part.encoder.fill[place : place + source.width].tolist()
        clip = None if limits is None else (float(limits[0][place]), float(limits[1][place]))
        yield _column(source, coefficients[place : place + source.width], fill, clip)
        place += source.width


def _column(
    source: EncodedColumn, own: list[float], fill: list[float] | None, limits: tuple[float, float] | None
) -> ColumnScore:
    if isinstance(source, Bins | Levels):
        weights = slot_weights(source, own)
        average = float(np.dot(weights, source.shares)) if weights else 0.0
        gap = weights[-1] if source.has_gaps and weights else average
        if isinstance(source, Bins):
            bins = weights[: len(source.cuts) + 1]
            return NumberScore(source.name, bins[0], source.cuts, tuple(np.diff(bins).tolist()), gap)
        others = weights[len(source.levels)] if source.has_rare else average
        return LevelScore(source.name, dict(zip(source.levels, weights, strict=False)), others, gap)
    if source.is_text:
        levels = [name.removeprefix(f"{source.name}=") for name in source.encoded_names]
        return LevelScore(source.name, dict(zip(levels, own, strict=True)), 0.0, float(np.dot(own, fill or [0.0])))
    filling = None if fill is None else fill[0]
    return SlopeScore(source.name, own[0], filling, own[1] if isinstance(source, Marked) else 0.0, limits)


def slot_weights(source: Bins | Levels, own: list[float]) -> list[float]:
    """What each slot adds to the score, in the order of the slots."""
    return [*own[: source.reference], 0.0, *own[source.reference :]] if source.slots else []


# scikit-learn.


def as_pipeline(model: RawScores) -> Any:
    """A fitted pipeline on a data frame with the tables' columns; NaN is a gap."""
    from pandas import DataFrame, Series
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    steps, coefficients, intercept = [], list[float](), model.intercept
    for column in model.columns:
        own, weights, base = _transformers(column)
        steps += own
        coefficients += weights
        intercept += base
    rows: dict[str, Any] = {}
    for column in model.columns:
        # As it is a column comes first, and has limits; its bins have none.
        rows.setdefault(
            column.name, Series(["x", "x"], dtype=object) if isinstance(column, LevelScore) else _ends(column)
        )
    encoder = ColumnTransformer(steps).fit(DataFrame(rows))
    return Pipeline([("encode", encoder), ("scores", fitted_regression(coefficients, intercept, model.classes))])


def fitted_regression(coefficients: ArrayLike, intercept: float, classes: tuple[Any, Any] | None) -> Any:
    """A regression with these weights: a linear one for one party's part, which gives partial scores."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    weights = np.asarray(coefficients)
    if classes is None:
        regression = LinearRegression()
        # A fitted estimator holds a number of numpy's, and converters rely on it.
        regression.coef_, regression.intercept_ = weights, np.float64(intercept)
    else:
        regression = LogisticRegression()
        regression.classes_ = np.array(classes)
        regression.coef_, regression.intercept_ = weights[None, :], np.array([intercept])
        regression.n_iter_ = np.array([0], dtype=np.int32)
    regression.n_features_in_ = len(weights)
    return regression


def _transformers(column: ColumnScore) -> tuple[list[tuple[str, Any, list[str]]], list[float], float]:
    """(transformers, one coefficient for each column that they give, what is added to the intercept)."""
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import Binarizer, OneHotEncoder

    name = column.name
    if isinstance(column, SlopeScore):
        filled = SimpleImputer(strategy="constant", fill_value=0.0 if column.fill is None else column.fill)
        number, slope, base = (filled, column.slope, 0.0) if column.limits is None else _clip(filled, column)
        as_it_is: tuple[str, Any, list[str]] = (f"{name} as it is", number, [name])
        if not column.at_gap:
            return [as_it_is], [slope], base
        mark = (f"{name} gap", MissingIndicator(features="all"), [name])
        return [as_it_is, mark], [slope, column.at_gap], base
    if isinstance(column, LevelScore):
        levels = [*column.weights, np.nan]
        encoder = OneHotEncoder(
            categories=[np.array(levels, dtype=object)], handle_unknown="ignore", sparse_output=False
        )
        weights = [weight - column.others for weight in (*column.weights.values(), column.gap)]
        return [(f"{name} by level", encoder, [name])], weights, column.others
    steps: list[tuple[str, Any, list[str]]] = []
    for place, cut in enumerate(column.cuts):
        imputer = SimpleImputer(strategy="constant", fill_value=BELOW_ALL)
        steps.append(
            (f"{name} step {place}", Pipeline([("gap", imputer), ("above", Binarizer(threshold=cut))]), [name])
        )
    steps.append((f"{name} gap", MissingIndicator(features="all"), [name]))
    return steps, [*column.steps, column.gap - column.base], column.base


def _clip(filled: Any, column: SlopeScore) -> tuple[Any, float, float]:
    """(transformer, slope, base): what lies between the limits becomes a number in [0, 1]."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler

    low, high = _ends(column)
    clip = MinMaxScaler(clip=True)
    return Pipeline([("gap", filled), ("clip", clip)]), column.slope * (high - low), column.slope * low


def _ends(column: NumberScore | SlopeScore) -> tuple[float, float]:
    """The two values that a column's transformers are fitted on: its limits, where it has some."""
    return column.limits if isinstance(column, SlopeScore) and column.limits is not None else (0.0, 1.0)


# ONNX.


def as_onnx_graph(model: RawScores) -> bytes:
    """One input for each column, (rows, 1), numbers as doubles and texts as strings; NaN and "" are gaps."""
    from onnx import TensorProto, checker, helper

    graph = _Graph()
    inputs, terms = dict[str, Any](), []
    for place, column in enumerate(model.columns):
        kind = TensorProto.STRING if isinstance(column, LevelScore) else TensorProto.DOUBLE
        inputs[column.name] = helper.make_tensor_value_info(column.name, kind, [None, 1])
        terms.append(graph.term(column, f"c{place}"))
    total = graph.constant("intercept", [model.intercept])
    for place, term in enumerate(terms):
        total = graph.add("Add", [total, term], f"sum{place}")
    outputs = {"score": graph.add("Identity", [total], "score")}
    if model.classes is not None:
        outputs["probability"] = graph.add("Sigmoid", [total], "probability")
    shown = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, 1]) for name in outputs]
    made = helper.make_graph(graph.nodes, "plumbob", list(inputs.values()), shown, graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    proto = helper.make_model(made, opset_imports=opsets, ir_version=8)
    checker.check_model(proto)
    content: bytes = proto.SerializeToString()
    return content


class _Graph:
    """A graph's nodes and constants, by name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, values: Sequence[float], shape: Sequence[int] = (1, 1)) -> str:
        from onnx import TensorProto, helper

        self.constants.append(helper.make_tensor(name, TensorProto.DOUBLE, list(shape), list(values)))
        return name

    def add(self, kind: str, inputs: Sequence[str], output: str, **options: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [output], **options))
        return output

    def term(self, column: ColumnScore, at: str) -> str:
        """Add what one column contributes; returns the name of a result of shape (rows, 1)."""
        if isinstance(column, LevelScore):
            return self._level(column, at)
        is_gap = self.add("IsNaN", [column.name], f"{at}_gap")
        if isinstance(column, SlopeScore):
            fill = self.constant(f"{at}_fill", [float("nan") if column.fill is None else column.fill])
            filled = self._within(column, at, self.add("Where", [is_gap, fill, column.name], f"{at}_filled"))
            product = self.add("Mul", [filled, self.constant(f"{at}_slope", [column.slope])], f"{at}_product")
            nothing, mark = self.constant(f"{at}_none", [0.0]), self.constant(f"{at}_mark", [column.at_gap])
            return self.add("Add", [product, self.add("Where", [is_gap, mark, nothing], f"{at}_marked")], f"{at}_term")
        value = self.constant(f"{at}_base", [column.base])
        if column.cuts:
            value = self._steps_expression(column, at, value)
        return self.add("Where", [is_gap, self.constant(f"{at}_at_gap", [column.gap]), value], f"{at}_term")

    def _within(self, column: SlopeScore, at: str, number: str) -> str:
        if column.limits is None:
            return number
        low, high = (
            self.constant(f"{at}_{name}", [limit], ())
            for name, limit in zip(("low", "high"), column.limits, strict=True)
        )
        return self.add("Clip", [number, low, high], f"{at}_within")

    def _steps_expression(self, column: NumberScore, at: str, base: str) -> str:
        from onnx import TensorProto

        cuts = self.constant(f"{at}_cuts", column.cuts, (1, len(column.cuts)))
        above = self.add("Greater", [column.name, cuts], f"{at}_above")
        counted = self.add("Cast", [above], f"{at}_counted", to=TensorProto.DOUBLE)
        steps = self.constant(f"{at}_steps", column.steps, (len(column.steps), 1))
        return self.add("Add", [self.add("MatMul", [counted, steps], f"{at}_sum"), base], f"{at}_value")

    def _level(self, column: LevelScore, at: str) -> str:
        from onnx import TensorProto

        weight = self.add(
            "LabelEncoder",
            [column.name],
            f"{at}_weight",
            domain="ai.onnx.ml",
            keys_strings=[*column.weights, ""],
            values_floats=[*column.weights.values(), column.gap],
            default_float=column.others,
        )
        return self.add("Cast", [weight], f"{at}_term", to=TensorProto.DOUBLE)
