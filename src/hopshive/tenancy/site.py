"""All projects of a site: their directories, databases and members, brought to what the inventory says."""

from __future__ import annotations

import posixpath
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.hdfs.wanted import Delete, MakeDirectory, Quota, SetMode, SetOwner
from hopshive.hdfs.webhdfs import WebHdfs
from hopshive.tenancy import members, storage
from hopshive.tenancy.hive_database import HiveDatabase, Metastores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hopshive.database import Database
    from hopshive.tenancy.projects import Project

# Of directories that one account alone may enter.
PRIVATE = "700"


class ProjectError(Exception):
    """What the inventory asks for would lose something; the message is a sentence for the operator."""


@dataclass(frozen=True)
class Site:
    """Where the projects of a site lie.

    `external`, `managed`, `scratch`, `home`: directories of the file system `uri`. `service`: the metastore's account on HDFS.
    """

    urls: tuple[str, ...]
    uri: str
    external: str
    managed: str
    scratch: str
    home: str
    metastores: Metastores
    user: str = "hdfs"
    service: str = "hive"
    timeout: float = 60
    # A file of certificates that NameNodes and DataNodes with https:// are verified by; empty: the system's.
    authority: str = ""


def bring(
    site: Site,
    projects: Mapping[str, Project],
    database: Database,
    removed: Collection[str] = (),
    *,
    dry: bool = False,
) -> dict[str, list[str]]:
    """Bring the projects to their state; what changed, or would with `dry`, by project.

    Those who leave lose their rights first. Members join last, so no person logs in to a project whose directories are not
    closed yet. The data of a project in `removed` goes to the trash, and the metastore follows.

    Raises:
        ProjectError: a project with members is missing, or is both declared and removed. Nothing was changed.
        WebHdfsError, HiveDatabaseError, DatabaseError: a server refused or did not answer. Another run does what is left.
    """
    known = _known(database)
    _refuse(known, projects, removed)
    changes: dict[str, list[str]] = {name: [] for name in projects}
    wanted = {
        name: {person: member.role for person, member in project.members.items()} for name, project in projects.items()
    }
    stay = {
        name: {person: role for person, role in wanted.get(name, {}).items() if person in people}
        for name, people in known.items()
    }
    _note(changes, _bring_members(database, stay, dry=dry))
    with closing(WebHdfs(site.urls, site.user, site.timeout, authority=site.authority)) as client:
        for name, project in projects.items():
            changes[name] += _ensure_database(site, project, client, dry=dry)
            for directory in directories(site, project):
                done = storage.ensure(client, directory, dry=dry)
                changes[name] += [f"{directory.path}: {change}" for change in done]
            for path, user in own_directories(site, project):
                changes[name] += _ensure_private(client, path, user, dry=dry)
        for name in removed:
            for path in (posixpath.join(top, f"{name}.db") for top in (site.external, site.managed)):
                if client.status(path):
                    _note(changes, {name: [f"{path}: to the trash"]})
                    if not dry:
                        storage.discard(client, path)
    _note(changes, _bring_members(database, wanted, dry=dry))
    return {name: done for name, done in changes.items() if done}


def _refuse(known: Collection[str], projects: Collection[str], removed: Collection[str]) -> None:
    both = sorted(set(projects) & set(removed))
    if both:
        raise ProjectError(f"projects and projects_removed both have {', '.join(both)}. Take it out of one of them.")
    missing = sorted(set(known) - set(projects) - set(removed))
    if missing:
        raise ProjectError(
            f"projects no longer has {', '.join(missing)}, which has members. To remove it, name it in projects_removed: its "
            "directories go to the trash. Nothing was changed."
        )


def directories(site: Site, project: Project) -> Iterator[storage.Directory]:
    """The project's directories for external and for managed tables."""
    quota = Quota(project.name_quota, project.space_quota)
    for top in (site.external, site.managed):
        path = posixpath.join(top, f"{project.name}.db")
        acl, users = project.acl(site.service), frozenset(project.users)
        yield storage.Directory(path, site.service, project.name, acl, quota, users)


def own_directories(site: Site, project: Project) -> Iterator[tuple[str, str]]:
    """Path and owner of the directories that each account has for itself: for temporary results, and its home."""
    for user in project.users:
        for top in (site.scratch, site.home):
            yield posixpath.join(top, user), user


def hive_database(site: Site, project: Project) -> HiveDatabase:
    """The project's database."""
    external, managed = (f"{site.uri}{directory.path}" for directory in directories(site, project))
    return HiveDatabase(project.name, external, managed, project.name)


def _ensure_database(site: Site, project: Project, client: WebHdfs, *, dry: bool) -> list[str]:
    """Before the directories: the metastore makes a database only if its managed directory is not there."""
    wanted = hive_database(site, project)
    if not site.metastores.has(wanted.name):
        _, managed = directories(site, project)
        if client.entries(managed.path):
            raise ProjectError(
                f"{managed.path} is not empty, and the metastore has no database {wanted.name}. Move the directory away, or "
                "bring the database back (hopshive undo)."
            )
        if client.status(managed.path) and not dry:
            client.apply(Delete(managed.path, recursive=False))
    return site.metastores.ensure(wanted, dry=dry)


def _ensure_private(client: WebHdfs, path: str, user: str, *, dry: bool) -> list[str]:
    status = client.status(path)
    if status and (status.owner, status.mode) == (user, PRIVATE):
        return []
    if not dry:
        # Closed before it is given away.
        client.apply(SetMode(path, PRIVATE) if status else MakeDirectory(path, PRIVATE))
        client.apply(SetOwner(path, user, None))
    return [f"{path}: of {user} alone"]


def _known(database: Database) -> dict[str, dict[str, str]]:
    with database.reading() as tx:
        return members.all_of(tx)


def _bring_members(database: Database, wanted: Mapping[str, Mapping[str, str]], *, dry: bool) -> dict[str, list[str]]:
    if dry:
        there = _known(database)
        return members.differences(there, wanted)
    with database.transaction() as tx:
        return members.bring(tx, wanted)


def _note(changes: dict[str, list[str]], done: Mapping[str, list[str]]) -> None:
    for name, lines in done.items():
        changes.setdefault(name, []).extend(line for line in lines if line not in changes.get(name, []))
