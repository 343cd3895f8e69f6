"""What a data engineer tries first with PySpark, with the launchers of the client host."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.shell import beeline, run

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.group("client")
DIRECTORY = "/var/tmp/pyspark"  # noqa: S108 - on the scenario's host
POSIX = "env -u LANG -u LC_CTYPE LC_ALL=POSIX"
DATES = ["0001-01-03", "0200-02-28", "1000-02-28", "1500-03-01", "1582-10-04", "1582-10-15", "1899-12-31", "2024-02-29"]
UDFS = """
import sys
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf
import doubling
spark = SparkSession.builder.enableHiveSupport().getOrCreate()
numbers = spark.range(4)
@pandas_udf("long")
def successor(column: pd.Series) -> pd.Series:
    return column + 1
def same(batches):
    yield from batches
sums = [
    frame.toDF("n").agg({"n": "sum"}).collect()[0][0]
    for frame in (
        numbers.select(udf(doubling.twice, "long")("id")),
        numbers.select(successor("id")),
        numbers.mapInPandas(same, "id long"),
        numbers.mapInArrow(same, "id long"),
        numbers.groupBy((numbers.id % 2).alias("odd")).applyInPandas(lambda group: group, "id long"),
    )
]
print("sums", sums, spark.catalog.databaseExists("default"), sys.stdout.encoding)
try:
    print(spark.table("guarded.orders").count())
except Exception as error:
    print("refused", type(error).__name__)
"""
SUMS = "sums [12, 10, 6, 6, 6] True utf-8"
REFUSED = "refused UnsupportedOperationException"
KERNEL = """
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="pyspark", startup_timeout=120)
printed = []
def hook(message):
    # Spark draws its bar on the other stream.
    if message["content"].get("name") == "stdout":
        printed.append(message["content"]["text"])
