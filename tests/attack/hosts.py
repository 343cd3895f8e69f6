"""HDFS, the metastore and the hosts themselves: what permissions hold, and what nothing holds without Kerberos."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import TYPE_CHECKING

from hopshive.metastore.thrift import TType, call
from tests.attack import victim
from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.metastore import metastore

if TYPE_CHECKING:
    from tests.attack.site import Site

NO_KERBEROS = "no password without Kerberos: the firewall keeps this port for the warehouse's own hosts"
A_HOST = "no password without Kerberos: whoever runs programs on a host of the warehouse has any name"


def webhdfs(site: Site, path: str, operation: str, user: str, method: str = "GET") -> str:
    """The answer of the NameNode's REST interface to any name, as text."""
    query = urllib.parse.urlencode({"op": operation, "user.name": user, "noredirect": "true"})
    connection = http.client.HTTPSConnection(site.lab.one("namenode").address, 9870, timeout=10, context=site.tls)
    try:
        connection.request(method, f"/webhdfs/v1{urllib.parse.quote(path)}?{query}")
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    finally:
        connection.close()
    return f"{answer.status} {_message(text)}"


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["RemoteException"]["message"])
    except (ValueError, KeyError, TypeError):
        return text


def _table(site: Site, user: str) -> str:
    """The location of the victim's table, as the metastore says it to a name. Raises ThriftError and NotTriedError."""
    with metastore(site, user) as stream:
        names = {1: (TType.STRING, site.cast.victim), 2: (TType.STRING, "attack_rows")}
        found = call(stream, "get_table_req", {1: (TType.STRUCT, names)})
    if 0 not in found:
        return f"refused: {found[min(found)].get(1, b'').decode(errors='replace')[:200]}"
    return f"location {found[0][1][7][2].decode()}"


@attempt()
def files_by_the_own_name(site: Site) -> str:
    """The victim's files with the outsider's own name on HDFS: read, list, delete, change."""
    external, managed = victim.directories(site, site.cast.victim)
    row = f"{external}/attack_rows/row.txt"
    asked = (
        ("GET", row, "OPEN"),
        ("GET", external, "LISTSTATUS"),
        ("GET", managed, "LISTSTATUS"),
        ("DELETE", row, "DELETE"),
        ("PUT", f"{external}/attack_new", "MKDIRS"),
        ("PUT", external, "SETPERMISSION"),
        ("PUT", external, "SETOWNER"),
        ("PUT", row, "MODIFYACLENTRIES"),
        ("GET", row, "GETACLSTATUS"),
        ("PUT", row, "RENAME"),
    )
    for method, path, operation in asked:
        said = webhdfs(site, path, operation, site.cast.outsider_user, method)
        if said.startswith("2"):
            raise NotHeldError(f"{operation} {path}: {said[:200]}")
    own, _ = victim.directories(site, site.cast.home)
    if not webhdfs(site, own, "LISTSTATUS", site.cast.outsider_user).startswith("200"):
        raise NotTriedError("control: the own directory is not listed")
    return said


@attempt()
def files_by_the_bare_account(site: Site) -> str:
    """The victim's files with names that are nearly right: the account without a project, the project, its group of writers."""
    external, _ = victim.directories(site, site.cast.victim)
    names = (
        site.cast.owner.account,
        site.cast.outsider.account,
        site.cast.victim,
        f"{site.cast.victim}__writers",
        f"{site.cast.victim}__",
        "nobody",
    )
    for name in names:
        said = webhdfs(site, f"{external}/attack_rows/row.txt", "OPEN", name)
        if said.startswith("2"):
            raise NotHeldError(f"as {name}: {said[:200]}")
    return said


@attempt()
def table_by_the_own_name_at_the_metastore(site: Site) -> str:
    """The victim's table at the metastore's Thrift port, with the outsider's own name, as Spark says it."""
    said = _table(site, site.cast.outsider_user)
    if said.startswith("location"):
        raise NotHeldError(said)
    if not _table(site, site.cast.owner_user).startswith("location"):
        raise NotTriedError("control: the owner does not see the table")
    return said


@attempt()
def drop_by_the_own_name_at_the_metastore(site: Site) -> str:
    """DROP TABLE and DROP PARTITION of the victim at the metastore's Thrift port, with the outsider's own name."""
    with metastore(site, site.cast.outsider_user) as stream:
        names = {1: (TType.STRING, site.cast.victim), 2: (TType.STRING, "attack_rows"), 3: (TType.BOOL, True)}
        found = call(stream, "drop_table", names)
        if not found:
            raise NotHeldError("drop_table is answered without an error")
        names = {1: (TType.STRING, site.cast.victim), 2: (TType.BOOL, True), 3: (TType.BOOL, True)}
        call(stream, "drop_database", names)
    return str(found[min(found)].get(1, b"").decode(errors="replace"))


