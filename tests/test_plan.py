"""The plan: what it accepts, what it refuses and how it says so, its hash and its TOML."""

import random
import re
import tomllib
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.checking.check import check
from plumbob.errors import PlanError
from plumbob.plan import KEYS, PAPER, Heuristic, Party, Plan, SettingKey, Study, toml_value, unready_evidence
from plumbob.plan.plan import struct_with

EXAMPLE = """
# joint.toml
version = 3
title = "Default within 12 months"
[parties]                    # first the label party
bank = { role = "label", features = 11 }
fund = { role = "features", features = 12 }
"""
TWO = (Party("bank", "label", 11), Party("fund", "features", 12))
THREE = (*TWO, Party("shop", "features", 3))
MORE = tuple(Party(f"shop-{number}", "features", 3) for number in range(7))

# The contract, typed in again: section, key, default.
CONTRACT: dict[str, dict[str, Any]] = {
    "data": {"rows": 0, "bins": 0, "rare": 30, "test_share": 0.0},
    "model": {"epochs": 0, "l2": 0.0, "class_weight": "none", "row_weights": False},
    "opening": {"open": "never", "most_rows": 0, "release": "always"},
    "privacy": {"noise": "none", "epsilon": 1.0, "delta": 1e-6},
    "accountability": {"evidence": "none", "days": 0, "auditors": {}},
    "tolerance": {"labels": 0.05, "features": 0.05},
}
STUDY = {
    **CONTRACT,
    "data": CONTRACT["data"] | {"scale": "standard"},
    "model": CONTRACT["model"]
    | {
        "sigmoid": "taylor",
        "start": "zero",
        "batch_size": 256,
        "batches": "reshuffled",
        "momentum": 0.0,
        "learning_rate": 0.1,
        "intercept": True,
        "seed": 0,
    },
    "opening": CONTRACT["opening"] | {"open": "own"},
    "privacy": CONTRACT["privacy"]
    | {"noise_std": 0.0, "heuristic": {"G": 1.0, "T": 30, "e": 0}, "row_norm": 0.0, "label_flip_epsilon": 0.0},
    "study": {
        "protocol": "exchange",
        "key_bits": 2048,
        "test_only_keys": False,
        "replies": "packed",
        "feature_bits": 16,
        "residual_bits": 20,
        "unmasked_gradients_for_the_arbiter": False,
    },
}
"""What a study of the paper's protocol writes."""


def built(**keys: Any) -> Plan:
    """A plan of these keys, which is a study's where one of them is."""
    return struct_with(keys)(**{"parties": TWO, **keys})


def mistakes_of(**keys: Any) -> list[str]:
    """The lines with which a plan of these keys is refused."""
    with pytest.raises(PlanError) as refusal:
        built(**keys)
    return str(refusal.value).splitlines()


@pytest.mark.parametrize("contract", [CONTRACT, STUDY], ids=["parties", "study"])
def test_the_printed_defaults_are_the_contract(contract: dict[str, dict[str, Any]]) -> None:
    """A plan that says nothing but its parties has exactly the documented keys and defaults, and so has a study."""
    study = '[study]\nprotocol = "exchange"\n' if contract is STUDY else ""
    printed = tomllib.loads(Plan.from_toml(EXAMPLE + study).to_toml())
    parties = printed.pop("parties")
    assert printed.pop("version") == 3
    assert printed.pop("title") == "Default within 12 months"
    assert list(parties.items()) == [
        ("bank", {"role": "label", "features": 11}),
        ("fund", {"role": "features", "features": 12}),
    ]
    assert printed == contract


