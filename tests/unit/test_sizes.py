"""Modules of the package have at most 400 lines, and functions at most 50."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE = 400
FUNCTION = 50
# Modules that are still too long, or have a function that is. The list only shrinks.
LONG: set[str] = set()


def too_long(source: str) -> list[str]:
    """What of a module has too many lines; decorators do not count."""
    lines = len(source.splitlines())
    found = [f"{lines} lines"] if lines > MODULE else []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION:
                found.append(f"line {node.lineno}: {node.name} has {lines} lines")
    return found


@cache
def modules() -> dict[str, list[str]]:
    """The modules that are too long, each with what of it is."""
    whole = {str(path.relative_to(ROOT)): too_long(path.read_text()) for path in (ROOT / "src").rglob("*.py")}
    return {path: found for path, found in whole.items() if found}


def test_modules_and_functions_are_short() -> None:
    assert {path: found for path, found in modules().items() if path not in LONG} == {}


def test_a_short_module_leaves_the_list() -> None:
    assert LONG - modules().keys() == set(), "these are short, or gone: take them off"


def test_a_long_module_and_a_long_function_are_named() -> None:
    assert too_long("def f():\n" + "    x = 1\n" * 49) == []
    assert too_long("def f():\n" + "    x = 1\n" * 50) == ["line 1: f has 51 lines"]
    assert too_long("x = 1\n" * 400) == []
    assert too_long("x = 1\n" * 401) == ["401 lines"]
