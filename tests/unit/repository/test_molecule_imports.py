"""What the tests of molecule's scenarios import is there: mypy does not read them, and a scenario takes half an hour."""

from __future__ import annotations

import ast
import importlib
from typing import TYPE_CHECKING

import pytest

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted((ROOT / "molecule").rglob("*.py"))
OURS = ("hopshive", "tests")


def missing(path: Path) -> list[str]:
    """The names that a file imports from hopshive or tests and that are not there."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] not in OURS:
            continue
        module = importlib.import_module(str(node.module))
        for name in node.names:
            if not hasattr(module, name.name):
                try:
                    importlib.import_module(f"{node.module}.{name.name}")
                except ModuleNotFoundError:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.module}.{name.name}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_scenario_imports_is_there(path: Path) -> None:
    assert missing(path) == []
