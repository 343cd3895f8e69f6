"""Does a step to a real warehouse, and finds out what the model must know of it."""

from __future__ import annotations

import threading
import time
from posixpath import dirname
from typing import TYPE_CHECKING

from hopshive.hdfs.paths import is_below
from tests.fuzz.objects import EXTERNAL, MANAGED
from tests.fuzz.steps import Outcome
from tests.warehouse import CommandError, HdfsError, HiveError, NotQuiet, SparkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.fuzz.choose import Settings
    from tests.fuzz.model import Model
    from tests.fuzz.objects import Table, Values
    from tests.fuzz.steps import Step
    from tests.warehouse import Warehouse

UPPER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper"
FORMATS = {
    "plain": "",
    "external": "EXTERNAL ",
    "acid": "",
}
# Seconds that a compaction may take: a worker looks for one every ten.
COMPACTED = 120.0
# Seconds in safe mode: longer than the grace of a test's daemon.
SAFE_MODE = 2.0
# Seconds without any daemon: longer than a lease, and than the grace of a deletion.
UNLED = 15.0
# Seconds within which another replica must lead after the leader was frozen.
FREEZE = 25.0
# Seconds after which Hadoop's clients close a connection that nothing goes over (ipc.client.connection.maxidletime), and a bit:
# until then one call fails on each connection that the NameNode of before has had.
IDLE = 11.0


