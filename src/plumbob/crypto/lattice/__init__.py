"""Products of private matrices and encrypted vectors by RLWE, ending in additive shares. docs/lattice.md is the proof.

layout = Layout.choose(sets.SCORES, "scores", rows, columns, input_bits=51, output_bits=32)
key = OwnerKey(engine, layout.parameters, context, SYSTEM_RANDOMNESS.draw(32))
request = make_request(key, number, layout, values)
matrix = PrivateMatrix(engine, layout, entries)
answer = answer_request(matrix, tested_key, number, request, SYSTEM_RANDOMNESS.draw(32), Register())
share = open_reply(key, layout, answer.reply)        # share + answer.share is the product modulo 2**output_bits

The engine is `kernel.Engine`, or `kernel.engine_on` a cluster. It is imported from there, so that who only counts bytes
loads no kernel.
"""

from plumbob.crypto.lattice import angles, local, pairs, sets
from plumbob.crypto.lattice.context import KeyContext, ProductContext
from plumbob.crypto.lattice.interface import Pairs, Small
from plumbob.crypto.lattice.key_test import MOST_TESTS, KeyProof, KeyTest
from plumbob.crypto.lattice.layout import AnyLayout, Layout, SlotLayout
from plumbob.crypto.lattice.masks import MaskedOpening
from plumbob.crypto.lattice.products import (
    Answer,
    Factors,
    OwnerKey,
    PrivateMatrix,
    Register,
    SlotFactors,
    TestedKey,
    answer_request,
    make_request,
    open_reply,
)
from plumbob.crypto.lattice.sets import ParameterSet

__all__ = [
    "MOST_TESTS",
    "Answer",
    "AnyLayout",
    "Factors",
    "KeyContext",
    "KeyProof",
    "KeyTest",
    "Layout",
    "MaskedOpening",
    "OwnerKey",
    "Pairs",
    "ParameterSet",
    "PrivateMatrix",
    "ProductContext",
    "Register",
    "SlotFactors",
    "SlotLayout",
    "Small",
    "TestedKey",
    "angles",
    "answer_request",
    "local",
    "make_request",
    "open_reply",
    "pairs",
    "sets",
]
