"""The same training once more: of rows as training saw them, and without cryptography where nothing else matters."""

import numpy as np

from plumbob.data import Column, Table
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import train
from plumbob.plan import KEYS, Plan


def run_again(truth: Truth) -> Truth:
    """The same training of the same rows in the clear: with everybody's weights, and views as in `exchange`."""
    return Truth.of(train(in_clear(plan_again(truth.plan)), tables_again(truth)))


def plan_again(plan: Plan) -> Plan:
    """The same training of rows that are prepared already, with the same widths."""
    # Scaling what is scaled changes nothing, and the plan's widths rest on it; scaling what was clipped would.
    scale = "none" if plan.joint_norm else plan.scale
    # The public rate is for whitened columns, and these are, although the plan cannot say so again.
    rate = plan.rate if plan.joint_norm else plan.learning_rate
    as_they_are = {"missing": "refuse", "categorical": "refuse", "bins": 0, "test_share": 0.0, "rows": 0}
    return plan.replace(
        **as_they_are, scale=scale, learning_rate=rate, epochs=plan.fixed_epochs, row_norm=plan.fixed_row_norm
    )


def tables_again(truth: Truth) -> dict[str, Table]:
    """Every party's training rows, as training saw them."""
    ids = tuple(str(row) for row in range(truth.rows))
    tables = {}
    for name in truth.views:
        columns = tuple(Column(f"x{place}", values) for place, values in enumerate(truth.features(name).T))
        is_label_party = name == truth.plan.label_party.name
        labels = truth.is_positive.astype(np.int8) if is_label_party else None
        tables[name] = Table(ids, columns, labels, (0, 1) if is_label_party else None)
    return tables


def in_clear(plan: Plan) -> Plan:
    """The same training without cryptography, and without an arbiter."""
    # What was the protocol's own default must not become that of `clear`: it would be another training.
    same = {key.name: getattr(plan, key.name) for key in KEYS if key.is_fitted}
    # Outside the public rule, how many passes there are depends on the protocol.
    same["epochs"] = plan.epochs if plan.follows_rule else plan.passes_without_sample
    plain = {"replies": "packed", "open": "own", "unmasked_gradients_for_the_arbiter": False}
    return plan.replace(protocol="clear", parties=plan.learners, lattice_set=0, **{**same, **plain})
