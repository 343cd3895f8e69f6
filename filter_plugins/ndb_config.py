"""A filter that compares two versions of NDB Cluster's config.ini."""

from __future__ import annotations

import re
from typing import Any

# Sections of nodes whose number is kept where they run, and the variable that sets it.
VARIABLES = {"ndbd": "ndb_data_id", "mysqld": "ndb_sql_id"}
_SETTING = re.compile(r"^\s*(\w+)\s*[=:]\s*(\S+)", re.MULTILINE)


def ndb_conflicts(new: str, old: str) -> list[str]:
    """What a cluster with the configuration `old` cannot be made by the configuration `new`, a sentence each.

    A node that has another number is another one to the cluster, and data nodes that are added hold no rows, or take some along
    when they go. Nothing is said where `old` is empty: there is no cluster yet.
    """
    if not old.strip():
        return []
    before, after = _numbers(old), _numbers(new)
    found = [
        f"The node [{section}] on {host} has the number {number} and would get {after[section][host]}:"
        f" set {VARIABLES[section]}: {number} for that host."
        for section in VARIABLES
        for host, number in before[section].items()
        if after[section].get(host, number) != number
    ]
    had, has = (sorted(numbers["ndbd"].values(), key=int) for numbers in (before, after))
    if not found and had != has:
        found.append(
            f"The cluster has the data nodes {', '.join(had)} and would have {', '.join(has)}:"
            " its rows are spread over those that it has."
        )
    return found


def _numbers(text: str) -> dict[str, dict[str, str]]:
    """The numbers of a configuration's nodes, by their host, by section; written by the role or by hand."""
    found: dict[str, dict[str, str]] = {section: {} for section in VARIABLES}
    for part in re.split(r"^\[", text, flags=re.MULTILINE):
        section = part.partition("]")[0].strip().lower()
        settings = {name.lower(): value for name, value in _SETTING.findall(part)}
        number = settings.get("nodeid", settings.get("id"))
        if section in found and number and "hostname" in settings:
            found[section][settings["hostname"]] = number
    return found


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"ndb_conflicts": ndb_conflicts}
