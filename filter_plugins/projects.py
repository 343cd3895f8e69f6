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
    """The accounts of all projects, as [{name, id, group, groups, ssh_keys}]: `groups` are those beside the project's."""
    return [
        {
            "name": user,
            "id": number,
            "group": project.name,
            "groups": [project.writers_group] if user in project.writers else [],
            "ssh_keys": project.ssh_keys.get(user, []),
        }
        for project in _read(projects).values()
        for user, number in project.users.items()
    ]


def authorized_keys(users: Sequence[Mapping[str, Any]], directory: str, head: str) -> list[dict[str, str]]:
    """A file for each user, also without keys, with the keys that sshd takes, as the module hopshive_files takes them."""
    return [
        {"path": f"{directory}/{user['name']}", "content": "\n".join([f"# {head}", *user["ssh_keys"], ""])}
        for user in users
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
    shell: str = "",
) -> list[dict[str, Any]]:
    """Those of `users` that getent's passwd and group do not have with these numbers, groups and, if there is one, shell."""
    found = []
    for user in users:
        fields = passwd.get(user["name"])
        same = bool(fields) and fields is not None and fields[1:3] == [str(user["id"]), str(gids[user["group"]])]
        if (
            not same
            or (fields and shell not in ("", fields[-1]))
            or sorted(user["groups"]) != _groups_of(user["name"], group, gids)
        ):
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
            "authorized_keys": authorized_keys,
            "former_users": former_users,
            "policy_json": policy_json,
            "project_groups": project_groups,
            "project_users": project_users,
            "unlike_users": unlike_users,
        }