client.execute_interactive("print(spark.range(7).count())", timeout=120, output_hook=hook)
print(printed)
manager.shutdown_kernel(now=True)
"""


def write(host: Any, name: str, text: str) -> None:
    """A file in a directory of the user spark."""
    run(host, f"install -d -o spark {DIRECTORY}")
    run(host, f"printf %s {shlex.quote(text)} > {DIRECTORY}/{name}")


def spark(host: Any, command: str) -> str:
    """Standard output of a command of the user spark, in that directory."""
    run(host, f"install -d -o spark {DIRECTORY}")
    return run(host, f"cd {DIRECTORY} && {command}", user="spark")


def logs(host: Any, submitted: str) -> str:
    """What an application of YARN printed, by what spark-submit said; YARN collects it after its end."""
    number = submitted.split("Submitted application ")[1].split()[0]
    return spark(host, f"for _ in $(seq 30); do yarn logs -applicationId {number} && exit; sleep 2; done; exit 1")


def pyspark(host: Any, script: str, before: str = "") -> str:
    """Standard output of a script that comes to the shell through a pipe; `before` stands before the command."""
    write(host, "piped.py", script)
    return spark(host, f"{before} pyspark --master 'local[1]' < piped.py")


@pytest.fixture(scope="module")
def guarded(host: Any) -> Iterator[str]:
    """A database with transactional tables of two rows each, a view, and an external table of one row."""
    acid = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    inserted = "; ".join(
        f"INSERT INTO guarded.{name} VALUES (1, 'a'), (2, 'b')" for name in ("orders", "parts", "added")
    )
    beeline(
        host,
        "DROP DATABASE IF EXISTS guarded CASCADE; CREATE DATABASE guarded;"
        f" CREATE TABLE guarded.orders (a INT, p STRING) {acid};"
        f" CREATE TABLE guarded.parts (a INT) PARTITIONED BY (p STRING) {acid};"
        " CREATE TABLE guarded.added (a INT, p STRING) STORED AS PARQUET"
        " TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only');"
        " CREATE VIEW guarded.seen AS SELECT a FROM guarded.orders;"
        " CREATE EXTERNAL TABLE guarded.plain (a INT, p STRING) STORED AS PARQUET"
        " TBLPROPERTIES ('external.table.purge' = 'true');"
        f" {inserted}; INSERT INTO guarded.plain VALUES (3, 'c')",
    )
    yield "guarded"
    beeline(host, "DROP DATABASE guarded CASCADE")


def test_a_script_comes_through_a_pipe(host: Any) -> None:
    assert pyspark(host, "print('Zürich', spark.range(5).count())") == "Zürich 5\n"


def test_a_script_runs_by_its_name(host: Any) -> None:
    write(
        host,
        "named.py",
        "from pyspark.sql import SparkSession\nprint(SparkSession.builder.getOrCreate().range(5).count())\n",
    )
    assert spark(host, "pyspark --master 'local[1]' named.py") == "5\n"


def test_a_script_that_fails_in_a_pipe_ends_with_its_error(host: Any) -> None:
    write(host, "failing.py", "print(spark.range(5).count())\n1 / 0\nprint('reached')\n")
    result = host.run(f"su -s /bin/sh spark -c 'pyspark --master \"local[1]\" < {DIRECTORY}/failing.py'")
    assert result.rc == 1
    assert result.stdout == "5\n"
    assert "ZeroDivisionError" in result.stderr


def test_the_shell_has_spark_at_a_terminal(host: Any) -> None:
    typed = "printf 'print(6 * spark.range(7).count())\\nexit()\\n'"
    assert "42" in spark(host, f"{typed} | script --quiet --command 'pyspark --master local[1]' /dev/null").split()


def test_ipython_is_a_shell(host: Any) -> None:
    options = "PYSPARK_DRIVER_PYTHON=ipython PYSPARK_DRIVER_PYTHON_OPTS=--simple-prompt"
    said = spark(host, f"echo 'print(6 * spark.range(7).count())' | {options} pyspark --master 'local[1]'")
    assert "42" in said.split()


def test_a_notebook_finds_the_kernel(host: Any) -> None:
    write(host, "kernel.py", KERNEL)
    assert spark(host, "/opt/hopshive/spark/current/bin/python kernel.py").splitlines()[-1] == r"['7\n']"


@pytest.mark.usefixtures("guarded")
def test_the_shell_of_scala_has_spark_and_the_guard(host: Any) -> None:
    typed = (
        "println(6 * spark.range(7).count())\n"
        'try println(spark.table("guarded.orders").count()) catch { case refusal: Exception => println("Guard: " + refusal) }\n'
    )
    write(host, "typed.scala", typed)
    said = spark(host, "spark-shell --master 'local[1]' < typed.scala")
    assert "42" in said.split()
    assert "Guard: java.lang.UnsupportedOperationException: spark_catalog.guarded.orders is a full ACID table" in said


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_udfs_run_as_they_come(host: Any, mode: str) -> None:
    write(host, "udfs.py", UDFS)
    write(host, "doubling.py", "def twice(n):\n    return 2 * n\n")
    said = spark(host, f"spark-submit --deploy-mode {mode} --py-files doubling.py udfs.py 2>&1")
    if mode == "cluster":
        said = logs(host, said)
    assert SUMS in said.splitlines()
    assert REFUSED in said.splitlines()


def test_an_environment_of_the_users_own_is_shipped(host: Any) -> None:
    write(
        host,
        "own.py",
        "import own_module\nfrom pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "print(spark.sparkContext.parallelize([1], 1).map(lambda one: __import__('own_module').NAME).collect())\n",
    )
    made = (
        "rm -rf own && python3 -m venv --without-pip own"
        " && echo 'NAME = \"mine\"' > own/lib/python3.11/site-packages/own_module.py && tar czf own.tar.gz -C own ."
    )
    said = spark(
        host,
        f"{made} && PYSPARK_PYTHON=./environment/bin/python spark-submit --deploy-mode cluster"
        " --archives own.tar.gz#environment own.py 2>&1",
    )
    assert "['mine']" in logs(host, said).splitlines()
    said = spark(
        host,
        "PYSPARK_DRIVER_PYTHON=own/bin/python PYSPARK_PYTHON=./environment/bin/python spark-submit"
        " --archives own.tar.gz#environment own.py 2>&1",
    )
    assert "['mine']" in said.splitlines()


# Statements about a transactional table. A session that sets extensions of its own has the guard too.
SPOILING = """
reads = [
    "SELECT * FROM guarded.orders", "SELECT count(*) FROM guarded.parts WHERE p = 'a'", "SELECT a FROM guarded.added",
    "SELECT * FROM guarded.seen", "SELECT 1 WHERE EXISTS (SELECT 1 FROM guarded.orders)",
    "WITH o AS (SELECT a FROM guarded.orders) SELECT * FROM guarded.plain JOIN o USING (a)",
    "CREATE TABLE guarded.copied AS SELECT * FROM guarded.orders", "CACHE TABLE guarded.orders",
    "INSERT INTO guarded.plain SELECT * FROM guarded.orders", "ANALYZE TABLE guarded.orders COMPUTE STATISTICS",
]
writes = [
    "INSERT INTO guarded.orders VALUES (9, 'z')", "INSERT OVERWRITE guarded.orders SELECT 9, 'z'",
    "INSERT INTO guarded.parts PARTITION (p = 'a') VALUES (9)", "INSERT OVERWRITE guarded.parts SELECT 9, 'z'",
    "INSERT INTO guarded.added VALUES (9, 'z')", "TRUNCATE TABLE guarded.orders",
    "TRUNCATE TABLE guarded.parts PARTITION (p = 'a')",
    "LOAD DATA INPATH '/user/spark/none' INTO TABLE guarded.orders",
]
frame = spark.table("guarded.plain")
spark.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")
calls = {
    "table": lambda: spark.table("guarded.orders"),
    "insertInto": lambda: frame.write.insertInto("guarded.orders"),
    "overwrite": lambda: frame.write.insertInto("guarded.orders", overwrite=True),
    "append": lambda: frame.write.mode("append").format("hive").saveAsTable("guarded.orders"),
}
calls |= {sql: (lambda sql=sql: spark.sql(sql).collect()) for sql in reads + writes}
for convert in ("true", "false"):
    spark.conf.set("spark.sql.hive.convertMetastoreOrc", convert)
    spark.conf.set("spark.sql.hive.convertMetastoreParquet", convert)
    for name, call in calls.items():
        try:
            print("PASSED", convert, name, call())
        except Exception as error:
            if type(error).__name__ != "UnsupportedOperationException" or "Spark does not know such tables" not in str(error):
                print("OTHER", convert, name, type(error).__name__, str(error)[:300])
