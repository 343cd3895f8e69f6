"""What a converged warehouse must show on its hosts, asked with the clients that its users have."""

from __future__ import annotations

import json
import shlex
import time
from typing import Any

import pytest

from tests.warehouse.shell import beeline, run

# Component: unit, user that it runs as.
SERVICES = {
    "mariadb": ("mariadb", "mysql"),
    "zookeeper": ("zookeeper", "zookeeper"),
    "namenode": ("hadoop-hdfs-namenode", "hdfs"),
    "datanode": ("hadoop-hdfs-datanode", "hdfs"),
    "resourcemanager": ("hadoop-yarn-resourcemanager", "yarn"),
    "nodemanager": ("hadoop-yarn-nodemanager", "yarn"),
    "metastore": ("hive-metastore", "hive"),
    "cleaner": ("hopshive-cleaner", "hopshive"),
    "server2": ("hive-server2", "hive"),
}


def await_compaction(host: Any, table: str, seconds: int) -> list[str]:
    """The row of a table of `default` in SHOW COMPACTIONS, empty if it has none: the ended one, or the one of after `seconds`."""
    deadline = time.monotonic() + seconds
    compaction: list[str] = []
    while time.monotonic() < deadline:
        rows = [row.split("\t") for row in beeline(host, "SHOW COMPACTIONS").splitlines()]
        # id, database, table, partition, type, state, ... initiator's host, initiator's id
        compaction = next((row for row in rows if row[1:3] == ["default", table]), [])
        if compaction and compaction[5] in {"succeeded", "failed", "refused"}:
            break
        time.sleep(5)
    return compaction


def ask_yarn(host: Any, what: str) -> dict[str, Any]:
    page = f"http://molecule-default-master:8088/ws/v1/cluster/{what}"
    shown = run(host, f"python3 -c 'import urllib.request; print(urllib.request.urlopen(\"{page}\").read().decode())'")
    answer: dict[str, Any] = json.loads(shown)
    return answer


def free_mb(host: Any) -> int:
    """MiB that YARN could still give to containers."""
    return int(ask_yarn(host, "metrics")["clusterMetrics"]["availableMB"])


@pytest.mark.parametrize("component", SERVICES)
def test_the_service_runs_as_its_own_user_and_starts_with_the_host(host: Any, component: str) -> None:
    unit, user = SERVICES[component]
    service = host.service(unit)
    journal = host.run(f"journalctl --no-pager --lines 40 --unit {unit}").stdout
    assert service.is_running, journal
    assert service.is_enabled
    pid = run(host, f"systemctl show --property MainPID --value {unit}").strip()
    assert run(host, f"ps --no-headers -o user:32 -p {pid}").strip() == user


@pytest.mark.parametrize("component", SERVICES)
def test_the_unit_survives_ten_minutes_without_what_it_needs(host: Any, component: str) -> None:
    unit, _ = SERVICES[component]
    shown = run(
        host, f"systemctl show {unit} --property Restart,RestartUSec,StartLimitIntervalUSec,StartLimitBurst,LimitNOFILE"
    )
    values = dict(line.split("=", 1) for line in shown.splitlines())
    assert values["Restart"] in ("on-failure", "always")
    assert int(values["LimitNOFILE"]) >= 20000
    assert values["RestartUSec"] == "5s"
    # Five seconds between the attempts: so many of them take longer than ten minutes, and they are counted over more than that.
    assert int(values["StartLimitBurst"]) * 5 > 600
    assert values["StartLimitIntervalUSec"] == "20min"


def test_no_unit_of_the_host_has_failed(host: Any) -> None:
    assert run(host, "systemctl list-units --state=failed --no-legend --plain") == ""


def test_the_journal_is_bounded(host: Any) -> None:
    assert "SystemMaxUse=" in host.file("/etc/systemd/journald.conf.d/hopshive.conf").content_string


def test_users_have_their_fixed_ids(host: Any) -> None:
    ids = {name: host.user(name).uid for name in ("hdfs", "yarn", "hive", "zookeeper", "spark", "hopshive")}
    assert ids == {"hdfs": 1511, "yarn": 1512, "hive": 1513, "zookeeper": 1514, "spark": 1515, "hopshive": 1516}


@pytest.mark.group("client")
def test_hdfs_has_the_directories_of_the_platform(host: Any) -> None:
    # With the options of a long listing: mode, owner, group and path.
    wanted = {
        "/tmp": "drwxrwxrwt hdfs hadoop",  # noqa: S108 - a directory on HDFS
        "/tmp/hive": "drwxrwxrwt hive hadoop",  # noqa: S108
        "/user": "drwxr-xr-x hdfs hadoop",
        "/user/hive": "drwxr-x--t hive hive",
        "/user/spark": "drwxr-x--- spark hadoop",
        "/apps/hive": "drwxr-xr-t hive hadoop",
        "/apps/spark": "drwxrwxr-t hdfs hadoop",
        "/app-logs": "drwxrwxrwt yarn hadoop",
        "/apps/tez": "drwxrwxr-t hdfs hadoop",
        "/warehouse/hopshive": "drwxr-xr-t hive hadoop",
        "/warehouse/hopshive/managed": "drwxrwxr-x+ hive hadoop",
        "/warehouse/hopshive/external": "drwxrwxr-x+ hive hadoop",
    }
    lines = run(host, "hdfs dfs -ls -d " + " ".join(wanted), user="hdfs").splitlines()
    seen = {fields[7]: f"{fields[0]} {fields[2]} {fields[3]}" for fields in (line.split() for line in lines)}
    assert seen == wanted


