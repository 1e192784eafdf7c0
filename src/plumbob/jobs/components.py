"""The logistic regressions of FATE and SecretFlow, a table of fields each.

Each default was looked up in the tagged source of the system itself, in the file that the component names. FATE's
`hetero_lr` and `coordinated_lr` have an arbiter that holds the key and decrypts every gradient; `hetero_sshe_lr` and
`sshe_lr` keep everything in shares between guest and host, unless a setting opens it on the way. Each of them scores
the rows that it trained on for the guest when training ends. SecretFlow's SS-SGD, SS-GLM and HESS open nothing before
the end, and predict in a component of its own; its vertical federated regression hands the label party every score.
"""

from collections.abc import Callable
from typing import Any

from plumbob.errors import PlanError
from plumbob.jobs.reading import (
    ALL_ROWS,
    NO_ENCRYPTION,
    Assumed,
    ByVersion,
    Component,
    Field,
    Meaning,
    Settings,
    anything,
    batch,
    cipher,
    flag,
    number,
    short_text,
    whole,
    word,
)
from plumbob.plan import PROFILE_BITS

STARTS = {"zeros": "zero", "zero": "zero", "random_normal": "normal", "random": "normal", "random_uniform": "xavier"}

# What a value means beside a plan's keys: the field, the values that say it, the sentence.
Remarks = tuple[tuple[str, Callable[[Any], bool], str], ...]
SQN = ("sqn", "stochastic_quansi_newton", "stochastic_quasi_newton")
REMARKS: Remarks = (
    (
        "optimizer",
        SQN.__contains__,
        "Stochastic quasi-Newton: the arbiter multiplies all parties' gradients by one matrix, so each party gets a "
        "mixture that also holds the others' gradients. The verdicts are those of plain gradient descent, which are "
        "a lower bound: every equation counted here is in the mixture too.",
    ),
    (
        "optimizer",
        lambda name: name not in (*SQN, "sgd", "none"),
        'The optimizer "{}" is taken as plain gradient descent: what is opened is the same.',
    ),
    ("penalty", "l1".__eq__, "The {} penalty has no counterpart in a plan and is left out."),
    ("validation", bool, "Each figure of quality on the way is one more equation about the labels."),
    ("report_metric", bool, "Each epoch opens the stopping metric: one more equation about all labels each time."),
    ("folds", bool, "Cross-validation with {} folds trains on each row in all folds but one; all of it adds up."),
    (
        "steps",
        bool,
        "Stepwise selection trains one model per candidate column in each of up to {} steps on the same rows; one "
        "training per step is counted, which is the least there are. The arbiter also learns each model's score.",
    ),
    (
        "one_vs_rest",
        bool,
        "One-vs-rest trains one model per class on the same rows: what is said about labels holds for each class, and "
        "the models together say more.",
    ),
    ("sample_weight", bool, "Sample weights multiply each residual; a plan has none."),
    (
        "reveal_strategy",
        lambda name: "host" in name,
        "encrypted_reveal_in_host: the host never holds its weights in the clear; judged as if it did.",
    ),
)
LOSS = "The guest sees the loss while it trains: one equation about the host's scores each time."
ALL_WEIGHTS = "report_weights shows every party all weights; each is judged as if it saw those of its own columns only."
SCORED = "When training ends, the guest gets the score of every row that was trained on."


def _remarks(given: Settings) -> tuple[str, ...]:
    """What the values mean beside a plan's keys; FATE's own sentence comes last."""
    found = (
        sentence.format(short_text(given[key]))
        for key, applies, sentence in REMARKS
        if given.has(key) and given[key] is not None and applies(given[key])
    )
    return (*found, *([SCORED] if given.component.system == "FATE" else []))


def _keys(given: Settings) -> dict[str, Any]:
    """The keys of a plan that every component has in its own words."""
    keys = {name: given[name] for name in ("epochs", "learning_rate", "intercept", "l2") if given.has(name)}
    keys["start"] = STARTS.get(given["start"], "xavier")
    if given["batch_size"] == ALL_ROWS:
        keys["batches"] = "full"
    else:
        keys |= {"batch_size": given["batch_size"], "batches": "fixed"}
    if given.has("key_bits"):
        keys["key_bits"] = given["key_bits"]
    if keys.get("key_bits", PROFILE_BITS[0]) not in PROFILE_BITS:
        keys["test_only_keys"] = True
    return keys


def _unprotected(given: Settings) -> str:
    if not given.has("encryption") or given["encryption"] not in NO_ENCRYPTION:
        return ""
    return f'The job asks for no encryption ({given.reads["encryption"].where} is "{given["encryption"]}").'


# FATE.


