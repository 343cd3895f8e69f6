"""The glossary defines words that are used, by modules that are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs/glossary.md"
ROWS = re.findall(r"(?m)^\| \*\*(.+?)\*\* \| (.+) \| `(.+)` \|$", GLOSSARY.read_text())


@cache
def elsewhere() -> str:
    """All other pages, and the package."""
    files = [*(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    return "\n".join(path.read_text() for path in files if path != GLOSSARY)


def test_each_row_has_a_term_of_its_own_in_their_order() -> None:
    assert len(ROWS) == sum(line.startswith("|") for line in GLOSSARY.read_text().splitlines()) - 2
    terms = [term for term, _, _ in ROWS]
    assert terms == sorted(set(terms))


@pytest.mark.parametrize("term", [term for term, _, _ in ROWS])
def test_each_term_is_used(term: str) -> None:
    assert re.search(rf"(?i)\b{term}s?\b", elsewhere())


@pytest.mark.parametrize("module", sorted({module for _, _, module in ROWS}))
def test_each_module_is_there(module: str) -> None:
    assert (ROOT / "src/hopshive" / module).is_file()
