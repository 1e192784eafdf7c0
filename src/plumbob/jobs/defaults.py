"""Each system's and version's defaults for what a job leaves out, with the file that says so.

Each row was looked up in the tagged source of the system itself. A default is found by the names under which a reader
asks for it, so the two cannot drift apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plumbob.errors import PlanError

SystemVersion = tuple[int, ...]


@dataclass(frozen=True)
class Defaults:
    """One component's defaults in one span of versions."""

    system: str
    component: str
    since: SystemVersion
    source: str
    values: dict[str, Any]

    def of(self, names: Sequence[str]) -> Any:
        """The value of the first of these names that the component knows; None where it knows none."""
        return next((self.values[name] for name in names if name in self.values), None)


FATE_1_LR = {
    "penalty": "L2",
    "alpha": 1.0,
    "learning_rate": 0.01,
    "max_iter": 100,
    "batch_size": -1,
    "optimizer": "rmsprop",
    "init_param.init_method": "random_uniform",
    "init_param.fit_intercept": True,
    "encrypt_param.method": "Paillier",
    "encrypt_param.key_length": 1024,
    "early_stop": "diff",
}
FATE_1_DECOYS = {"shuffle": True, "batch_strategy": "full", "masked_rate": 5}
FATE_1_SSHE = {
    **FATE_1_LR,
    "optimizer": "sgd",
    "reveal_strategy": "respectively",
    "reveal_every_iter": False,
}
FATE_2_LR = {
    "optimizer.penalty": "l2",
    "optimizer.alpha": 1.0,
    "optimizer.method": "sgd",
    "optimizer.optimizer_params.lr": 0.01,
    "epochs": 20,
    "batch_size": None,
    "init_param.method": "random_uniform",
    "init_param.fit_intercept": True,
    "he_param.kind": "paillier",
    "he_param.key_length": 1024,
    "early_stop": "diff",
}
FATE_2_SSHE = {
    "epochs": 20,
    "batch_size": None,
    "learning_rate": 0.05,
    "init_param.method": "random_uniform",
    "init_param.fit_intercept": True,
    "early_stop": "diff",
    "key_length": 1024,
}
SS_SGD = {
    "epochs": 10,
    "learning_rate": 0.1,
    "batch_size": 1024,
    "sig_type": "t1",
    "reg_type": "logistic",
    "penalty": "None",
    "l2_norm": 0.5,
    "eps": 0.001,
    "report_weights": False,
}

_FATE_1 = "python/federatedml/param/logistic_regression_param.py"
_FATE_1_SSHE = "python/federatedml/param/hetero_sshe_lr_param.py"
_FATE_2 = "python/fate/components/components"

TABLE: tuple[Defaults, ...] = (
    Defaults("FATE", "hetero_lr", (1, 7, 2), f"FATE 1.7.2 to 1.11.3 {_FATE_1}", {**FATE_1_LR, **FATE_1_DECOYS}),
    Defaults(
        "FATE",
        "hetero_lr",
        (1, 11, 4),
        f"FATE 1.11.4 {_FATE_1}, secureprotol/conf/__init__.py",
        {**FATE_1_LR, **FATE_1_DECOYS, "encrypt_param.key_length": 2048},
    ),
    Defaults("FATE", "hetero_sshe_lr", (1, 7, 2), f"FATE 1.7.2 {_FATE_1_SSHE}", {**FATE_1_SSHE, "penalty": None}),
    Defaults("FATE", "hetero_sshe_lr", (1, 8), f"FATE 1.8 to 1.11.3 {_FATE_1_SSHE}", FATE_1_SSHE),
    Defaults(
        "FATE",
        "hetero_sshe_lr",
        (1, 11, 4),
        f"FATE 1.11.4 {_FATE_1_SSHE}, secureprotol/conf/__init__.py",
        {**FATE_1_SSHE, "encrypt_param.key_length": 2048},
    ),
    Defaults("FATE", "coordinated_lr", (2, 0), f"FATE 2.0 to 2.2 {_FATE_2}/coordinated_lr.py", FATE_2_LR),
    Defaults(
        "FATE",
        "sshe_lr",
        (2, 0),
        f"FATE 2.0 to 2.2 {_FATE_2}/sshe_lr.py, python/fate/arch/config/default.yaml",
        FATE_2_SSHE,
    ),
    Defaults(
        "SecretFlow", "ss_sgd_train", (0, 8), "SecretFlow 0.8 component/ml/linear/ss_sgd.py", {**SS_SGD, "epochs": 1}
    ),
    Defaults(
        "SecretFlow", "ss_sgd_train", (1, 0), "SecretFlow 1.0 and later component/ml/linear/ss_sgd_train.py", SS_SGD
    ),
    Defaults("SecretFlow", "SSRegression", (0, 7), "SecretFlow ml/linear/ss_sgd/model.py", {**SS_SGD, "epochs": None}),
    Defaults(
        "SecretFlow",
        "ss_glm_train",
        (1, 0),
        "SecretFlow 1.x component/ml/linear/ss_glm_train.py",
        {
            "epochs": 10,
            "learning_rate": 0.1,
            "batch_size": 1024,
            "l2_lambda": 0.1,
            "optimizer": None,
            "iter_start_irls": 0,
            "report_weights": False,
            "link_type": None,
            "label_dist_type": None,
        },
    ),
    Defaults(
        "SecretFlow",
        "SSGLM",
        (1, 0),
        "SecretFlow 1.x ml/linear/ss_glm/model.py",
        {"epochs": None, "learning_rate": 0.1, "batch_size": 1024, "l2_lambda": None, "iter_start_irls": 0},
    ),
    Defaults(
        "SecretFlow",
        "HESSLogisticRegression",
        (0, 7),
        "SecretFlow ml/linear/hess_sgd/model.py, device/device/heu.py",
        {"epochs": 1, "learning_rate": 0.001, "batch_size": None, "key_size": 2048},
    ),
    Defaults(
        "SecretFlow",
        "FlLogisticRegressionVertical",
        (0, 7),
        "SecretFlow ml/linear/fl_lr_v.py, device/device/heu.py",
        {"epochs": None, "learning_rate": 0.1, "batch_size": None, "tol": 1e-4, "key_size": 2048},
    ),
)


def defaults_for(system: str, component: str, version: SystemVersion) -> Defaults:
    """The newest row that is not newer than the version; older versions are refused, because theirs may leak more."""
    rows = [row for row in TABLE if (row.system, row.component) == (system, component)]
    known = [row for row in rows if row.since <= version]
    if not known:
        stated, oldest = (".".join(map(str, numbers)) for numbers in (version, min(row.since for row in rows)))
        raise PlanError(
            f"{system} {stated}: the defaults of {component} are known from {oldest} on; leave --job-version out, and "
            "the file is judged with those"
        )
    return max(known, key=lambda row: row.since)


def parse_version(text: str) -> SystemVersion:
    """A version as numbers: `1.9.2` or `v2.0.0-beta`."""
    numbers = text.strip().lstrip("vV").split("-")[0].split(".")
    try:
        version = tuple(int(part) for part in numbers[:3])
    except ValueError:
        version = ()
    if not version or any(part > 999 for part in version):
        raise PlanError(f"--job-version: expected the other system's version, such as 1.9.2, got {text[:40]!r}")
    return version
