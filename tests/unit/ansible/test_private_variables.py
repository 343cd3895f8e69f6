"""A variable `__<owner>_x` is read and set by its owner alone: a role, or a playbook.

Those of the role cluster, `__cluster_x`, are for every role, since every role depends on it; it alone sets them. What
passes from one role or playbook to another has a name without underscores: an option of an argument specification, or a
fact that docs/development.md lists.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ansible.test_roles import PLAYBOOKS, ROLES, ROOT, TASK_FILES, importers_of, parsed, relative
from tools.variables_doc import load

SHARED = "cluster"
# A private name that is no attribute of another word: of `hostvars[x].__y` it is one, of `a__b` it is not.
PRIVATE = re.compile(r"(?<!\w)__[a-z]\w*")
PLACES = ("roles", "playbooks", "templates", "inventories", "molecule")
FILES = [
    *(path for place in PLACES for path in sorted((ROOT / place).rglob("*")) if path.suffix in {".yml", ".j2"}),
    ROOT / "site.yml",
]


def owner_of(name: str, roles: set[str], playbook: str = "") -> str:
    """The playbook, or the role with the longest name, that a variable is named by; empty if it is neither."""
    names = {role for role in roles if name.startswith(f"__{role}_")}
    if playbook not in roles and name.startswith(f"__{playbook}_"):
        names.add(playbook)
    return max(names, key=len, default="")


def faults(text: str, file: str, roles: set[str]) -> list[str]:
    """What a file reads or sets of another's private variables: file, line and variable."""
    found = []
    place = Path(file)
    role = place.parts[1] if place.parts[0] == "roles" else ""
    playbook = "" if role or place.suffix != ".yml" else place.stem
    for number, line in enumerate(text.splitlines(), 1):
        sets = re.match(r"[\s-]*(__\w+):(\s|$)|[\s-]*register: (__\w+)", line)
        for name in PRIVATE.findall(line):
            owner = owner_of(name, roles, playbook)
            shared = owner == SHARED and not (sets and name in sets.groups())
            if not shared and (not owner or owner not in (role, playbook) or (playbook and owner in roles)):
                found.append(f"{file}:{number}: {name} is private to {owner or 'no role or playbook'}")
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_private_variable_is_its_owners_alone(path: Path) -> None:
    assert faults(path.read_text(), relative(path), set(ROLES)) == []


def test_anothers_private_variable_is_named_with_file_and_line() -> None:
    text = """\
- name: Read
  debug: {msg: "{{ hostvars[x].__ndb_data_part }} {{ __ndb_part }} {{ __cluster_part }} {{ a__b }}"}
  vars:
    __cluster_part: 1
  register: __new
"""
    assert faults(text, "roles/ndb/tasks/main.yml", {"ndb", "ndb_data", "cluster"}) == [
        "roles/ndb/tasks/main.yml:2: __ndb_data_part is private to ndb_data",
        "roles/ndb/tasks/main.yml:4: __cluster_part is private to cluster",
        "roles/ndb/tasks/main.yml:5: __new is private to no role or playbook",
    ]


def test_a_playbook_owns_what_is_named_by_it_unless_a_role_has_its_name() -> None:
    text = "{{ __ndb_restore_there }} {{ __ndb_there }}"
    assert faults(text, "playbooks/ndb_restore.yml", {"ndb"}) == [
        "playbooks/ndb_restore.yml:1: __ndb_there is private to ndb"
    ]
    assert faults("{{ __lab_a }}", "playbooks/lab.yml", {"lab"}) == ["playbooks/lab.yml:1: __lab_a is private to lab"]


def entry_points() -> list[tuple[Path, dict[str, Any]]]:
    """Each file of tasks that has an argument specification of its own, with the options of it."""
    return [
        (path, entry.get("options") or {})
        for path in TASK_FILES
        for name, entry in load(path.parents[1] / "meta/argument_specs.yml")["argument_specs"].items()
        if name == path.stem and name != "main"
    ]


@pytest.mark.parametrize(("path", "options"), entry_points(), ids=[relative(path) for path, _ in entry_points()])
def test_who_takes_in_an_entry_point_gives_it_what_it_requires(path: Path, options: dict[str, Any]) -> None:
    required = {name for name, option in options.items() if option.get("required")}
    defaults = set(load(path.parents[1] / "defaults/main.yml"))
    missing = {
        f"{relative(importer)}: {name}"
        for importer, task in importers_of(path)
        for name in required - defaults - set(task["vars"])
        # A role that passes on what it was given itself.
        if name not in importer.read_text()
    }
    assert not missing


def test_the_facts_that_others_read_are_listed() -> None:
    """A name without underscores that a task registers is meant for others."""
    listed = (ROOT / "docs/development.md").read_text()
    registered = {
        name
        for path in [*TASK_FILES, *PLAYBOOKS]
        for name in re.findall(r"(?m)^\s+register: ([a-z]\w*)", path.read_text())
    }
    assert registered
    assert {name for name in registered if f"`{name}`" not in listed} == set()
    assert parsed(ROLES["jvm_service"] / "tasks/unread.yml")[0]["register"] in registered