@attempt()
def program_of_a_member_on_the_edge(site: Site) -> str:
    """A member of another project, logged in to a client host: hdfs dfs on the victim's files, as Spark would read them."""
    edge = site.lab.one("client")
    external, _ = victim.directories(site, site.cast.victim)
    own, _ = victim.directories(site, site.cast.home)
    user = site.cast.outsider_user
    done = edge.run("hdfs", "dfs", "-cat", f"{external}/attack_rows/row.txt", user=user, check=False)
    site.heard.append(done.stdout)
    if done.returncode == 0:
        raise NotHeldError(f"{user} reads the file")
    if edge.run("hdfs", "dfs", "-cat", f"{own}/attack_rows/row.txt", user=user, check=False).returncode:
        raise NotTriedError(f"control: {user} does not read the own file")
    return done.stderr.strip().splitlines()[-1]


@attempt()
def secrets_in_files_of_a_host(site: Site) -> str:
    """A member on a client host, and a job on a worker, read files with secrets: keys, credential stores, configurations."""
    places = (
        "/etc/hive",
        "/etc/hopshive-login",
        "/etc/hopshive-gateway",
        "/etc/hopshive-tls",
        "/etc/hopshive",
        "/etc/hadoop",
        "/var/lib/hopshive",
        "/etc/mysql",
    )
    listed = 0
    for host in site.lab.hosts.values():
        for user in (site.cast.outsider_user, "yarn"):
            if host.run("id", user, check=False).returncode:
                continue
            shell = f"find {' '.join(places)} -type f -readable -size -1M 2>/dev/null"
            files = host.run("sh", "-c", shell, user=user, check=False, timeout=60).stdout.splitlines()
            listed += len(files)
            found = host.run(
                "sh", "-c", "xargs -d '\\n' cat 2>/dev/null", user=user, stdin="\n".join(files), check=False
            )
            names = [name for name, value in site.secrets().items() if value in found.stdout]
            named = [
                one
                for one in files
                if one.endswith((".key", ".jceks", "keystore.p12", "/sealing", "/gateway", "/password"))
            ]
            if names or named:
                raise NotHeldError(f"{user} on {host.name} reads {', '.join(names + named)}")
    if not listed:
        raise NotTriedError("control: no file at all is read")
    return f"{listed} files without a secret"


@attempt()
def rights_of_a_member_on_a_host(site: Site) -> str:
    """A member on a client host becomes another user: sudo, su, files that are set-uid beside those of the system."""
    edge, user = site.lab.one("client"), site.cast.outsider_user
    for argv in (("sudo", "-n", "id"), ("su", "hive", "-c", "id"), ("runuser", "-u", "hive", "id")):
        if edge.run(*argv, user=user, check=False).returncode == 0:
            raise NotHeldError(f"{' '.join(argv)} works")
    groups = edge.run("id", "-Gn", user=user).stdout.split()
    if extra := set(groups) & {"hive", "hdfs", "hadoop", "yarn", "hopshive-tls", "docker", "sudo", "root"}:
        raise NotHeldError(f"{user} is in the groups {sorted(extra)}")
    return f"groups {' '.join(groups)}"


@attempt(known=NO_KERBEROS)
def metastore_without_a_name(site: Site) -> str:
    """A client of the metastore that leaves set_ugi out: it would be the metastore's own user."""
    try:
        said = _table(site, "")
    except OSError as error:
        return str(error)
    if said.startswith("location"):
        raise NotHeldError(said)
    return said


@attempt(known=NO_KERBEROS)
def metastore_under_a_made_up_name(site: Site) -> str:
    """A client of the metastore that says another name: the owner's, and hive."""
    for name in (site.cast.owner_user, "hive"):
        try:
            said = _table(site, name)
        except OSError as error:
            return str(error)
        if said.startswith("location"):
            raise NotHeldError(f"as {name}: {said}")
    return said


@attempt(known=NO_KERBEROS)
def hdfs_under_a_made_up_name(site: Site) -> str:
    """A client of HDFS that says another name: the owner's, and the superuser's."""
    external, _ = victim.directories(site, site.cast.victim)
    for name in (site.cast.owner_user, "hdfs"):
        try:
            said = webhdfs(site, external, "LISTSTATUS", name)
        except OSError as error:
            return str(error)
        if said.startswith("200"):
            raise NotHeldError(f"as {name} the directory is listed")
    return said


@attempt(known=A_HOST)
def program_on_the_edge_under_a_made_up_name(site: Site) -> str:
    """A member on a client host says another name (HADOOP_USER_NAME)."""
    external, _ = victim.directories(site, site.cast.victim)
    argv = ("env", "HADOOP_USER_NAME=hdfs", "hdfs", "dfs", "-ls", external)
    done = site.lab.one("client").run(*argv, user=site.cast.outsider_user, check=False)
    if done.returncode == 0:
        raise NotHeldError("the directory is listed")
    return done.stderr.strip().splitlines()[-1]
