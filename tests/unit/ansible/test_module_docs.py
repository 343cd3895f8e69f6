"""A module's documentation names the roles that use it, its page of documentation and related modules."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
import yaml

from tests.support.servers import ROOT

MODULES = {path.stem: path for path in (ROOT / "library").glob("hopshive_*.py")}
MOST = "Most roles use this module."
# From this number of roles on, a list of them says nothing.
MANY = 8


def documentation(name: str) -> dict[str, Any]:
    for node in ast.parse(MODULES[name].read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION":
            loaded: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return loaded
    raise AssertionError(f"{MODULES[name]} has no DOCUMENTATION")


def users(name: str) -> set[str]:
    """The roles with a task of this module."""
    task = re.compile(rf"^\s*(- )?{name}:", re.MULTILINE)
    files = [*ROOT.glob("roles/*/tasks/**/*.yml"), *ROOT.glob("roles/*/handlers/*.yml")]
    return {path.relative_to(ROOT).parts[1] for path in files if task.search(path.read_text())}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_names_the_roles_that_use_it(name: str) -> None:
    first = documentation(name)["notes"][0]
    found = users(name)
    assert found
    if len(found) >= MANY:
        assert first == MOST
    else:
        assert set(re.findall(r"C\((\w+)\)", first)) == found


@pytest.mark.parametrize("name", sorted(MODULES))
def test_what_a_module_refers_to_is_there(name: str) -> None:
    described = documentation(name)
    for page in re.findall(r"docs/\w+\.md", str(described["notes"])):
        assert (ROOT / page).is_file(), page
    related = {entry["module"] for entry in described.get("seealso", [])}
    assert related <= MODULES.keys() - {name}