spark.sql("DESCRIBE TABLE guarded.orders").collect()
spark.sql("SHOW PARTITIONS guarded.parts").collect()
print(spark.sql("SELECT * FROM guarded.plain").collect())
"""


def test_no_statement_reads_or_spoils_a_transactional_table(host: Any, guarded: str) -> None:
    write(host, "spoiling.py", SPOILING)
    said = spark(host, "pyspark --master 'local[1]' --conf spark.sql.extensions=org.example.Other < spoiling.py")
    assert said == "[Row(a=3, p='c')]\n"
    counts = "; ".join(f"SELECT count(*), sum(a) FROM {guarded}.{name}" for name in ("orders", "parts", "added"))
    assert beeline(host, counts).split() == ["2", "3"] * 3


def test_hive_and_spark_write_and_drop_what_the_other_made(host: Any) -> None:
    beeline(
        host,
        "DROP DATABASE IF EXISTS of_hive CASCADE; DROP DATABASE IF EXISTS of_spark CASCADE; CREATE DATABASE of_hive;"
        " CREATE EXTERNAL TABLE of_hive.t (a INT) PARTITIONED BY (p STRING) STORED AS PARQUET"
        " TBLPROPERTIES ('external.table.purge' = 'true'); INSERT INTO of_hive.t PARTITION (p = 'h') VALUES (1)",
    )
    shown = pyspark(
        host,
        """
for statement in (
    "CREATE DATABASE of_spark",
    "CREATE TABLE of_spark.t (a INT) USING PARQUET PARTITIONED BY (p STRING)",
    "INSERT INTO of_spark.t PARTITION (p = 's') VALUES (1)",
    "CREATE TABLE of_hive.of_spark USING ORC AS SELECT 1 AS a",
    "INSERT INTO of_hive.t PARTITION (p = 's') VALUES (2)",
    "INSERT OVERWRITE of_hive.t PARTITION (p = 'h') VALUES (3)",
    "ANALYZE TABLE of_hive.t COMPUTE STATISTICS",
):
    spark.sql(statement)