def test_the_page_says_what_a_plan_of_parties_fixes() -> None:
    """Each constant stands on the specification's page with the value that a run has."""
    page = (Path(__file__).parents[1] / "docs" / "protocol.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page, re.MULTILINE))
    plan = Plan(TWO)
    # Nothing reads these in `shares`, which has no Paillier keys, no such noise and longer residuals.
    unread = {"protocol", "batch_size", "key_bits", "test_only_keys", "replies", "noise_std", "label_flip_epsilon"}
    unread |= {"residual_bits", "unmasked_gradients_for_the_arbiter"}
    fixed = [key for key in KEYS if key.is_study and key.name not in unread]
    assert rows == {key.name: toml_value(getattr(plan, key.name)) for key in fixed}


def test_the_hash_ignores_layout_comments_order_and_spelt_out_defaults() -> None:
    """Whitespace, comments, the order of keys and 1 for 1.0 do not make another plan."""
    plan = Plan.from_toml(EXAMPLE + "[model]\nepochs = 3\nl2 = 1\n[data]\nrows = 900\n")
    other = "version=3\n"
    other += "title='Default within 12 months'\n[data]\nrare=30\nrows=900 # known\n[model]\nl2=1.0\n"
    other += "epochs=3\n[parties.bank]\nfeatures=11\nrole='label'\n[parties.fund]\nrole='features'\nfeatures=12\n"
    assert Plan.from_toml(other).hash() == plan.hash()
    assert Plan.from_toml(plan.to_toml()).hash() == plan.hash()
    assert Plan.from_toml(EXAMPLE).replace(heuristic={"G": 1}).hash() == Plan.from_toml(EXAMPLE).hash()


PARTIES = {party.name: {"role": party.role, "features": party.features} for party in TWO}


def test_numbers_of_a_grid_are_numbers() -> None:
    """A search over numpy's grid hands over its own numbers: the plan, its text and its hash are as with Python's."""
    plan = Plan.for_columns((1, 2), epochs=np.int64(3), l2=np.logspace(-2, 0, 3)[1])
    assert plan == Plan.for_columns((1, 2), epochs=3, l2=0.1)
    assert plan.to_toml() == Plan.for_columns((1, 2), epochs=3, l2=0.1).to_toml()


def test_the_hash_is_frozen() -> None:
    """Two versions of the program must agree on a plan's hash."""
    assert Study(TWO, protocol="exchange").hash() == "484d7f217823b071accf4172cd3bb7b6926ebb1971c335e1b65016b0b7e3b7da"


def test_defaults_fit_the_protocol() -> None:
    """A plan that names only its protocol gets what fits it: the paper's settings outside `shares`."""
    plan = Study(TWO, protocol="exchange")
    assert (plan.scale, plan.sigmoid, plan.batches) == ("standard", "taylor", "reshuffled")
    assert (plan.rate, plan.momentum, plan.feature_bits, plan.open, plan.passes(99)) == (0.1, 0.0, 16, "own", 10)
    assert Study(TWO, protocol="shares").open == "never"


def test_another_protocol_brings_its_own_defaults() -> None:
    """What was only the old protocol's default becomes the new one's; what somebody chose stays."""
    plan = Study(TWO, protocol="shares", l2=0.5).replace(protocol="exchange")
    assert plan == Study(TWO, protocol="exchange", l2=0.5)
    assert plan.replace(learning_rate=0.3).replace(protocol="clear").rate == 0.3


@pytest.mark.parametrize("version", [0, 1, 2, "3", True])
def test_another_version_is_refused(version: object) -> None:
    """A plan of a later program, or of an earlier one, is not taken for one of this."""
    with pytest.raises(PlanError, match=r"version: expected 3, got .*; a later plan needs .* earlier one is drafted"):
        Plan.from_dict({"version": version, "parties": PARTIES})


def test_a_file_names_its_version() -> None:
    """Without it nobody knows whose defaults it was written for; flags and dictionaries are always of today."""
    with pytest.raises(PlanError, match="version: the file names none; write version = 3 at its top"):
        Plan.from_toml(EXAMPLE.replace("version = 3\n", ""))
    assert Plan.from_dict({"parties": PARTIES}).version == 3


@pytest.mark.parametrize("protocol", ["sshe", "hess", "spu"])
def test_another_system_s_protocol_is_only_judged(protocol: str) -> None:
    """No file and no flag may name it."""
    with pytest.raises(PlanError, match=r"another system's, which only `check --from-...` judges"):
        Plan.from_dict({"parties": PARTIES, "study": {"protocol": protocol}})
    with pytest.raises(PlanError, match=r"another system's, which only `check --from-...` judges"):
        Plan(TWO).replace(protocol=protocol)


def test_the_public_rules() -> None:
    """Zero epochs and a rate of zero stand for what follows from the number of parties alone."""
    whitened: dict[str, Any] = {"protocol": "clear", "scale": "whitened", "batches": "full", "learning_rate": 0.0}
    assert Study(TWO, **whitened).rate == 2.0
    assert Study(THREE, **whitened).rate == 4 / 3
    assert Study((Party("bank", "label", 0), TWO[1]), **whitened).rate == 4.0
    assert Study(TWO, **whitened, row_norm=3.0).rate == 4 / 3
    assert Study(TWO, **whitened).passes(455) == Study(TWO, protocol="shares").passes(455) == 14
    assert Study(THREE, protocol="shares").passes(455) == 28
    assert Study(TWO, protocol="clear", **PAPER).passes(455) == 10


# Two values of each key that differ from one another, and what else a plan with them needs.
CLEAR = {"protocol": "clear"}
NOISY = {"protocol": "clear", "row_norm": 1.0}
JUDGED = {"protocol": "arbiter", "parties": (*TWO, Party("judge", "arbiter"))}
PAIRS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "title": ("a", "b", {}),
    "rows": (300, 301, {}),
    "key_bits": (2048, 3072, {"protocol": "exchange"}),
    "sigmoid": ("taylor", "exact", CLEAR),
    "class_weight": ("none", "balanced", CLEAR),
    "row_weights": (False, True, CLEAR),
    "noise": ("none", "sound", NOISY),
    "noise_std": (1.0, 2.0, {**NOISY, "noise": "std"}),
    "replies": ("packed", "paper", {"protocol": "exchange"}),
    "unmasked_gradients_for_the_arbiter": (False, True, JUDGED),
    "scale": ("whitened", "standard", CLEAR | {"learning_rate": 0.1}),
    "batches": ("full", "reshuffled", CLEAR),
    "bins": (0, 1, CLEAR),
    "momentum": (0.25, 0.5, CLEAR),
    "learning_rate": (0.1, 0.2, CLEAR),
    "seed": (0, 1, CLEAR),
    "days": (1, 2, {"evidence": "keep"}),
    "release": ("always", "replayed", {"evidence": "keep"}),
}
AUDITORS = {"bank": "9f" * 32, "fund": "41" * 32}


