"""Processes that start from one in which everything is imported, because an import takes longer than a run."""

import multiprocessing

PATIENCE = 150.0  # Seconds: a test that waits longer than this hangs.
IMPORTED_LATE = (
    "cryptography.hazmat.backends.openssl.backend",
    "encodings.idna",
    "narwhals._arrow.dataframe",
    "narwhals._arrow.namespace",
    "narwhals._interchange.dataframe",
    "narwhals.stable.v1._namespace",
    "pandas",  # By pyarrow, wherever it is installed.
    "plumbob.checking.check",
    "plumbob.checking.consent",
    "plumbob.lab.exchange.engines.native",
    "plumbob.crypto.lattice.kernel",
    "plumbob.party.verbs.predict",
    "plumbob.party.verbs.propose",
    "plumbob.party.verbs.setup",
    "plumbob.party.verbs.sign",
    "plumbob.party.verbs.train",
    "plumbob.report.page",
    "plumbob.lab.commands.train",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.pandas_compat",
    "pydantic.plugin._loader",
    "rich._emoji_codes",
    "scipy.optimize",
    "typer._adapters",
    "typer._click.decorators",
    "tests.party.ready",  # Last: what is loaded by now stays as it is.
)
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.party.processes", "tests.party.verbs", *IMPORTED_LATE])