def _arbiter(given: Settings) -> Meaning:
    keys = {**_keys(given), "protocol": "arbiter", "unmasked_gradients_for_the_arbiter": True}
    source, decoys, may_be_fixed = "batch_size", 0.0, False
    if keys["batches"] != "full" and given.has("shuffle"):
        # From 1.7.2 on batches are drawn for each epoch and hidden among decoys; before that they were cut once.
        source, decoys = "shuffle", max(given["masked_rate"], 0.0)
        is_drawn = given["shuffle"] or decoys > 0 or given["batch_strategy"] == "random"
        keys["batches"] = "reshuffled" if is_drawn else "fixed"
        may_be_fixed = not given.is_version_stated and not given.is_stated("shuffle", "masked_rate", "batch_strategy")
    return Meaning(
        keys,
        ("FATE's arbiter decrypts every party's gradient in each batch, without masks.", *_remarks(given)),
        (given.follows("batches", keys["batches"], source),),
        decoys,
        may_be_fixed,
        scores_rows=True,
        unprotected=_unprotected(given),
    )


def _sshe(given: Settings) -> Meaning:
    """Shares, unless a setting opens gradients in every batch or weights after every epoch."""
    keys = {**_keys(given), "sigmoid": "taylor"}
    remark = ""
    if given["reveal_every_iter"]:
        keys |= {"protocol": "exchange"}
        remark = (
            "{} opens each party's gradient in every batch: it is judged like a protocol that hands each party its "
            "gradient, on batches that stay the same."
        ).format(given.reads["reveal_every_iter"].where)
    elif given.has("early_stop") and given["early_stop"] == "weight_diff":
        keys = {**{name: value for name, value in keys.items() if name != "batch_size"}, "batches": "full"}
        keys |= {"protocol": "exchange"}
        remark = (
            "early_stop weight_diff opens each party's weights after every epoch: two openings differ by the sum of "
            "the epoch's gradients, so it is judged like one opened gradient over all rows per epoch."
        )
    else:
        keys |= {"protocol": "sshe", "open": "own"}
    remarks = (remark, *_remarks(given), LOSS)
    follows = given.follows("batches", keys["batches"], "batch_size")
    remarks = tuple(filter(None, remarks))
    return Meaning(keys, remarks, (follows,), scores_rows=True, unprotected=_unprotected(given))


def _fate_1(optimizer: str, penalty: Any) -> tuple[Field, ...]:
    return (
        Field("epochs", "max_iter", whole, 100),
        Field("learning_rate", "learning_rate", number, 0.01),
        Field("batch_size", "batch_size", batch, ALL_ROWS),
        Field("start", "init_param.init_method", word, "random_uniform"),
        Field("intercept", "init_param.fit_intercept", flag, True),
        Field("optimizer", "optimizer", word, optimizer),
        Field("penalty", "penalty", word, penalty),
        Field("l2", "alpha", number, 1.0, when=("penalty", "l2"), otherwise=0.0),
        Field("encryption", "encrypt_param.method", cipher, "paillier"),
        Field("key_bits", "encrypt_param.key_length", whole, ByVersion({(1, 7, 2): 1024, (1, 11, 4): 2048})),
        Field("validation", "validation_freqs", anything, also=("callback_param.validation_freqs",)),
        *_FURTHER,
    )


# What trains more than once, or otherwise.
_FURTHER = (
    Field("cross_validation", "cv_param.need_cv", flag),
    Field("folds", "cv_param.n_splits", whole, 5, when=("cross_validation", True)),
    Field("stepwise", "stepwise_param.need_stepwise", flag),
    Field("steps", "stepwise_param.max_step", whole, 10, when=("stepwise", True)),
    Field("one_vs_rest", "one_vs_rest_param.need_one_vs_rest", flag),
    Field("sample_weight", "sample_weight", anything, also=("sample_weight_param",)),
)
_HARMLESS = (
    # When to stop, under the names of FATE 1.1 too: a plan runs all its epochs.
    *("tol", "eps", "converge_func", "early_stop", "early_stopping_rounds", "callback_param"),
    # How fast to learn: the equations stay the same.
    *("decay", "decay_sqrt", "learning_rate_scheduler", "sqn_param"),
    # Rounding, output and prediction.
    *("floating_point_precision", "encrypted_mode_calculator_param", "predict_param", "threshold", "output_cv_data"),
    *("metrics", "use_first_metric_only", "multi_class", "cv_param", "stepwise_param", "one_vs_rest_param"),
    *("reveal_loss_freq", "use_mix_rand"),
)
_ENCRYPTED_1 = {
    "no-encryption": "set encrypt_param.method to Paillier",
    "keys": "set encrypt_param.key_length to 2048 or more",
}
_OTHER_ARBITER = "let an organisation be arbiter that is neither guest nor host"
_WITHOUT_ARBITER = "which has no arbiter and shows no gradients"
_SHARED_1 = f"HeteroSSHELR with reveal_every_iter off (1.7 and later), {_WITHOUT_ARBITER}"
_SHARED_2 = f"SSHELR with early_stop diff, {_WITHOUT_ARBITER}, but keys of 1,024 bits"
_HIDDEN_WEIGHTS = "reveal_strategy: encrypted_reveal_in_host, so that the host never holds its weights in the clear"
_LR_PARAM = "python/federatedml/param/logistic_regression_param.py"
_SSHE_PARAM = "python/federatedml/param/hetero_sshe_lr_param.py"
_FATE_2 = "python/fate/components/components"

