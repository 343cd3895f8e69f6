"""Tables, databases and directories of another project."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.attack import victim
from tests.attack.attempt import NotHeldError, NotTriedError, attempt, register
from tests.attack.statements import filled

if TYPE_CHECKING:
    from tests.attack.site import Site

FOREIGN = {
    "select": (
        (
            "SELECT * FROM {victim}.attack_rows",
            "SELECT COUNT(*) FROM {victim}.attack_rows",
            "SELECT * FROM {victim}.attack_days WHERE day = '{day}'",
            "SELECT * FROM {victim}.attack_acid",
            "SELECT o.a FROM attack_rows o WHERE EXISTS (SELECT 1 FROM {victim}.attack_rows)",
            "WITH w AS (SELECT * FROM {victim}.attack_rows) SELECT * FROM w",
            "EXPLAIN SELECT * FROM {victim}.attack_rows",
            "SELECT `t`.* FROM `{victim}`.`attack_rows` t LIMIT 0",
        ),
        "Rows of the victim's tables.",
    ),
    "select from a view": (("SELECT * FROM {victim}.attack_view",), "Rows by the victim's view."),
    "describe": (
        (
            "DESCRIBE {victim}.attack_rows",
            "DESCRIBE FORMATTED {victim}.attack_rows",
            "DESCRIBE FORMATTED {victim}.attack_rows a",
            "DESCRIBE DATABASE EXTENDED {victim}",
            "SHOW CREATE TABLE {victim}.attack_rows",
            "SHOW PARTITIONS {victim}.attack_days",
            "SHOW COLUMNS IN {victim}.attack_rows",
            "SHOW TBLPROPERTIES {victim}.attack_rows",
            "SHOW CREATE DATABASE {victim}",
        ),
        "Columns, partitions and properties of the victim's tables.",
    ),
    "write": (
        (
            "INSERT INTO {victim}.attack_rows VALUES ('x')",
            "INSERT OVERWRITE TABLE {victim}.attack_rows SELECT 'x'",
            "INSERT INTO {victim}.attack_acid VALUES ('x')",
            "INSERT INTO {victim}.attack_days PARTITION (day='x') VALUES ('x')",
            "UPDATE {victim}.attack_acid SET a = 'x'",
            "DELETE FROM {victim}.attack_acid",
            "MERGE INTO {victim}.attack_acid t USING attack_acid s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.a)",
            "FROM attack_rows INSERT INTO TABLE {victim}.attack_rows SELECT a",
            "TRUNCATE TABLE {victim}.attack_rows",
            "TRUNCATE TABLE {victim}.attack_acid",
            "LOAD DATA INPATH '{own}/attack_rows/row.txt' INTO TABLE {victim}.attack_rows",
        ),
        "Rows into the victim's tables, and out of them.",
    ),
    "drop": (
        (
            "DROP TABLE {victim}.attack_rows",
            "DROP TABLE {victim}.attack_rows PURGE",
            "DROP TABLE {victim}.attack_acid",
            "DROP VIEW {victim}.attack_view",
            "DROP DATABASE {victim} CASCADE",
            "DROP DATABASE {victim} RESTRICT",
            "ALTER TABLE {victim}.attack_days DROP PARTITION (day='{day}')",
        ),
        "The victim's tables, view and database dropped.",
    ),
    "alter": (
        (
            "ALTER TABLE {victim}.attack_rows SET TBLPROPERTIES ('a'='b')",
            "ALTER TABLE {victim}.attack_rows SET LOCATION '{own}/attack_rows'",
            "ALTER TABLE {victim}.attack_rows ADD COLUMNS (b STRING)",
            "ALTER TABLE {victim}.attack_rows RENAME TO {victim}.attack_other",
            "ALTER TABLE {victim}.attack_rows SET OWNER USER {outsider_user}",
            "ALTER TABLE {victim}.attack_rows SET SERDEPROPERTIES ('a'='b')",
            "ALTER TABLE {victim}.attack_days ADD PARTITION (day='x') LOCATION '{own}/attack_rows'",
            "ALTER TABLE {victim}.attack_days PARTITION (day='{day}') RENAME TO PARTITION (day='x')",
            "ALTER VIEW {victim}.attack_view AS SELECT 1 AS a",
            "ALTER TABLE {victim}.attack_rows UPDATE STATISTICS SET ('numRows'='1')",
        ),
        "The victim's tables and view changed.",
    ),
    "create there": (
        (
            "CREATE TABLE {victim}.attack_new (a STRING)",
            "CREATE EXTERNAL TABLE {victim}.attack_new (a STRING)",
            "CREATE EXTERNAL TABLE {victim}.attack_new (a STRING) LOCATION '{own}/attack_rows'",
            "CREATE VIEW {victim}.attack_new AS SELECT 1 AS a",
            "CREATE TABLE {victim}.attack_new AS SELECT 1 AS a",
            "CREATE TABLE {victim}.attack_new LIKE attack_rows",
        ),
        "Tables and views in the victim's database.",
    ),
    "copy": (
        (
            "CREATE TABLE attack_copy AS SELECT * FROM {victim}.attack_rows",
            "CREATE TABLE attack_copy LIKE {victim}.attack_rows",
            "INSERT INTO attack_rows SELECT * FROM {victim}.attack_rows",
            "CREATE TEMPORARY TABLE attack_copy AS SELECT * FROM {victim}.attack_rows",
            "CREATE MATERIALIZED VIEW attack_copy AS SELECT * FROM {victim}.attack_acid",
            "INSERT OVERWRITE DIRECTORY '{own}/attack_out' SELECT * FROM {victim}.attack_rows",
            "EXPORT TABLE {victim}.attack_rows TO '{own}/attack_out'",
        ),
        "Copies of the victim's rows at home.",
    ),
    "location there": (
        (
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '{external}/attack_rows'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '{external}'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '{external}/attack_new'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '{own}/../{victim}.db/attack_rows'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION 'hdfs://{namenode}:8020{external}/attack_rows'",
            "CREATE TABLE attack_there (a STRING) LOCATION '{managed}/attack_acid'",
            "CREATE TEMPORARY EXTERNAL TABLE attack_there (a STRING) LOCATION '{external}/attack_rows'",
            "ALTER TABLE attack_rows SET LOCATION '{external}/attack_rows'",
            "ALTER TABLE attack_days ADD PARTITION (day='x') LOCATION '{external}/attack_rows'",
            "ALTER TABLE attack_days PARTITION (day='{day}') SET LOCATION '{external}/attack_rows'",
        ),
        "Own tables and partitions with the victim's directories.",
    ),
    "location of results": (
        (
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '/tmp/hive/{owner_user}'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '/user/{owner_user}'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '/user/hive'",
            "CREATE EXTERNAL TABLE attack_there (a STRING) LOCATION '/'",
        ),
        "Own tables over the scratch directory, the home and the trash of others.",
    ),
    "load from there": (
        (
            "LOAD DATA INPATH '{external}/attack_rows/row.txt' INTO TABLE attack_rows",
            "LOAD DATA INPATH '{external}/attack_rows' INTO TABLE attack_rows",
            "LOAD DATA INPATH '{external}/attack_days/day={day}' INTO TABLE attack_rows",
            "IMPORT TABLE attack_in FROM '{external}/attack_rows'",
        ),
        "The victim's files moved into an own table.",
    ),
    "results there": (
        (
            "INSERT OVERWRITE DIRECTORY '{external}/attack_rows' SELECT 'x'",
            "INSERT OVERWRITE DIRECTORY '{external}/attack_new' SELECT 'x'",
            "INSERT OVERWRITE DIRECTORY '{managed}' SELECT 'x'",
            "EXPORT TABLE attack_rows TO '{external}/attack_new'",
        ),
        "Results in place of the victim's files.",
    ),
    "rename into there": (
        (
            "ALTER TABLE attack_rows RENAME TO {victim}.attack_moved",
            "ALTER TABLE attack_acid RENAME TO {victim}.attack_moved",
            "ALTER TABLE attack_view RENAME TO {victim}.attack_moved",
        ),
        "Own tables renamed into the victim's database.",
    ),
    "exchange of partitions": (
        (
            "ALTER TABLE attack_days EXCHANGE PARTITION (day='{day}') WITH TABLE {victim}.attack_days",
            "ALTER TABLE {victim}.attack_days EXCHANGE PARTITION (day='{day}') WITH TABLE attack_days",
        ),
        "Partitions exchanged with the victim's table.",
    ),
    "database of another": (
        (
            "ALTER DATABASE {victim} SET OWNER USER {outsider_user}",
            "ALTER DATABASE {victim} SET LOCATION 'hdfs://{namenode}:8020{own}'",
            "ALTER DATABASE {victim} SET MANAGEDLOCATION 'hdfs://{namenode}:8020{own}'",
            "ALTER DATABASE {victim} SET DBPROPERTIES ('a'='b')",
        ),
        "Owner, places and properties of the victim's database.",
    ),
    "own database": (
        (
            "ALTER DATABASE {home} SET LOCATION 'hdfs://{namenode}:8020{external}'",
            "ALTER DATABASE {home} SET MANAGEDLOCATION 'hdfs://{namenode}:8020{managed}'",
            "ALTER DATABASE {home} SET OWNER USER {outsider_user}",
            "DROP DATABASE {home} CASCADE",
        ),
        "The own project's database led into the victim's directories, taken from the project, and dropped by a member.",
    ),
    "new databases": (
        (
            "CREATE DATABASE attackdb",
            "CREATE DATABASE attackdb LOCATION '{external}/attack_new'",
            "CREATE DATABASE attackdb LOCATION '{own}/attack_new' MANAGEDLOCATION '{managed}'",
            "CREATE SCHEMA {victim}x",
        ),
        "Databases that belong to no project, one over the victim's files.",
    ),
    "maintenance": (
        (
            "ANALYZE TABLE {victim}.attack_rows COMPUTE STATISTICS",
            "ANALYZE TABLE {victim}.attack_rows COMPUTE STATISTICS FOR COLUMNS",
            "MSCK REPAIR TABLE {victim}.attack_days",
            "MSCK REPAIR TABLE {victim}.attack_days DROP PARTITIONS",
            "ALTER TABLE {victim}.attack_acid COMPACT 'major'",
            "LOCK TABLE {victim}.attack_rows EXCLUSIVE",
            "ALTER TABLE {victim}.attack_days CONCATENATE",
            "CACHE METADATA {victim}.attack_rows",
        ),
        "Statistics, repairs, compactions and locks of the victim's tables.",
    ),
    "roles and grants": (
        (
            "SET ROLE ADMIN",
            "SET ROLE ALL",
            "CREATE ROLE attack_role",
            "GRANT ROLE admin TO USER {outsider_user}",
            "GRANT admin TO USER {outsider_user} WITH ADMIN OPTION",
            "GRANT ALL ON TABLE {victim}.attack_rows TO USER {outsider_user}",
            "GRANT SELECT ON TABLE attack_rows TO ROLE public",
            "REVOKE ALL ON TABLE {victim}.attack_rows FROM USER {owner_user}",
            "SHOW GRANT ON TABLE {victim}.attack_rows",
        ),
        "Roles and privileges, which nothing would look at: they must not say OK.",
    ),
}


def _foreign(site: Site, statements: tuple[str, ...]) -> str:
    session = site.standing()
    said = ""
    for statement in statements:
        said = session.refused(filled(site, statement))
        if harm := site.changed():
            raise NotHeldError(f"{statement}: {harm}")
    # The same session works at home: it is not that nothing works.
    if not session.allowed("SELECT a FROM attack_rows"):
        raise NotTriedError("control: the own table has no row")
    return said


for _name, (_statements, _sentence) in FOREIGN.items():
    register(f"{_name} (tables)", "tables", _sentence, partial(_foreign, statements=_statements))


@attempt()
def own_tables_work(site: Site) -> str:
    """The control of all of these: the same statements at home are answered."""
    session = site.standing()
    own, _ = victim.directories(site, site.cast.home)
    try:
        for statement in (
            "CREATE EXTERNAL TABLE attack_mine (a STRING) PARTITIONED BY (day STRING) STORED AS TEXTFILE",
            f"ALTER TABLE attack_mine ADD PARTITION (day='x') LOCATION '{own}/attack_rows'",
            "DESCRIBE FORMATTED attack_mine",
            "SHOW CREATE TABLE attack_mine",
            "ALTER TABLE attack_mine SET TBLPROPERTIES ('a'='b')",
            "ALTER TABLE attack_mine RENAME TO attack_renamed",
            "ALTER TABLE attack_renamed RENAME TO attack_mine",
            "MSCK REPAIR TABLE attack_days",
            f"CREATE EXTERNAL TABLE attack_at (a STRING) LOCATION '{own}/attack_rows'",
            "CREATE VIEW attack_seen AS SELECT a FROM attack_rows",
            "SELECT * FROM attack_seen",
            "ALTER TABLE attack_acid COMPACT 'major'",
            f"ALTER DATABASE {site.cast.home} SET DBPROPERTIES ('attack'='1')",
        ):
            session.allowed(statement)
        if ("own", "x") not in session.allowed("SELECT a, day FROM attack_mine"):
            raise NotTriedError("control: the row at home is not found")
    finally:
        for statement in (
            "DROP VIEW IF EXISTS attack_seen",
            "DROP TABLE IF EXISTS attack_at",
            "DROP TABLE IF EXISTS attack_mine",
        ):
            session.tried(statement)
    return "all are answered"


@attempt(slow=True)
def files_of_a_query(site: Site) -> str:
    """Scratch directories of the owner on HDFS, while a session of theirs is open: nobody else may list them."""
    who = site.cast.owner
    session = site.opened(who.login, who.password, site.cast.victim)
    try:
        session.execute("SELECT 1")
        open_ones = []
        for top in ("/tmp/hive", f"/tmp/hive/{site.cast.owner_user}"):  # noqa: S108 - on HDFS
            for item in site.hdfs.listing(top):
                if item.owner == site.cast.owner_user and item.mode not in ("700", "0700"):
                    open_ones.append(f"{top}/{item.name} has mode {item.mode}")
        if open_ones:
            raise NotHeldError("; ".join(open_ones[:3]))
        return f"directories of {site.cast.owner_user} have mode 700"
    finally:
        session.close()


@attempt(slow=True)
def tables_of_a_join_in_the_cache(site: Site) -> str:
    """A query that the owner has just asked, word for word: a cache of results could answer it."""
    query = f"SELECT COUNT(*), MAX(a) FROM {site.cast.victim}.attack_rows"
    site.as_owner(query)
    return site.standing().refused(query)
