"""Calls in a Python script with the values of their arguments, as far as these can be known without running it.

A name stands for what was last assigned to it above the call; whatever else a script computes stays unknown. That is
enough to show what a script trains, and never enough to call it safe: a program can open anything.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plumbob.jobs.reading import Computed, shown

PROGRAM = "This is a program; we cannot know what else it reveals."
DEEPEST = 40
Known = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call: what is called, on what, with which values."""

    name: str
    """The last part of what is called: `fit` of `model.fit`."""
    owner: str
    """The name before it: `model` of `model.fit`."""
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    has_unknown_keywords: bool
    line: int
    target: str = ""
    """The name that the result is given to."""


def calls_of(script: ast.Module) -> list[Call]:
    """All calls, in the order of their lines."""
    known: Known = {}
    found: list[Call] = []
    statements = [node for node in ast.walk(script) if isinstance(node, ast.stmt)]
    for statement in sorted(statements, key=lambda one: one.lineno):
        found += [_call(node, known, _target(statement)) for node in _own_calls(statement)]
        _learn(statement, known)
    return sorted(found, key=lambda call: call.line)


def imported_names(script: ast.Module) -> set[str]:
    """Modules and names that a script imports."""
    names: set[str] = set()
    for node in ast.walk(script):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module or ''}.{alias.name}" for alias in node.names}
    return names


def words_of(script: ast.Module) -> set[Any]:
    """All texts and all names after a dot: `REF2K` of `spu.spu_pb2.REF2K`."""
    nodes = list(ast.walk(script))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def reveals_of(script: ast.Module) -> list[str]:
    """Every call that opens something to all, with its line, as `line 12: reveal(model.spu_w)`."""
    calls = [node for node in ast.walk(script) if isinstance(node, ast.Call) and _last(node.func) == "reveal"]
    return [f"line {node.lineno}: reveal({_source(node)})" for node in sorted(calls, key=lambda one: one.lineno)]


def _source(node: ast.Call) -> str:
    try:
        return shown(", ".join(ast.unparse(argument) for argument in node.args))
    except RecursionError:
        return "..."


def _own_calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """Calls in a statement, but not in the statements below it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _target(statement: ast.stmt) -> str:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return targets[0].id if isinstance(targets[0], ast.Name) else ""


def _call(node: ast.Call, known: Known, target: str) -> Call:
    keywords: dict[str, Any] = {}
    is_unknown = False
    for keyword in node.keywords:
        value = value_of(keyword.value, known)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, dict):
            keywords |= value
        else:
            is_unknown = True
    arguments = tuple(value_of(argument, known) for argument in node.args)
    return Call(_last(node.func), _owner(node.func), arguments, keywords, is_unknown, node.lineno, target)


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _owner(function: ast.expr) -> str:
    if not isinstance(function, ast.Attribute):
        return ""
    return _last(function.value.func if isinstance(function.value, ast.Call) else function.value)


def _learn(statement: ast.stmt, known: Known) -> None:
    """Note what a statement says about names."""
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            _assign(target, value_of(statement.value, known), known)
    elif isinstance(statement, ast.AugAssign | ast.For | ast.AsyncFor):
        _assign(statement.target, Computed(), known)
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        # A parameter is unknown: its default is only one of many values.
        for one in (*statement.args.posonlyargs, *statement.args.args, *statement.args.kwonlyargs):
            known[one.arg] = Computed(one.arg)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _learn_update(statement.value, known)


def _assign(target: ast.expr, value: Any, known: Known) -> None:
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        table, key = known.get(target.value.id), value_of(target.slice, known)
        known[target.value.id] = (
            {**table, key: value} if isinstance(table, dict) and isinstance(key, str) else Computed()
        )
    elif isinstance(target, ast.Name):
        # What a script computes is known by its name from here on.
        known[target.id] = Computed(target.id) if isinstance(value, Computed) else value
    elif isinstance(target, ast.Tuple | ast.List):
        for inner in target.elts:
            _assign(inner, Computed(), known)


def _learn_update(call: ast.Call, known: Known) -> None:
    """Note `settings.update(more)`; any other method may have changed a table in unknown ways."""
    name = _owner(call.func)
    table = known.get(name)
    if not isinstance(call.func, ast.Attribute) or not isinstance(table, dict):
        return
    more = [value_of(argument, known) for argument in call.args]
    if call.func.attr == "update" and all(isinstance(one, dict) for one in more):
        words = {keyword.arg: value_of(keyword.value, known) for keyword in call.keywords if keyword.arg}
        known[name] = {**table, **(more[0] if more else {}), **words}
    elif call.func.attr == "pop" and more and isinstance(more[0], str):
        known[name] = {key: value for key, value in table.items() if key != more[0]}


def value_of(node: ast.expr, known: Known, depth: int = 0) -> Any:
    """The value of an expression: a literal, a known name, or `Computed`."""
    if depth > DEEPEST:
        return Computed()
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id, Computed(node.id))
    if isinstance(node, ast.Dict):
        return _table(node, known, depth)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [value_of(one, known, depth + 1) for one in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = value_of(node.operand, known, depth + 1)
        return -inner if isinstance(inner, int | float) and not isinstance(inner, bool) else Computed()
    if isinstance(node, ast.Call):
        return _held(node, known, depth)
    return Computed(node.attr) if isinstance(node, ast.Attribute) else Computed()


def _table(node: ast.Dict, known: Known, depth: int) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        inner = value_of(value, known, depth + 1)
        if key is None:
            table |= inner if isinstance(inner, dict) else {}
        elif isinstance(name := value_of(key, known, depth + 1), str):
            table[name] = inner
    return table


def _held(node: ast.Call, known: Known, depth: int) -> Any:
    """The values in `dict(a=1)` and in objects that only hold arguments, such as `EncryptParam(key_length=1024)`."""
    name = _last(node.func)
    is_holder = name in ("dict", "Attribute", "Data", "Model") or name.endswith("Param")
    if not is_holder or (name == "dict" and node.args):
        return Computed(name)
    return {keyword.arg: value_of(keyword.value, known, depth + 1) for keyword in node.keywords if keyword.arg}
