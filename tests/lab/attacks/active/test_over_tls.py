"""A hook on a real party's quantities: the same command and certificates, TLS, and a row that was never scored."""

from pathlib import Path

import numpy as np
import pytest

from plumbob.lab.attacks.chosen_labels import one_hot, solved
from plumbob.lab.attacks.false_residual import FalseResidual, solved_modulo
from plumbob.lab.simulate import JointModel
from plumbob.protocol.part import ModelPart
from plumbob.run_folder import RunFolder
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, shares_plan, tables_for, trained

ROWS, SPLIT, PERSON = 160, (2, 3), 5
KNOWN = np.arange(20, 60)


@pytest.mark.parametrize("attack", ["false-residual", "chosen-labels"])
def test_a_label_party_reads_a_row_over_tls(tmp_path: Path, attack: str) -> None:
    """One number in a residual, or invented labels alone, read a row; the peer's command ends as always."""
    plan = shares_plan(SPLIT, open="never")
    X, y = made_up(ROWS, plan.columns)
    truth = trained(plan.replace(protocol="clear", open="own"), (X, y)).transcripts["features"].X
    labels = one_hot(ROWS, [PERSON]).astype(np.int64) if attack == "chosen-labels" else y
    tables = tables_for(plan, X, labels)
    organisations = Organisations(plan, tables, tmp_path)
    hook = FalseResidual(PERSON) if attack == "false-residual" else None
    try:
        commands = [organisations.train("label", hook=hook), organisations.train("features")]
        assert [command.wait() for command in commands] == [0, 0], [command.complained for command in commands]
    finally:
        organisations.close()
    files = {name: RunFolder(organisations.run_folder(name)).part_file(name) for name in organisations.names}
    model = JointModel(plan, {name: ModelPart.load(file) for name, file in files.items()})
    X[:, : SPLIT[0]] = X[:, : SPLIT[0]].mean(axis=0)
    asked = {name: table.take(KNOWN) for name, table in tables_for(plan, X, y).items()}
    read = (solved if hook is None else solved_modulo)(truth[KNOWN], model.scores(asked))
    assert np.corrcoef(read, truth[PERSON])[0, 1] > 0.99
