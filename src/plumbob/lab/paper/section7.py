"""Section 7: runs in the clear epoch by epoch, what an attack reaches on them, and its statements and figures judged.

Small runs serve the experiments about theorems and the benchmarks, too.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob import datasets
from plumbob.arrays import Matrix, Vector
from plumbob.data import Table, split_array
from plumbob.errors import DataError
from plumbob.lab.attacks.active.interface import AttackingParty
from plumbob.lab.attacks.interface import Attack, LabelClaim, ValueClaim, View
from plumbob.lab.paper.encrypted import EncryptedSample, beside_clear
from plumbob.lab.paper.findings import Book, Chapter, Curve, ExperimentOutcome, Figure, Group, Headline, MeanPoint
from plumbob.lab.paper.readings import STARTS, Effort, ResultStore, Setting, Study, noise_of, settings_of
from plumbob.lab.paper.released import Released, success
from plumbob.lab.paper.statements import ALMOST_ALL, Evidence, claims_of, first_epochs
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.quality import epoch_weights
from plumbob.model import metrics
from plumbob.model.logistic import partial_residuals, signs_of
from plumbob.model.metrics import auc, balanced_accuracy
from plumbob.plan import Plan

Samples = tuple[Matrix, NDArray[np.int64]]

SMALL_STEPS: dict[str, Any] = {"protocol": "clear", "learning_rate": 0.01, "intercept": False, "seed": 1}


def trained(split: Sequence[int], X: Matrix, y: Any, **keys: Any) -> Run:
    """A run with small steps, in the clear unless said otherwise."""
    plan = Plan.for_columns(split, **(SMALL_STEPS | keys))
    tables = split_array(X, y, split)
    return train(plan, {party.name: table for party, table in zip(plan.learners, tables, strict=True)})


def views_of(split: Sequence[int], data: Samples, **keys: Any) -> dict[str, View]:
    """Everybody's view of a run on these rows, with the plan's own learning rate and an intercept."""
    usual = {"learning_rate": 0.1, "intercept": True, "seed": 3, "test_only_keys": True, "key_bits": 512}
    return {name: View.of(one) for name, one in trained(split, *data, **(usual | keys)).transcripts.items()}


def credit(
    rows: int | None = None, column: int | None = None, is_first: bool = False, data_dir: str | None = None
) -> Samples:
    """Real rows; with `column`, that one stands alone at the end, or at the beginning."""
    X, y = _credit(data_dir)
    order = list(range(X.shape[1]))
    if column is not None:
        order.remove(column)
        order = [column, *order] if is_first else [*order, column]
    return X[:rows, order], y[:rows]


@cache
def _credit(data_dir: str | None) -> Samples:
    """Read once: its text takes longer than most experiments."""
    X, y = datasets.load("credit", data_dir=data_dir)
    return X, y.astype(np.int64)


def made_up(rows: int, columns: int, seed: int) -> Samples:
    """Normal rows with a linear signal."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, columns))
    y = X @ generator.normal(size=columns) / np.sqrt(columns) + generator.normal(size=rows) > 0
    return X, y.astype(np.int64)


