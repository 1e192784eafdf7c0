"""SecretFlow's SPU, or CrypTen, on the rows of an .npz file (X, y, Xt, yt, standardised), in an environment of its own.

    python benchmarks/other_systems.py spu credit.npz SEMI2K 2 10       with a Python that has spu 0.9.5
    python benchmarks/other_systems.py crypten credit.npz 2 10          with a Python that has torch and crypten 0.4.1

Logistic regression on shares in batches of 1,024 at rate .1; needs nothing of Plumbob. Prints CPU seconds, AUC and log
loss. SPU's own profile prints what the first party sends and receives in each epoch ("Link details"), CrypTen counts
the megabytes of all parties.
"""

import resource
import sys
import time
import types
from typing import Any

import numpy as np

BATCH, RATE = 1024, 0.1


def main() -> None:
    system, file, *words = sys.argv[1:]
    {"spu": run_spu, "crypten": run_crypten}[system](file, words)


def judge(data: Any, weights: np.ndarray) -> None:
    """AUC and log loss on the test rows, in numpy alone."""
    scores, is_one = np.hstack([data["Xt"], np.ones((len(data["Xt"]), 1))]) @ weights, data["yt"] == 1
    ranks, positives = scores.argsort().argsort() + 1, int(is_one.sum())
    auc = (ranks[is_one].sum() - positives * (positives + 1) / 2) / (positives * (len(scores) - positives))
    log_loss = np.logaddexp(0, np.where(is_one, -scores, scores)).mean()
    print(f"AUC {auc:.4f}, log loss {log_loss:.4f}")


def run_spu(file: str, words: list[str]) -> None:
    """By SPU's simulator: the protocol, the number of parties and of epochs."""
    import jax  # Only SPU's environment has it.
    import jax.numpy as jnp
    import spu
    import spu.utils.simulation as simulation

    def epoch(X: Any, y: Any, weights: Any) -> Any:
        """One pass in batches; what is left over is dropped."""
        X = jnp.hstack([X, jnp.ones((X.shape[0], 1))])
        for start in range(0, X.shape[0] - BATCH + 1, BATCH):
            rows, labels = X[start : start + BATCH], y[start : start + BATCH]
            weights = weights - RATE / BATCH * (rows.T @ (jax.nn.sigmoid(rows @ weights) - labels))
        return weights

    protocol, parties, epochs = words[0], int(words[1]), int(words[2])
    data = np.load(file)
    config = spu.RuntimeConfig(protocol=getattr(spu.ProtocolKind, protocol), field=spu.FieldType.FM64)
    config.enable_pphlo_profile = True
    config.sigmoid_mode = spu.RuntimeConfig.SigmoidMode.SIGMOID_SEG3
    run = simulation.sim_jax(simulation.Simulator(parties, config), epoch)
    weights, started = np.zeros(data["X"].shape[1] + 1, dtype=np.float32), time.process_time()
    for _ in range(epochs):
        weights = np.asarray(run(data["X"], data["y"], weights))
    print(protocol, parties, "parties", epochs, "epochs", f"{time.process_time() - started:.1f} CPU s")
    judge(data, weights)


def run_crypten(file: str, words: list[str]) -> None:
    """One process per party: the number of parties and of epochs."""
    # CrypTen's converter of ONNX models does not import with a newer onnx, and nothing here needs it.
    converter = types.ModuleType("crypten.nn.onnx_converter")
    for name in ("from_onnx", "from_pytorch", "from_tensorflow", "TF_AND_TF2ONNX"):
        setattr(converter, name, None)
    sys.modules["crypten.nn.onnx_converter"] = converter
    import crypten.mpc as mpc  # Needs the empty module above.

    parties, epochs = int(words[0]), int(words[1])
    results = mpc.run_multiprocess(world_size=parties)(train_with_crypten)(file, epochs)
    weights, _ = results[0]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sent = sum(megabytes for _, megabytes in results)
    print(parties, "parties", epochs, "epochs", f"{used.ru_utime + used.ru_stime:.1f} CPU s, {sent:.0f} MB")
    judge(np.load(file), np.array(weights))


def train_with_crypten(file: str, epochs: int) -> tuple[list[float], float]:
    """At one party: the weights, opened, and the megabytes that it sent."""
    import crypten  # Only CrypTen's environment has it.
    import torch
    from crypten import communicator

    torch.set_num_threads(1)
    data = np.load(file)
    rows = torch.tensor(np.hstack([data["X"], np.ones((len(data["X"]), 1), dtype=np.float32)]))
    X, y = crypten.cryptensor(rows, src=0), crypten.cryptensor(torch.tensor(data["y"]), src=1)
    weights = crypten.cryptensor(torch.zeros(rows.shape[1]))
    crypten.cfg.communicator.verbose = True
    for _ in range(epochs):
        for start in range(0, len(rows) - BATCH + 1, BATCH):
            batch, labels = X[start : start + BATCH], y[start : start + BATCH]
            residuals = batch.matmul(weights).sigmoid() - labels
            weights = weights - batch.transpose(0, 1).matmul(residuals) * (RATE / BATCH)
    sent = communicator.get().get_communication_stats()["bytes"]
    return weights.get_plain_text().tolist(), sent / 1e6


if __name__ == "__main__":
    main()