@pytest.mark.parametrize("key", KEYS, ids=attrgetter("name"))
def test_every_key_changes_the_hash(key: SettingKey) -> None:
    """No setting can be changed behind the hash."""
    if key.name in PAIRS:
        first, second, company = PAIRS[key.name]
    elif key.choices:
        first, second, company = key.choices[0], key.choices[1], CLEAR if key.is_study else {}
    else:
        first, second, company = key.default, not key.default, CLEAR if key.is_study else {}
        if not isinstance(key.default, bool):
            second = key.default + 0.25 if isinstance(key.default, float) else key.default + 1
    plans = [built(**{**company, key.name: value}) for value in (first, second)]
    assert plans[0].hash() != plans[1].hash()


def test_a_study_of_shares_has_the_hash_of_the_plan() -> None:
    """A seed is no key of a plan of parties, and a file says it only where it is set."""
    assert Plan(TWO).replace(seed=7).hash() == Plan(TWO).hash()
    assert "seed" not in Plan(TWO).to_toml()
    assert Plan.from_toml(Study(TWO, seed=7).to_toml()).seed == 7


def test_auditors_are_signed_with_the_plan_however_they_are_written() -> None:
    """Another auditor is another plan; the order, capitals and spaces of fingerprints read aloud are not."""
    plan = Plan(TWO, evidence="keep", days=30).replace(auditors=AUDITORS)
    spaced = {name: " ".join(text[at : at + 4] for at in range(0, 64, 4)).upper() for name, text in AUDITORS.items()}
    assert plan.replace(auditors=dict(reversed(spaced.items()))).hash() == plan.hash()
    assert plan.replace(auditors={**AUDITORS, "fund": "42" * 32}).hash() != plan.hash()
    assert Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    ("keys", "lacking"),
    [
        ({}, "how many days"),
        ({"days": 30}, "none did"),
        ({"days": 30, "auditors": {"fund": AUDITORS["fund"]}}, None),
        ({"days": 30, "auditors": {"fund": AUDITORS["fund"]}, "release": "replayed"}, "auditor of bank"),
        ({"days": 30, "auditors": {"bank": AUDITORS["bank"]}, "release": "replayed"}, None),
    ],
)
def test_evidence_needs_days_and_an_auditor_before_anybody_signs(keys: dict[str, Any], lacking: str | None) -> None:
    """A plan without them can be judged, and says what it lacks."""
    text = unready_evidence(Plan(TWO).replace(evidence="keep", **keys))
    assert text is None if lacking is None else lacking in (text or "")