def even_split(columns: int, parties: int) -> list[int]:
    """As even as it goes, the later ones with one more."""
    return [columns // parties + (1 if place >= parties - columns % parties else 0) for place in range(parties)]


def labels_of(run: Run) -> NDArray[np.int8]:
    """The labels that an attack's claims are scored against."""
    y = run.transcripts["label"].y
    if y is None:
        raise DataError("the label party's transcript holds no labels")
    return y


def label_rates(run: Run, attack: Attack, party: str = "features") -> dict[str, Any]:
    """One attack's rates against the truth, with its seconds and conditions."""
    started = time.perf_counter()
    claim = attack(View.of(run.transcripts[party]))
    if not isinstance(claim, LabelClaim):
        raise DataError(f"{attack.name}: expected a claim about labels, got {claim}")
    y = labels_of(run)
    is_right = np.sign(np.nan_to_num(claim.beliefs)) == signs_of(y)
    determined = claim.is_determined
    return {
        "rate": float(is_right.mean()),
        "auc": auc(y, np.nan_to_num(claim.beliefs)),
        "balanced_accuracy": balanced_accuracy(y, np.nan_to_num(claim.beliefs)),
        "determined": float(determined.mean()),
        "rate_where_determined": float(is_right[determined].mean()) if determined.any() else None,
        "seconds": round(time.perf_counter() - started, 1),
        "conditions": {condition.name: [condition.value, condition.is_met] for condition in claim.conditions},
    }


def column_errors(attack: Callable[[View], Any], view: View, truth: Vector) -> dict[str, Any]:
    """How far a claim about the peer's only column is off, up to one sign."""
    started = time.process_time()
    claim = attack(view)
    seconds = time.process_time() - started
    if not isinstance(claim, ValueClaim):
        return {"not applicable": claim.why}
    values = claim.values[:, 0]
    errors = np.abs(values * (1.0 if np.nansum(values * truth) >= 0 else -1.0) - truth)
    relative = errors / np.maximum(np.abs(truth), 2.0**-16)
    known = claim.is_determined
    return {
        "rows": len(truth),
        "answered": float(np.isfinite(values).mean()),
        "determined": float(known.mean()),
        "largest relative error of a determined row": float(relative[known].max()) if known.any() else None,
        "largest error of a determined row, in standard deviations": (
            float(errors[known].max() / truth.std()) if known.any() else None
        ),
        "seconds": round(seconds, 2),
        "conditions": {item.name: item.value for item in claim.conditions},
    }


def exact_readings(run: Run, by: str) -> list[NDArray[np.bool_]]:
    """For each reading of an active attacker, which of its values are what the honest peer encrypted, as integers."""
    attacker = run.parties[by]
    if not isinstance(attacker, AttackingParty):
        raise DataError(f"{by}: expected a party that attacked, got an honest one")
    peer = View.of(next(transcript for name, transcript in run.transcripts.items() if name != by))
    unit = 2.0**peer.plan.residual_bits
    released = {}
    for batch, _, scores, _ in peer.steps():
        signs = None if peer.signs is None else peer.signs[batch.rows]
        encoded = np.zeros(peer.rows)
        encoded[batch.rows] = np.rint(partial_residuals(scores, signs) * unit)
        released[batch.step] = encoded
    return [np.rint(one.residuals * unit) == released[one.step][one.rows] for one in attacker.readings]


METRICS: Mapping[str, str] = {
    "train_accuracy": "training accuracy",
    "test_accuracy": "test accuracy",
    "attack": "label attack success",
    "weight_norm": "norm of the weights",
    # From here on not in the paper.
    "test_auc": "test AUC",
    "test_balanced_accuracy": "test balanced accuracy",
    "attack_balanced": "label attack, balanced accuracy",
    "attack_without_own_scores": "label attack that subtracts its own scores",
}
Curves = dict[Setting, dict[str, Curve]]
"""For each setting and each of `METRICS`."""


def curves_of(study: Study, settings: Sequence[Setting], results: ResultStore, effort: Effort) -> Curves:
    """Every setting with every seed; what is in the store is not run again."""
    work = _StudyRuns(study, study.tables("train"), study.tables("test"))
    total, done = len(settings) * len(effort.all_seeds), 0
    found: Curves = {}
    for setting in settings:
        runs = []
        for seed in effort.all_seeds:
            done += 1
            title = f"{study.name} {setting.preset}: {setting.name}, seed {seed}"
            effort.tell(f"{title} ({done} of {total})")
            plan = setting.plan(study, work.rows, seed)
            key = {"plan": plan.to_toml(), "study": study.identity, "metrics": list(METRICS)}
            runs.append(results.get_or_run(title, key, partial(work.run, setting, seed)))
        epochs = range(1, study.epochs + 1)
        found[setting] = {
            name: Curve.of(setting.name, epochs, list(zip(*(run[name] for run in runs), strict=True)))
            for name in METRICS
        }
    return found


@dataclass(frozen=True, repr=False, eq=False)
class _StudyRuns:
    study: Study
    train: dict[str, Table]
    test: dict[str, Table]

    @property
    def rows(self) -> int:
        return len(self.train["label"])

    def run(self, setting: Setting, seed: int) -> dict[str, Any]:
        trained = train(setting.plan(self.study, self.rows, seed), self.train)
        # Once for each setting: rows do not depend on the seed.
        if seed == 1 and not setting.has_unit_rows:
            _refuse_shortened(trained, self.train)
        return measured(trained, self.test)


def _refuse_shortened(run: Run, tables: Mapping[str, Table]) -> None:
    """The settings promise rows as they are."""
    for name, part in run.model.parts.items():
        given = np.linalg.norm(part.encode(tables[name]), axis=1)
        used = np.linalg.norm(run.transcripts[name].X, axis=1)
        if not np.allclose(given, used, atol=1e-3):
            raise DataError(f"{name}: a row is longer than the plan's row_norm {run.model.plan.row_norm:g}; raise it")


def measured(run: Run, test: Mapping[str, Table]) -> dict[str, list[float]]:
    """For each of `METRICS` one number an epoch."""
    released = Released.of(run)
    plan, parts = run.model.plan, run.model.parts
    weights = {
        name: np.array(list(epoch_weights(plan, run.transcripts[name], part.penalties(plan.l2))))
        for name, part in parts.items()
    }
    training: Matrix = np.sum([weights[name] @ run.transcripts[name].X.T for name in parts], axis=0)
    tested: Matrix = np.sum([weights[name] @ part.encode(test[name]).T for name, part in parts.items()], axis=0)
    y_test = np.asarray(test[plan.label_party.name].labels)
    return {
        "train_accuracy": [metrics.accuracy(released.y, scores) for scores in training],
        "test_accuracy": [metrics.accuracy(y_test, scores) for scores in tested],
        "attack": success(released.y, released.residuals),
        "weight_norm": np.linalg.norm(np.hstack(list(weights.values())), axis=1).tolist(),
        "test_auc": [metrics.auc(y_test, scores) for scores in tested],
        "test_balanced_accuracy": [metrics.balanced_accuracy(y_test, scores) for scores in tested],
        "attack_balanced": [metrics.balanced_accuracy(released.y, -values) for values in released.residuals],
        "attack_without_own_scores": success(released.y, released.without_own_scores),
    }


@cache
def majority(study: Study, part: str = "test") -> float:
    """What always saying the larger class would give."""
    share = float(np.mean(np.asarray(study.tables(part)["label"].labels)))
    return max(share, 1.0 - share)


def chapter_of(evidence: Evidence) -> Chapter:
    """The paper's figures, the other starts, and what it leaves out."""
    curves = evidence.curves
    paper = [setting for setting in curves if not setting.intercept and not setting.has_unit_rows]
    by_start = {start: [one for one in paper if one.start == start] for start in STARTS}
    four = ("train_accuracy", "test_accuracy", "attack", "weight_norm")
    undefended = [setting for setting in paper if setting.epsilon is None]
    with_intercept = [
        one for one in curves if one.start == "zero" and not one.has_unit_rows and one.epsilon in (None, 0.5)
    ]
    groups = [
        _group(evidence, "As the paper plots it: Xavier start", "xavier", by_start["xavier"], four),
        _group(evidence, "The three starts, no defence", "starts", undefended, four[:3]),
        _group(evidence, "Zero start", "zero", by_start["zero"], four, is_folded=True),
        _group(evidence, "Kaiming start", "kaiming", by_start["kaiming"], four, is_folded=True),
        _group(
            evidence,
            "What the paper leaves out: an intercept, AUC, balanced accuracy",
            "intercept",
            with_intercept,
            ("test_accuracy", "test_auc", "test_balanced_accuracy", "attack_balanced"),
        ),
        Group("A stronger attacker subtracts its own scores", (_own_scores_figure(evidence, undefended),)),
        _group(
            evidence,
            "Rows clipped to norm 1, as the theorems assume",
            "unit-rows",
            [setting for setting in curves if setting.has_unit_rows],
            ("attack", "test_accuracy"),
        ),
    ]
    shown = tuple(group for group in groups if group.figures)
    return Chapter(f"Curves, reading: {evidence.preset}", _in_words(evidence), shown)


def _group(
    evidence: Evidence,
    heading: str,
    name: str,
    settings: Sequence[Setting],
    metrics: Sequence[str],
    is_folded: bool = False,
) -> Group:
    """The same settings in one figure for each metric; none where nothing was run."""
    starts = {setting.start for setting in settings}
    figures = []
    for metric in metrics if len(settings) > 1 or name == "xavier" else ():
        curves = []
        for setting in settings:
            series = setting.short_name if len(starts) == 1 else setting.start
            curves.append(replace(evidence.curves[setting][metric], series=series))
        if metric == "test_accuracy":
            curves.append(_majority_curve(evidence))
        file = f"{evidence.study.name}-{evidence.preset}-{name}-{metric}".replace("_", "-")
        title = METRICS[metric][0].upper() + METRICS[metric][1:]
        is_share = metric not in ("weight_norm", "test_auc")
        figures.append(Figure(file, title, "epoch", METRICS[metric], tuple(curves), is_share=is_share))
    return Group(heading, tuple(figures), is_folded)


def _own_scores_figure(evidence: Evidence, settings: Sequence[Setting]) -> Figure:
    """Both attackers, from every start but Kaiming, which is as Xavier."""
    curves = [
        replace(evidence.curves[setting][metric], series=f"{setting.start}, {words}")
        for setting in settings
        if setting.start != "kaiming"
        for metric, words in (("attack", "criterion"), ("attack_without_own_scores", "own subtracted"))
    ]
    name = f"{evidence.study.name}-{evidence.preset}-own-scores"
    return Figure(name, "Labels read, no defence", "epoch", METRICS["attack"], tuple(curves), is_share=True)


def _majority_curve(evidence: Evidence) -> Curve:
    baseline = majority(evidence.study)
    ends = (1, evidence.study.epochs)
    return Curve("larger class", tuple(MeanPoint(epoch, baseline) for epoch in ends), is_reference=True)


def _in_words(evidence: Evidence) -> tuple[str, ...]:
    study = evidence.study
    rows = "standardised columns" if study.scale == "standard" else "pixels divided by 255"
    steps = {
        "figures": f"one update over all {evidence.rows:,} rows for each plotted epoch",
        "text": f"batches of {study.batch_size}, reshuffled, and real epochs",
    }[evidence.preset]
    sigma = noise_of(study, evidence.preset, evidence.rows, 0.5)
    return (
        f"{rows[0].upper()}{rows[1:]}, rows as long as they are, {study.split[0]} + {study.split[1]} columns, {steps}; "
        f"{study.epochs} epochs, learning rate 0.01, no intercept. Noise by Theorem D.5 with delta = 0.1, G = 1, "
        f"T = 30 and e = {study.epochs}: at epsilon 0.5 the deviations are {sigma[0]:.1f} and {sigma[1]:.1f}.",
        "Lines are means over the seeds, bands their standard errors. The attack reads each residual as it was "
        "released, noise included, whatever the batch size: that is the paper's criterion.",
    )


def tables_of(evidence: Evidence) -> Iterator[Figure]:
    """Every metric of every setting, for the table of curves."""
    for metric, words in METRICS.items():
        curves = tuple(curves[metric] for curves in evidence.curves.values())
        yield Figure(f"{evidence.study.name}-{evidence.preset}", words, "epoch", metric, curves)


# The whole


def book_of(study: Study, presets: Sequence[str], results: ResultStore, effort: Effort, piece: EncryptedSample) -> Book:
    """Run what is not in the store yet, and judge."""
    rows = len(study.tables("train")["label"])
    evidence = [
        Evidence(study, preset, curves_of(study, settings_of(preset, effort.is_quick), results, effort), rows)
        for preset in presets
    ]
    effort.tell(f"{study.name}: a small piece, encrypted")
    key = {"study": study.identity, "piece": asdict(piece)}
    stored = results.get_or_run(f"{study.name} encrypted", key, lambda: beside_clear(study, piece).to_dict())
    encrypted = ExperimentOutcome.from_dict(stored)
    claims = [claim for one in evidence for claim in claims_of(one)]
    tables = [table for one in evidence for table in tables_of(one)]
    chapters = [*(chapter_of(one) for one in evidence), _encrypted_chapter(encrypted)]
    return Book(
        study.name,
        f"The paper's figures on {TITLES.get(study.name, study.name)}",
        f"Section 7 of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, trained again; "
        f"{len(effort.all_seeds)} {'seed' if len(effort.all_seeds) == 1 else 'seeds'}.",
        (*claims, *encrypted.claims),
        tuple(chapters),
        (*tables, *encrypted.figures),
        tuple(_headlines(evidence[0])),
    )


def _headlines(evidence: Evidence) -> Iterator[Headline]:
    """The attack and the model, of the first reading."""
    remark = f"{evidence.preset}, Xavier start"
    plain = evidence.curve("attack", "xavier")
    reached = f"{first_epochs(plain)} of {len(plain.points)} epochs" if plain.means[0] >= ALMOST_ALL else "never"
    yield Headline("label attack at 100 %, no defence", reached, remark)
    noisy = [sum(curve.means) / len(curve.means) for curve in evidence.defended("attack")]
    yield Headline(
        "label attack under noise", f"{100 * sum(noisy) / len(noisy):.1f} %", f"{evidence.preset}, all settings"
    )
    yield Headline("test accuracy, no defence", f"{100 * evidence.curve('test_accuracy', 'xavier').last:.1f} %", remark)
    yield Headline("at epsilon 0.5", f"{100 * evidence.curve('test_accuracy', 'xavier', 0.5).last:.1f} %", remark)


TITLES = {"mnist": "MNIST", "credit": "credit data"}


def _encrypted_chapter(outcome: ExperimentOutcome) -> Chapter:
    said = outcome.claims[0]
    sentences = (
        "The curves above are calculated in the clear, which gives what the encrypted protocol gives: "
        f"{said.reading}: {said.measured}.",
    )
    return Chapter("The same curves, encrypted", sentences, (Group("One epoch, step by step", outcome.figures),))
