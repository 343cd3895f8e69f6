"""All checks of an inventory, and of the tags of a run. They connect to no host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hopshive.install.preflight.authorization import check_authorization
from hopshive.install.preflight.database import PASSWORDS, check_database, check_drivers, check_password
from hopshive.install.preflight.exposure import check_exposure
from hopshive.install.preflight.firewall import check_firewall
from hopshive.install.preflight.gateway import check_gateway
from hopshive.install.preflight.inventory import Inventory
from hopshive.install.preflight.login import check_login
from hopshive.install.preflight.placement import check_addresses, check_groups, check_ids, check_placement, check_ports
from hopshive.install.preflight.problem import Problem, nearest
from hopshive.install.preflight.projects import check_projects
from hopshive.install.preflight.tls import check_tls
from hopshive.install.preflight.variables import (
    RENAMED,
    check_files,
    check_names,
    check_shared,
    check_types,
    check_users,
)
from hopshive.install.preflight.yarn import check_containers, check_queues, check_sessions, check_spark

# Tags of Ansible itself, and those that Molecule skips in its runs.
SPECIAL_TAGS = (
    *("all", "always", "never", "tagged", "untagged"),
    *("notest", "molecule-notest", "molecule-idempotence-notest"),
)


def check_inventory(
    inventory: Inventory,
    types: Mapping[str, str],
    renamed: Mapping[str, str | None] = RENAMED,
) -> list[Problem]:
    """Every problem of an inventory.

    `types` maps each variable of the roles to its type in the role's argument specification.
    """
    return [
        *check_groups(inventory),
        *check_placement(inventory),
        *check_database(inventory),
        *check_drivers(inventory),
        *check_ids(inventory),
        *check_addresses(inventory),
        *check_users(inventory),
        *check_exposure(inventory),
        *check_login(inventory),
        *check_tls(inventory),
        *check_gateway(inventory),
        *check_projects(inventory),
        *check_authorization(inventory),
        *check_spark(inventory),
        *check_files(inventory),
        *check_names(inventory, types, renamed),
        *check_types(inventory, types),
        *check_shared(inventory),
        *(problem for name in PASSWORDS for problem in check_password(inventory, name)),
        *check_ports(inventory, types),
        *check_firewall(inventory),
        *check_containers(inventory),
        *check_sessions(inventory),
        *check_queues(inventory),
    ]


def check_tags(asked: Mapping[str, Iterable[str]], known: Iterable[str]) -> list[Problem]:
    """A problem for each tag on the command line that no task has: such a run does nothing, or too much."""
    names = sorted({*known} - {"always", "never"})
    return [
        Problem(f"{option} {tag}: no task has this tag; {nearest(tag, names) or 'known tags are ' + ', '.join(names)}")
        for option, tags in asked.items()
        for tag in tags
        if tag not in {*names, *SPECIAL_TAGS}
    ]
