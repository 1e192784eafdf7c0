"""SecretFlow's SPU on the rows of an .npz file (X, y, Xt, yt, standardised): run with a Python that has spu 0.9.5.

    python benchmarks/peers/spu_ss_sgd.py credit.npz SEMI2K 2 10

Logistic regression on shares in batches of 1,024 at rate .1, by SPU's simulator. Prints CPU seconds, AUC, log loss;
SPU's own profile prints what the first party sends and receives in each epoch ("Link details").
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import spu
import spu.utils.simulation as simulation
from judged import auc, log_loss

BATCH, RATE = 1024, 0.1


def main() -> None:
    file, protocol, parties, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    data = np.load(file)
    config = spu.RuntimeConfig(protocol=getattr(spu.ProtocolKind, protocol), field=spu.FieldType.FM64)
    config.enable_pphlo_profile = True
    config.sigmoid_mode = spu.RuntimeConfig.SigmoidMode.SIGMOID_SEG3
    run = simulation.sim_jax(simulation.Simulator(parties, config), epoch)
    weights, started = np.zeros(data["X"].shape[1] + 1, dtype=np.float32), time.process_time()
    for _ in range(epochs):
        weights = np.asarray(run(data["X"], data["y"], weights))
    print(protocol, parties, "parties", epochs, "epochs", f"{time.process_time() - started:.1f} CPU s")
    scores = np.hstack([data["Xt"], np.ones((len(data["Xt"]), 1))]) @ weights
    print(f"AUC {auc(data['yt'], scores):.4f}, log loss {log_loss(data['yt'], scores):.4f}")


def epoch(X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    """One pass in batches; what is left over is dropped."""
    X = jnp.hstack([X, jnp.ones((X.shape[0], 1))])
    for start in range(0, X.shape[0] - BATCH + 1, BATCH):
        rows, labels = X[start : start + BATCH], y[start : start + BATCH]
        weights = weights - RATE / BATCH * (rows.T @ (jax.nn.sigmoid(rows @ weights) - labels))
    return weights


if __name__ == "__main__":
    main()
