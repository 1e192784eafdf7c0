"""Calls in a Python script with the values of their arguments, as far as these can be known without running it.

Names stand for what was last assigned to them above the call, dictionaries follow their `update` calls, and whatever
else a script computes stays unknown.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plumbob.jobs.reading import Computed

DEEPEST = 40


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
    found: list[Call] = []
    _follow(script.body, {}, found)
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


Known = dict[str, Any]


def _follow(statements: list[ast.stmt], known: Known, found: list[Call], depth: int = 0) -> None:
    """One statement after another; a block sees what was known before it."""
    for statement in statements if depth < DEEPEST else []:
        target = _target(statement)
        found += [_call(node, known, target) for node in _own_calls(statement)]
        _learn(statement, known)
        is_scope = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = dict(known) if is_scope else known
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            _learn_defaults(statement, inner)
        for block in _blocks(statement):
            _follow(block, inner, found, depth + 1)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _own_calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """Calls in a statement, but not in the blocks below it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        waiting += [
            child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt | ast.ExceptHandler)
        ]


def _target(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    return ""


def _call(node: ast.Call, known: Known, target: str) -> Call:
    keywords: dict[str, Any] = {}
    is_unknown = False
    for keyword in node.keywords:
        value = value_of(keyword.value, known)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, dict):
            keywords |= {str(name): inner for name, inner in value.items()}
        else:
            is_unknown = True
    arguments = tuple(value_of(argument, known) for argument in node.args)
    return Call(_last(node.func), _owner(node.func), arguments, keywords, is_unknown, node.lineno, target)


def _last(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _owner(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        inner = function.value
        return _last(inner.func) if isinstance(inner, ast.Call) else _last(inner)
    return ""


def _learn(statement: ast.stmt, known: Known) -> None:
    """What a statement says about names."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            _assign(target, value_of(statement.value, known), known)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        _assign(statement.target, value_of(statement.value, known), known)
    elif isinstance(statement, ast.AugAssign | ast.For | ast.AsyncFor):
        _assign(statement.target, Computed(), known)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _learn_update(statement.value, known)


def _assign(target: ast.expr, value: Any, known: Known) -> None:
    if isinstance(target, ast.Name):
        # What a script computes is known by its name from here on.
        known[target.id] = Computed(target.id) if isinstance(value, Computed) else value
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        table, key = known.get(target.value.id), value_of(target.slice, known)
        if isinstance(table, dict) and isinstance(key, str):
            known[target.value.id] = {**table, key: value}
    elif isinstance(target, ast.Tuple | ast.List):
        values = value if isinstance(value, list | tuple) and len(value) == len(target.elts) else None
        for position, inner in enumerate(target.elts):
            _assign(inner, Computed() if values is None else values[position], known)


def _learn_update(call: ast.Call, known: Known) -> None:
    """`settings.update(more)` and `settings.pop("name")`."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return
    name, table = function.value.id, known.get(function.value.id)
    if not isinstance(table, dict):
        return
    arguments = [value_of(argument, known) for argument in call.args]
    if function.attr == "update":
        more = {keyword.arg: value_of(keyword.value, known) for keyword in call.keywords if keyword.arg}
        first = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
        known[name] = {**table, **first, **more}
    elif function.attr == "pop" and arguments and isinstance(arguments[0], str):
        known[name] = {key: value for key, value in table.items() if key != arguments[0]}


def _learn_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef, known: Known) -> None:
    """A parameter is unknown, whatever a name meant outside; its default is only one of many values."""
    arguments = function.args
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        known[one.arg] = Computed(one.arg)


def value_of(node: ast.expr, known: Known, depth: int = 0) -> Any:
    """A literal, a known name, or `Computed`."""
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
        return _construct(node, known, depth)
    if isinstance(node, ast.Attribute):
        return Computed(node.attr)
    return _subscript(node, known, depth) if isinstance(node, ast.Subscript) else Computed()


def _table(node: ast.Dict, known: Known, depth: int) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        inner = value_of(value, known, depth + 1)
        if key is None:
            table |= inner if isinstance(inner, dict) else {}
        elif isinstance(name := value_of(key, known, depth + 1), str):
            table[name] = inner
    return table


def _construct(node: ast.Call, known: Known, depth: int) -> Any:
    """`dict(a=1)` and objects that only hold their arguments, such as `EncryptParam(key_length=1024)`."""
    name = _last(node.func)
    is_holder = name == "dict" or name.endswith("Param") or name in ("Attribute", "Data", "Model")
    if not is_holder or (name == "dict" and node.args):
        return Computed(name)
    values = {keyword.arg: value_of(keyword.value, known, depth + 1) for keyword in node.keywords if keyword.arg}
    return values


def _subscript(node: ast.Subscript, known: Known, depth: int) -> Any:
    table, key = value_of(node.value, known, depth + 1), value_of(node.slice, known, depth + 1)
    if isinstance(table, dict) and isinstance(key, str):
        return table.get(key, Computed())
    is_index = isinstance(key, int) and not isinstance(key, bool)
    if isinstance(table, list) and is_index and -len(table) <= key < len(table):
        return table[key]
    return Computed()
