"""Products of private matrices and encrypted vectors by RLWE, ending in additive shares. docs/lattice.md is the proof.

layout = Layout.choose(sets.SCORES, "scores", rows, columns, input_bits=51, output_bits=32)
owner = Owner(OwnerKey(engine, layout.parameters, context, SYSTEM_RANDOMNESS.draw(32)), number, layout)
matrix = PrivateMatrix(engine, layout, entries)
answer = Evaluator(matrix, tested_key, number, SYSTEM_RANDOMNESS.draw(32), Register()).reply(request)
share = owner.open(answer.reply)        # share + answer.share is the product modulo 2**output_bits
"""

from plumbob.crypto.lattice import angles, local, pairs, sets
from plumbob.crypto.lattice.context import KeyContext, ProductContext
from plumbob.crypto.lattice.interface import Pairs, Small
from plumbob.crypto.lattice.kernel import LatticeEngine, engine_on
from plumbob.crypto.lattice.key_test import MOST_TESTS, KeyProof, KeyTest
from plumbob.crypto.lattice.layout import Layout, SlotLayout
from plumbob.crypto.lattice.masks import MaskedOpening
from plumbob.crypto.lattice.products import (
    Answer,
    Evaluator,
    Owner,
    OwnerKey,
    PrivateMatrix,
    Register,
    SlotEvaluator,
    SlotOwner,
    TestedKey,
)
from plumbob.crypto.lattice.sets import ParameterSet

__all__ = [
    "MOST_TESTS",
    "Answer",
    "Evaluator",
    "KeyContext",
    "KeyProof",
    "KeyTest",
    "LatticeEngine",
    "Layout",
    "MaskedOpening",
    "Owner",
    "OwnerKey",
    "Pairs",
    "ParameterSet",
    "PrivateMatrix",
    "ProductContext",
    "Register",
    "SlotEvaluator",
    "SlotLayout",
    "SlotOwner",
    "Small",
    "TestedKey",
    "angles",
    "engine_on",
    "local",
    "pairs",
    "sets",
]
