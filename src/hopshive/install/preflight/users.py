"""The users and groups that a host needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hopshive.install.preflight import gateway, login

if TYPE_CHECKING:
    from hopshive.install.preflight.inventory import Inventory


# Users whom only a warehouse with hosts in a group needs: user, group.
_OPTIONAL = {login.USER: login.GROUP, gateway.USER: gateway.GROUP}


def wanted_users(inventory: Inventory, host: str) -> dict[str, int | None]:
    """The services' users with their uids. A uid may be missing where the site itself creates users."""
    users = inventory.hosts[host].values.get("cluster_users")
    found: dict[str, int | None] = {}
    for name, user in users.items() if isinstance(users, Mapping) else ():
        if name in _OPTIONAL and not inventory.members(_OPTIONAL[name]):
            continue
        uid = user.get("uid") if isinstance(user, Mapping) else None
        found[str(name)] = int(str(uid)) if str(uid).isdigit() else None
    return found


def wanted_groups(inventory: Inventory, host: str) -> list[str]:
    """A group for each user, that of all services, that of users who write in the warehouse, and that of readers of keys."""
    values = inventory.hosts[host].values
    shared = [values.get("cluster_group"), values.get("cluster_warehouse_group")]
    if str(values.get("cluster_tls", "none")) != "none":
        shared.append(values.get("cluster_tls_group"))
    names = [str(group["name"]) for group in shared if isinstance(group, Mapping) and group.get("name")]
    return [*wanted_users(inventory, host), *names]
