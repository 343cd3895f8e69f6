"""README and docs name only what is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    assert [target for target in named if target not in targets] == []


def test_the_readme_fits_on_two_screens() -> None:
    # Without comments, which no reader sees.
    seen = re.sub(r"(?ms)^<!--.*?-->\n", "", (ROOT / "README.md").read_text())
    assert len(seen.splitlines()) <= 80
