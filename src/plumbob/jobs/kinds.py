"""Names the kind of any other file in one sentence, and what to provide instead."""

from collections.abc import Mapping, Sequence
from typing import Any

from plumbob.jobs import fate, fate_conf, fate_dag, secretflow_files
from plumbob.jobs.files import File
from plumbob.jobs.reading import Tree, mapping, shown

FATE_JOB = (
    "a training job with HeteroLR, HeteroSSHELR, CoordinatedLR or SSHELR: the runtime conf of 1.x, or the DAG of 2.x"
)
SECRETFLOW_JOB = (
    "a secretpad graph, a Kuscia job or a component's node with ss_sgd_train, ss_glm_train or hess_sgd_train"
)
PRINT_THE_JOB = {
    "FATE": (
        "let it print its job instead of running it: print(pipeline.get_dag()) after pipeline.compile() in 2.x, "
        "print(json.dumps(pipeline.get_train_conf())) in 1.x"
    ),
    "SecretFlow": "let it print the node that it builds: print(google.protobuf.json_format.MessageToJson(node))",
}
# Models that people train with these systems, by words in a component's name.
MODELS = {
    "a boosted tree model": ("secureboost", "sbt", "sgb", "xgb", "boost"),
    "a horizontal logistic regression, in which every party has all columns": ("homo_lr", "homo_logistic", "homolr"),
    "a linear regression": ("linr", "linear_regression", "linearregression"),
    "a Poisson regression": ("poisson",),
    "a clustering": ("kmeans",),
    "a neural network": ("nn",),
    "transfer learning": ("ftl",),
    "a factorization machine": ("fm",),
    "a private set intersection": ("psi", "intersect"),
    "feature engineering": ("binning", "selection", "woe"),
    "statistics": ("pearson", "vif", "statistic"),
    "data preparation": ("union", "sample", "scale"),
}


def kind_of(file: File, system: str) -> str:
    """A sentence on what kind of file this is, where it holds no job that we can judge."""
    expected = FATE_JOB if system == "FATE" else SECRETFLOW_JOB
    if file.is_program:
        return (
            f"{file.other}, which may do more than its text says; {PRINT_THE_JOB[system]}, and provide what it prints"
        )
    if file.other:
        return f"{file.other}, not a job; provide {expected}"
    kind = _tree_kind(file.tree)
    return kind if "; provide" in kind or "and provide" in kind else f"{kind}; provide {expected}"


def _model_in(names: Sequence[str]) -> str | None:
    for name in names:
        hits = (kind for kind, words in MODELS.items() if any(_has_word(name.lower(), word) for word in words))
        if (hit := next(hits, None)) is not None and hit != "data preparation":
            return f"{shown(name)}, {hit}"
    return None


def _has_word(words: str, word: str) -> bool:
    """Whether the words contain this word; a short one must stand alone."""
    if len(word) > 3:
        return word in words
    return word in words.replace("-", "_").split("_") or (len(word) > 2 and words.endswith(word))


# Data.


def _tree_kind(tree: Any) -> str:
    if isinstance(tree, list):
        return "several documents, or a list, in one file; a job is one table" if tree else "an empty file"
    if not isinstance(tree, Mapping):
        return "an empty file" if tree is None else "a file with a single value"
    return (
        _component_definition(tree)
        or _dsl(tree)
        or _suite(tree)
        or _upload(tree)
        or _conf(tree)
        or _dag(tree)
        or _secretflow(tree)
        or _settings(tree)
        or f"a file with {_names(tree)}, which is no job of either system"
    )


def _component_definition(tree: Tree) -> str | None:
    component = mapping(tree, "component")
    if "input_artifacts" in component or "inputDefinitions" in component or "parameters" in component:
        return (
            f"the definition of the component {shown(component.get('name', 'without a name'))}, not a job that uses it"
        )
    if "comps" in tree and "domain" not in tree:
        return "a list of component definitions, not a job that uses them"
    return None


def _dsl(tree: Tree) -> str | None:
    components = mapping(tree, "components")
    modules = [str(one.get("module")) for one in components.values() if isinstance(one, Mapping) and "module" in one]
    if not modules:
        return None
    regressions = [module for module in modules if fate.kind_of(module)]
    holds = f"with {regressions[0]}" if regressions else f"with {_main(modules)}"
    return (
        f"the dsl half of a FATE 1.x job ({holds}), which says what follows what and holds no settings; "
        "provide the conf that belongs to it"
    )


