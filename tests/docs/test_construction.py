"""How objects are made: whole, by their constructors, from few things; and sessions in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "lamplighter"
MODULES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
MOST_PARAMETERS = 8


def test_the_composition_root_sets_no_attribute_of_another_object() -> None:
    """What an object needs is given to its constructor; what it wants to hear of it subscribes to."""
    others = [ast.unparse(target) for target in assigned(MODULES["app.py"]) if ast.unparse(target.value) != "self"]
    assert others == []


def test_no_constructor_sets_an_attribute_of_what_it_was_given() -> None:
    found = [
        f"{name}: {ast.unparse(target)}"
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for target in assigned(node)
        if isinstance(target.value, ast.Name) and target.value.id != "self"
    ]
    assert found == []


def test_no_attribute_waits_for_a_function() -> None:
    found = [
        f"{name}: {ast.unparse(node)}"
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute) and waits(node.annotation)
    ]
    assert found == []


def test_no_function_has_many_parameters() -> None:
    found = [
        f"{name}: {node.name} has {count}"
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (count := parameters(node)) > MOST_PARAMETERS
    ]
    assert found == []


def test_a_session_comes_to_be_in_one_place() -> None:
    found = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sessions.insert"
    }
    assert found == {"engine/core/enrol.py"}


def assigned(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Every attribute that is set."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            yield ast.Attribute(node.args[0], ast.unparse(node.args[1]), ast.Store())


def waits(annotation: ast.expr) -> bool:
    """Whether it says: a function, or none yet."""
    if isinstance(annotation, ast.BinOp):
        sides = [ast.unparse(side) for side in (annotation.left, annotation.right)]
        return "None" in sides and any(side.startswith("Callable") for side in sides)
    return ast.unparse(annotation).startswith("Optional[Callable")


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return sum(1 for each in every if each.arg not in ("self", "cls"))
