"""The peers: what to install, which Python it needs, and which adapter drives it.

Versions are fixed, so that a table can be made again. Looked at and left out: lightphe (pure Python, no signed
product: 0.1 s an encryption and as much for each negative entry), pailliers and damgard-jurik (pure Python).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Environment:
    """One virtual environment. `steps` are the arguments of successive calls of `pip install`."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    probe: str
    pythons: tuple[str, ...] = ("3.12", "3.10")


@dataclass(frozen=True)
class Contestant:
    """One row of the table: an adapter with its arguments, inside an environment."""

    name: str
    environment: str
    worker: str
    arguments: tuple[str, ...] = ()


ENVIRONMENTS = (
    Environment("phe", (("phe==1.5.0", "gmpy2"),), "import phe, gmpy2"),
    Environment("heu", (("sf-heu==0.5.2b0", "numpy"),), "import heu.numpy"),
    Environment("fate_utils", (("fate_utils==0.1.0", "numpy"),), "import fate_utils"),
    Environment("pypaillier", (("pypaillier==0.8.0",),), "import paillier"),
    Environment("rust_paillier", (("rust_paillier==0.1.0", "numpy"),), "import rust_paillier"),
    Environment(
        "tno",
        (("tno.mpc.encryption-schemes.paillier[gmpy]==4.1.0", "typing_extensions"),),
        "import tno.mpc.encryption_schemes.paillier",
    ),
    # Its wheel exists for Python 3.8 only, and the gmpy2 that it names no longer builds.
    Environment(
        "ipcl",
        (("--no-deps", "ipcl-python==2.0.0"), ("numpy==1.23.1", "gmpy2", "cachetools", "pycryptodomex", "ruamel.yaml")),
        "import ipcl_python",
        pythons=("3.8",),
    ),
)

PEERS = (
    Contestant("phe", "phe", "phe_worker.py"),
    Contestant("HEU ZPaillier", "heu", "heu_worker.py", ("ZPaillier",)),
    Contestant("fate_utils", "fate_utils", "fate_worker.py"),
    Contestant("pypaillier", "pypaillier", "pypaillier_worker.py"),
    Contestant("ipcl", "ipcl", "ipcl_worker.py"),
    Contestant("rust_paillier", "rust_paillier", "rust_paillier_worker.py"),
    Contestant("tno", "tno", "tno_worker.py"),
)

OWN = "own"
OURS = (
    Contestant("plumbob native", OWN, "plumbob_worker.py", ("native",)),
    Contestant("plumbob python", OWN, "plumbob_worker.py", ("python",)),
)
