"""One flag for each key of the plan, made from the plan's own list, so that neither can forget the other."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from plumbob.errors import PlanError
from plumbob.plan import KEYS, PAPER, PAPERS_PROTOCOL, Plan, SettingKey, default_of

PANEL = "Keys of the plan (a flag wins over the file)"
RARE_PANEL = "Other keys of the plan"
# The keys that most people change, and the others, which --help-all shows too. A flag's choices stand beside it, so
# that its words are not those of the plan's file.
USUAL = {
    "rows": "Number of aligned rows; 0 = not known yet",
    "missing": "What to do with gaps: refuse them, fill in the column's mean, or fill in and mark them",
    "categorical": "What to do with text columns: refuse them, or one column per level",
    "bins": "Quantile bins per numeric column; above 0, text columns and gaps are encoded too",
    "test_share": "Share of the rows held out to measure quality",
    "epochs": "Passes over the rows; 0 = by a fixed rule",
    "l2": "L2 penalty",
    "protocol": "Protocol to train with",
    "open": "Who gets the weights after training: nobody, or each party its own",
    "noise": "Noise: rows (protects each row, with shares), sound (labels), std and heuristic (as in the paper)",
    "epsilon": "Privacy budget of the noise",
}
RARE = {
    "title": "Title of the plan",
    "plain": "With bins: each numeric column also as it is",
    "full_passes": "How many of the last passes use all rows, those before a public sample; 0 = all of --epochs",
    "scale": "How each party scales its own columns; public takes stated ranges and needs --noise rows",
    "rare": "Group levels that have fewer training rows than this",
    "held_out_by": "Party that chooses the held-out rows (party align --split-by) instead of the hash of the id",
    "sigmoid": "Approximation of the sigmoid; fourier works with shares and clear only",
    "start": "Starting weights",
    "batch_size": "Rows per batch, where batches are not full; with clear, it asks for reshuffled batches",
    "batches": "Full: all rows at once; reshuffled for each epoch, which leaks most outside shares; or fixed",
    "momentum": "Momentum, 0 to 0.5; with shares, more than 30 epochs need --l2 0.01 or more",
    "remainder": "What happens to the rows left over after the last whole batch: merged into it, or dropped",
    "learning_rate": "Learning rate; 0 = the public rate, for whitened columns and full batches",
    "intercept": "Train an intercept",
    "class_weight": "Weight of the classes; balanced works with shares and clear only",
    "seed": "Seed of batches and starting weights, for experiments; 0 = drawn by all parties together",
    "key_bits": "Length of Paillier and Okamoto-Uchiyama keys; fewer than 2048 only with --test-only-keys",
    "test_only_keys": "Allow keys too short to protect anything, for experiments",
    "replies": "What is handed back: packed or single sums, or whole plaintexts as in the paper",
    "reply_slots": "Most sums in a packed reply; 0 = all that fit",
    "feature_bits": "Fraction bits of features",
    "residual_bits": "Fraction bits of residuals",
    "most_rows": "Most rows ever scored for the label party, held-out ones included; 0 = as many as were trained on if "
    "weights are never opened, else any number",
    "lattice_set": "Number of the lattice parameter set; 0 = the smallest that allows the plan",
    "unmasked_gradients_for_the_arbiter": "Send gradients to the arbiter without masks",
    "noise_std": "Standard deviation of the noise, for --noise std",
    "delta": "Probability with which the noise's promise, differential privacy, may fail",
    "row_norm": "Clip rows to this joint norm; 0 = off (with --noise rows: sqrt of all columns); other noise needs it",
    "label_flip_epsilon": "Epsilon of labels flipped at random before training; 0 = off",
    "evidence": "Keep, sealed for each party's auditor, what a replay of its side needs",
    "days": "With --evidence keep: how many days it is kept",
    "tolerance_labels": "Advantage over the best baseline above which a finding about labels leaks",
    "tolerance_features": "The same for findings about features and scores",
}
EVERYTHING = "plumbob.everything"  # Set in a command's context when its help is to show rare flags too.
NAMES = ("features", *(key.name for key in KEYS), "heuristic", "auditors")


PlanKeys = Annotated[Mapping[str, Any], "keys of the plan"]
"""The type of the field in which a verb finds the keys whose flags were used."""


def plan_flags() -> list[inspect.Parameter]:
    """All of them, with what shows them all."""
    first, last = (_help_all(), _as_in_the_paper(), _features()), (_heuristic(), _auditors())
    return [*first, *(_flag(key) for key in KEYS), *last]


def keys_given(values: dict[str, Any]) -> dict[str, Any]:
    """Those that were used, taken out of everything that was typed; over the paper's, where these are asked for."""
    values.pop("help_all")
    usual = {"protocol": PAPERS_PROTOCOL, **PAPER} if values.pop("as_in_the_paper") else {}
    keys = {name: values.pop(name) for name in NAMES}
    return {**usual, **{name: value for name, value in keys.items() if value is not None}}


