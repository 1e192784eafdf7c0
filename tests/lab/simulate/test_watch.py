"""Quality while training runs is what the record says afterwards, and training is none the wiser."""

from typing import Any

import numpy as np
import pytest

from plumbob.lab.simulate import train
from plumbob.lab.simulate.quality import assessed
from plumbob.lab.simulate.training import EpochWatch
from plumbob.protocol.outcome import Metrics
from tests.lab.exchange.quick_keys import use_quick_keys
from tests.protocol.support import plan_for, tables_for

KEYS: dict[str, Any] = {"epochs": 3, "batch_size": 10, "seed": 7}


def data(split: tuple[int, ...]) -> tuple[Any, Any]:
    """Forty rows that can be told apart, more or less."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(40, sum(split)))
    return X, (X.sum(axis=1) + generator.normal(size=40) > 0).astype(np.int64)


@pytest.mark.parametrize(("protocol", "split"), [("exchange", (2, 3)), ("exchange", (2, 1, 2)), ("arbiter", (2, 3))])
def test_each_epoch_is_told_as_the_record_has_it(
    protocol: str, split: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every epoch once, with the metrics that are measured again from the transcripts at the end."""
    use_quick_keys(monkeypatch)
    told: dict[int, Metrics] = {}
    plan = plan_for(split, protocol=protocol, **KEYS)
    tables = tables_for(plan, *data(split))
    watch = EpochWatch(plan, tables, lambda epoch, metrics: told.update({epoch: metrics}))
    watched = train(plan, tables, instead=watch.watched())
    record = assessed(watched, tables).record
    assert [{"epoch": float(epoch), **told[epoch]} for epoch in sorted(told)] == [
        {name: pytest.approx(value) for name, value in epoch.items()} for epoch in record.epochs
    ]


@pytest.mark.parametrize("protocol", ["clear", "shares"])
def test_where_nobody_could_follow_nobody_does(protocol: str) -> None:
    """Shares have no weights before the end, and clear no parties."""
    plan = plan_for((2, 3), protocol=protocol, **KEYS)
    assert EpochWatch(plan, {}, lambda epoch, metrics: None).watched() == {}