class Driver:
    """One run against one warehouse. The model is read, never changed."""

    def __init__(self, warehouse: Warehouse, model: Model, settings: Settings) -> None:
        self._warehouse = warehouse
        self._model = model
        self._settings = settings
        self.uri = f"hdfs://{warehouse.lab.one('namenode').name}:8020"

    def prepare(self) -> None:
        """Remove what an earlier run has left."""
        warehouse = self._warehouse
        prefix = self._settings.prefix
        warehouse.session.wait()
        for (name,) in warehouse.hive("SHOW DATABASES"):
            if name.startswith(f"{prefix}_"):
                warehouse.drop_database(name)
        for path in [self._settings.root, *(f"{place}/{prefix}_" for place in (MANAGED, EXTERNAL))]:
            parent, _, start = path.rpartition("/")
            for item in warehouse.hdfs.listing(parent or "/"):
                if item.name == start or (start.endswith("_") and item.name.startswith(start)):
                    warehouse.hdfs.delete(f"{parent}/{item.name}")
        # Hive and Spark write what the other made, outside of the warehouse as well.
        warehouse.hdfs.mkdir(self._settings.root)
        warehouse.hdfs.share(self._settings.root, "hive", "spark")
        warehouse.hdfs.mkdir(f"{self._settings.root}/away")

    def do(self, step: Step) -> Outcome:
        """Do it. What a service refuses is in the outcome; what the driver cannot do is raised."""
        begin = time.monotonic()
        work: Callable[[Step, Outcome], None] = getattr(self, f"_{step.kind}")
        outcome = Outcome()
        try:
            work(step, outcome)
        except (HiveError, SparkError, HdfsError, CommandError, NotQuiet) as error:
            outcome.ok, outcome.error = False, f"{type(error).__name__}: {error}"
        outcome.seconds = time.monotonic() - begin
        return outcome

    # --- asking ---------------------------------------------------------------------------------------------------

    def path(self, location: str) -> str:
        """The path of a location."""
        return location.removeprefix(self.uri)

    def _learn(self, db: str, table: str, outcome: Outcome) -> None:
        """A table's location and partitions, as the metastore has them."""
        rows = self._warehouse.metastore_sql(
            "SELECT t.TBL_ID, s.LOCATION FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID JOIN SDS s ON s.SD_ID = t.SD_ID"
            " WHERE d.NAME = %s AND t.TBL_NAME = %s",
            (db, table),
        )
        if not rows:
            raise HiveError(f"the metastore does not have {db}.{table}")
        ((table_id, location),) = rows
        outcome.location = self.path(location or "")
        values: dict[int, list[str]] = {}
        for part, value in self._warehouse.metastore_sql(
            "SELECT PART_ID, PART_KEY_VAL FROM PARTITION_KEY_VALS WHERE PART_ID IN"
            " (SELECT PART_ID FROM PARTITIONS WHERE TBL_ID = %s) ORDER BY PART_ID, INTEGER_IDX",
            (table_id,),
        ):
            values.setdefault(part, []).append(value)
        for part, name, place in self._warehouse.metastore_sql(
            "SELECT p.PART_ID, p.PART_NAME, s.LOCATION FROM PARTITIONS p JOIN SDS s ON s.SD_ID = p.SD_ID WHERE p.TBL_ID = %s",
            (table_id,),
        ):
            outcome.partitions[tuple(values[part])] = (name, self.path(place))

    def _find_gone(self, paths: Iterable[str], outcome: Outcome) -> None:
        outcome.gone = {path for path in paths if not self._warehouse.hdfs.exists(path)}

    def _tidy_up(self, step: Step, paths: Sequence[str], outcome: Outcome) -> None:
        """Delete what Hive has left of a dropped object, if the step says so."""
        for path in paths:
            if step["tidy"] and self._warehouse.hdfs.exists(path):
                self._warehouse.hdfs.delete(path)
        self._find_gone(paths, outcome)

    def _known(self, step: Step) -> Table:
        table = self._model.table(step["db"], step["table"])
        assert table
        return table

    # --- Hive's definitions ---------------------------------------------------------------------------------------

    def _hive(self, sql: str) -> None:
        self._warehouse.hive(sql)

    def _create_database(self, step: Step, outcome: Outcome) -> None:
        place = f" LOCATION '{step['path']}'" if step["path"] else ""
        self._hive(f"CREATE DATABASE {step['db']}{place}")
        ((location, managed),) = self._warehouse.metastore_sql(
            "SELECT DB_LOCATION_URI, DB_MANAGED_LOCATION_URI FROM DBS WHERE NAME = %s", (step["db"],)
        )
        outcome.location, outcome.managed_location = self.path(location), self.path(managed)

    def _drop_database(self, step: Step, outcome: Outcome) -> None:
        database = self._model.databases[step["db"]]
        self._hive(f"DROP DATABASE {step['db']} CASCADE")
        paths = [*database.locations, *(path for table in database.tables.values() for path in table.paths())]
        self._find_gone(paths, outcome)

    def _create_table(self, step: Step, outcome: Outcome) -> None:
        form, keys = step["form"], step["keys"]
        partitioned = f" PARTITIONED BY ({', '.join(f'{key} STRING' for key in keys)})" if keys else ""
        place = f" LOCATION '{step['path']}'" if step["path"] else ""
        acid = " TBLPROPERTIES ('transactional' = 'true')" if form == "acid" else ""
        name = f"{step['db']}.{step['table']}"
        self._hive(f"CREATE {FORMATS[form]}TABLE {name} (a INT){partitioned} STORED AS ORC{place}{acid}")
        self._learn(step["db"], step["table"], outcome)

    def _drop_table(self, step: Step, outcome: Outcome) -> None:
        paths = self._known(step).paths()
        self._hive(f"DROP {step.get('what', 'TABLE')} {step['db']}.{step['table']}")
        self._tidy_up(step, paths, outcome)

    def _rename_table(self, step: Step, outcome: Outcome) -> None:
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} RENAME TO {step['other_db']}.{step['name']}")
        self._learn(step["other_db"], step["name"], outcome)

    def _set_location(self, step: Step, _: Outcome) -> None:
        if step["directory"]:
            self._warehouse.hdfs.mkdir(step["path"])
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} SET LOCATION '{self.uri}{step['path']}'")

    def _widen(self, step: Step, _: Outcome) -> None:
        cascade = " CASCADE" if self._known(step).keys else ""
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} ADD COLUMNS (b STRING){cascade}")

    def _add_partitions(self, step: Step, outcome: Outcome) -> None:
        keys = self._known(step).keys
        place = f" LOCATION '{step['path']}'" if step["path"] else ""
        specs = " ".join(f"{_spec(keys, values)}{place}" for values in step["partitions"])
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} ADD {specs}")
        self._learn(step["db"], step["table"], outcome)

    def _drop_partition(self, step: Step, outcome: Outcome) -> None:
        table = self._known(step)
        path = table.partitions[tuple(step["values"])].path
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} DROP {_spec(table.keys, step['values'])}")
        self._tidy_up(step, [path], outcome)
        # Hive deletes what is empty between a table and the last partition there.
        gone = [path]
        while is_below(dirname(gone[-1]), table.path) and dirname(gone[-1]) != table.path:
            gone.append(dirname(gone[-1]))
        self._find_gone(gone, outcome)

    def _rename_partition(self, step: Step, outcome: Outcome) -> None:
        keys = self._known(step).keys
        old, new = _spec(keys, step["values"]), _spec(keys, step["new_values"])
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} {old} RENAME TO {new}")
        self._learn(step["db"], step["table"], outcome)

    def _set_partition_location(self, step: Step, _: Outcome) -> None:
        if step["directory"]:
            self._warehouse.hdfs.mkdir(step["path"])
        spec = _spec(self._known(step).keys, step["values"])
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} {spec} SET LOCATION '{self.uri}{step['path']}'")

    def _create_view(self, step: Step, _: Outcome) -> None:
        self._hive(f"CREATE VIEW {step['db']}.{step['table']} AS SELECT a FROM {step['db']}.{step['base']}")

    def _create_mv(self, step: Step, outcome: Outcome) -> None:
        self._hive(
            f"CREATE MATERIALIZED VIEW {step['db']}.{step['table']} AS SELECT a FROM {step['db']}.{step['base']}"
        )
        self._learn(step["db"], step["table"], outcome)

    def _create_function(self, step: Step, _: Outcome) -> None:
        self._hive(f"CREATE FUNCTION {step['db']}.{step['function']} AS '{UPPER}'")

    def _drop_function(self, step: Step, _: Outcome) -> None:
        self._hive(f"DROP FUNCTION {step['db']}.{step['function']}")

    def _add_primary_key(self, step: Step, _: Outcome) -> None:
        key = "PRIMARY KEY (a) DISABLE NOVALIDATE NORELY"
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} ADD CONSTRAINT {step['constraint']} {key}")

    def _add_foreign_key(self, step: Step, _: Outcome) -> None:
        key = f"FOREIGN KEY (a) REFERENCES {step['db']}.{step['parent']}(a) DISABLE NOVALIDATE NORELY"
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} ADD CONSTRAINT {step['constraint']} {key}")

    def _drop_constraint(self, step: Step, _: Outcome) -> None:
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} DROP CONSTRAINT {step['constraint']}")

    def _set_statistics(self, step: Step, _: Outcome) -> None:
        spec = f" {_spec(self._known(step).keys, step['values'])}" if "values" in step.args else ""
        values = (
            f"('numDVs' = '{step['number']}', 'numNulls' = '0', 'lowValue' = '0', 'highValue' = '{step['number']}')"
        )
        self._hive(f"ALTER TABLE {step['db']}.{step['table']}{spec} UPDATE STATISTICS FOR COLUMN a SET {values}")

    def _set_property(self, step: Step, _: Outcome) -> None:
        self._hive(f"ALTER TABLE {step['db']}.{step['table']} SET TBLPROPERTIES ('fuzz' = '{step['number']}')")

    def _grant(self, step: Step, _: Outcome) -> None:
        self._hive(f"GRANT SELECT ON TABLE {step['db']}.{step['table']} TO USER {step['user']}")

    def _compact(self, step: Step, _: Outcome) -> None:
        spec = f" {_spec(self._known(step).keys, step['values'])}" if step["values"] else ""
        try:
            self._hive(f"ALTER TABLE {step['db']}.{step['table']}{spec} COMPACT '{step['how']}'")
        except HiveError as error:
            # The initiator of compactions has been there before.
            if "Compaction is already scheduled" not in str(error):
                raise
        # A compaction that runs when its directory goes makes the directory again, with what it has read.
        deadline = time.monotonic() + COMPACTED
        while time.monotonic() < deadline and any(
            (row[1], row[2]) == (step["db"], step["table"]) and row[5] in ("initiated", "working")
            for row in self._warehouse.hive("SHOW COMPACTIONS")
        ):
            time.sleep(0.5)

    # --- engines --------------------------------------------------------------------------------------------------

    def _hive_insert(self, step: Step, outcome: Outcome, how: str = "INTO") -> None:
        table = self._known(step)
        spec = f" {_spec(table.keys, step['values'])}" if table.keys else ""
        rows = ", ".join(f"({value}, 'w')" if table.widened else f"({value})" for value in step["rows"])
        self._hive(f"INSERT {how} TABLE {step['db']}.{step['table']}{spec} VALUES {rows}")
        if table.keys:
            self._learn(step["db"], step["table"], outcome)

    def _hive_overwrite(self, step: Step, outcome: Outcome) -> None:
        self._hive_insert(step, outcome, "OVERWRITE")

    def _acid_update(self, step: Step, _: Outcome) -> None:
        self._hive(f"UPDATE {step['db']}.{step['table']} SET a = {step['new']} WHERE a = {step['old']}")

    def _acid_delete(self, step: Step, _: Outcome) -> None:
        self._hive(f"DELETE FROM {step['db']}.{step['table']} WHERE a = {step['old']}")

    def _truncate(self, step: Step, _: Outcome) -> None:
        self._hive(f"TRUNCATE TABLE {step['db']}.{step['table']}")

    def _spark_create(self, step: Step, outcome: Outcome) -> None:
        self._save(step, outcome, "errorifexists")

    def _spark_replace(self, step: Step, outcome: Outcome) -> None:
        self._save(step, outcome, "overwrite")

    def _spark_append(self, step: Step, outcome: Outcome) -> None:
        self._warehouse.spark(f"REFRESH TABLE {step['db']}.{step['table']}")
        self._save(step, outcome, "append")

    def _save(self, step: Step, outcome: Outcome, mode: str) -> None:
        name = f"{step['db']}.{step['table']}"
        self._warehouse.spark_session.write(_query(step), name, mode=mode, partition_by=",".join(step["keys"]))
        self._learn(step["db"], step["table"], outcome)

    def _spark_overwrite(self, step: Step, outcome: Outcome) -> None:
        name = f"{step['db']}.{step['table']}"
        self._warehouse.spark(f"REFRESH TABLE {name}")
        self._warehouse.spark_session.write(_query(step), name, mode="overwrite", action="insertInto")
        self._learn(step["db"], step["table"], outcome)

    # --- HDFS -----------------------------------------------------------------------------------------------------

    def _delete(self, step: Step, outcome: Outcome) -> None:
        place = self._warehouse.hdfs.delete(step["path"], skip_trash=not step["trash"])
        if place:
            outcome.places[step["path"]] = place

    def _delete_database(self, step: Step, outcome: Outcome) -> None:
        for path in step["paths"]:
            place = self._warehouse.hdfs.delete(path, skip_trash=not step["trash"])
            if place:
                outcome.places[path] = place

    def _come_and_go(self, step: Step, outcome: Outcome) -> None:
        path = step["path"]
        for _ in range(step["times"]):
            self._warehouse.hdfs.move(self._warehouse.hdfs.delete(path, skip_trash=False), path)
        if not step["back"]:
            outcome.places[path] = self._warehouse.hdfs.delete(path, skip_trash=False)

    def _shell_rm(self, step: Step, outcome: Outcome) -> None:
        self._warehouse.hdfs.shell_rm(step["path"], skip_trash=not step["trash"])
        if step["trash"]:
            outcome.places[step["path"]] = self._warehouse.hdfs.trash_place(step["path"])

    def _delete_files(self, step: Step, _: Outcome) -> None:
        self._warehouse.hdfs.delete_files(step["path"])

    def _move_away(self, step: Step, _: Outcome) -> None:
        self._warehouse.hdfs.move(step["path"], step["place"])

    def _bring_back(self, step: Step, _: Outcome) -> None:
        for path in step["paths"]:
            self._warehouse.hdfs.move(self._warehouse.hdfs.place_now(self._model.kept[path]), path)

    def _remake(self, step: Step, outcome: Outcome) -> None:
        path = step["path"]
        for _ in range(step["times"]):
            self._warehouse.hdfs.delete(path)
            self._warehouse.hdfs.mkdir(path)
        if not step["back"]:
            outcome.places[path] = self._warehouse.hdfs.delete(path, skip_trash=False)

    def _tidy(self, step: Step, _: Outcome) -> None:
        for path in step["paths"]:
            self._warehouse.hdfs.delete(path)

    # --- services -------------------------------------------------------------------------------------------------

    def _kill_daemon(self, _: Step, __: Outcome) -> None:
        leader = self._warehouse.leading()
        if leader:
            leader.kill()

    def _restart_daemon(self, _: Step, __: Outcome) -> None:
        leader = self._warehouse.leading()
        if leader:
            leader.stop()
            leader.start()

    def _kill_all_daemons(self, _: Step, __: Outcome) -> None:
        for cleaner in self._warehouse.cleaners:
            if cleaner.is_running():
                cleaner.kill()
        for cleaner in self._warehouse.cleaners:
            cleaner.start()

    def _freeze_leader(self, _: Step, __: Outcome) -> None:
        leader, name = self._warehouse.leading(), self._warehouse.leader()
        if leader is None or len(self._warehouse.cleaners) < 2:
            return
        leader.pause()
        try:
            self._warehouse.wait_leader(FREEZE, other_than=name)
        finally:
            leader.resume()

    def _nobody_leads(self, _: Step, __: Outcome) -> None:
        """The steps that follow find no leader, for a while."""
        for cleaner in self._warehouse.cleaners:
            cleaner.stop()
        threading.Timer(UNLED, self._lead_again).start()

    def _lead_again(self) -> None:
        for cleaner in self._warehouse.cleaners:
            cleaner.start()

    def _restart_namenode(self, _: Step, __: Outcome) -> None:
        begin = time.monotonic()
        self._warehouse.namenode.restart()
        self._forget_namenode(begin)

    def _kill_namenode(self, _: Step, __: Outcome) -> None:
        begin = time.monotonic()
        self._warehouse.namenode.kill()
        self._forget_namenode(begin)

    def _forget_namenode(self, ended: float) -> None:
        """Until a NameNode that ended then is back, and no client keeps a connection to the one that it was."""
        self._warehouse.hdfs.wait()
        time.sleep(max(0.0, ended + IDLE - time.monotonic()))

    def _safe_mode(self, _: Step, __: Outcome) -> None:
        self._warehouse.hdfs.safe_mode(True)
        time.sleep(SAFE_MODE)
        self._warehouse.hdfs.safe_mode(False)

    def _restart_metastore(self, _: Step, __: Outcome) -> None:
        self._warehouse.metastore.restart()
        self._warehouse.session.wait()

    def _kill_metastore(self, _: Step, __: Outcome) -> None:
        self._warehouse.metastore.kill()
        self._warehouse.metastore.start()
        self._warehouse.session.wait()


def _spec(keys: Sequence[str], values: Sequence[str] | Values) -> str:
    quoted = (value.replace("\\", "\\\\").replace("'", "\\'") for value in values)
    return "PARTITION (" + ", ".join(f"{key} = '{value}'" for key, value in zip(keys, quoted, strict=True)) + ")"


def _query(step: Step) -> str:
    rows = ", ".join(
        "(" + ", ".join([str(value), *(f"'{v}'" for v in values)]) + ")" for value, *values in step["rows"]
    )
    return f"SELECT * FROM VALUES {rows} AS x(a{''.join(', ' + key for key in step['keys'])})"