def plan_from(path: Path | None, keys: Mapping[str, Any]) -> Plan:
    """The plan in a file, where there is one, with the flags that were used put over it."""
    if path is not None:
        return Plan.load(path).replace(**keys)
    if "features" not in keys:
        raise PlanError("no plan: give its file, or at least --features with each party's columns, label party first")
    others = {name: value for name, value in keys.items() if name != "features"}
    return Plan.for_columns(keys["features"], **others)


def parse_features(text: str | None) -> tuple[int, ...] | None:
    """`11,12` as numbers."""
    try:
        return None if text is None else tuple(int(count) for count in text.split(","))
    except ValueError:
        raise typer.BadParameter("expected each party's columns, label party first, such as 11,12") from None


def parse_heuristic(text: str | None) -> dict[str, float | int] | None:
    """`G=1.0,T=30` as numbers by name."""
    if text is None:
        return None
    values: dict[str, float | int] = {}
    for item in text.split(","):
        name, _, number = item.partition("=")
        try:
            values[name] = float(number) if name == "G" else int(number)
        except ValueError:
            raise typer.BadParameter("expected numbers by name, such as G=1.0,T=30,e=0") from None
    return values


def parse_auditors(text: str | None) -> dict[str, str] | None:
    """`bank=FINGERPRINT,fund=FINGERPRINT` by name."""
    if text is None:
        return None
    pairs = [item.split("=") for item in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise typer.BadParameter("expected each party's auditor by fingerprint, such as bank=9f2c...,fund=41d0...")
    return dict(pairs)


def _flag(key: SettingKey) -> inspect.Parameter:
    name = "--" + key.name.replace("_", "-")
    declared = f"{name}/--no-{name[2:]}" if isinstance(key.default, bool) else name
    metavar = "|".join(key.choices) if key.choices else None
    panel = PANEL if key.name in USUAL else RARE_PANEL
    option = typer.Option(
        declared,
        help=_meaning(key),
        metavar=metavar,
        rich_help_panel=panel,
        show_default=False,
        autocompletion=lambda: list(key.choices),
    )
    return _parameter(key.name, Annotated[type(key.default) | None, option])


def _meaning(key: SettingKey) -> str:
    """What it is, and its default."""
    return f"{(USUAL | RARE)[key.name]} (default: {_default(key)})."


def _default(key: SettingKey) -> str:
    """As it is typed; where it depends on the protocol, both."""
    values = [default_of(key, protocol) for protocol in ("shares", "clear", "exchange")]
    shares, clear, others = (
        str(value).lower() if isinstance(value, bool) else str(value) or "none" for value in values
    )
    if shares == others:
        return shares
    return f"{shares} with {'shares and clear' if clear == shares else 'shares'}, else {others}"


def show_everything(ctx: typer.Context, asked: bool) -> None:
    """Print the help with the rare flags, and leave."""
    if asked:
        ctx.meta[EVERYTHING] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _help_all() -> inspect.Parameter:
    option = typer.Option(
        "--help-all", help="Also show the flags for rare keys of the plan.", callback=show_everything, is_eager=True
    )
    parameter = _parameter("help_all", Annotated[bool, option])
    return parameter.replace(default=False)


def _as_in_the_paper() -> inspect.Parameter:
    option = typer.Option(
        "--as-in-the-paper",
        help="Train as the paper does, where no flag says otherwise.",
        rich_help_panel=RARE_PANEL,
    )
    return _parameter("as_in_the_paper", Annotated[bool, option]).replace(default=False)


def _features() -> inspect.Parameter:
    option = typer.Option(
        "--features",
        help="Number of each party's columns after encoding, label first: 11,12.",
        callback=parse_features,
        metavar="COUNTS",
        rich_help_panel=PANEL,
    )
    return _parameter("features", Annotated[str | None, option])


def _heuristic() -> inspect.Parameter:
    option = typer.Option(
        "--heuristic",
        help="For the paper's noise formula: G=1.0,T=30,e=0.",
        callback=parse_heuristic,
        metavar="NUMBERS",
        rich_help_panel=RARE_PANEL,
    )
    return _parameter("heuristic", Annotated[str | None, option])


def _auditors() -> inspect.Parameter:
    option = typer.Option(
        "--auditors",
        help="With --evidence keep: each party's auditor, bank=FINGERPRINT,fund=FINGERPRINT.",
        callback=parse_auditors,
        metavar="FINGERPRINTS",
        rich_help_panel=RARE_PANEL,
    )
    return _parameter("auditors", Annotated[str | None, option])


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
