"""The tree of the collection: which files of the repository it has, where, and what is written for it alone."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from tools.collection import rewrite
from tools.collection.rewrite import COLLECTION, Names

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
# Where the collection has what the repository has in a directory or a file.
PLACES = {
    "roles": "roles",
    "playbooks": "playbooks",
    "site.yml": "playbooks/site.yml",
    "library": "plugins/modules",
    "module_utils": "plugins/module_utils",
    "action_plugins": "plugins/action",
    "filter_plugins": "plugins/filter",
    "lookup_plugins": "plugins/lookup",
    "doc_fragments": "plugins/doc_fragments",
    "templates": "templates",
    "inventories": "inventories",
    "jobs": "jobs",
    # What is installed: the locks, and the package of which the hosts' wheel is built.
    "artifacts": "artifacts",
    "pyproject.toml": "pyproject.toml",
    "src": "src",
    "docs": "docs",
    "CHANGELOG.md": "CHANGELOG.md",
    "LICENSE": "LICENSE",
}
# For those who change the locks, in a clone.
DEVELOPERS = {"playbooks/artifacts_update.yml"}
# Collections that roles and playbooks use; the lowest version is that of the tests.
DEPENDENCIES = {"community.docker": ">=4.8.0", "community.mysql": ">=3.16.0"}
# By file: what else is written differently. Each pattern must be found.
REPLACED = {
    # A collection is no place for results.
    "playbooks/smoke.yml": {
        r"\{\{ playbook_dir \}\}/\.\./build/smoke\.json": "{{ lookup('ansible.builtin.env', 'PWD') }}/build/smoke.json"
    },
    # Commands name the inventory by -i, wherever it is.
    "roles/lab/vars/main.yml": {
        r"(?<=^__lab_inventory: ).*": '"{{ ansible_inventory_sources | first }}"',
        r"(?<=^__lab_inventory_argument: ).*": "\"{{ ' -i ' ~ __lab_inventory }}\"",
        r"^# What `make` needs .*": "# Of the commands that the lab prints.",
    },
}


def project(root: Path) -> dict[str, Any]:
    """The project's table of pyproject.toml: the one place of the version."""
    table: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return table


def files(root: Path) -> Iterator[tuple[str, Path, str]]:
    """Name, file and place in the collection of each file of the repository that it has. Links are followed.

    Only files that git knows: an inventory or a vault of the person who builds the collection is not among them.
    """
    listed = subprocess.run(["git", "ls-files", "-z", *PLACES], cwd=root, capture_output=True, text=True, check=True)
    known = sorted(name for name in listed.stdout.split("\0") if name)
    for name in known:
        path = (root / name).resolve()
        if name in DEVELOPERS:
            continue
        if path.is_dir():
            target = path.relative_to(root.resolve()).as_posix()
            below = [other for other in known if PurePosixPath(other).is_relative_to(target)]
            for other in below:
                linked = f"{name}/{PurePosixPath(other).relative_to(target)}"
                yield linked, (root / other).resolve(), place(linked)
        else:
            yield name, path, place(name)


def place(name: str) -> str:
    """Where the collection has a file of the repository."""
    first, slash, rest = name.partition("/")
    return PLACES[first] + slash + rest


def content(name: str, text: str, names: Names) -> str:
    """The text of a file of the repository, as it is in the collection."""
    first, _, rest = name.partition("/")
    for pattern, new in REPLACED.get(name, {}).items():
        text, found = re.subn(pattern, lambda _, new=new: new, text, flags=re.MULTILINE)  # type: ignore[misc]
        if not found:
            raise ValueError(f"{name} has nothing like {pattern}: change REPLACED in tools/collection/tree.py")
    suffix = PurePosixPath(name).suffix
    if suffix == ".py":
        if first in ("library", "module_utils", "doc_fragments"):
            return rewrite.plugin(text, names)
        return rewrite.controller_plugin(text, names) if first.endswith("_plugins") else text
    if suffix not in (".yml", ".j2"):
        return text
    if name == "site.yml" or (first == "playbooks" and "/" not in rest):
        return rewrite.playbook(text, names)
    if first in ("roles", "playbooks", "inventories", "filter_plugins") and suffix == ".yml":
        text = rewrite.tasks(text, names)
        # Variables of a role may be written to hosts, where a changed comment restarts a service.
        written = first == "roles" and "/vars/" in name and not name.startswith("roles/lab/")
        return text if written else rewrite.messages(text, names)
    return rewrite.expressions(text, names) if first in ("roles", "templates") else text


@dataclass(frozen=True)
class Rename:
    """A module that has another name now. The release `removed_in` no longer has the old one."""

    new: str
    removed_in: str


def renamed(root: Path) -> dict[str, Rename]:
    """The renamed modules by their old names, as the actions of these names have them."""
    found: dict[str, Rename] = {}
    for path in (root / "action_plugins").glob("*.py"):
        text = path.read_text()
        names = re.search(r"^RENAMED = (\{.*?^\})", text, re.MULTILINE | re.DOTALL)
        removed_in = re.search(r'^REMOVED_IN = "(.+)"', text, re.MULTILINE)
        if names and removed_in:
            found |= {old: Rename(new, removed_in[1]) for old, new in ast.literal_eval(names[1]).items()}
    return found


def galaxy(root: Path) -> dict[str, Any]:
    """galaxy.yml: what the collection is called, and what it needs."""
    table = project(root)
    namespace, _, name = COLLECTION.partition(".")
    return {
        "namespace": namespace,
        "name": name,
        "version": table["version"],
        "readme": "README.md",
        "authors": ["hopshive developers"],
        "description": table["description"].partition(":")[0],
        "license": [table["license"]["text"]],
        "tags": ["hadoop", "hive", "hdfs", "spark", "database"],
        "dependencies": DEPENDENCIES,
    }


def runtime(root: Path) -> dict[str, Any]:
    """meta/runtime.yml: the Ansible that it needs, and modules under their old names."""
    modules = {
        old: {
            "redirect": f"{COLLECTION}.{rename.new}",
            "deprecation": {
                "removal_version": rename.removed_in,
                "warning_text": f"Use {COLLECTION}.{rename.new} instead.",
            },
        }
        for old, rename in renamed(root).items()
    }
    return {"requires_ansible": ">=2.19.0", **({"plugin_routing": {"modules": modules}} if modules else {})}


def written(root: Path) -> dict[str, str]:
    """Files that only the collection has, by their place in it."""
    execution = {"version": 1, "dependencies": {"python": "requirements.txt"}}
    return {
        "galaxy.yml": _yaml(galaxy(root)),
        "meta/runtime.yml": _yaml(runtime(root)),
        "meta/execution-environment.yml": _yaml(execution),
        "requirements.txt": "".join(f"{line}\n" for line in project(root)["dependencies"]),
        "README.md": (HERE / "README.md").read_text().replace("<version>", project(root)["version"]),
        "plugins/plugin_utils/own_package.py": (HERE / "own_package.py").read_text(),
    }


def make(root: Path, directory: Path) -> None:
    """Write the collection of the repository `root` to an empty directory."""
    names = rewrite.read_names(root)
    old = {f"action_plugins/{name}.py" for name in renamed(root)}
    texts = written(root)
    for name, path, where in files(root):
        if name in old:
            # meta/runtime.yml leads to the new name.
            continue
        target = directory / where
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content(name, path.read_text(), names))
        target.chmod(path.stat().st_mode & 0o777)
    for where, text in texts.items():
        target = directory / where
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def _yaml(data: dict[str, Any]) -> str:
    return "---\n" + yaml.safe_dump(data, sort_keys=False)