def test_a_plan_is_frozen() -> None:
    """Nothing can be changed after validation."""
    with pytest.raises(AttributeError):
        Plan(TWO).epochs = 3  # type: ignore[misc]


def test_all_mistakes_are_reported_one_line_each() -> None:
    """A plan with several mistakes names every one, also rules between keys, each on its own line."""
    text = """
    titel = "x"
    [parties]
    bank = { role = "label", features = 11, feature = 2 }
    fund = { role = "feature", features = 12 }
    [model]
    batchsize = 64
    epochs = "ten"
    learning_rate = nan
    protocol = "clear"
    [data]
    scale = "public"
    [study]
    key_bits = 1024
    intercept = 1
    [privacy]
    heuristic = { g = 1.0, T = 0 }
    delta = 1
    [odd]
    """
    with pytest.raises(PlanError) as refusal:
        Plan.from_toml(text)
    lines = str(refusal.value).splitlines()
    expected = [
        'titel: unknown key; did you mean "title"?',
        'parties.bank.feature: unknown key; did you mean "features"?',
        'model.batchsize: unknown key; did you mean "batch_size"?',
        "model.protocol: unknown key; it belongs in [study]",
        "study.intercept: unknown key; it belongs in [model]",
        "odd: unknown key",
        'privacy.heuristic.g: unknown key; did you mean "G"?',
        'model.epochs: expected a whole number of at least 0, got "ten"',
        "model.learning_rate: expected a number of at least 0, got NaN",
        "privacy.delta: expected a number above 0 and below 1, got 1",
        "privacy.heuristic.T: expected a whole number of at least 1, got 0",
    ]
    for line in expected:
        assert any(found.startswith(line) for found in lines), line
    for beginning in ("parties.fund.role:", "data.scale:", "study.key_bits:"):
        assert any(found.startswith(beginning) for found in lines), beginning


