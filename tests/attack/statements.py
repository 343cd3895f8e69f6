"""Statements that run code, or reach files of hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.attack import victim
from tests.attack.attempt import NotTriedError, attempt, register
from tests.attack.site import HOST_DIRECTORY, HOST_SECRET, HOST_TRACE

if TYPE_CHECKING:
    from tests.attack.site import Site

# By the name: statements, each of which must be refused, and what they would do.
REFUSED = {
    "dfs": (
        (
            "dfs -ls /",
            "dfs -cat {external}/attack_rows/row.txt",
            "dfs -rm -r {external}",
            "dfs -chmod 777 {external}",
            "DFS -ls file:///",
        ),
        "Commands of HDFS, which HiveServer2 runs as its own user.",
    ),
    "dfs in disguise": (
        (" \n dfs -ls /", "/* a */ dfs -ls /", "-- a\ndfs -ls /", "dfs\t-ls /"),
        "Commands of HDFS behind comments and blanks.",
    ),
    "add jar": (
        (
            "ADD JAR hdfs:///tmp/x.jar",
            "ADD JAR ivy://com.example:x:1",
            "ADD FILE {secret}",
            "ADD ARCHIVE hdfs:///tmp/x.zip",
        ),
        "Classes and files of one's own, and files of the host, for tasks.",
    ),
    "other commands": (
        (
            "LIST JARS",
            "DELETE JAR x",
            "RELOAD",
            "RELOAD FUNCTIONS",
            "COMPILE `import a` AS GROOVY NAMED x.groovy",
            "CRYPTO create_key",
            "ERASURE listPolicies",
            "LLAP_CLUSTER -info",
            "LLAP_CACHE -purge",
            "PROCESSLIST",
            "SHOW PROCESSLIST",
        ),
        "Commands that HiveServer2 runs as its own user, or that tell about all sessions.",
    ),
    "shell of beeline": (("!ls", "! touch {trace}", "source {secret}"), "Commands that a shell would run."),
    "function of a class": (
        (
            "CREATE TEMPORARY FUNCTION attack_f AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect'",
            "CREATE FUNCTION attack_f AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect'",
            "CREATE FUNCTION attack_f AS 'x.Y' USING JAR 'hdfs:///tmp/x.jar'",
            "CREATE FUNCTION {victim}.attack_f AS 'org.apache.hadoop.hive.ql.udf.UDFConv'",
            "DROP FUNCTION IF EXISTS {victim}.attack_f",
        ),
        "A forbidden function under another name, and functions of a jar.",
    ),
    "forbidden functions": (
        (
            "SELECT reflect('java.lang.System', 'getProperty', 'user.name')",
            "SELECT reflect2('a', 'length')",
            "SELECT java_method('java.lang.System', 'getenv', 'HOME')",
            "SELECT `REFLECT`('java.lang.System', 'getProperty', 'user.name')",
            "SELECT in_file('a', '{secret}')",
            "SELECT get_splits('SELECT * FROM {victim}.attack_rows', 1)",
            "WITH a AS (SELECT java_method('java.lang.System', 'getProperty', 'user.name') AS b) SELECT * FROM a",
        ),
        "Functions that run code of the JVM or read files of the host.",
    ),
    "forbidden functions in views": (
        (
            "CREATE VIEW attack_reflect AS SELECT reflect('java.lang.System', 'getProperty', 'user.name') AS a",
            "CREATE TEMPORARY MACRO attack_m (x STRING) reflect('java.lang.System', 'getProperty', x)",
        ),
        "The same in a view and in a macro.",
    ),
    "scripts": (
        (
            "SELECT TRANSFORM(a) USING 'touch {trace}' AS (b) FROM attack_rows",
            "FROM attack_rows MAP a USING 'cat {secret}' AS (b)",
            "FROM (FROM attack_rows SELECT a CLUSTER BY a) x REDUCE a USING 'cat {secret}' AS (b)",
            "SELECT * FROM (SELECT TRANSFORM(a) USING 'cat {secret}' AS (b) FROM attack_rows) x",
            "INSERT INTO attack_rows SELECT TRANSFORM(a) USING 'cat {secret}' AS (b) FROM attack_rows",
        ),
        "Programs that tasks start (TRANSFORM, MAP, REDUCE).",
    ),
    "load of a host's file": (
        (
            "LOAD DATA LOCAL INPATH '{secret}' INTO TABLE attack_rows",
            "LOAD DATA INPATH 'file://{secret}' INTO TABLE attack_rows",
            "LOAD DATA INPATH 'FILE://{secret}' INTO TABLE attack_rows",
            "LOAD DATA INPATH 'file:{secret}' OVERWRITE INTO TABLE attack_rows",
        ),
        "Files of HiveServer2's host into a table.",
    ),
    "directory of a host": (
        (
            "INSERT OVERWRITE LOCAL DIRECTORY '{directory}/out' SELECT 1",
            "INSERT OVERWRITE DIRECTORY 'file://{directory}/out' SELECT 1",
            "INSERT OVERWRITE DIRECTORY ' file://{directory}/out' SELECT 1",
            "EXPORT TABLE attack_rows TO 'file://{directory}/out'",
            "IMPORT TABLE attack_in FROM 'file://{directory}/out'",
        ),
        "Results into a directory of the host, whose files would go, and tables from there.",
    ),
    "table on a host": (
        (
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'file://{directory}'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'file:{directory}'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'har://file-localhost{directory}/x.har'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'viewfs:///x'",
            "CREATE TEMPORARY EXTERNAL TABLE attack_t (a STRING) LOCATION 'file://{directory}'",
            "ALTER TABLE attack_rows SET LOCATION 'file://{directory}'",
            "ALTER TABLE attack_days ADD PARTITION (day='x') LOCATION 'file://{directory}'",
            "ALTER TABLE attack_days PARTITION (day='{day}') SET LOCATION 'file://{directory}'",
        ),
        "Tables and partitions whose files are those of a host.",
    ),
    "scheme of another file system": (
        (
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'http://192.0.2.1/x'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'ftp://192.0.2.1/x'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'webhdfs://{namenode}:9870{external}/attack_rows'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 'swebhdfs://{namenode}:9870{external}/attack_rows'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) LOCATION 's3a://x/y'",
        ),
        "Tables on servers elsewhere, to which HiveServer2 would connect.",
    ),
    "schema of a host's file": (
        (
            "CREATE EXTERNAL TABLE attack_t STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='file://{secret}')",
            "CREATE EXTERNAL TABLE attack_t STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='http://192.0.2.1/x')",
            "ALTER TABLE attack_rows SET TBLPROPERTIES ('avro.schema.url'='file://{secret}')",
            "CREATE EXTERNAL TABLE attack_t LIKE FILE ORC 'file://{secret}'",
        ),
        "Schemas in files of a host, and on servers elsewhere.",
    ),
    "storage handlers": (
        (
            "CREATE EXTERNAL TABLE attack_t (a STRING) STORED BY 'org.apache.hive.storage.jdbc.JdbcStorageHandler' TBLPROPERTIES"
            " ('hive.sql.database.type'='DERBY', 'hive.sql.jdbc.driver'='org.apache.derby.jdbc.EmbeddedDriver',"
            " 'hive.sql.jdbc.url'='jdbc:derby:{directory}/ran;create=true', 'hive.sql.query'='SELECT 1 FROM SYSIBM.SYSDUMMY1')",
            "CREATE EXTERNAL TABLE attack_t (a STRING) STORED BY 'org.apache.hadoop.hive.kafka.KafkaStorageHandler'",
            "CREATE EXTERNAL TABLE attack_t (a STRING) STORED BY ICEBERG LOCATION 'file://{directory}/ran'",
        ),
        "Tables that are queries of another database, with a driver that writes on the host.",
    ),
    "connectors": (
        (
            "CREATE CONNECTOR attack_c TYPE 'derby' URL 'jdbc:derby:{directory}/ran;create=true'",
            "CREATE CONNECTOR attack_c TYPE 'mysql' URL 'jdbc:mysql://127.0.0.1:3306/metastore'",
            "CREATE REMOTE DATABASE attackdb USING attack_c",
        ),
        "Databases elsewhere, to which the metastore would connect.",
    ),
    "scheduled queries": (
        (
            "CREATE SCHEDULED QUERY attack_q EVERY 1 MINUTE AS SELECT 1",
            "CREATE SCHEDULED QUERY attack_q EVERY 1 MINUTE EXECUTED AS 'hive' AS SELECT 1",
            "CREATE SCHEDULED QUERY attack_q CRON '0 * * * * ? *' EXECUTED AS '{owner_user}' AS DROP TABLE {victim}.attack_rows",
        ),
        "Statements that HiveServer2 runs later, as somebody else.",
    ),
    "resource plans": (
        ("CREATE RESOURCE PLAN attack_p", "ALTER RESOURCE PLAN attack_p ENABLE", "DISABLE WORKLOAD MANAGEMENT"),
        "Plans that say how many queries others may run.",
    ),
    "replication": (
        (
            "REPL DUMP {victim}",
            "REPL DUMP {home}",
            "REPL LOAD {victim} INTO {home}",
            "REPL STATUS {victim}",
        ),
        "Dumps of a database and loads, which act on whole databases.",
    ),
}


def filled(site: Site, text: str) -> str:
    """A statement with the names of this lab."""
    external, managed = victim.directories(site, site.cast.victim)
    own, _ = victim.directories(site, site.cast.home)
    return text.format(
        victim=site.cast.victim,
        home=site.cast.home,
        external=external,
        managed=managed,
        own=own,
        owner_user=site.cast.owner_user,
        outsider_user=site.cast.outsider_user,
        secret=HOST_SECRET,
        directory=HOST_DIRECTORY,
        trace=HOST_TRACE,
        namenode=site.lab.one("namenode").name,
        day=victim.DAY,
    )


def _refused(site: Site, statements: tuple[str, ...]) -> str:
    session = site.standing()
    said = ""
    for statement in statements:
        said = session.refused(filled(site, statement))
    if session.allowed("SELECT a FROM attack_rows") == []:
        raise NotTriedError("control: the own table has no row")
    return said


for _name, (_statements, _sentence) in REFUSED.items():
    register(_name, "statements", _sentence, partial(_refused, statements=_statements))


@attempt()
def symlinks_to_a_host(site: Site) -> str:
    """A table whose files name the files to read (SymlinkTextInputFormat): one of the host."""
    return _symlinks(site, f"file://{HOST_DIRECTORY}/")


@attempt()
def symlinks_to_another_project(site: Site) -> str:
    """The same with a file of the victim."""
    external, _ = victim.directories(site, site.cast.victim)
    return _symlinks(site, f"{external}/attack_rows/")


def _symlinks(site: Site, target: str) -> str:
    session = site.standing()
    external, _ = victim.directories(site, site.cast.home)
    formats = (
        "STORED AS INPUTFORMAT 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'"
        " OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'"
    )
    session.tried(f"CREATE EXTERNAL TABLE attack_links (a STRING) {formats}")
    try:
        site.hdfs.write(f"{external}/attack_links/link", f"{target}\n".encode(), site.cast.outsider_user)
        said = session.refused("SELECT * FROM attack_links")
        session.refused("SELECT a FROM attack_links WHERE a LIKE 'marker%'")
        session.tried("ALTER TABLE attack_days ADD PARTITION (day='links')")
        session.tried(
            "ALTER TABLE attack_days PARTITION (day='links') SET FILEFORMAT " + formats.removeprefix("STORED AS ")
        )
        site.hdfs.write(f"{external}/attack_days/day=links/link", f"{target}\n".encode(), site.cast.outsider_user)
        session.tried("SELECT * FROM attack_days")
    finally:
        session.tried("ALTER TABLE attack_days DROP IF EXISTS PARTITION (day='links')")
        session.tried("DROP TABLE IF EXISTS attack_links")
        for left in ("attack_links", "attack_days/day=links"):
            if site.hdfs.exists(f"{external}/{left}"):
                site.hdfs.delete(f"{external}/{left}")
    return said
