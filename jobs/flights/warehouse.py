"""What Spark does: the source files to HDFS, the tables through the metastore, the figures from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checks import Figure
from .figures import Query, to_figures
from .places import Places
from .source import COLUMNS, DIMENSIONS, NULL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DATABASE = "nycflights"


def session() -> SparkSession:
    """A session on the metastore; master, memory and the metastore's jars come from spark-submit and its defaults."""
    # pyspark is 450 MB: the other modules, and their tests, do without it.
    from pyspark.sql import SparkSession

    spark: SparkSession = (
        SparkSession.builder.appName(DATABASE)
        .enableHiveSupport()
        # 31 MB of flights: more tasks would only cost their start.
        .config("spark.sql.shuffle.partitions", "4")
        # The hours in the source are UTC, and Hive shows a Parquet timestamp as it is stored.
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("WARN")
    return spark


def upload(spark: SparkSession, files: Mapping[str, Path], directory: str) -> str:
    """Copy the files into a new directory of the cluster's file system and return its full address.

    directory: a path; a relative one is under the user's home directory. What was there is removed.
    """
    hadoop: Any = spark._jvm.org.apache.hadoop  # type: ignore[union-attr, unused-ignore]
    configuration: Any = spark._jsc.hadoopConfiguration()
    path = hadoop.fs.Path(directory)
    system = path.getFileSystem(configuration)
    target = system.makeQualified(path)
    system.delete(target, True)
    system.mkdirs(target)
    for table, file in files.items():
        system.copyFromLocalFile(False, True, hadoop.fs.Path(file.as_uri()), hadoop.fs.Path(target, f"{table}.csv"))
    return str(target.toString())


def read_source(spark: SparkSession, directory: str, table: str) -> DataFrame:
    """One uploaded csv file; a value that does not fit its column fails the job."""
    return spark.read.csv(
        f"{directory}/{table}.csv",
        schema=COLUMNS[table],
        header=True,
        enforceSchema=False,
        nullValue=NULL,
        # The files quote nothing, and a backslash in them is a backslash.
        escape="",
        mode="FAILFAST",
    )


def write(spark: SparkSession, directory: str, places: Places) -> None:
    """Drop the tables and make them again: dimension tables as ORC, flights as Parquet with a partition per month."""
    for statement in places.emptied(DATABASE, COLUMNS):
        spark.sql(statement)
    for table in DIMENSIONS:
        rows = read_source(spark, directory, table).coalesce(1)
        rows.write.format("orc").saveAsTable(places.sql(f"{DATABASE}.{table}"))
    flights = read_source(spark, directory, "flights").repartition("month")
    flights.write.format("parquet").partitionBy("month").saveAsTable(places.sql(f"{DATABASE}.flights"))


def ask(spark: SparkSession, query: Query, places: Places) -> dict[str, Figure]:
    """The figures of a query."""
    return to_figures(query, [tuple(row) for row in spark.sql(places.sql(query.sql)).collect()])


def partitions(spark: SparkSession, table: str, places: Places) -> int:
    """How many partitions the metastore lists of a table."""
    return int(spark.sql(places.sql(f"SHOW PARTITIONS {table}")).count())


def answer_about(spark: SparkSession, table: str, places: Places) -> str:
    """What Spark makes of a transactional table: `refused`, or the rows that it counts."""
    from pyspark.errors import UnsupportedOperationException

    try:
        return f"{spark.table(places.sql(table)).count():,} rows"
    except UnsupportedOperationException:
        return "refused"