def test_one_mistake_is_not_reported_twice() -> None:
    """A rule between keys says nothing where one of its keys is already wrong by itself."""
    tree = {"parties": {"a": {"role": "label", "features": 1}, "b": {"role": "features", "features": 1}}}
    with pytest.raises(PlanError) as refusal:
        Plan.from_dict({**tree, "model": {"sigmoid": "exact"}, "study": {"protocol": "claer"}})
    assert str(refusal.value).splitlines() == [
        'study.protocol: expected one of "shares", "clear", "exchange", "arbiter", got "claer"; did you mean "clear"?'
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = ", "not valid TOML"),
        ("[model]\nepochs = 2", "parties: expected a table [parties]"),
        ("parties = 3", "parties: expected a table [parties]"),
        ("[parties]\nbank = 3", "parties.bank: expected {"),
        ("[parties]\nbank = { role = 'label' }\nfund = { role = 'features', features = 1 }", "say how many columns"),
        ("[parties]\nfund = { role = 'features', features = 1 }\nbank = { role = 'label', features = 1 }", "first"),
        ("[parties]\nbank = { role = 'label', features = 1 }", "at least one party with role features"),
        ("[parties]\nbank = { role = 'label', features = -1 }\nf = { role = 'features', features = 1 }", "at least 0"),
        ("[parties]\nbank = { role = 'label', features = 0 }\nf = { role = 'features', features = 0 }", "at least 1"),
        ("[parties]\n'b k' = { role = 'label', features = 0 }\nf = { role = 'features', features = 1 }", "a name of"),
        ("[parties]\nb = { role = 'label', features = 1 }\nf = { role = 'features', features = true }", "got true"),
    ],
)
def test_malformed_files_are_refused(text: str, words: str) -> None:
    """Bad syntax and bad parties are plan errors that say what was expected."""
    with pytest.raises(PlanError) as refusal:
        Plan.from_toml(text)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("keys", "beginning", "reason"),
    [
        ({"protocol": "exchange", "sigmoid": "piecewise"}, "model.sigmoid", 'which carries "taylor"'),
        ({"protocol": "exchange", "sigmoid": "exact"}, "model.sigmoid", 'protocol = "clear"'),
        ({"protocol": "exchange", "sigmoid": "minimax"}, "model.sigmoid", 'use that, or protocol = "clear"'),
        ({"protocol": "exchange", "class_weight": "balanced"}, "model.class_weight", "only the label party knows"),
        ({"protocol": "exchange", "row_weights": True}, "model.row_weights", "only the label party knows"),
        ({"protocol": "shares", "noise": "sound"}, "privacy.noise", "nothing to add"),
        ({"protocol": "exchange", "noise": "sound"}, "privacy.row_norm", "above 0"),
        ({"protocol": "exchange", "noise": "std", "row_norm": 1.0}, "privacy.noise_std", "above 0"),
        ({"protocol": "exchange", "noise_std": 1.0}, "privacy.noise_std", '"std" only'),
        ({"protocol": "exchange", "noise": "row-level"}, "privacy.noise", "expected one of"),
        (
            {**PAPER, "protocol": "clear", "noise": "heuristic", "row_norm": 1.0, "sigmoid": "minimax"},
            "privacy.noise",
            "derived for",
        ),
        (
            {**PAPER, "protocol": "clear", "noise": "heuristic", "row_norm": 1.0, "learning_rate": 2.0},
            "privacy.noise",
            "learning_rate <= 1",
        ),
        ({"parties": (*TWO, *MORE)}, "study.protocol", "two to 8 parties, got 9; leave some out"),
        ({"protocol": "exchange", "momentum": 0.5}, "model.momentum", "as in the paper"),
        ({"protocol": "clear", "momentum": 0.6}, "model.momentum", "at most 0.5"),
        ({"protocol": "exchange", "learning_rate": 0.0}, "model.learning_rate", 'scale = "whitened"'),
        ({"protocol": "exchange", "sigmoid": "fourier"}, "model.sigmoid", 'which carries "taylor"'),
        ({"batches": "fixed"}, "model.batches", "a constant or a public rule"),
        ({"learning_rate": 0.1}, "model.learning_rate", "a constant or a public rule"),
        ({"sigmoid": "taylor"}, "model.sigmoid", "a constant or a public rule"),
        ({"heuristic": Heuristic(T=7)}, "privacy.heuristic", "leave it out"),
        ({"protocol": "exchange", "noise": "rows"}, "privacy.noise", "only labels can be protected"),
        ({"epochs": 31}, "model.epochs", "l2 = 0.01"),
        ({"protocol": "arbiter"}, "study.protocol", "needs a party with role arbiter"),
        ({"protocol": "exchange", "parties": (*TWO, Party("j", "arbiter"))}, "study.protocol", "has no arbiter"),
        ({"protocol": "exchange", "key_bits": 1024}, "study.key_bits", "test_only_keys"),
        ({"protocol": "exchange", "key_bits": 4096}, "study.key_bits", "2048 or 3072"),
        ({"protocol": "exchange", "key_bits": 1000, "test_only_keys": True}, "study.key_bits", "multiple of 64"),
        ({"key_bits": 64, "test_only_keys": True}, "study.key_bits", "at least 256"),
        ({"protocol": "exchange", "replies": "paper", "parties": THREE}, "study.replies", "public width"),
        ({"protocol": "exchange", "replies": "all"}, "study.replies", "expected one of"),
        ({"protocol": "exchange", "open": "never"}, "opening.open", 'needs "shares"'),
        ({"open": "all"}, "opening.open", "expected one of"),
        ({"protocol": "exchange", "unmasked_gradients_for_the_arbiter": True}, "study.unmasked", "no arbiter"),
        ({"epsilon": 0.0}, "privacy.epsilon", "at least 1e-09"),
        ({"delta": 1.0}, "privacy.delta", "below 1"),
        ({"test_share": 1.0}, "data.test_share", "below 1"),
        ({"protocol": "exchange", "rows": 300, "test_share": 0.2}, "model.batch_size", "240 training rows"),
        ({"heuristic": Heuristic(G=0.5)}, "privacy.heuristic.G", "above 0.5"),
        ({"days": 3}, "accountability.days", 'with evidence = "keep" only'),
        ({"auditors": tuple(AUDITORS.items())}, "accountability.auditors", 'with evidence = "keep" only'),
        ({"evidence": "keep", "auditors": (("bank", "9f"),)}, "accountability.auditors.bank", "64 hexadecimal digits"),
        ({"evidence": "keep", "auditors": (("bnak", "9f" * 32),)}, "accountability.auditors", 'did you mean "bank"?'),
        ({"evidence": "keep", "auditors": "9f"}, "accountability.auditors", "FINGERPRINT"),
        ({"evidence": "keep", "open": "own"}, "accountability.evidence", "floating point"),
        ({"evidence": "keep", "protocol": "exchange"}, "accountability.evidence", "floating point"),
        ({"release": "replayed"}, "opening.release", 'without evidence = "keep"'),
        ({"release": "replayed", "evidence": "keep", "parties": THREE}, "opening.release", "among 3 parties"),
        ({"release": "after"}, "opening.release", "expected one of"),
        ({"intercept": 1}, "model.intercept", "true or false"),
        ({"epochs": True}, "model.epochs", "whole number"),
        ({"title": "two\nlines"}, "title", "one line"),
    ],
)
def test_what_cannot_be_carried_is_refused_with_its_reason(keys: dict[str, Any], beginning: str, reason: str) -> None:
    """Each mistake alone gives one line: the key, and why."""
    (line,) = mistakes_of(**keys)
    assert line.startswith(beginning)
    assert reason in line