print(sorted(tuple(row) for row in spark.sql("SELECT a, p FROM of_hive.t").collect()))
""",
    )
    assert shown == "[(2, 's'), (3, 'h')]\n"
    shown = beeline(
        host,
        "INSERT INTO of_spark.t PARTITION (p = 'h') VALUES (2);"
        " INSERT OVERWRITE TABLE of_spark.t PARTITION (p = 's') VALUES (3);"
        " ANALYZE TABLE of_spark.t PARTITION (p) COMPUTE STATISTICS;"
        " CREATE TABLE of_spark.of_hive (a INT); INSERT INTO of_spark.of_hive VALUES (1);"
        " SELECT a, p FROM of_spark.t ORDER BY a; DROP TABLE of_hive.of_spark; DROP TABLE of_spark.t",
    )
    assert shown.split() == ["2", "h", "3", "s"]
    pyspark(host, "spark.sql('DROP TABLE of_hive.t'); spark.sql('DROP DATABASE of_hive')")
    beeline(host, "DROP DATABASE of_spark CASCADE")
    assert not {"of_hive", "of_spark"} & set(beeline(host, "SHOW DATABASES").split())


def test_an_empty_array_of_spark_is_empty_to_hive(host: Any) -> None:
    pyspark(
        host,
        "spark.sql('CREATE TABLE default.nested USING PARQUET AS"
        " SELECT CAST(array() AS ARRAY<INT>) AS a, CAST(map() AS MAP<INT, INT>) AS m')",
    )
    # A task reads it, row by row and in a sum.
    query = "SELECT a, m, size(a), size(m) FROM nested ORDER BY size(a); SELECT sum(size(a)), sum(size(m)) FROM nested"
    try:
        assert beeline(host, query).split() == ["[]", "{}", "0", "0", "0", "0"]
    finally:
        beeline(host, "DROP TABLE nested")


def test_no_other_account_writes_in_the_warehouse(host: Any) -> None:
    for place in ("managed", "external"):
        result = host.run(f"HADOOP_USER_NAME=mallory hdfs dfs -mkdir /warehouse/hopshive/{place}/mallory")
        assert result.rc == 1
        assert "Permission denied: user=mallory, access=WRITE" in result.stderr


def test_dates_of_two_thousand_years_are_the_same_to_hive_and_spark(host: Any) -> None:
    rows = " UNION ALL ".join(f"SELECT DATE '{day}' AS d, TIMESTAMP '{day} 01:02:03' AS t" for day in DATES)
    forms = ("orc", "parquet")
    beeline(
        host,
        "DROP DATABASE IF EXISTS years CASCADE; CREATE DATABASE years;"
        + ";".join(
            f"CREATE EXTERNAL TABLE years.hive_{form} STORED AS {form}"
            f" TBLPROPERTIES ('external.table.purge' = 'true') AS {rows}"
            for form in forms
        ),
    )
    shown = pyspark(
        host,
        f"""
def text(form):
    return [tuple(row) for row in spark.sql(
        f"SELECT CAST(d AS STRING), CAST(t AS STRING) FROM years.hive_{{form}} ORDER BY d").collect()]
for zone in ("UTC", "Asia/Tokyo", "America/Los_Angeles"):
    spark.conf.set("spark.sql.session.timeZone", zone)
    print([row[0] for row in text("orc")] == [row[0] for row in text("parquet")] == {DATES!r})
spark.conf.unset("spark.sql.session.timeZone")
for form in {forms!r}:
    print(text(form) == [(day, day + " 01:02:03") for day in {DATES!r}])
    spark.sql(f"CREATE TABLE years.spark_{{form}} USING {{form}} AS {rows}")
""",
    )
    assert shown.split() == ["True"] * 5
    for zone in ("UTC", "Asia/Tokyo", "America/Los_Angeles"):
        for form in forms:
            lines = beeline(host, f"SET TIME ZONE {zone}; SELECT d, t FROM years.spark_{form} ORDER BY d").splitlines()
            assert [line.removesuffix(".0") for line in lines] == [f"{day}\t{day} 01:02:03" for day in DATES], (
                zone,
                form,
            )
    beeline(host, "DROP DATABASE years CASCADE")


def test_text_is_what_was_typed_in_the_locale_posix(host: Any) -> None:
    query = (
        "CREATE TEMPORARY TABLE towns (name STRING); INSERT INTO towns VALUES ('Zürich'); SELECT hex(name) FROM towns"
    )
    assert beeline(host, query, POSIX).split() == ["5AC3BC72696368"]
    script = "print('Zürich', spark.sql(\"SELECT hex('Zürich')\").first()[0])"
    assert pyspark(host, script, POSIX) == "Zürich 5AC3BC72696368\n"
    made = "hdfs dfs -mkdir /user/spark/Zürich && hdfs dfs -ls -C /user/spark && hdfs dfs -rmdir /user/spark/Zürich"
    assert "/user/spark/Zürich" in spark(host, f"{POSIX} sh -c {shlex.quote(made)}").splitlines()


@pytest.mark.parametrize("shell", ["bash -l", "sh -l"])
def test_a_login_without_a_locale_has_utf_8(host: Any, shell: str) -> None:
    assert host.run(f"env -i HOME=/root {shell} -c 'locale charmap'").stdout == "UTF-8\n"
