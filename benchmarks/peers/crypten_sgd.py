"""CrypTen on the rows of an .npz file (X, y, Xt, yt, standardised): run with a Python that has torch and crypten 0.4.1.

    python benchmarks/peers/crypten_sgd.py credit.npz 2 10

Logistic regression on shares in batches of 1,024 at rate .1, one process per party. CrypTen's converter of ONNX models
does not import with a newer onnx; nothing here needs it, so an empty module stands in its place. Prints CPU seconds and
megabytes of all parties, AUC and log loss.
"""

import resource
import sys
import types

import numpy as np
import torch
from judged import auc, log_loss

converter = types.ModuleType("crypten.nn.onnx_converter")
for name in ("from_onnx", "from_pytorch", "from_tensorflow", "TF_AND_TF2ONNX"):
    setattr(converter, name, None)
sys.modules["crypten.nn.onnx_converter"] = converter

import crypten  # noqa: E402  # Needs the empty module above.
import crypten.communicator as communicator  # noqa: E402  # Needs the empty module above.
import crypten.mpc as mpc  # noqa: E402  # Needs the empty module above.

BATCH, RATE = 1024, 0.1


def main() -> None:
    file, parties, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    results = mpc.run_multiprocess(world_size=parties)(train)(file, epochs)
    weights, _ = results[0]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sent = sum(megabytes for _, megabytes in results)
    print(parties, "parties", epochs, "epochs", f"{used.ru_utime + used.ru_stime:.1f} CPU s, {sent:.0f} MB")
    data = np.load(file)
    scores = np.hstack([data["Xt"], np.ones((len(data["Xt"]), 1))]) @ np.array(weights)
    print(f"AUC {auc(data['yt'], scores):.4f}, log loss {log_loss(data['yt'], scores):.4f}")


def train(file: str, epochs: int) -> tuple[list[float], float]:
    """At one party: the weights, opened, and the megabytes that it sent."""
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