@pytest.mark.parametrize(
    "keys",
    [
        {"protocol": "clear", "sigmoid": "piecewise", "class_weight": "balanced", "parties": THREE},
        {"protocol": "clear", "sigmoid": "minimax"},
        {"protocol": "exchange", "parties": THREE, "noise": "sound", "row_norm": 1.0},
        {"protocol": "exchange", "replies": "paper", "key_bits": 3072},
        {"protocol": "arbiter", "parties": (*THREE, Party("judge", "arbiter")), "noise": "heuristic", "row_norm": 1},
        {"protocol": "clear", "label_flip_epsilon": 1.0},
        {"protocol": "exchange", "key_bits": 768, "test_only_keys": True},
        {"parties": (Party("bank", "label", 0), TWO[1])},
        {"rows": 100},
    ],
)
def test_what_can_be_carried_is_accepted(keys: dict[str, Any]) -> None:
    """The refusals do not reach further than their reasons, and an accepted plan reads back from its TOML."""
    plan = built(**keys)
    assert Plan.from_toml(plan.to_toml()) == plan


@settings(max_examples=30)
@given(
    st.text(max_size=40).filter(str.isprintable),
    st.floats(1e-300, 1e6),
    st.floats(1e-300, 1, exclude_max=True),
    st.integers(1, 2**63 - 1),
)
def test_toml_keeps_every_value(title: str, l2: float, delta: float, seed: int) -> None:
    """Text and numbers come back from TOML to the last bit."""
    plan = Study(TWO, title=title, l2=l2, delta=delta, seed=seed)
    assert Plan.from_toml(plan.to_toml()) == plan


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(shuffle: random.Random) -> None:
    """A plan's dictionary may come in any order but that of the parties."""
    tree: dict[str, Any] = {
        "parties": {"a": {"role": "label", "features": 1}, "b": {"role": "features", "features": 2}}
    }
    tree |= CONTRACT
    sections = list(tree)
    shuffle.shuffle(sections)
    shuffled: dict[str, Any] = {}
    for section in sections:
        items = list(tree[section].items())
        if section != "parties":
            shuffle.shuffle(items)
        shuffled[section] = dict(items)
    assert Plan.from_dict(shuffled).hash() == Plan.from_dict(tree).hash()