HETERO_LR = Component(
    "FATE",
    "hetero_lr",
    (1, 7, 2),
    _LR_PARAM,
    (
        *_fate_1("rmsprop", "l2"),
        Field("shuffle", "shuffle", flag, True),
        Field("masked_rate", "masked_rate", number, 5.0),
        Field("batch_strategy", "batch_strategy", word, "full"),
    ),
    _arbiter,
    {
        **_ENCRYPTED_1,
        "arbiter-key": f"{_OTHER_ARBITER}, or use {_SHARED_1}",
        "own-weights": f"use HeteroSSHELR with {_HIDDEN_WEIGHTS}",
        "": f"use {_SHARED_1}",
    },
    _HARMLESS,
)
HETERO_SSHE_LR = Component(
    "FATE",
    "hetero_sshe_lr",
    (1, 7, 2),
    _SSHE_PARAM,
    (
        *_fate_1("sgd", ByVersion({(1, 7, 2): "none", (1, 8): "l2"})),
        Field("reveal_every_iter", "reveal_every_iter", flag, False),
        Field("reveal_strategy", "reveal_strategy", word, "respectively"),
    ),
    _sshe,
    {
        **_ENCRYPTED_1,
        "gradients": "set reveal_every_iter to false",
        "own-weights": f"set {_HIDDEN_WEIGHTS}",
    },
    _HARMLESS,
)
COORDINATED_LR = Component(
    "FATE",
    "coordinated_lr",
    (2, 0),
    f"{_FATE_2}/coordinated_lr.py",
    (
        Field("epochs", "epochs", whole, 20),
        Field("learning_rate", "optimizer.optimizer_params.lr", number, 0.01),
        Field("batch_size", "batch_size", batch, ALL_ROWS),
        # The table's own default where a job has the table, the component's where it has not.
        Field("start", "init_param.method", word, "random_uniform", in_table="zeros"),
        Field("intercept", "init_param.fit_intercept", flag, True),
        Field("optimizer", "optimizer.method", word, "sgd"),
        Field("penalty", "optimizer.penalty", word, "l2"),
        Field("l2", "optimizer.alpha", number, 1.0, when=("penalty", "l2"), otherwise=0.0),
        Field("encryption", "he_param.kind", cipher, "paillier"),
        Field("key_bits", "he_param.key_length", whole, 1024),
        *_FURTHER,
    ),
    _arbiter,
    {
        "no-encryption": "set he_param.kind to paillier",
        "keys": "set he_param.key_length to 2048 or more",
        "arbiter-key": f"{_OTHER_ARBITER}, or use {_SHARED_2}",
        "": f"use {_SHARED_2}",
    },
    _HARMLESS,
    ignores_others=True,
)
SSHE_LR = Component(
    "FATE",
    "sshe_lr",
    (2, 0),
    f"{_FATE_2}/sshe_lr.py, python/fate/arch/config/default.yaml",
    (
        Field("epochs", "epochs", whole, 20),
        Field("learning_rate", "learning_rate", number, 0.05),
        Field("batch_size", "batch_size", batch, ALL_ROWS),
        Field("start", "init_param.method", word, "random_uniform", in_table="zeros"),
        Field("intercept", "init_param.fit_intercept", flag, True),
        Field("l2", "", number, 0.0),
        Field("key_bits", "", whole, 1024),
        Field("early_stop", "early_stop", word, "diff"),
        Field("reveal_every_iter", "reveal_every_epoch", flag),
        *_FURTHER,
    ),
    _sshe,
    {
        "gradients": "set early_stop to diff or abs, and reveal_every_epoch to false",
    },
    _HARMLESS,
    ignores_others=True,
)

# SecretFlow.


def _shares(given: Settings) -> Meaning:
    """Everything in shares; weights are opened only where the job says so."""
    for key, usual in (("regression", "logistic"), ("link", "logit"), ("distribution", "bernoulli")):
        if given.has(key) and given[key] != usual:
            raise PlanError(
                f"{given.component.name} with {key} {short_text(given[key])} is another model; expected a logistic "
                "regression, or a generalised linear model with link Logit and distribution Bernoulli"
            )
    keys = {**_keys(given), "sigmoid": "taylor", "protocol": "hess" if given.component is HESS else "spu"}
    shows_weights = given.has("report_weights") and given["report_weights"]
    keys["open"] = "own" if shows_weights else "never"
    reads = [given.follows("batches", keys["batches"], "batch_size")]
    if given.has("report_weights"):
        reads.append(given.follows("open", keys["open"], "report_weights"))
    return Meaning(keys, _remarks(given), tuple(reads), no_all_clear=(ALL_WEIGHTS,) if shows_weights else ())


