"""Products of private matrices and encrypted vectors by RLWE, ending in additive shares. docs/lattice.md is the proof.

layout = Layout.choose(sets.SCORES, "scores", rows, columns, input_bits=51, output_bits=32)
key = OwnerKey(engine, layout.parameters, context, SYSTEM_RANDOMNESS.draw(32))
request = make_request(key, number, layout, values)
matrix = PrivateMatrix(engine, layout, entries)
answer = answer_request(matrix, tested_key, number, request, SYSTEM_RANDOMNESS.draw(32), Register())
share = open_reply(key, layout, answer.reply)        # share + answer.share is the product modulo 2**output_bits

Each name is imported when it is asked for: who only counts bytes loads no kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.crypto.lattice import angles, local, pairs, sets
    from plumbob.crypto.lattice.context import KeyContext, ProductContext
    from plumbob.crypto.lattice.interface import Pairs, Small
    from plumbob.crypto.lattice.kernel import Engine, engine_on
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

_OFFERED = {
    "context": ("KeyContext", "ProductContext"),
    "interface": ("Pairs", "Small"),
    "kernel": ("Engine", "engine_on"),
    "key_test": ("MOST_TESTS", "KeyProof", "KeyTest"),
    "layout": ("AnyLayout", "Layout", "SlotLayout"),
    "masks": ("MaskedOpening",),
    "products": (
        "Answer",
        "Factors",
        "OwnerKey",
        "PrivateMatrix",
        "Register",
        "SlotFactors",
        "TestedKey",
        "answer_request",
        "make_request",
        "open_reply",
    ),
    "sets": ("ParameterSet",),
}
_MODULE_OF = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = [
    "MOST_TESTS",
    "Answer",
    "AnyLayout",
    "Engine",
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
    "engine_on",
    "local",
    "make_request",
    "open_reply",
    "pairs",
    "sets",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"plumbob.crypto.lattice.{_MODULE_OF[name]}"), name)
    if name in __all__:
        return import_module(f"plumbob.crypto.lattice.{name}")
    raise AttributeError(f"module 'plumbob.crypto.lattice' has no attribute {name!r}")