def test_replace_takes_flat_names() -> None:
    """Flags override a plan by the names of its keys, and the result is validated anew."""
    plan = Plan(TWO).replace(
        batch_size=64, protocol="exchange", features=(3, 4), tolerance_labels=0.2, heuristic={"T": 9}
    )
    assert (plan.batch_size, plan.protocol, plan.tolerance_labels) == (64, "exchange", 0.2)
    assert plan.parties == (Party("bank", "label", 3), Party("fund", "features", 4))
    assert plan.heuristic == Heuristic(1.0, 9, 0)
    with pytest.raises(PlanError, match='batchsize: unknown key; did you mean "batch_size"'):
        plan.replace(batchsize=3)
    with pytest.raises(PlanError, match='which carries "taylor"'):
        plan.replace(sigmoid="exact")


def test_parties_from_flags_have_the_documented_names() -> None:
    """Without a file the parties are called label, features, features-2 and, where one is needed, arbiter."""
    plan = Plan.for_columns((0, 2, 3), protocol="arbiter")
    assert [party.name for party in plan.parties] == ["label", "features", "features-2", "arbiter"]
    assert [party.features for party in plan.learners] == [0, 2, 3]
    assert plan.columns == 5
    assert plan.replace(features=(4, 4)).parties == (
        Party("label", "label", 4),
        Party("features", "features", 4),
        Party("arbiter", "arbiter"),
    )


def test_a_party_is_found_by_name() -> None:
    """An unknown name is refused with the nearest one."""
    assert Plan(TWO).party("fund") == TWO[1]
    with pytest.raises(PlanError, match='did you mean "fund"'):
        Plan(TWO).party("funds")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"epochs": 10**10}, "model.epochs: expected at most 1,000,000,000, got 10000000000"),
        ({"learning_rate": 1e308}, "model.learning_rate: expected at most 1,000,000"),
        ({"l2": 1e300}, "model.l2: expected at most 1e+30, got 1e+300"),
        ({"key_bits": 2**20, "test_only_keys": True}, "study.key_bits: expected at most 8,192"),
        ({"row_norm": 1e300}, "privacy.row_norm: expected at most 1,000,000"),
        ({"noise_std": 1e300}, "privacy.noise_std: expected at most 1,000,000"),
        ({"epsilon": 1e300}, "privacy.epsilon: expected at most 1,000,000"),
        ({"epsilon": 1e-300}, "privacy.epsilon: expected a number of at least 1e-09, got 1e-300"),
        ({"label_flip_epsilon": 1e308}, "privacy.label_flip_epsilon: expected at most 100"),
        ({"heuristic": {"G": 1e308}}, "privacy.heuristic.G: expected at most 1,000,000"),
        ({"features": (10**12, 3)}, "parties.label.features: expected at most 1,000,000"),
    ],
)
def test_numbers_that_nothing_can_be_calculated_with_are_refused(keys: dict[str, Any], words: str) -> None:
    """They are refused at once, not by an overflow in the middle of a run or a key that takes days to make."""
    with pytest.raises(PlanError, match=re.escape(words)):
        Plan.for_columns(**{"features": (11, 12), **keys})