@pytest.mark.group("client")
def test_yarn_lists_its_node(host: Any) -> None:
    assert "RUNNING" in run(host, "yarn node -list", user="spark")


@pytest.mark.group("client")
def test_beeline_without_an_address_finds_hiveserver2_through_zookeeper(host: Any) -> None:
    assert "default" in beeline(host, "SHOW DATABASES").splitlines()


@pytest.mark.parametrize("launcher", ["pyspark", "spark-submit"])
@pytest.mark.group("client")
def test_sparks_launchers_start(host: Any, launcher: str) -> None:
    result = host.run(f"su -s /bin/sh spark -c '{launcher} --version'")
    assert result.rc == 0, result.stderr
    assert "version 4.3.0" in result.stdout + result.stderr


@pytest.mark.group("client")
def test_spark_sql_reads_the_metastore_through_its_own_client(host: Any) -> None:
    command = 'spark-sql --master "local[1]" -e "SHOW DATABASES"'
    assert "default" in run(host, command, user="spark").split()


@pytest.mark.group("metastore")
def test_schematool_finds_the_schema_of_this_release(host: Any) -> None:
    said = run(host, "schematool -dbType mysql -info")
    versions = dict(line.split(":", 1) for line in said.splitlines() if " version:" in line)
    assert versions["Metastore schema version"].strip() == "4.0.0"


@pytest.mark.group("mariadb")
def test_housekeeping_has_its_mutex_rows(host: Any) -> None:
    query = "SELECT MT_KEY1 FROM metastore.AUX_TABLE ORDER BY MT_KEY1"
    rows = run(host, f"mariadb --batch --skip-column-names -e '{query}'").split()
    wanted = ["Cleaner", "CompactionScheduler", "HouseKeeper", "Initiator", "MaterializationRebuild", "TxnCleaner"]
    assert rows == wanted


@pytest.mark.group("mariadb")
def test_numbers_below_zero_are_those_of_databases(host: Any) -> None:
    used = "SELECT SD_ID FROM metastore.TBLS UNION ALL SELECT SD_ID FROM metastore.PARTITIONS"
    counted = run(
        host, f"mariadb --batch --skip-column-names -e 'SELECT COUNT(*), MIN(SD_ID) FROM ({used}) AS used'"
    ).split()
    assert int(counted[0]) > 0
    assert int(counted[1]) > 0


@pytest.mark.group("client")
def test_the_metastore_starts_compactions_by_itself(host: Any) -> None:
    # Each INSERT is a delta; the table asks for a compaction from four of them on.
    statements = [
        "DROP TABLE IF EXISTS default.deltas",
        "CREATE TABLE default.deltas (a INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true',"
        " 'compactorthreshold.hive.compactor.delta.num.threshold' = '3')",
        *["INSERT INTO default.deltas VALUES (7)"] * 5,
    ]
    beeline(host, "; ".join(statements))
    compaction = await_compaction(host, "deltas", 180)
    assert compaction, "no compaction was started within three minutes"
    assert compaction[5] == "succeeded", compaction
    assert "manual" not in compaction
    assert beeline(host, "SELECT a FROM default.deltas").split() == ["7"] * 5
    beeline(host, "DROP TABLE default.deltas")


@pytest.mark.group("client")
def test_a_compaction_ends_beside_queries_that_take_all_containers(host: Any) -> None:
    # A session of HiveServer2 that has work gives none of its containers back.
    statements = [
        "DROP TABLE IF EXISTS default.crowded",
        "CREATE TABLE default.crowded (a INT) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true', 'NO_AUTO_COMPACTION' = 'true')",
        *["INSERT INTO default.crowded VALUES (7)"] * 4,
        "DROP TABLE IF EXISTS default.wide",
        "CREATE EXTERNAL TABLE default.wide (a INT) PARTITIONED BY (p INT) STORED AS ORC"
        " TBLPROPERTIES ('external.table.purge' = 'true')",
        "SET hive.exec.dynamic.partition.mode = nonstrict",
        "INSERT INTO default.wide PARTITION (p) SELECT p, p FROM (SELECT posexplode(split(space(11), ' ')) AS (p, x)) t",
    ]
    beeline(host, "; ".join(statements))
    # Twelve tasks, each for a file of its own: twice as many as there is room for.
    settings = (
        "SET tez.grouping.min-size=1; SET tez.grouping.max-size=1; SET mapreduce.input.fileinputformat.split.minsize=1;"
    )
    query = "SELECT p, count(DISTINCT a) FROM default.wide GROUP BY p;"
    script = shlex.quote("\n".join([settings, *[query] * 400]))
    run(host, f"printf '%s\n' {script} > /var/tmp/crowd.sql && chmod 644 /var/tmp/crowd.sql")
    run(
        host,
        'systemd-run --collect --unit=crowd --uid=spark /usr/local/bin/beeline -n spark -p "" -f /var/tmp/crowd.sql',
    )
    try:
        deadline = time.monotonic() + 120
        while free_mb(host) >= 768:
            assert time.monotonic() < deadline, "the queries did not take all containers"
            time.sleep(3)
        beeline(host, "ALTER TABLE default.crowded COMPACT 'major'")
        compaction = await_compaction(host, "crowded", 300)
        assert compaction, "the compaction is not listed"
        assert compaction[5] == "succeeded", compaction
        assert run(host, "systemctl is-active crowd").strip() == "active"
        assert ask_yarn(host, "apps?queue=compaction&states=RUNNING")["apps"]
    finally:
        host.run("systemctl stop crowd")
    assert beeline(host, "SELECT a FROM default.crowded").split() == ["7"] * 4
    beeline(host, "DROP TABLE default.crowded; DROP TABLE default.wide")
