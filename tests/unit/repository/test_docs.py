"""README, CONTRIBUTING and docs name only what is there."""

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from hopshive.cli import main
from hopshive.services.components import COMPONENTS

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def anchors(text: str) -> set[str]:
    """The anchors of a page: of each heading as GitHub makes it, and those that stand in the text."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```$", "", text))
    names = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return names | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_anchor_is_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text())
    pages = {target: (page.parent / target if target else page).read_text() for target, _ in links}
    assert [f"{target}#{anchor}" for target, anchor in links if anchor not in anchors(pages[target])] == []


def test_an_anchor_is_made_of_its_heading() -> None:
    text = '# Tags of `site.yml`\n## A part: `--limit`\n```\n# none\n```\n<a id="text"></a>\n'
    assert anchors(text) == {"tags-of-siteyml", "a-part---limit", "text"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    assert [target for target in named if target not in targets] == []


def refusal(words: list[str]) -> str | None:
    """Why click would not take the words of a command `hopshive`; a placeholder is any value."""
    command: click.Command = main
    while isinstance(command, click.Group):
        if not words or words[0] not in command.commands:
            return f"no command {words[:1]}"
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    unknown = [word for word in words if word.startswith("-") and word.split("=")[0] not in known]
    return f"no option {unknown}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_command_of_hopshive_exists(page: Path) -> None:
    named = re.findall(r"(?m)(?:`|^|^\$ |docker exec [\w-]+ )hopshive ([a-z-]+(?: [^`|\n#]*)?)", page.read_text())
    refused = {text: why for text in named if (why := refusal(shlex.split(text.partition(" -->")[0])))}
    assert refused == {}


def test_a_command_that_is_not_there_is_refused() -> None:
    assert refusal(["undo", "12", "--dry-run"]) is None
    assert refusal(["cleaner", "run"]) is None
    assert refusal(["cleaner", "walk"]) == "no command ['walk']"
    assert refusal(["undo", "--force"]) == "no option ['--force']"


def test_the_page_of_hosts_has_each_unit_and_port() -> None:
    page = (ROOT / "docs/hosts.md").read_text()
    defaults = yaml.safe_load((ROOT / "roles/cluster/defaults/main.yml").read_text())
    ports = {name: value for name, value in defaults.items() if name.endswith("_port")}
    assert len(ports) > 20
    assert [name for name, port in ports.items() if not re.search(rf"\b{port}\b", page)] == []
    units = [unit for component in COMPONENTS.values() for unit in component.units]
    assert [unit for unit in units if f"`{unit}`" not in page] == []


def test_the_readme_fits_on_two_screens() -> None:
    # Without comments, which no reader sees.
    seen = re.sub(r"(?ms)^<!--.*?-->\n", "", (ROOT / "README.md").read_text())
    assert len(seen.splitlines()) <= 80