def _suite(tree: Tree) -> str | None:
    has_data = isinstance(tree.get("data"), list)
    tasks = [name for name in ("tasks", "pipeline_tasks", "pipeline_job") if isinstance(tree.get(name), Mapping)]
    if tasks and not any(
        isinstance(one, Mapping) and "component_ref" in one for one in mapping(tree, tasks[0]).values()
    ):
        return "a test suite, which lists jobs and the data that they need; provide one of the jobs that it names"
    if has_data and any(isinstance(one, Mapping) and ("file" in one or "table_name" in one) for one in tree["data"]):
        return "a benchmark or test suite, which lists data and scripts; provide one of the jobs that it names"
    return None


def _upload(tree: Tree) -> str | None:
    has_file = "file" in tree and ({"namespace", "table_name", "name"} & set(tree))
    has_table = {"table_name", "namespace"} <= set(tree) or {"delete_keys"} <= set(tree)
    return "a request to upload or bind a table, not a job" if has_file or has_table else None


def _conf(tree: Tree) -> str | None:
    if not fate_conf.is_conf(tree):
        return None
    conf = fate_conf.unwrapped(tree)
    names = fate_conf.component_names(tree)
    models = [name for name in names if fate.kind_of(name) is None]
    stems = {name.rstrip("0123456789").rstrip("_-") for name in names}
    is_bare = not any(isinstance(conf.get(section), Mapping) and conf[section] for section in fate_conf.SECTIONS)
    job = mapping(conf, "job_parameters")
    common = mapping(job, "common")
    if fate_conf.is_prediction(conf) or {"model_id", "model_version"} & {*job, *common}:
        return "the conf of a FATE 1.x prediction, which applies a trained model"
    if not is_bare and names and stems <= {"reader", "data_transform", "dataio", "evaluation", "args"}:
        return "the conf of a FATE 1.x job without settings for a model (a prediction has such a conf)"
    return (
        f"the conf of a FATE 1.x job with another model: {_main(models)}"
        if models
        else "a FATE 1.x conf without a model"
    )


def _dag(tree: Tree) -> str | None:
    if str(tree.get("kind", "")).lower() == "bfia":
        return "a job of another interface (BFIA), which is not read yet"
    if not fate_dag.is_dag(tree):
        return None
    names = fate_dag.component_names(tree)
    is_regression = any(fate.kind_of(name) for name in names)
    if fate_dag.is_prediction(tree) or is_regression:
        return "a FATE 2.x DAG that applies a trained model and trains none"
    return f"a FATE 2.x DAG with another model: {_main(names)}"


def _secretflow(tree: Tree) -> str | None:
    nodes = secretflow_files.nodes_of(tree)
    if nodes:
        where = "secretpad graph" if isinstance(tree.get("nodes"), list) else "SecretFlow job or node"
        names = [node.name for node in nodes]
        return f"a {where} with another component: {_main(names)}"
    if str(tree.get("kind", "")).startswith("Kuscia") or "kuscia" in str(tree.get("apiVersion", "")):
        return f"a Kuscia {shown(tree.get('kind', 'resource'))} without a SecretFlow component that trains this model"
    if "sf_cluster_desc" in tree or "sf_init" in tree or "cluster_def" in tree:
        return "the description of a SecretFlow cluster, not a job"
    return None


def _settings(tree: Tree) -> str | None:
    if "parties" in tree and ("work_mode" in tree or "data_base_dir" in tree or "backend" in tree):
        return "the settings of FATE's examples, which say who takes part; provide the script that uses them"
    if "data_guest" in tree or "data_host" in tree:
        return "a file of parameters for a benchmark script, not a job; provide the job that the script builds"
    if {"epochs", "epoch", "max_iter", "learning_rate", "alpha", "batch_size"} & set(tree):
        return "a file of parameters without a component that they belong to"
    if {"service_id", "model_id", "model_version"} & set(tree):
        return "a request to load, bind or publish a trained model, not a job"
    if "flow_id" in tree or "dag" in tree or "config" in tree:
        return "a job of another interface (BFIA), which is not read yet"
    return None


def _main(names: Sequence[str]) -> str:
    """The component that names a job best: a model before what prepares its data."""
    known = [hit for name in names if (hit := _model_in([name])) is not None]
    if known:
        return min(known, key=_rank)
    return ", ".join(dict.fromkeys(shown(name) for name in names[:4])) or "none"


def _rank(model: str) -> int:
    preparations = ("feature engineering", "statistics", "private set intersection")
    return next((rank for rank, words in enumerate(preparations, 1) if words in model), 0)


def _names(tree: Tree) -> str:
    return ", ".join(shown(name) for name in list(tree)[:5]) or "nothing in it"