@pytest.mark.parametrize(
    "keys",
    [
        {"noise": "std", "noise_std": 1e6},
        {"noise": "sound", "epsilon": 1e6},
        {"noise": "sound", "epsilon": 1e-9},
        {"noise": "heuristic", "epsilon": 1e6, "heuristic": {"G": 1e6}},
        {"noise": "heuristic", "epsilon": 1e-9, "learning_rate": 1e-300},
        {"label_flip_epsilon": 100.0, "learning_rate": 1e6, "l2": 1e30, "row_norm": 1e6},
        {"epochs": 10**9, "features": (10**6, 1)},
    ],
)
def test_a_check_can_be_calculated_at_the_limits(keys: dict[str, Any]) -> None:
    """What a plan allows has an answer."""
    plan = Plan.for_columns(
        **{"features": (11, 12), "rows": 27000, "protocol": "clear", "row_norm": 1.0, **PAPER, **keys}
    )
    assert {finding.target for finding in check(plan)} >= {"labels", "scores"}


def test_a_file_that_is_no_plan_is_named(tmp_path: Path) -> None:
    """Every line says which file, and a file that is not there how to make one; a byte order mark does not matter."""
    path = tmp_path / "joint.toml"
    with pytest.raises(PlanError, match=re.escape(f"{path}: there is no such plan; `plumbob plan new --out {path}`")):
        Plan.load(path)
    path.write_text("[model]\nepochs = 0\nbatchsize = 3\n")
    with pytest.raises(PlanError) as refusal:
        Plan.load(path)
    lines = str(refusal.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith(f"{path}: ") for line in lines)
    path.write_bytes(Plan.for_columns((1, 2)).to_toml().encode("utf-16"))
    with pytest.raises(PlanError, match="UTF-8"):
        Plan.load(path)
    path.write_text(EXAMPLE, encoding="utf-8-sig")
    assert Plan.load(path).parties == TWO


@pytest.mark.parametrize("keys", [{"noise": "rows"}, {"protocol": "exchange", "noise": "sound", "row_norm": 1.0}])
def test_a_delta_of_one_in_rows_is_no_promise(keys: dict[str, Any]) -> None:
    """From 1 / rows on it is refused with the reason; below it, and while the rows are not known, it is not."""
    with pytest.raises(PlanError, match=r"privacy\.delta: 0\.001 is one in 1,000 rows or more: whoever publishes one"):
        Plan.for_columns((3, 4), rows=1000, delta=1e-3, **keys)
    for rows, delta in ((1000, 9e-4), (0, 1e-3)):
        assert Plan.for_columns((3, 4), rows=rows, delta=delta, **keys).delta == delta


def test_a_heuristic_delta_is_only_noted() -> None:
    """The paper's own delta is .1: `check` says what that means and refuses nothing."""
    plan = Plan.for_columns(
        (8, 22), protocol="exchange", noise="heuristic", delta=0.1, rows=455, row_norm=1.0, batch_size=16
    )
    assert any("delta 0.1 is one in 455 rows or more" in note for note in check(plan).notes)
    assert not any("rows or more" in note for note in check(plan.replace(delta=1e-6)).notes)
