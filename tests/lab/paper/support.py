"""What the tests of the reproduction share: a small data set in MNIST's place, and little effort."""

import os

import pytest

from plumbob.lab.paper.runs import Effort
from plumbob.lab.paper.section7 import EncryptedSample
from plumbob.lab.paper.study import PaperStudy

DIGITS = PaperStudy("mnist", "digits-01", (32, 32), epochs=3, scale="standard", row_norm=1000.0, batch_size=32)
"""Bundled images of 0 and 1, under MNIST's name, so that its statements are tried."""
SMALL_PIECE = EncryptedSample(rows=64, key_bits=512)
QUICK = Effort(is_quick=True)

needs_data = pytest.mark.skipif("PLUMBOB_DATA" not in os.environ, reason="PLUMBOB_DATA is not set")
