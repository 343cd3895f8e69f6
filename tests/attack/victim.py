"""What attempts go for: tables of the victim's project with a marker in them, and how one sees that they are as before."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tests.warehouse.hdfs import HdfsError
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.attack.site import Site

# All that belongs to these attempts begins so, in both projects.
PREFIX = "attack"
DAY = "2026-01-01"
# What something is, by its name.
State = dict[str, object]

_ROWS = {
    "database": "SELECT NAME, OWNER_NAME, OWNER_TYPE, DB_LOCATION_URI, DB_MANAGED_LOCATION_URI, `DESC` FROM DBS WHERE NAME = %s",
    "table": "SELECT t.TBL_NAME, t.OWNER, t.TBL_TYPE, t.VIEW_ORIGINAL_TEXT, s.LOCATION, s.INPUT_FORMAT, s.CD_ID FROM TBLS t"
    " JOIN DBS d USING (DB_ID) LEFT JOIN SDS s ON s.SD_ID = t.SD_ID WHERE d.NAME = %s AND t.TBL_NAME LIKE 'attack%%'",
    "property": "SELECT CONCAT(t.TBL_NAME, '.', p.PARAM_KEY), p.PARAM_VALUE FROM TABLE_PARAMS p JOIN TBLS t USING (TBL_ID)"
    " JOIN DBS d USING (DB_ID) WHERE d.NAME = %s AND t.TBL_NAME LIKE 'attack%%'",
    "column": "SELECT CONCAT(t.TBL_NAME, '.', c.COLUMN_NAME), c.TYPE_NAME FROM COLUMNS_V2 c JOIN SDS s USING (CD_ID)"
    " JOIN TBLS t ON t.SD_ID = s.SD_ID JOIN DBS d USING (DB_ID) WHERE d.NAME = %s AND t.TBL_NAME LIKE 'attack%%'",
    "partition": "SELECT CONCAT(t.TBL_NAME, '/', p.PART_NAME), s.LOCATION FROM PARTITIONS p JOIN TBLS t USING (TBL_ID)"
    " JOIN DBS d USING (DB_ID) JOIN SDS s ON s.SD_ID = p.SD_ID WHERE d.NAME = %s AND t.TBL_NAME LIKE 'attack%%'",
    "function": "SELECT f.FUNC_NAME, f.CLASS_NAME FROM FUNCS f JOIN DBS d USING (DB_ID) WHERE d.NAME = %s"
    " OR f.FUNC_NAME LIKE 'attack%%'",
    "compaction": "SELECT CQ_ID, CQ_TABLE FROM COMPACTION_QUEUE WHERE CQ_DATABASE = %s AND CQ_TABLE LIKE 'attack%%'",
    "role": "SELECT CONCAT(r.ROLE_NAME, ' of ', m.PRINCIPAL_NAME), m.GRANTOR FROM ROLE_MAP m JOIN ROLES r USING (ROLE_ID)"
    " WHERE %s <> ''",
    "a role": "SELECT ROLE_NAME, OWNER_NAME FROM ROLES WHERE %s <> ''",
    "privilege": "SELECT TBL_GRANT_ID, PRINCIPAL_NAME, TBL_PRIV FROM TBL_PRIVS JOIN TBLS t USING (TBL_ID)"
    " JOIN DBS d USING (DB_ID) WHERE d.NAME = %s AND t.TBL_NAME LIKE 'attack%%'",
    "scheduled query": "SELECT SCHEDULE_NAME, USER FROM SCHEDULED_QUERIES WHERE %s <> '' AND SCHEDULE_NAME LIKE 'attack%%'",
    "resource plan": "SELECT NAME, STATUS FROM WM_RESOURCEPLAN WHERE %s <> ''",
}


TABLES = (
    "CREATE EXTERNAL TABLE attack_rows (a STRING) STORED AS TEXTFILE",
    "CREATE EXTERNAL TABLE attack_days (a STRING) PARTITIONED BY (day STRING) STORED AS TEXTFILE",
    f"ALTER TABLE attack_days ADD PARTITION (day='{DAY}')",
    "CREATE TABLE attack_acid (a STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "CREATE VIEW attack_view AS SELECT a FROM attack_rows",
)


def directories(site: Site, project: str) -> tuple[str, str]:
    """The two directories of a project: of external tables, and of managed ones."""
    query = "SELECT DB_LOCATION_URI, DB_MANAGED_LOCATION_URI FROM DBS WHERE NAME = %s"
    ((external, managed),) = site.database.execute(query, (project,))
    return path_of(str(external)), path_of(str(managed or external))


def path_of(uri: str) -> str:
    """The path of a URI of HDFS."""
    return "/" + uri.split("//", 1)[1].split("/", 1)[1] if "//" in uri else uri


def make(site: Site) -> None:
    """The tables of victim and outsider; their rows are files, so that no query is needed. Raises HiveError."""
    remove(site)
    cast = site.cast
    site.as_owner(*TABLES)
    with site.session() as session:
        for statement in TABLES:
            session.rows(statement)
    plant(site, cast.victim, cast.owner_user, site.marker)
    plant(site, cast.home, cast.outsider_user, "own")


def plant(site: Site, project: str, user: str, row: str) -> None:
    """Write the files of the tables."""
    external, _ = directories(site, project)
    for place in ("attack_rows/row.txt", f"attack_days/day={DAY}/row.txt"):
        site.hdfs.write(f"{external}/{place}", f"{row}\n".encode(), user)


def remove(site: Site) -> None:
    """Drop all that begins with the prefix in both projects, and delete what lies there. Raises HiveError."""
    cast = site.cast
    for project, drop in ((cast.victim, site.as_owner), (cast.home, _as_outsider(site))):
        query = (
            "SELECT TBL_NAME, TBL_TYPE FROM TBLS JOIN DBS USING (DB_ID) WHERE NAME = %s AND TBL_NAME LIKE 'attack%%'"
        )
        for name, kind in sorted(site.database.execute(query, (project,)), key=lambda one: "VIEW" not in one[1]):
            words = {"VIRTUAL_VIEW": "VIEW", "MATERIALIZED_VIEW": "MATERIALIZED VIEW"}.get(str(kind), "TABLE")
            with suppress(HiveError):
                drop(f"DROP {words} IF EXISTS {project}.{name}")
        for directory in directories(site, project):
            for item in site.hdfs.listing(directory):
                if item.name.startswith(PREFIX):
                    site.hdfs.delete(f"{directory}/{item.name}")


def _as_outsider(site: Site) -> Callable[[str], object]:
    def drop(sql: str) -> object:
        with site.session() as session:
            return session.rows(sql)

    return drop


def state(site: Site) -> State:
    """All that an attempt must leave as it is: rows of the metastore, and files of the victim with owner, mode, inode, length."""
    found: State = {}
    for kind, query in _ROWS.items():
        for name, *values in site.database.execute(query, (site.cast.victim,)):
            found[f"{kind} {name}"] = tuple(values)
    for directory in directories(site, site.cast.victim):
        top = site.hdfs.status(directory)
        found[f"directory {directory}"] = (top.inode, top.owner, top.mode) if top else None
        found |= _below(site, directory, PREFIX)
    return found


def _below(site: Site, directory: str, prefix: str) -> State:
    found: State = {}
    try:
        items = site.hdfs.listing(directory)
    except HdfsError:
        return {}
    for item in items:
        if item.name.startswith(prefix):
            path = f"{directory}/{item.name}"
            found[f"file {path}"] = (item.inode, item.owner, item.mode, item.length)
            if item.is_dir:
                found |= _below(site, path, "")
    return found


def difference(before: State, now: State) -> str:
    """What is other than before, in words; "" for nothing."""
    gone = [f"{name} is gone" for name in before if name not in now]
    new = [f"{name} is new: {value}" for name, value in now.items() if name not in before]
    other = [f"{name}: {before[name]} -> {now[name]}" for name in before if name in now and before[name] != now[name]]
    return "; ".join(gone + new + other)


def restore(site: Site) -> None:
    """Make it all again, after an attempt that was not held. What an attempt left outside of the tables is taken off."""
    site.database.execute("DELETE FROM FUNCS WHERE FUNC_NAME LIKE 'attack%%'")
    site.database.execute("DELETE FROM SCHEDULED_QUERIES WHERE SCHEDULE_NAME LIKE 'attack%%'")
    make(site)
