"""Checks of the metastore's database in an inventory: its kind, its driver, its passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hopshive.install.preflight.inventory import Inventory
from hopshive.install.preflight.problem import Problem, listed, merged
from hopshive.services.components import ROOT_GROUP

# Each password, with the variable of its user and the components whose hosts need it.
PASSWORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cluster_metastore_database_password": (
        "cluster_metastore_database_user",
        ("mariadb", "ndb_sql", "metastore", "server2"),
    ),
    "cluster_cleaner_db_password": ("cluster_cleaner_db_user", ("mariadb", "ndb_sql", "cleaner")),
    "cluster_login_db_password": ("cluster_login_db_user", ("mariadb", "ndb_sql", "login")),
    "login_sealing_key": ("cluster_login_db_user", ("login",)),
    "cluster_gateway_secret": ("cluster_login_db_user", ("login", "gateway")),
    "server2_check_password": ("server2_check_user", ("server2",)),
}
# The component whose password it is: an inventory without one needs no such password.
OPTIONAL: Mapping[str, str] = {
    "cluster_login_db_password": "login",
    "login_sealing_key": "login",
    "cluster_gateway_secret": "gateway",
}
PASSWORD_LENGTH = 12
# Of secrets that keys are made of.
LENGTHS: Mapping[str, int] = {"login_sealing_key": 32, "cluster_gateway_secret": 32, "server2_check_password": 32}
# Kinds of the metastore's database, with the components that each needs.
DATABASES: Mapping[str, tuple[str, ...]] = {"mariadb": ("mariadb",), "ndb": ("ndb_management", "ndb_data", "ndb_sql")}
# Words from examples. Digits and signs around them do not make a password strong.
COMMON_PASSWORD = re.compile(
    "admin|change(it|me)|default|example|hadoop|hive|hiveuser|hopshive|keystore|mariadb|metastore|mysql"
    "|pass|passwd|password|qwerty|root|secret|test|warehouse|welcome"
)
# Variables in which a site may name a database of its own, and the property that does so.
JDBC_SITES = ("cluster_hive_site_extra", "metastore_hive_site_extra", "server2_hive_site_extra")
JDBC_URL = "javax.jdo.option.ConnectionURL"


def check_database(inventory: Inventory) -> Iterator[Problem]:
    """Exactly one database is chosen, and its components have hosts."""
    chosen = {
        str(variables.values.get("cluster_database", "mariadb")): host for host, variables in inventory.hosts.items()
    }
    for name, host in sorted(chosen.items()):
        if name not in DATABASES:
            yield Problem(f"metastore_database is {name!r} for {host}: it must be {' or '.join(DATABASES)}")
    if len(chosen) > 1:
        said = ", ".join(f"{name} for {host}" for name, host in sorted(chosen.items()))
        yield Problem(f"metastore_database differs between hosts ({said}): set it in group_vars/all")
    if len(chosen) != 1 or (database := next(iter(chosen))) not in DATABASES:
        return
    for group in DATABASES[database]:
        if not inventory.members(group):
            yield Problem(
                f"The group {group} has no host, but metastore_database is {database}: name at least one below {ROOT_GROUP}"
            )
    for other, groups in DATABASES.items():
        for group in groups:
            if other != database and inventory.members(group):
                yield Problem(
                    f"The group {group} has hosts ({listed(inventory.members(group))}), but metastore_database is {database}:"
                    f" set it to {other}, or remove the hosts from the group"
                )
    if database == "ndb":
        yield from _check_ndb(inventory)


def check_drivers(inventory: Inventory) -> Iterator[Problem]:
    """Hive uses hopshive's JDBC driver: with another one, MariaDB shortens values that do not fit, without an error."""
    findings = []
    for host, variables in inventory.hosts.items():
        for name in JDBC_SITES:
            site = variables.values.get(name)
            url = str(site.get(JDBC_URL, "")) if isinstance(site, Mapping) else ""
            if url.startswith(("jdbc:mysql:", "jdbc:mariadb:")):
                driver = "ndb" if variables.values.get("cluster_database") == "ndb" else "strict"
                findings.append(
                    (
                        f"{JDBC_URL} in {name} begins with {url[: url.index(':', 5) + 1]} for {{hosts}}: a text that is too long"
                        f" would be cut without an error; begin it with jdbc:mysql+{driver}: (docs/limits.md)",
                        host,
                    )
                )
    yield from merged(findings, inventory.hosts)


def _check_ndb(inventory: Inventory) -> Iterator[Problem]:
    nodes = inventory.members("ndb_data")
    given = (inventory.hosts[host].number("ndb_management_replicas") for host in inventory.members("ndb_management"))
    replicas = next((number for number in given if number), 2)
    if len(nodes) % replicas:
        yield Problem(
            f"The group ndb_data has {len(nodes)} hosts ({listed(nodes)}): each row has {replicas} copies"
            f" (ndb_management_replicas), so their number must be a multiple of {replicas}"
        )
    both = [host for host in inventory.members("ndb_management") if host in nodes]
    if both:
        yield Problem(
            f"{both[0]} is in ndb_management and in ndb_data: if that host fails, the other data nodes reach no management node"
            " that lets them continue, and end too. Place the management node on a host without a data node"
        )
    tarballs = [variables.values.get("artifacts_tarballs") for variables in inventory.hosts.values()]
    if not all(isinstance(one, Mapping) and "ndb" in one for one in tarballs):
        yield Problem(
            "metastore_database is ndb, but artifacts_tarballs has no entry ndb: name the tarball of MySQL NDB Cluster"
            " with source, sha256 and version (docs/ndb.md)"
        )


def check_password(inventory: Inventory, name: str) -> Iterator[Problem]:
    """A password of PASSWORDS is set, is not a known one, and is the same for all hosts. No problem shows the password."""
    vault = f"{inventory.directory}/group_vars/all/vault.yml"
    advice = f"put one of your own into {vault} (ansible-vault create, or edit if the file exists)"
    findings = []
    passwords = set()
    user, components = PASSWORDS[name]
    if name in OPTIONAL and not inventory.members(OPTIONAL[name]):
        return
    hosts = sorted({host for component in components for host in inventory.members(component)})
    for host in hosts:
        variables = inventory.hosts[host]
        if name == "server2_check_password" and variables.values.get("server2_authentication") != "login":
            continue
        password = variables.values.get(name)
        if name in variables.broken:
            findings.append((f"{name} cannot be computed ({variables.broken[name]}): {advice}", host))
            continue
        if password is None or password == "":
            findings.append((f"{name} is not set: {advice}", host))
            continue
        passwords.add(str(password))
        weakness = password_weakness(
            str(password), str(variables.values.get(user, "")), LENGTHS.get(name, PASSWORD_LENGTH)
        )
        if weakness:
            findings.append((f"{name} {weakness}: {advice}", host))
    yield from merged(((f"{text} (for {{hosts}})", host) for text, host in findings), hosts)
    if len(passwords) > 1:
        yield Problem(f"{name} differs between the hosts of {listed(components)}: set it once, for all of them")


def password_weakness(password: str, user: str, least: int = PASSWORD_LENGTH) -> str:
    """Why a password must not be used, without quoting it; empty if it may be used."""
    if password.lower() == user.lower():
        return "is the name of its user"
    if COMMON_PASSWORD.fullmatch(re.sub(r"[\W\d_]+", "", password.lower())):
        return "is a word from the examples, known to everyone"
    if len(password) < least:
        return f"has {len(password)} characters, fewer than {least}"
    if len(set(password)) < 5:
        return "repeats a few characters"
    return ""