def _vertical(given: Settings) -> Meaning:
    keys = {**_keys(given), "sigmoid": "taylor", "protocol": "exchange"}
    return Meaning(keys, _remarks(given), (given.follows("batches", keys["batches"], "batch_size"),))


_START = Field("start", "", word, "zeros")
_SF_HARMLESS = (
    # When to stop, how fast to learn, and rounding.
    *("eps", "tol", "decay_epoch", "decay_rate", "strategy", "stopping_metric", "stopping_rounds"),
    *("stopping_tolerance", "sig_type", "infeed_batch_size_limit", "fraction_of_validation_set", "random_state"),
    *("use_high_precision_exp", "exp_mode", "exp_iters", "tweedie_power", "dist_scale"),
    # Which columns: `--features` gives their numbers.
    *("feature_selects", "label", "offset", "weight", "x", "y", "input"),
)
_OPENED = "keep report_weights off, and reveal no weights"
_HIDING = "use ss_sgd_train or HESSLogisticRegression, which open no scores, no gradients and no weights"
_HEU = {
    "no-encryption": "choose a schema of the HEU that encrypts, such as paillier",
    "keys": "give the HEU a key_size (bit_size) of 2048 or more",
}
_SPU = {
    "no-encryption": "set the SPU's runtime_config.protocol to CHEETAH (two nodes), ABY3 (three nodes), or SEMI2K with "
    "beaver_type TrustedThirdParty",
    "own-weights": _OPENED,
}

SS_SGD_TRAIN = Component(
    "SecretFlow",
    "ss_sgd_train",
    (0, 8),
    "component/ml/linear/ss_sgd_train.py",
    (
        Field("regression", "reg_type", word, "logistic"),
        Field("epochs", "epochs", whole, ByVersion({(0, 8): 1, (1, 0): 10})),
        Field("learning_rate", "learning_rate", number, 0.1),
        Field("batch_size", "batch_size", batch, 1024),
        _START,
        Field("penalty", "penalty", word, "none"),
        Field("l2", "l2_norm", number, 0.5, when=("penalty", "l2"), otherwise=0.0),
        Field("report_weights", "report_weights", flag, False),
    ),
    _shares,
    _SPU,
    _SF_HARMLESS,
)
SS_GLM_TRAIN = Component(
    "SecretFlow",
    "ss_glm_train",
    (1, 0),
    "component/ml/linear/ss_glm_train.py",
    (
        Field("link", "link_type", word, Assumed("logit", "the file does not say it")),
        Field("distribution", "label_dist_type", word, Assumed("bernoulli", "the file does not say it")),
        Field("epochs", "epochs", whole, 10),
        Field("learning_rate", "learning_rate", number, 0.1),
        Field("batch_size", "batch_size", batch, 1024),
        _START,
        Field("l2", "l2_lambda", number, 0.1),
        Field("optimizer", "optimizer", word, "sgd"),
        Field("irls_rounds", "iter_start_irls", whole),
        Field("report_weights", "report_weights", flag, False),
        Field("report_metric", "report_metric", flag),
    ),
    _shares,
    _SPU,
    _SF_HARMLESS,
)
HESS = Component(
    "SecretFlow",
    "HESSLogisticRegression",
    (0, 7),
    "ml/linear/hess_sgd/model.py, device/device/heu.py",
    (
        Field("epochs", "epochs", whole, 1),
        Field("learning_rate", "learning_rate", number, 0.001),
        Field("batch_size", "batch_size", batch, ALL_ROWS),
        _START,
        Field("l2", "", number, 0.0),
        Field("key_bits", "key_size", whole, 2048),
    ),
    _shares,
    {**_HEU, "own-weights": _OPENED},
    _SF_HARMLESS,
)
FL_VERTICAL = Component(
    "SecretFlow",
    "FlLogisticRegressionVertical",
    (0, 7),
    "ml/linear/fl_lr_v.py, device/device/heu.py",
    (
        Field("epochs", "epochs", whole, Assumed(10, "the file does not say, and the call has no default")),
        Field("learning_rate", "learning_rate", number, 0.1),
        Field("batch_size", "batch_size", batch, ALL_ROWS),
        _START,
        Field("l2", "", number, 0.0),
        Field("key_bits", "key_size", whole, 2048),
    ),
    _vertical,
    {**_HEU, "own-weights": _HIDING, "": _HIDING},
    _SF_HARMLESS,
)
