"""Filters over the variable `projects`: accounts and groups of the operating system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleFilterError

from hopshive.config import ConfigError
from hopshive.tenancy import policy
from hopshive.tenancy.projects import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.tenancy.projects import Project


def _read(projects: Any) -> dict[str, Project]:
    try:
        return read(projects)
    except ConfigError as error:
        raise AnsibleFilterError(str(error)) from error


def project_groups(projects: Mapping[str, Any]) -> dict[str, int]:
    """The groups of all projects with their numbers."""
    return {name: number for project in _read(projects).values() for name, number in project.groups.items()}


def project_users(projects: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The accounts of all projects, as [{name, id, group, groups}]: `groups` are those beside the project's."""
    return [
        {
            "name": user,
            "id": number,
            "group": project.name,
            "groups": [project.writers_group] if user in project.writers else [],
        }
        for project in _read(projects).values()
        for user, number in project.users.items()
    ]


def policy_json(text: str, place: str, projects: Mapping[str, Any]) -> str:
    """A policy of rows and columns, in YAML, as HiveServer2 reads it. `place` names the file in messages."""
    members = {name: list(project.users) for name, project in _read(projects).items()}
    try:
        return policy.render(policy.read(text, place, members or None))
    except ConfigError as error:
        raise AnsibleFilterError(str(error)) from error


def unlike_users(
    users: Sequence[Mapping[str, Any]],
    passwd: Mapping[str, Sequence[str] | None],
    group: Mapping[str, Sequence[str] | None],
    gids: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Those of `users` that getent's passwd and group do not have with these numbers and groups."""
    found = []
    for user in users:
        fields = passwd.get(user["name"])
        same = bool(fields) and fields is not None and fields[1:3] == [str(user["id"]), str(gids[user["group"]])]
        if not same or sorted(user["groups"]) != _groups_of(user["name"], group, gids):
            found.append(dict(user))
    return found


def former_users(
    users: Sequence[Mapping[str, Any]], passwd: Mapping[str, Sequence[str] | None], projects: Sequence[str]
) -> list[str]:
    """Accounts of projects in getent's passwd that are not among `users`: their people are no longer members."""
    wanted = {user["name"] for user in users}
    return sorted(
        name for name in passwd if name.partition("__")[0] in projects and "__" in name and name not in wanted
    )


def _groups_of(name: str, group: Mapping[str, Sequence[str] | None], ours: Mapping[str, int]) -> list[str]:
    """The groups of projects that list a user as a member."""
    return sorted(one for one in ours if name in ((group.get(one) or [""])[-1]).split(","))


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {
            "former_users": former_users,
            "policy_json": policy_json,
            "project_groups": project_groups,
            "project_users": project_users,
            "unlike_users": unlike_users,
        }
