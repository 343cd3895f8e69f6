"""What README and docs promise, and the tests that are said to prove it: each is there, and no contract test is left out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Files that a page names without a path lie there.
CONTRACT = ROOT / "molecule/consistency/tests"
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# The page, the heading above the table, and the least number of rows.
MAPS = [
    ("docs/consistency.md", "What each action leads to", 15),
    ("docs/development.md", "Promises and their tests", 40),
]

_TEST = re.compile(r"(?<![\w/])((?:(?:tests|molecule)/[\w/]+/)?test_\w+\.py(?:::\w+)*)")
_OTHER = re.compile(r"`((?:tests|molecule)/[\w./]+\.yml)`")


@cache
def defined(path: Path) -> frozenset[str]:
    """Classes and functions of a file of tests, as pytest names them: `Class`, `Class::test`, `test`."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            inner = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            found |= {node.name, *(f"{node.name}::{name}" for name in inner)}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return frozenset(found)


def file_of(name: str) -> Path:
    """The file of a test that a page names."""
    file = name.partition("::")[0]
    return ROOT / file if "/" in file else CONTRACT / file


def is_there(name: str) -> bool:
    """Whether a file, or a test in it, exists."""
    inside = name.partition("::")[2]
    return file_of(name).is_file() and (not inside or inside in defined(file_of(name)))


def proofs(page: str, heading: str) -> dict[str, list[str]]:
    """Of each row of the table below a heading: its first cell, and the tests and scenarios that its last cell names."""
    text = (ROOT / page).read_text()
    section = re.split(r"(?m)^## ", text.partition(f"\n## {heading}\n")[2])[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert rows[0][-1].strip() == "proven by"
    return {row[0].strip(): _TEST.findall(row[-1]) + _OTHER.findall(row[-1]) for row in rows[1:]}


def test_what_is_not_there_is_noticed() -> None:
    assert is_there("test_contract_held.py::TestUndo")
    assert is_there("tests/unit/repository/test_promises.py::test_what_is_not_there_is_noticed")
    assert not is_there("test_contract_held.py::TestUndo::test_of_nothing")
    assert not is_there("tests/unit/test_of_nothing.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_test_that_a_page_names_is_there(page: Path) -> None:
    assert [name for name in _TEST.findall(page.read_text()) if not is_there(name)] == []


@pytest.mark.parametrize(("page", "heading", "least"), MAPS)
def test_each_promise_has_its_proof(page: str, heading: str, least: int) -> None:
    found = proofs(page, heading)
    assert len(found) >= least
    assert [promise for promise, named in found.items() if not named] == []
    assert [
        name for named in found.values() for name in named if name.endswith(".yml") and not file_of(name).is_file()
    ] == []


def test_each_contract_test_proves_an_action() -> None:
    page, heading, _ = MAPS[0]
    named = {file_of(name) for names in proofs(page, heading).values() for name in names}
    assert sorted(path.name for path in CONTRACT.glob("test_contract_*.py") if path not in named) == []
