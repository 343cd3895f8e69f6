"""Filters over the system's accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def unlike_accounts(wanted: Mapping[str, int], database: Mapping[str, Sequence[str] | None]) -> list[dict[str, Any]]:
    """The accounts (name to id) that getent's passwd or group does not have with that id, as [{name, id}]."""
    found = {name: fields[1] for name, fields in database.items() if fields}
    return [{"name": name, "id": number} for name, number in wanted.items() if found.get(name) != str(number)]


def outside_group(members: Sequence[str], database: Mapping[str, Sequence[str] | None], group: str) -> list[str]:
    """Those of `members` whom getent's group does not list under `group`: all of them where there is no such group."""
    fields = database.get(group) or []
    listed = fields[-1].split(",") if fields else []
    return [name for name in members if name not in listed]


def account_ids(users: Mapping[str, Mapping[str, int]], field: str = "uid") -> dict[str, int]:
    """The number of each user, from `{name: {uid: number}}`."""
    return {name: settings[field] for name, settings in users.items()}


def home_directories(users: Sequence[str], parent: str, group: str = "", mode: str = "0750") -> list[dict[str, str]]:
    """A directory for each user below `parent`, as the modules hopshive_files and hopshive_hdfs take them."""
    shared = {"group": group, "mode": mode} if group else {"mode": mode}
    return [{"path": f"{parent}/{user}", "owner": user, **shared} for user in users]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {
            "account_ids": account_ids,
            "home_directories": home_directories,
            "outside_group": outside_group,
            "unlike_accounts": unlike_accounts,
        }
