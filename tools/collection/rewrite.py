"""What the files of the repository say differently in the collection: a filter, lookup or module by its full name."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

COLLECTION = "hopshive.warehouse"
UTILS = f"ansible_collections.{COLLECTION}.plugins.module_utils"
SHIM = f"import ansible_collections.{COLLECTION}.plugins.plugin_utils.own_package  # noqa: F401\n"
# Targets of the Makefile that a message names, and their playbooks.
TARGETS = {"lab-down": "lab_down", "clean-cache": "clean_cache", "smoke": "smoke", "lab": "lab"}
# The texts of a plugin that ansible-doc shows.
_DOCUMENTED = re.compile(r'^(?:DOCUMENTATION|EXAMPLES) = r?"""$.*?^"""$', re.MULTILINE | re.DOTALL)


def _one_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True)) or "(?!)"


@dataclass(frozen=True)
class Names:
    """The plugins and playbooks of the repository, each kind as an alternative of a regular expression."""

    modules: str
    filters: str
    lookups: str
    utils: str
    fragments: str
    playbooks: str


def read_names(root: Path) -> Names:
    """The names of all plugins and playbooks below `root`, the repository."""

    def stems(directory: str, suffix: str = ".py") -> list[str]:
        return [path.stem for path in (root / directory).glob(f"*{suffix}")]

    filters = [
        name
        for path in (root / "filter_plugins").glob("*.py")
        for name in runpy.run_path(str(path))["FilterModule"]().filters()
    ]
    return Names(
        modules=_one_of({*stems("library"), *stems("action_plugins")}),
        filters=_one_of(filters),
        lookups=_one_of(stems("lookup_plugins")),
        utils=_one_of(stems("module_utils")),
        fragments=_one_of(stems("doc_fragments")),
        playbooks=_one_of(stems("playbooks", ".yml")),
    )


def expressions(text: str, names: Names) -> str:
    """Filters and lookups by their full names: a collection does not look for short ones."""
    text = re.sub(rf"(\|\s*)({names.filters})\b(?![.\w])", rf"\1{COLLECTION}.\2", text)
    text = re.sub(rf"\b((?:map|select|reject)\(\s*')({names.filters})(')", rf"\1{COLLECTION}.\2\3", text)
    return re.sub(rf"\b((?:lookup|query|q)\(\s*')({names.lookups})(')", rf"\1{COLLECTION}.\2\3", text)


def tasks(text: str, names: Names) -> str:
    """A YAML file with tasks or examples: modules too by their full names."""
    return re.sub(
        rf"^(\s*(?:- )?)({names.modules}):(?=\s)", rf"\1{COLLECTION}.\2:", expressions(text, names), flags=re.MULTILINE
    )


def messages(text: str, names: Names) -> str:
    """Comments and messages: playbooks, and what make runs of them, as they are called from a collection."""
    text = re.sub(
        rf"\bmake ({_one_of(TARGETS)})\b(?: INVENTORY=(\S+?)(?=[`.]?(?:\s|$)))?",
        lambda found: f"ansible-playbook {COLLECTION}.{TARGETS[found[1]]}" + (f" -i {found[2]}" if found[2] else ""),
        text,
    )
    text = re.sub(rf"(?<![\w./])playbooks/({names.playbooks})\.yml\b", rf"{COLLECTION}.\1", text)
    return re.sub(r"(?<![\w./])site\.yml\b", f"{COLLECTION}.site", text)


def playbook(text: str, names: Names) -> str:
    """A playbook: all of them are in one directory, and no ansible.cfg says what happens to handlers."""
    text = re.sub(
        r"(import_playbook: )(?:\.\./|playbooks/)?(\w+)\.yml$",
        r"\1\2.in_place",
        messages(tasks(text, names), names),
        flags=re.MULTILINE,
    )
    text = re.sub(
        rf"(import_playbook: )(?:\.\./)?{re.escape(COLLECTION)}\.(\w+)$", r"\1\2.in_place", text, flags=re.MULTILINE
    )
    # A failed task must not leave a daemon with a configuration that it has not read.
    text = re.sub(r"^(  hosts: .+)$", r"\1\n  force_handlers: true", text, flags=re.MULTILINE)
    return text.replace(".in_place", ".yml")


def plugin(text: str, names: Names) -> str:
    """A module or plugin: module_utils of the collection, and what ansible-doc shows."""

    def documented(found: re.Match[str]) -> str:
        block = messages(tasks(found[0], names), names)
        block = re.sub(rf"^(\s*- module: )({names.modules})$", rf"\1{COLLECTION}.\2", block, flags=re.MULTILINE)
        block = re.sub(rf"\bM\(({names.modules})\)", rf"M({COLLECTION}.\1)", block)
        return re.sub(
            rf"^((?:extends_documentation_fragment:(?: \[)?|  -) ?)({names.fragments})\b",
            rf"\1{COLLECTION}.\2",
            block,
            flags=re.MULTILINE,
        )

    text = _DOCUMENTED.sub(documented, text)
    return re.sub(rf"\bansible\.module_utils\.({names.utils})\b", rf"{UTILS}.\1", text)


def controller_plugin(text: str, names: Names) -> str:
    """A plugin that runs on the controller: it takes the package hopshive from the collection."""
    return re.sub(r"^(?=(?:from|import) hopshive\b)", SHIM + "\n", plugin(text, names), count=1, flags=re.MULTILINE)
