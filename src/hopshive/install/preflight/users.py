"""The users and groups that a host needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hopshive.install.preflight.tls import has_tls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.preflight.inventory import Inventory


# By group, the user whom only a warehouse with hosts in it needs. Its service runs as that user.
OPTIONAL = {"login": "hopshive-login", "gateway": "hopshive-gateway"}


def wanted_users(inventory: Inventory, host: str) -> dict[str, int | None]:
    """The services' users with their uids. A uid may be missing where the site itself creates users."""
    users = inventory.hosts[host].values.get("cluster_users")
    needless = {user for group, user in OPTIONAL.items() if not inventory.members(group)}
    found: dict[str, int | None] = {}
    for name, user in users.items() if isinstance(users, Mapping) else ():
        if name in needless:
            continue
        uid = user.get("uid") if isinstance(user, Mapping) else None
        found[str(name)] = int(str(uid)) if str(uid).isdigit() else None
    return found


def wanted_groups(inventory: Inventory, host: str) -> list[str]:
    """A group for each user, that of all services, that of users who write in the warehouse, and that of readers of keys."""
    values = inventory.hosts[host].values
    shared = [values.get("cluster_group"), values.get("cluster_warehouse_group")]
    if has_tls(inventory.hosts[host]):
        shared.append(values.get("cluster_tls_group"))
    names = [str(group["name"]) for group in shared if isinstance(group, Mapping) and group.get("name")]
    return [*wanted_users(inventory, host), *names]


def lacking_user(inventory: Inventory, group: str, host: str) -> Iterator[str]:
    """That `cluster_users` of a host in a group of OPTIONAL does not name the group's user."""
    variables, user = inventory.hosts[host], OPTIONAL[group]
    users = variables.values.get("cluster_users")
    if variables.true("cluster_manage_users") and isinstance(users, Mapping) and user not in users:
        yield f"cluster_users lacks {user} (for {{hosts}}): name all users in it"
